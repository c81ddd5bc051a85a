"""A link full until its queue lost something, and seldom after that: what limited before a loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_conversation import Conversation

import multitracer as mt

EACH_MS, RTT_MS, QUEUE = 4.0, 20.0, 40


def _transfer(talk: Conversation, segments: int) -> tuple[float, int]:
    """Slow start into a link that takes 4 ms a segment; the last is lost, and QUEUE behind it are sent.

    Returns when the sender hears of all, and the next byte.
    """
    talk.handshake(0, RTT_MS)
    heard = [(20.0, 0)]
    sent, free_ms = 0, 0.0
    while heard:
        t_ms, acked = heard.pop(0)
        if acked > 0:
            talk.ack(t_ms, 1 + 1000 * acked, echo_ms=t_ms - 20)
        room = min(max(10, 2 * acked), QUEUE)
        while sent < segments and sent - acked < room:
            talk.data(t_ms, 1 + 1000 * sent)
            free_ms = max(free_ms, t_ms) + EACH_MS
            heard.append((free_ms + RTT_MS, sent + 1))
            sent += 1
    lost = 1 + 1000 * sent
    for number in range(QUEUE + 1):
        talk.data(t_ms, lost + 1000 * number)
    for number in range(1, QUEUE + 1):
        at_ms = t_ms + RTT_MS + EACH_MS * number
        talk.ack(at_ms, lost, [(lost + 1000, lost + 1000 * (number + 1))], echo_ms=t_ms)
        if number == 3:
            talk.data(at_ms, lost)
    talk.ack(at_ms + RTT_MS, lost + 1000 * (QUEUE + 1), echo_ms=at_ms)
    return at_ms + RTT_MS, lost + 1000 * (QUEUE + 1)


@pytest.mark.parametrize("timestamps", [True, False])
def test_a_link_that_was_full_before_the_loss_was_no_slow_start(tmp_path: Path, timestamps: bool) -> None:
    talk = Conversation(timestamps=timestamps)
    t_ms, seq = _transfer(talk, 250)
    talk.rounds(t_ms, seq, 100, RTT_MS, segments=2)
    results = mt.analyze(mt.read(talk.write(tmp_path / "snd.pcap")), only=["connections"]).results
    (entry,) = results["connections"].summary["connections"]
    limits = entry["limits"]
    # 1.0 s full, 2.1 s in which a window of two segments is sent in each RTT.
    assert limits["bandwidth"] == pytest.approx(1.1 / 3.3, abs=0.06)
    assert limits["congestion_window"] == pytest.approx(2.1 / 3.3, abs=0.06)
    assert limits["congestion_window_before_loss"] < 0.05
