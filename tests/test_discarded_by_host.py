"""What passes the receiver's own capture and is not accepted: its host discarded it, as later ACKs show."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from support_conversation import Conversation

import multitracer as mt

SIZE, RTT_MS = 1000, 60.0
GONE = 12
"""The segment whose first copy is not accepted."""


def at_receiver(path: Path, *, late: bool = False, damaged: bool = False) -> Any:
    """Twenty segments, one of which comes again after duplicate ACKs; the capture is next to the receiver B.

    Parameters
    ----------
    late : bool
        Its first copy is late, behind those that follow it, and is accepted.
    damaged : bool
        Its first copy has a wrong checksum.
    """
    talk = Conversation(timestamps=True)
    options = struct.pack(">BBH", 2, 4, SIZE + 12) + b"\x04\x02"
    talk.segment(0, True, 0, None, 2, options=options + talk._stamps(0, 0))
    talk.segment(0.02, False, 0, 1, 2, options=options + talk._stamps(0.02, 0))
    talk.segment(RTT_MS, True, 1, 1, options=talk._stamps(RTT_MS, 0.02))
    t_ms, waited = 200.0, 1 + GONE * SIZE
    for number in range(20):
        if not (late and number == GONE):
            talk.data(t_ms, 1 + number * SIZE, SIZE)
        if number == GONE and damaged:
            when_ms, packet = talk.packets[-1]
            talk.packets[-1] = (when_ms, packet[:-1] + bytes([packet[-1] ^ 0x55]))
        if number < GONE:
            talk.ack(t_ms + 0.02, 1 + (number + 1) * SIZE, echo_ms=t_ms)
        elif number > GONE:
            talk.ack(t_ms + 0.02, waited, [(waited + SIZE, 1 + (number + 1) * SIZE)], echo_ms=200)
        t_ms += 1.0
    if late:
        talk.data(t_ms, waited, SIZE)
        talk.ack(t_ms + 0.02, 1 + 20 * SIZE, echo_ms=t_ms)
    t_ms += RTT_MS
    talk.data(t_ms, waited, SIZE)
    again = [(waited, waited + SIZE)] if late else []
    talk.ack(t_ms + 0.02, 1 + 20 * SIZE, again, echo_ms=t_ms)
    for number in range(20, 24):
        t_ms += 1.0
        talk.data(t_ms, 1 + number * SIZE, SIZE)
        talk.ack(t_ms + 0.02, 1 + (number + 1) * SIZE, echo_ms=t_ms)
    talk.write(path)
    return mt.analyze(mt.read(path)).to_dict()


def test_what_its_receiver_does_not_accept_was_lost_and_is_said(tmp_path: Path) -> None:
    found = at_receiver(tmp_path / "rcv.pcap")
    (entry,) = found["connections"]
    assert entry["point"] == "rcv"
    assert (entry["losses"]["upstream"], entry["losses"]["downstream"]) == (0, 1)
    assert entry["needless_retransmissions"] == 0
    texts = " ".join(one["text"] for one in found["diagnosis"])
    assert "(1 of 25); the receiver's host discarded" in texts, texts
    assert "needless" not in texts


def test_a_summary_finds_the_same(tmp_path: Path) -> None:
    full = at_receiver(tmp_path / "rcv.pcap")["connections"][0]
    (short,) = mt.analyze(mt.read(tmp_path / "rcv.pcap", detail="summary")).to_dict()["connections"]
    assert short["losses"] == full["losses"]
    assert short["needless_retransmissions"] == full["needless_retransmissions"]


def test_what_came_late_and_was_accepted_was_retransmitted_needlessly(tmp_path: Path) -> None:
    (entry,) = at_receiver(tmp_path / "rcv.pcap", late=True)["connections"]
    assert (entry["losses"]["downstream"], entry["needless_retransmissions"]) == (0, 1)


def test_what_was_damaged_is_lost_once(tmp_path: Path) -> None:
    """Its copy fills the gap that it left: that is no second loss."""
    found = at_receiver(tmp_path / "rcv.pcap", damaged=True)
    (entry,) = found["connections"]
    assert (entry["damaged_segments"], entry["losses"]["upstream"]) == (1, 1)
    texts = " ".join(one["text"] for one in found["diagnosis"])
    assert "(1 of 25)" in texts, texts
