"""Text about very many connections: each is made by the core when it is asked for, so few are asked."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
from rich.console import Console
from support_entries import entry
from support_samples import Run

import multitracer as mt
from multitracer import native
from multitracer.api import pipeline
from multitracer.cli import many, render
from multitracer.model.derived import Derived
from multitracer.model.errors import TooManyConnections
from multitracer.output import unanswered
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
    told = unanswered.unanswered(contract)
    assert "goodput" in told or "goodput" not in contract["inconclusive"]
    monkeypatch.setattr(unanswered, "LOOKED_AT", 10)
    assert unanswered.unanswered(contract) == told


def test_a_page_of_too_many_connections_says_so_and_is_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    path = flood(tmp_path / "flood.pcap", 1_000)
    monkeypatch.setattr(pipeline, "FULL_CONNECTIONS", 500)
    monkeypatch.setattr(pipeline, "SUMMARY_CONNECTIONS", 500)
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
    for words in (("events",), ("explain", "--at", "0"), ("export", "--to", "csv", "-o", tmp_path)):
        refused = run(words[0], path, *words[1:])
        assert refused.returncode == 2
        assert refused.stderr.startswith("multitracer: error: 1,000 connections: all their segments take")
    told = run("analyze", path, "--full", "--json")
    assert '"detail": "summary"' in told.stdout
    assert "too-many-connections" in told.stdout
    (tmp_path / "packed.pcap.gz").write_bytes(gzip.compress(path.read_bytes()))
    monkeypatch.setattr(pipeline, "FULL_CONNECTIONS", 900)
    assert mt.read(tmp_path / "packed.pcap.gz", detail="bounded").summarised
    monkeypatch.setattr(pipeline, "FULL_CONNECTIONS", 1_000)
    assert len(mt.read(path, detail="bounded").table("segments")) == 1_000


def test_many_connections_are_summed_up_where_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    path = flood(tmp_path / "flood.pcap", 300)
    assert '"detail": "full"' in run("analyze", path, "--json").stdout
    monkeypatch.setattr(pipeline, "SUMMARY_CONNECTIONS", 299)
    told = run("analyze", path).stdout
    assert "too-many-connections" in told
    assert "use --full" in " ".join(told.split())
    assert "--full keeps them" in " ".join(told.split())
    assert '"detail": "summary"' in run("analyze", path, "--json").stdout
    whole = run("analyze", path, "--full", "--json").stdout
    assert '"detail": "full"' in whole
    assert "too-many-connections" not in whole
    for words, is_said in ((("report",), True), (("report", "--full"), False)):
        page = tmp_path / f"page{len(words)}.html"
        assert run(words[0], path, *words[1:], "-o", page).returncode == 0
        assert ("--full keeps them" in page.read_text(encoding="utf-8")) == is_said
    assert run("events", path).returncode == 0
    assert mt.read(path, detail="auto").summarised
    assert not mt.read(path).summarised


def test_attempts_that_nobody_answered_were_not_open_before(tmp_path: Path, run: Run) -> None:
    path = flood(tmp_path / "flood.pcap", 1_000)
    for how in ("--summary", "--full"):
        text = run("analyze", path, how).stdout
        assert "1,000 attempts never answered" in " ".join(text.split())
        assert "missing-handshake" not in text
        assert "handshake in the capture" not in text
    few = mt.analyze(mt.read(flood(tmp_path / "few.pcap", 2))).to_dict()
    assert [(one["closed"], one["handshake"]) for one in few["connections"]] == [("unanswered", False)] * 2


def test_an_attempt_that_was_refused_is_told_from_a_reset(tmp_path: Path) -> None:
    path = flood(tmp_path / "refused.pcap", 1)
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 40, 0, 0, 64, 6, 0, 0xC0000201, 0x0A000000)
    tcp = struct.pack(">HHIIBBHHH", 80, 1024, 0, 1, 0x50, 0x14, 0, 0, 0)
    with path.open("ab") as out:
        out.write(struct.pack("<IIII", 1_700_000_000, 500, 40, 40) + ip + tcp)
    for detail in ("full", "summary"):
        measurement = mt.read(path, detail=detail)  # type: ignore[arg-type]
        (one,) = mt.analyze(measurement).to_dict()["connections"]
        assert one["closed"] == "refused"
        assert not measurement.traces[0].issues


def test_a_capture_of_too_many_connections_is_given_up_early(tmp_path: Path) -> None:
    path = str(flood(tmp_path / "flood.pcap", 300))
    with pytest.raises(TooManyConnections):
        native.read_capture(path, keep_segments=True, most=299)
    assert len(native.read_capture(path, keep_segments=True, most=300)["connections"]) == 300


@pytest.mark.parametrize(
    ("waited", "note"),
    [
        ([0.0, 0.0, 0.0], ""),
        ([0.0, 0.01, 0.062], "goodput: from the first data on, of 2 up to 1.24 s after the handshake"),
    ],
)
def test_goodputs_that_leave_out_a_wait_say_so(waited: list[float], note: str) -> None:
    listed = [entry(at, parts={"loss_recovery_before_data": share}) for at, share in enumerate(waited)]
    assert many._goodput_note(listed) == note


def test_the_table_of_connections_breaks_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    """Retransmissions, timeouts, upper bounds of RTTs and limits leave the addresses few letters of 80."""
    rtt = {"base_at_most": True, "base_ms": 48.8, "median_ms": None, "p95_ms": None, "timed_share": 1.0}
    halves = dict.fromkeys(("min_ms", "median_ms", "p95_ms"), 20.0) | {"samples": 9}
    rtt |= {"toward_receiver": halves, "toward_sender": halves, "without_own_queue": False, "delayed_acks": 0}
    found = [
        entry(
            number,
            handshake=0.9,
            again={"fast": 12},
            timeouts={"total": 1},
            rtt=rtt,
            rtt_ms=None,
            goodput_bps=1.08e6,
        )
        for number in range(3)
    ]
    many._table(Console(width=80), found, range(3), "Most timeouts and retransmissions", 3)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if "10.0.0.1" in line]
    assert len(rows) == 3
    assert all("≤ 48.8 ms  1.08 Mbit/s  handshake" in row for row in rows), lines
