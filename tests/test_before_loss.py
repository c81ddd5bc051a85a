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


def test_reordering_before_the_first_retransmission_is_no_recovery(tmp_path: Path) -> None:
    """At the receiver: a segment of each flight is overtaken by four, and in the sixth one is lost."""
    talk, t_ms, seq = Conversation(timestamps=False), 100.0, 1
    talk.segment(0, True, 0, None, 0x02, options=b"\x02\x04\x03\xe8\x04\x02\x01\x01")
    talk.segment(0.1, False, 0, 1, 0x02, options=b"\x02\x04\x03\xe8\x04\x02\x01\x01")
    talk.segment(100, True, 1, 1)
    for flight in range(6):
        count = 10 << min(flight, 2)
        order = [*range(count)]
        order.insert(5, order.pop(1))
        lost = flight == 5
        for place, number in enumerate(order[1:] if lost else order):
            at_ms = t_ms + 0.5 * place
            talk.data(at_ms, seq + 1000 * number, ident=1000 + seq // 1000 + number)
            done = number + 1 if not lost and place >= 5 else 0 if lost else min(number, 1)
            blocks = [(seq + 2000, seq + 1000 * (number + 1))] if done == 1 < number else []
            blocks = [(seq + 1000, seq + 1000 * (number + 1))] if lost else blocks
            talk.ack(at_ms + 0.01, seq + 1000 * done, blocks, echo_ms=at_ms)
        t_ms, seq = t_ms + 100, seq + 1000 * count
    talk.data(t_ms, seq - 1000 * count, ident=1000 + seq // 1000)
    talk.ack(t_ms + 0.01, seq, echo_ms=t_ms)
    results = mt.analyze(mt.read(talk.write(tmp_path / "rcv.pcap")), only=["connections"]).results
    (entry,) = results["connections"].summary["connections"]
    limits = entry["limits"]
    assert entry["retransmissions"]["total"] == 1
    assert limits["congestion_window_before_loss"] > 0.7, limits
    assert limits["loss_recovery"] < 0.2, limits


def test_a_silence_in_which_something_is_missing_is_loss_recovery(tmp_path: Path) -> None:
    """At the receiver, without SACK: what is sent again never comes, until the receiver closes."""
    talk, seq, t_ms = Conversation(sack=False), 1, 100.0
    talk.segment(0, True, 0, None, 0x02, options=b"\x02\x04\x03\xe8")
    talk.segment(0.1, False, 0, 1, 0x02, options=b"\x02\x04\x03\xe8")
    talk.segment(20, True, 1, 1)
    for _ in range(10):
        for number in range(10):
            talk.data(t_ms + number, seq)
            seq += 1000
            talk.ack(t_ms + number + 0.01, seq)
        t_ms += 20
    # Of ten, the first and the fifth are lost; the first comes again, the fifth does not.
    missing = [seq, seq + 4000]
    for number in range(10):
        if seq + 1000 * number not in missing:
            talk.data(t_ms + number, seq + 1000 * number)
            talk.ack(t_ms + number + 0.01, missing[0])
    talk.data(t_ms + 30, missing[0])
    talk.ack(t_ms + 30.01, missing[1])
    talk.ack(5_000, missing[1], flags=0x01)
    talk.data(5_020, seq + 10_000)
    results = mt.analyze(mt.read(talk.write(tmp_path / "rcv.pcap")), only=["connections"]).results
    (entry,) = results["connections"].summary["connections"]
    assert entry["limits"]["loss_recovery"] > 0.9, entry["limits"]
