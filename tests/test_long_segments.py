"""Segments of many packets at the sender: what the time behind each shows of a queue before the capture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support_conversation import PSH, Conversation

import multitracer as mt

BPS = 4e6
"""Of payload."""


def _each_ms(length: int) -> float:
    return 8e3 * length / BPS


@pytest.mark.parametrize(
    ("behind_ms", "found"), [(_each_ms, True), (lambda length: 40.0, False)], ids=["a link", "a timer"]
)
def test_a_link_takes_as_long_as_a_segment_is(
    tmp_path: Path, behind_ms: Callable[[int], float], found: bool
) -> None:
    """Each is acknowledged at once, so that no round trip shows where it had waited."""
    talk = Conversation(sack=False)
    talk.handshake(0, 0.05)
    t_ms, seq = 1.0, 1
    for number in range(40):
        length = 1000 * (2 + 7 * number % 23)
        talk.data(t_ms, seq, length, PSH)
        talk.ack(t_ms + 0.03, seq + length)
        t_ms, seq = t_ms + behind_ms(length), seq + length
    results = mt.analyze(mt.read(talk.write(tmp_path / "snd.pcap")), only=["connections"]).results
    (entry,) = results["connections"].summary["connections"]
    link, limits = entry["bottleneck"], entry["limits"]
    if found:
        # Each packet has 40 bytes of headers; nothing shows how long the last segment took.
        assert link["rate_bps"] == pytest.approx(1.04 * BPS, rel=0.05)
        assert limits["bandwidth"] > 0.8
    else:
        assert link["rate_bps"] is None
        assert limits["bandwidth"] < 0.1
