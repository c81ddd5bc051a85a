"""A receiver's window that is full until a loss recovery ends, seen from the middle of the path."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_conversation import Conversation

import multitracer as mt

RTT_MS = 40


def test_recovery_ends_when_the_sender_hears_of_it(tmp_path: Path) -> None:
    """Lost before the capture: the retransmission is new data here; the ACK of all has half an RTT to go."""
    half_ms, window = RTT_MS / 2, 10_000
    said = Conversation()
    said.handshake(0, half_ms)
    said.packets[-1] = (RTT_MS, said.packets[-1][1])
    t_ms, seq = RTT_MS + 1.0, 1
    for lost in (False, False, True, False, False):
        for number in range(1 if lost else 0, 10):
            said.data(t_ms + 0.1 * number, seq + 1000 * number)
        if lost:
            for number in range(2, 11):
                blocks = [(seq + 1000, seq + 1000 * number)]
                said.ack(t_ms + half_ms + 0.1 * number, seq, blocks, window=window)
            t_ms += RTT_MS + 0.5
            said.data(t_ms, seq)
        for number in range(10 if lost else 1, 11):
            said.ack(t_ms + half_ms + 0.1 * number, seq + 1000 * number, window=window)
        t_ms, seq = t_ms + RTT_MS + 1, seq + 10_000
    (one,) = mt.analyze(mt.read(said.write(tmp_path / "one.pcap"), point="mid")).to_dict()["connections"]
    assert one["losses"]["upstream"] == 1
    # The RTT until the loss showed, and that until it was repaired.
    shares = one["limits"]
    assert shares["loss_recovery"] * shares["seconds"] == pytest.approx(2 * RTT_MS / 1e3, rel=0.1)
