"""Pauses of an application that loss recovery or skipped IP identifications seem to explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import PSH, Conversation

import multitracer as mt

RTT_MS = 40


def limits(said: Conversation, path: Path) -> dict[str, Any]:
    """Seconds by what limited A."""
    (one,) = mt.analyze(mt.read(said.write(path / "one.pcap"), point="snd")).to_dict()["connections"]
    found = one["limits"]
    return {name: share * found["seconds"] for name, share in found.items() if isinstance(share, float)}


def test_a_repaired_loss_holds_nobody(tmp_path: Path) -> None:
    """A full segment without PSH that was sent last shows that more was left, but no retransmission does."""
    said = Conversation(sack=False)
    said.handshake(0, RTT_MS)
    t_ms, seq = said.rounds(RTT_MS + 1, 1, 3, RTT_MS, segments=8)
    for number in range(8):
        said.data(
            t_ms + 0.01 * number, seq + 1000 * number, 500 if number == 7 else 1000, PSH * (number == 7)
        )
    for number in range(7):
        said.ack(t_ms + RTT_MS + 0.01 * number, seq)
    said.data(t_ms + RTT_MS + 1, seq)
    said.ack(t_ms + 2 * RTT_MS + 1, seq + 7500)
    said.data(t_ms + 10_000, seq + 7500, 100, PSH)
    said.ack(t_ms + 10_000 + RTT_MS, seq + 7600)
    found = limits(said, tmp_path)
    assert found["application"] == pytest.approx(10 - 2 * RTT_MS / 1e3, abs=0.1)
    assert found["loss_recovery"] < 0.1


def test_what_other_connections_of_the_host_send_is_no_loss(tmp_path: Path) -> None:
    """A host that numbers all its packets skips numbers in pauses of one connection; it answers requests."""
    said = Conversation()
    said.handshake(0, RTT_MS)
    t_ms, seq, ident = RTT_MS + 1, 1, 10
    for answer in range(9):
        for number in range(6):
            last = number == 5
            said.data(t_ms + 0.01 * number, seq, 300 if last else 1000, PSH * last, ident=ident)
            seq, ident = seq + (300 if last else 1000), ident + 1
        request = bytes([answer]) * 400
        said.segment(t_ms + RTT_MS, False, 1 + 400 * answer, seq, PSH, request)
        said.segment(t_ms + RTT_MS + 0.1, True, seq, 1 + 400 * (answer + 1), ident=ident)
        t_ms, ident = t_ms + 800, ident + (9 if answer % 4 == 3 else 1)
    found = limits(said, tmp_path)
    assert found["application"] > 8 * 0.7
    assert found["congestion_window"] < 0.1
