"""Text about very many connections: each is made by the core when it is asked for, so few are asked."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support_samples import Run

import multitracer as mt
from multitracer.api import pipeline
from multitracer.cli import render
from multitracer.model.derived import Derived
from multitracer.report import view


def flood(path: Path, count: int) -> Path:
    """A SYN of each of so many connections."""
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for number in range(count):
            ip = struct.pack(">BBHHHBBHII", 0x45, 0, 40, 0, 0, 64, 6, 0, 0x0A000000 + number, 0xC0000201)
            tcp = struct.pack(">HHIIBBHHH", 1024 + number % 60_000, 80, number, 0, 0x50, 2, 65535, 0, 0)
            out.write(struct.pack("<IIII", 1_700_000_000, number, 40, 40) + ip + tcp)
    return path


def test_few_of_many_connections_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    count = 5_000
    contract = mt.analyze(mt.read(flood(tmp_path / "flood.pcap", count), detail="summary")).to_dict()
    made = 0
    whole = Derived.__getitem__

    def counted(self: object, at: int) -> object:
        nonlocal made
        made += 1
        return whole(self, at)  # type: ignore[arg-type]

    monkeypatch.setattr(Derived, "__getitem__", counted)
    render.summary(contract)
    assert f"{count:,} connections" in capsys.readouterr().out
    assert made < count * 0.3


def test_what_is_not_answered_is_the_same_for_few_and_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = mt.analyze(mt.read(flood(tmp_path / "flood.pcap", 50), detail="summary")).to_dict()
    told = render.unanswered(contract)
    assert "goodput" in told or "goodput" not in contract["inconclusive"]
    monkeypatch.setattr(render, "LOOKED_AT", 10)
    assert render.unanswered(contract) == told


def test_a_page_of_too_many_connections_says_so_and_is_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    path = flood(tmp_path / "flood.pcap", 1_000)
    monkeypatch.setattr(pipeline, "SUMMARY_BYTES", 10_000)
    monkeypatch.setattr(pipeline, "FULL_CONNECTIONS", 500)
    monkeypatch.setattr(view, "CONNECTIONS", 100)
    assert run("report", path, "-o", tmp_path / "page.html").returncode == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "100 of 1,000 connections: the worst and those with most data" in text
    assert "1,000 connections: all their segments take about 0.0 GB or more" in text
    assert "and 999 more connections" in text
    (issue,) = [
        one for one in mt.read(path, detail="bounded").traces[0].issues if one.code == "too-many-connections"
    ]
    assert issue.count == 1_000
    refused = run("plot", path, "-o", tmp_path / "figure.png")
    assert refused.returncode == 2
    assert refused.stderr.startswith("multitracer: error: 1,000 connections: all their segments take")
    monkeypatch.setattr(pipeline, "FULL_CONNECTIONS", 1_000)
    assert len(mt.read(path, detail="bounded").table("segments")) == 1_000
