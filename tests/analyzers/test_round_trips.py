"""Round trips three ways: by hand, and on the samples against each other and the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation

import multitracer as mt


def read(path: Path) -> dict[str, Any]:
    result = mt.analyze(mt.read(path), only=["round_trips"]).results["round_trips"]
    assert result.inconclusive is None
    (entry,) = result.summary["connections"]
    return dict(entry)


def conversation(timestamps: bool) -> Conversation:
    """Ten round trips of 100 ms, then one of 150 ms of a segment that was sent twice."""
    c = Conversation(timestamps=timestamps)
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq)
    c.data(3400, seq)
    c.ack(3550, seq + 1000, echo_ms=3400)
    return c


def test_timestamps_see_what_was_sent_twice(tmp_path: Path) -> None:
    entry = read(conversation(True).write(tmp_path / "snd.pcap"))
    assert entry["segment"]["samples"] == 11, "with the SYN"
    assert entry["segment"]["max_ms"] == 100
    assert entry["timestamp"]["samples"] == 12
    assert entry["timestamp"]["of_what_was_sent_again"] == 1
    assert entry["timestamp"]["max_ms"] == 150
    assert entry["why_not"] == {"kernel": "no kernel log of the sender with SRTT"}


def test_no_timestamps(tmp_path: Path) -> None:
    entry = read(conversation(False).write(tmp_path / "snd.pcap"))
    assert entry["timestamp"] is None
    assert entry["why_not"]["timestamp"] == "no timestamps option"


def test_echo_of_the_original_measures_the_original(tmp_path: Path) -> None:
    c = Conversation(timestamps=True)
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq)
    c.data(3400, seq)
    c.ack(3550, seq + 1000, echo_ms=3000)
    assert read(c.write(tmp_path / "snd.pcap"))["timestamp"]["max_ms"] == 550


def test_repeated_acks_measure_nothing(tmp_path: Path) -> None:
    """RFC 7323 section 4: an old stamp may be echoed long after; only an ACK that advances measures."""
    c = conversation(True)
    c.ack(9000, 11_001, echo_ms=3400)
    assert read(c.write(tmp_path / "snd.pcap"))["timestamp"]["max_ms"] == 150


def test_echo_of_what_was_not_captured(tmp_path: Path) -> None:
    c = Conversation(timestamps=True)
    for i in range(3):
        c.data(200 * i, 1 + 1000 * i)
        c.ack(200 * i + 100, 1001 + 1000 * i, echo_ms=-5000)
    entry = read(c.write(tmp_path / "snd.pcap"))
    assert entry["timestamp"] is None
    assert entry["why_not"]["timestamp"] == "no echo of a captured segment"


def test_three_ways_agree(sample: Path) -> None:
    entry = read(sample)
    smallest = entry["segment"]["min_ms"]
    assert entry["kernel"]["min_ms"] == pytest.approx(smallest, abs=1), "of the same kernel's clock"
    assert smallest <= entry["kernel"]["srtt_median_ms"] <= entry["segment"]["max_ms"]
    if entry["timestamp"] is not None:
        assert entry["timestamp"]["median_ms"] == pytest.approx(entry["segment"]["median_ms"], rel=0.02)
        assert entry["timestamp"]["samples"] >= entry["segment"]["samples"]
    assert ("timestamp" in entry["why_not"]) == (entry["timestamp"] is None)
