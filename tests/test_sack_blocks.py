"""SACK blocks that something on the path makes useless."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_conversation import Conversation

import multitracer as mt

SIZE, RTT_MS = 1000, 50.0


@pytest.mark.parametrize("shift", [0, 123_456_789, -123_456_789])
def test_blocks_outside_the_data(shift: int, tmp_path: Path) -> None:
    """A segment of each flight is lost; the receiver's blocks arrive as they are, or with other numbers."""
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS)
    t_ms, seq = 200.0, 1
    for _ in range(8):
        for at in range(6):
            talk.data(t_ms + at, seq + at * SIZE, SIZE)
        for at in range(1, 6):
            block = (seq + SIZE + shift, seq + (at + 1) * SIZE + shift)
            talk.ack(t_ms + RTT_MS + at, seq, [block])
        talk.data(t_ms + RTT_MS + 6, seq, SIZE)
        seq += 6 * SIZE
        talk.ack(t_ms + 2 * RTT_MS + 6, seq)
        t_ms += 2 * RTT_MS + 7
    found = mt.analyze(mt.read(talk.write(tmp_path / "one.pcap"))).to_dict()["diagnosis"]
    texts = [one["text"] for one in found if one["kind"] == "sack_blocks"]
    if not shift:
        assert texts == []
    else:
        assert texts[0].startswith("the SACK blocks of 40 of 40 ACKs lie outside the data that was sent")
