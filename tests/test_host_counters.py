"""Identifications of a host that numbers the packets of all its connections with one counter (RFC 6864)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation

import multitracer as mt

SYN, MSS = 0x02, b"\x02\x04\x03\xe8"


def _entries(path: Path, *, shared: bool) -> list[dict[str, Any]]:
    """Two transfers at the same time, the second of a fifth as much, numbered by one counter or two."""
    talks = [Conversation(sack=False, port_a=4000 + number, isn_a=1000) for number in range(2)]
    numbers = [100, 200]
    for talk in talks:
        talk.segment(0, True, 0, None, SYN, options=MSS, ident=0)
        talk.segment(20, False, 0, 1, SYN, options=MSS, ident=0)
    for segment in range(300):
        t_ms = 40.0 + 10 * segment
        for place, talk in enumerate(talks):
            if place and segment % 5:
                continue
            counter, number = (0 if shared else place), segment // 5 if place else segment
            numbers[counter] += 1
            talk.data(t_ms + place, 1 + 1000 * number, ident=numbers[counter])
            if number % 10 == 9:
                talk.ack(t_ms + 2 + place, 1001 + 1000 * number)
    packets = [packet for talk in talks for packet in talk.packets]
    both = Conversation(packets=sorted(packets, key=lambda one: one[0]))
    results = mt.analyze(mt.read(both.write(path)), only=["connections"]).results
    found: list[dict[str, Any]] = results["connections"].summary["connections"]
    return found


@pytest.mark.parametrize("shared", [False, True])
def test_what_other_connections_took_of_a_counter_was_not_lost(tmp_path: Path, shared: bool) -> None:
    for entry in _entries(tmp_path / "snd.pcap", shared=shared):
        losses = entry["losses"]
        assert losses["upstream"] == losses["refused"] == losses["possible"] == 0, losses
