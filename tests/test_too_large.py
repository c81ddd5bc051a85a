"""Paths that take no full segments, and senders that find out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation

import multitracer as mt

FULL, SMALL, RTT_MS = 1400, 1000, 40.0


def hole(*, through: int | None = None, expires: bool = True, small: int = 12) -> Conversation:
    """Six full segments are lost, a timer sends the first again; then all is sent in smaller ones.

    `through` is one of the six that arrives all the same; without a timer the sender learns of it at once.
    """
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS, mss=FULL)
    t_ms = 200.0
    for number in range(6):
        talk.data(t_ms + number, 1 + number * FULL, FULL)
    if expires:
        for wait_ms in (250.0, 500.0, 1000.0):
            t_ms += wait_ms
            talk.data(t_ms, 1, FULL)
    t_ms += RTT_MS
    seq, end = 1, 1 + 6 * FULL + small * SMALL
    while seq < end:
        size = min(SMALL, end - seq)
        if through is not None and seq >= 1 + through * FULL and seq < 1 + (through + 1) * FULL:
            # It is not sent again.
            seq = 1 + (through + 1) * FULL
            continue
        if through is not None and seq < 1 + through * FULL:
            size = min(size, 1 + through * FULL - seq)
        talk.data(t_ms, seq, size)
        talk.ack(t_ms + RTT_MS, seq + size)
        seq, t_ms = seq + size, t_ms + RTT_MS + 1
    return talk


def said(tmp_path: Path, talk: Conversation) -> list[dict[str, Any]]:
    contract = mt.analyze(mt.read(talk.write(tmp_path / "one.pcap"))).to_dict()
    found: list[dict[str, Any]] = contract["diagnosis"]
    return found


def test_no_full_segment_got_through_and_smaller_ones_did(tmp_path: Path) -> None:
    first, *others = said(tmp_path, hole())
    assert first["kind"] == "too_large"
    assert first["text"] == (
        "none of the 9 segments with more than 1,000 bytes of payload got through, and smaller ones did: a "
        "smaller MTU on the path whose ICMP errors are filtered (a PMTU blackhole; tracepath finds it). The "
        "sender found that out after 1.79 s"
    )
    assert len(first["evidence"]) == 9
    assert all(one["kind"] != "too_large" for one in others)


def test_without_a_timer_the_path_told_the_sender(tmp_path: Path) -> None:
    (found,) = [one for one in said(tmp_path, hole(expires=False)) if one["kind"] == "too_large"]
    assert "a smaller MTU on the path; the sender found that out after 40 ms" in found["text"]
    assert "ICMP" not in found["text"]


@pytest.mark.parametrize("facts", [{"through": 5}, {"through": 2}, {"small": -2}])
def test_one_full_segment_that_arrives_is_enough(tmp_path: Path, facts: dict[str, Any]) -> None:
    """Nor do few that arrive show anything."""
    assert all(one["kind"] != "too_large" for one in said(tmp_path, hole(**facts)))
