"""A reset that answers a timeout is an answer; and no more segments are lost than were sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import ACK, PSH, RST, SYN, Conversation

import multitracer as mt
from multitracer.output.losses import loss_bounds


def broken_off(path: Path, reset_ms: float | None) -> dict[str, Any]:
    """Twenty answered segments; then one that two timeouts repeat, and perhaps a reset of the receiver."""
    made, t_ms, data = Conversation(), 20.0, b"x" * 1000
    made.segment(0, True, 0, None, SYN)
    made.segment(19, False, 0, 1, SYN | ACK)
    made.segment(20, True, 1, 1, ACK)
    for at in range(20):
        made.segment(t_ms + 1, True, 1 + 1000 * at, 1, ACK | PSH, data)
        made.segment(t_ms + 21, False, 1, 1001 + 1000 * at, ACK)
        t_ms += 21
    for wait_ms in (1, 251, 751):
        made.segment(t_ms + wait_ms, True, 20_001, 1, ACK | PSH, data)
    if reset_ms is not None:
        made.segment(t_ms + reset_ms, False, 1, None, RST)
    made.write(path)
    found, summed_up = (mt.analyze(mt.read(path, detail=detail)).to_dict() for detail in ("full", "summary"))
    assert summed_up["connections"][0]["unfinished"] == found["connections"][0]["unfinished"]
    assert [one["text"] for one in summed_up["diagnosis"]] == [one["text"] for one in found["diagnosis"]]
    return found


@pytest.mark.parametrize(
    ("reset_ms", "words"),
    [
        (None, "brought no answer"),
        (771, "brought only a reset"),
        (2, "brought no answer"),
        (3_771, "brought no answer until the other end sent a RST"),
    ],
)
def test_a_reset_is_the_answer_to_a_timeout(reset_ms: float | None, words: str, tmp_path: Path) -> None:
    found = broken_off(tmp_path / "one.pcap", reset_ms)
    (text,) = [one["text"] for one in found["diagnosis"] if one["kind"] == "unfinished"]
    assert text.endswith(words)


def test_no_more_is_lost_than_was_sent(tmp_path: Path) -> None:
    """Without a segment size in the handshake, all that was sent may be lost, and not more."""
    found = broken_off(tmp_path / "one.pcap", 771)
    bounds = loss_bounds(found["connections"][0])
    assert 3 <= bounds.downstream <= bounds.sent == 23
