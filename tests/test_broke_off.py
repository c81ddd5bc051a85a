"""Transfers that broke off: told together, and only where chance does not explain that nothing answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_segments import Segment, capture

import multitracer as mt

MS = 1_000_000
SYN, ACK = 0x02, 0x10
MSS = b"\2\4\3\xe8"
"""1,000 bytes."""


def talk(port: int, waits_ms: list[int], *, lossy: bool = False) -> list[Segment]:
    """Forty answered segments of 1,000 bytes, each third sent twice if `lossy`; then one more, repeated."""

    def out(step_ms: float, seq: int, length: int = 0, flags: int = ACK, options: bytes = b"") -> Segment:
        return int(step_ms * MS), port, True, False, seq, 1, flags, length, 60_000, options

    def back(step_ms: float, ack: int, flags: int = ACK, options: bytes = b"") -> Segment:
        return int(step_ms * MS), port, False, False, 1, ack, flags, 0, 60_000, options

    said = [out(1, 0, 0, SYN, MSS), back(20, 1, SYN | ACK, MSS), out(1, 1)]
    for at in range(40):
        said.append(out(1, 1 + 1000 * at, 1000))
        if lossy and at % 3 == 0:
            said.append(out(250, 1 + 1000 * at, 1000))
        said.append(back(20, 1001 + 1000 * at))
    return said + [out(step_ms, 40_001, 1000) for step_ms in (1, *waits_ms)]


def said(path: Path, segments: list[Segment]) -> list[str]:
    """By the complete analysis, and a summary says the same."""
    read = capture(path, segments)
    found = [
        [one["text"] for one in mt.analyze(measurement).to_dict()["diagnosis"] if one["kind"] == "unfinished"]
        for measurement in (mt.read(read), mt.read(read, detail="summary"))
    ]
    assert found[0] == found[1]
    return found[0]


def test_several_that_broke_off_are_one_sentence(tmp_path: Path) -> None:
    segments = [one for port in range(9) for one in talk(port, [250, 500] if port != 4 else [])]
    (text,) = said(tmp_path / "nine.pcap", segments)
    assert text == (
        "8 of 9 connections (0, 1, 2, 3, 5, 6, ...) broke off: "
        "8,000 of 328,000 bytes were never acknowledged, and 16 timeouts brought no answer"
    )


def test_a_single_one_is_named(tmp_path: Path) -> None:
    (text,) = said(tmp_path / "two.pcap", [*talk(0, []), *talk(1, [250, 500])])
    assert text.startswith("connection 1 of 2 broke off: 1,000 of 41,000 bytes were never acknowledged")
    (text,) = said(tmp_path / "one.pcap", talk(0, [250, 500]))
    assert text.startswith("the transfer broke off: 1,000 of 41,000 bytes")


def test_where_a_quarter_is_lost_one_timer_without_an_answer_is_no_end(tmp_path: Path) -> None:
    assert said(tmp_path / "one.pcap", talk(0, [250], lossy=True)) == []
    waits_ms = [250, 500, 1000, 2000, 4000, 8000]
    (text,) = said(tmp_path / "six.pcap", talk(0, waits_ms, lossy=True))
    assert "6 timeouts brought no answer" in text


@pytest.mark.parametrize(("ended", "place"), [(1, 1), (4, 1), (5, 0)])
def test_the_few_of_many_are_said_behind_the_main_cause(ended: int, place: int, tmp_path: Path) -> None:
    """Of nine with as much data each; half of them or more are the main cause."""
    segments = [one for port in range(9) for one in talk(port, [250, 500] if port < ended else [])]
    found = mt.analyze(mt.read(capture(tmp_path / "nine.pcap", segments))).to_dict()
    kinds = [one["kind"] for one in found["diagnosis"] if one["kind"] != "utilization"]
    assert kinds.index("unfinished") == place, kinds
