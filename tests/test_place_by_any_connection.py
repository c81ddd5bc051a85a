"""The place of a capture, where not the largest connection shows it, but another of the same hosts."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support_conversation import Conversation, checksum

import multitracer as mt

FAR_MS = 0.06
"""From data to its ACK: the receiver is near."""


def behind_a_router(packet: bytes) -> bytes:
    """Of B, one hop away."""
    head = bytearray(packet[:20])
    head[8] = 63
    head[10:12] = b"\0\0"
    head[10:12] = struct.pack(">H", checksum(bytes(head)))
    return bytes(head) + packet[20:]


def talk(port: int, rounds: int, *, queued: bool, start_ms: float) -> list[tuple[float, bytes]]:
    """Rounds of two segments; the next follow their ACK at once, or from the sender's own queue."""
    said = Conversation(port_a=port, timestamps=True)
    if not queued:
        said.handshake(start_ms, FAR_MS, mss=1012)
    t_ms, seq = start_ms + 1, 1
    for _ in range(rounds):
        for _ in range(2):
            said.data(t_ms, seq)
            seq += 1000
            t_ms += 0.01
        said.ack(t_ms + FAR_MS, seq, echo_ms=t_ms)
        t_ms += FAR_MS + (6.0 if queued else 0.02)
    of_a = b"\x0a\0\0\x01"
    return [(at, one if one[12:16] == of_a else behind_a_router(one)) for at, one in said.packets]


@pytest.mark.parametrize("another", [True, False])
def test_the_connection_that_shows_the_place_decides(another: bool, tmp_path: Path) -> None:
    both = Conversation()
    both.packets = talk(4000, 40, queued=True, start_ms=0)
    if another:
        both.packets += talk(4001, 20, queued=False, start_ms=50)
    both.packets.sort(key=lambda packet: packet[0])
    (source,) = mt.read(both.write(tmp_path / "one.pcap")).sources
    assert source.point == "snd"
    assert source.details["point_by"].startswith("likely" if another else "guess")
