"""A RST that comes before all data was acknowledged, and who sent it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from support_conversation import RST, Conversation, checksum

import multitracer as mt

SIZE, RTT_MS = 1000, 50.0


def with_ttl(packet: bytes, ttl: int) -> bytes:
    head = bytearray(packet[:20])
    head[8], head[10:12] = ttl, b"\0\0"
    head[10:12] = struct.pack(">H", checksum(bytes(head)))
    return bytes(head) + packet[20:]


def reset_by_receiver(path: Path, *, left: int, ttl: int, detail: Any) -> tuple[Any, list[str]]:
    """Ten flights of four segments, of the last of which so many are not acknowledged when a RST comes."""
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS)
    t_ms, seq = 200.0, 1
    for number in range(10):
        for at in range(4):
            talk.data(t_ms + at, seq, SIZE)
            seq += SIZE
            if number < 9 or at < 4 - left:
                talk.ack(t_ms + at + RTT_MS, seq)
        t_ms += RTT_MS + 5
    talk.segment(t_ms, False, 1, seq - left * SIZE, RST)
    when_ms, packet = talk.packets.pop()
    talk.packets.sort(key=lambda one: one[0])
    talk.packets.append((when_ms, with_ttl(packet, ttl)))
    found = mt.analyze(mt.read(talk.write(path / "one.pcap"), detail=detail)).to_dict()
    return found["connections"][0], [one["text"] for one in found["diagnosis"] if one["kind"] == "reset"]


@pytest.mark.parametrize("detail", ["full", "summary"])
@pytest.mark.parametrize(
    ("ttl", "who"),
    [
        (64, "its application wanted no more (the RST has the TTL of its other packets)"),
        (62, "its application wanted no more, or a middlebox sent the RST"),
        (250, "something on the path sent the RST in its name (TTL 250 here, that of its other packets 64)"),
    ],
)
def test_who_reset_it(ttl: int, who: str, detail: Any, tmp_path: Path) -> None:
    entry, texts = reset_by_receiver(tmp_path, left=2, ttl=ttl, detail=detail)
    assert entry["reset_ttl"] == {"usual": 64, "reset": ttl}
    left = "2,000 of 40,000 bytes were never acknowledged"
    assert texts == [f"the receiver reset the connection: {left}; {who}"]


def test_behind_all_data_it_cuts_nothing_short(tmp_path: Path) -> None:
    assert reset_by_receiver(tmp_path, left=0, ttl=64, detail="full")[1] == []
