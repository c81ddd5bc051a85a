"""Text about very many connections: each is made by the core when it is asked for, so few are asked."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import multitracer as mt
from multitracer.cli import render
from multitracer.model.derived import Derived


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
