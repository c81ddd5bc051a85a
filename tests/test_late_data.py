"""A wait between the handshake and the first data, which is no part of the transfer's time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation
from support_entries import entry

import multitracer as mt
from multitracer.diagnosis.field.saying import sentences

RTT_MS = 40.0


def said(*entries: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in sentences(list(entries))]


def late(seconds: float, point: str = "rcv", index: int = 0, **facts: Any) -> dict[str, Any]:
    one = entry(index, 2.0, point=point, bandwidth=0.9, rate=8e6, full=0.9, **facts)
    one["limits"]["seconds_before_data"] = seconds
    return one


def test_a_longer_wait_than_the_transfer_comes_first() -> None:
    first, *others = said(late(3.9))
    assert first == (
        "late_data",
        "no data passed for 3.90 s after the handshake: 10.0.0.1 sent none until then, or what it sent was "
        "lost before this capture",
    )
    assert others[0][0] == "bottleneck"


def test_a_shorter_one_comes_last() -> None:
    *others, last = said(late(1.2, point="snd"))
    assert others[0][0] == "bottleneck"
    assert last == (
        "late_data",
        "no data passed for 1.20 s after the handshake: 10.0.0.1 had none to send until then",
    )


@pytest.mark.parametrize("seconds", [0.0, 0.4, 0.9])
def test_a_short_wait_is_none(seconds: float) -> None:
    assert all(kind != "late_data" for kind, _ in said(late(seconds)))


def told(*entries: dict[str, Any]) -> list[str]:
    return [text for kind, text in said(*entries) if kind == "late_data"]


def test_of_several_connections() -> None:
    assert told(late(0.0), late(1.5, index=1)) == [
        "no data of connection 1 passed for 1.50 s after its handshake: 10.0.0.1 sent none until then, or "
        "what it sent was lost before this capture"
    ]
    (text,) = told(late(1.1), late(1.5, index=1), late(0.0, index=2))
    assert text.startswith("no data of 2 connections of 3 passed for up to 1.50 s after their handshakes: ")


@pytest.mark.parametrize("greets", [True, False])
def test_until_the_first_data_of_either_end(tmp_path: Path, greets: bool) -> None:
    """A server waits for 3 s before it sends; its client may have sent a request before that."""
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS)
    if not greets:
        talk.segment(50.0, False, 1, 1, 0x18, bytes(100))
    for number in range(10):
        t_ms = 3_000.0 + RTT_MS * (number + 1)
        talk.data(t_ms, 1 + 1000 * number)
        talk.ack(t_ms + RTT_MS, 1001 + 1000 * number)
    contract = mt.analyze(mt.read(talk.write(tmp_path / "a.pcap"))).to_dict()
    (one,) = contract["connections"]
    assert (contract["diagnosis"][0]["kind"] == "late_data") is greets
    assert one["limits"]["seconds_before_data"] == (pytest.approx(3.0, abs=0.002) if greets else 0.0)
    assert one["limits"]["seconds"] == pytest.approx(0.44 if greets else 3.44, abs=0.05)
