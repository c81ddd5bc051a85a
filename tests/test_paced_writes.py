"""What the times of writes show: an application with a clock of its own, or a queue that refuses the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import PSH, Conversation

import multitracer as mt

RTT_MS = 40


def analysed(said: Conversation, path: Path) -> dict[str, Any]:
    return mt.analyze(mt.read(said.write(path / "one.pcap"), point="snd")).to_dict()


def writer(path: Path, *, clock: bool) -> dict[str, Any]:
    """Thirty writes of 3,500 bytes; of every third the first segment is lost.

    Each comes 100 ms after the one before, or 60 ms after its last ACK.
    """
    said = Conversation(scale=7)
    said.handshake(0, RTT_MS)
    t_ms, seq = float(RTT_MS + 1), 1
    for number in range(30):
        for at in range(4):
            said.data(t_ms, seq + 1000 * at, 1000 if at < 3 else 500, PSH if at == 3 else 0)
        end, acked_ms = seq + 3500, t_ms + RTT_MS
        if number % 3 == 2:
            for at in range(1, 4):
                block = (seq + 1000, min(seq + 1000 * (at + 1), end))
                said.ack(acked_ms + 0.01 * at, seq, [block])
            said.data(acked_ms + 0.1, seq, 1000)
            acked_ms += 0.1 + RTT_MS
        said.ack(acked_ms, end)
        t_ms, seq = (t_ms + 100 if clock else acked_ms + 60), end
    return analysed(said, path)


def test_losses_that_a_clock_makes_up_for_are_the_applications_time(tmp_path: Path) -> None:
    found = writer(tmp_path, clock=True)
    limits = found["connections"][0]["limits"]
    assert found["connections"][0]["retransmissions"]["fast"] == 10
    assert limits["writes_bps"] == pytest.approx(280_000, rel=0.01)
    assert limits["loss_recovery"] == 0
    assert limits["application"] > 0.9
    first = found["diagnosis"][0]
    assert first["kind"] == "idle_application"
    assert "it wrote 280 kbit/s by its own clock" in first["text"]


def cut_off(path: Path, *, clock: bool) -> dict[str, Any]:
    """At the receiver: fifteen writes of 5,500 bytes, of two of each three of which the end is lost.

    It is retransmitted an RTT after the next write, which comes 213 ms after the one before, or up to 60 ms
    later.
    """
    said = Conversation()
    said.handshake(0, RTT_MS)
    t_ms, seq, ident, acked = float(RTT_MS + 1), 1, 3, 1
    for number in range(15):
        lost = [seq - 2500 + 1000 * at for at in range(3)] if number and (number - 1) % 3 else []
        cut = number % 3 > 0
        for at in range(6):
            if at < 3 or not cut:
                last = at == 5
                said.data(
                    t_ms + 0.1 * at, seq + 1000 * at, 500 if last else 1000, PSH if last else 0, ident + at
                )
                if not lost:
                    acked = seq + 1000 * at + (500 if last else 1000)
                high = seq + 1000 * at + (500 if last else 1000)
                said.ack(t_ms + 0.1 * at + 0.01, acked, [(seq, high)] if lost else [])
        ident += 6
        for at, hole in enumerate(lost):
            length = 500 if at == 2 else 1000
            said.data(t_ms + RTT_MS + at, hole, length, PSH if at == 2 else 0, ident)
            ident, acked = ident + 1, high if at == 2 else hole + 1000
            said.ack(t_ms + RTT_MS + at + 0.01, acked)
        t_ms, seq = t_ms + 213 + (0 if clock else 30 * (number % 3)), seq + 5500
    return mt.analyze(mt.read(said.write(path / "one.pcap"), point="rcv")).to_dict()


@pytest.mark.parametrize("clock", [True, False])
def test_writes_whose_ends_are_lost_are_writes(tmp_path: Path, clock: bool) -> None:
    limits = cut_off(tmp_path, clock=clock)["connections"][0]["limits"]
    if clock:
        assert limits["writes_bps"] == pytest.approx(5500 * 8 / 0.213, rel=0.02)
        assert limits["application"] > 0.9
    else:
        assert limits["writes_bps"] is None


def test_who_waits_for_the_network_is_late_by_its_losses(tmp_path: Path) -> None:
    limits = writer(tmp_path, clock=False)["connections"][0]["limits"]
    assert limits["writes_bps"] is None
    assert limits["loss_recovery"] > 0.05


@pytest.mark.parametrize(("step", "kind", "refused"), [(7, "local_drop", 6 * 25), (1, "idle_application", 0)])
def test_one_segment_for_each_timeout(step: int, kind: str, refused: int, tmp_path: Path) -> None:
    """With identifications left out between them, the sender's own queue refused the rest."""
    said = Conversation(scale=7)
    said.handshake(0, 1)
    for number in range(30):
        t_ms = 10 + 209 * number
        said.data(t_ms, 1 + 1000 * number, 1000, PSH, ident=100 + step * number)
        said.ack(t_ms + 0.5, 1001 + 1000 * number)
    found = analysed(said, tmp_path)
    assert found["connections"][0]["losses"]["refused"] == refused
    assert found["diagnosis"][0]["kind"] == kind


@pytest.mark.parametrize("paced", [True, False])
def test_a_pace_of_the_sender_is_no_link_of_its_own(paced: bool, tmp_path: Path) -> None:
    """Long segments follow each other by their length: at twice the rate of what arrives, or at it.

    At that rate, its own link takes them one by one; at twice, the sender paces them (BBR), and
    the time between its writes is its application's.
    """
    said = Conversation(scale=7, timestamps=True)
    said.handshake(0, RTT_MS, mss=1012)
    t_ms, seq, acks_ms = float(RTT_MS + 1), 1, [float(RTT_MS)]
    for number in range(40):
        at_ms, sizes = t_ms, [*([2000, 3000, 2000, 4000] * 5), 500]
        arrived_ms = t_ms + RTT_MS
        for place, size in enumerate(sizes):
            # It echoes the last ACK that had come.
            echo_ms = max(ack_ms for ack_ms in acks_ms if ack_ms <= at_ms)
            flags, stamps = PSH if place == len(sizes) - 1 else 0, said._stamps(at_ms, echo_ms)
            said.segment(at_ms, True, seq, 1, flags, bytes(size), options=stamps)
            sent_ms, at_ms = at_ms, at_ms + size / (2000 if paced else 1000)
            arrived_ms = max(arrived_ms, at_ms + RTT_MS) if not paced else arrived_ms + size / 1000
            seq += size
            said.ack(arrived_ms, seq, echo_ms=sent_ms)
            acks_ms.append(arrived_ms)
        t_ms += 200 + number % 3
    said.packets.sort(key=lambda packet: packet[0])
    (entry,) = analysed(said, tmp_path)["connections"]
    limits = entry["limits"]
    assert (limits["application"] > 0.7) is paced, limits
