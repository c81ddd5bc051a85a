"""What one capture tells of a transfer that stood still or broke off, with a known answer."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation

import multitracer as mt

Object = dict[str, Any]
SIZE = 1000
RTT_MS = 50.0
EVERY_MS = 120
SYN, PSH = 0x02, 0x08


def conversation() -> Conversation:
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS)
    return talk


def flight(talk: Conversation, t_ms: float, number: int, count: int = 4) -> None:
    """One flight of segments, a millisecond apart."""
    for at in range(count):
        talk.data(t_ms + at, 1 + (number * count + at) * SIZE, SIZE)


def answer(talk: Conversation, t_ms: float, number: int, count: int = 4, **more: Any) -> None:
    """An ACK for each two segments of a flight."""
    for at in range(2, count + 1, 2):
        talk.ack(t_ms + at, 1 + (number * count + at) * SIZE, **more)


def analysed(tmp_path: Path, talk: Conversation) -> Object:
    path = tmp_path / "a.pcap"
    talk.write(path)
    found: Object = mt.analyze(mt.read(path)).to_dict()
    return found


def told(contract: Object, kind: str) -> str:
    return next((one["text"] for one in contract["diagnosis"] if one["kind"] == kind), "")


def transfer(still_ms: float, *, lost: bool = False) -> Conversation:
    """Ten flights; the answer to one comes so much later, or the whole flight is lost and sent again."""
    talk, t_ms = conversation(), 200.0
    for number in range(10):
        flight(talk, t_ms, number)
        t_ms += RTT_MS + (still_ms if number == 5 else 0.0)
        if lost and number == 5:
            first = 1 + number * 4 * SIZE
            talk.data(t_ms - RTT_MS - 1, first, SIZE)
            talk.ack(t_ms, first + SIZE)
            for at in range(1, 4):
                talk.data(t_ms + at, first + at * SIZE, SIZE)
            t_ms += RTT_MS + 1
        answer(talk, t_ms, number)
        t_ms += 5
    return talk


def test_a_path_that_stood_still_is_told(tmp_path: Path) -> None:
    contract = analysed(tmp_path, transfer(900.0))
    assert "stalled for about 900 ms" in told(contract, "standstill")
    # 0.9 of 1.5 s.
    first = next(one for one in contract["diagnosis"] if one["kind"] != "utilization")
    assert (first["kind"], first["cost_s"]) == ("standstill", pytest.approx(0.9, abs=0.01))
    assert [one["record"] for one in first["evidence"]]
    (still,) = (one for one in contract["idle_phases"] if one["cause"] == "stalled_path")
    assert still["because"] == "what was in flight stalled from 0.527 s to 1.427 s"


def test_a_silence_behind_the_last_byte_is_no_standstill(tmp_path: Path) -> None:
    """The receiver closes its side three seconds later."""
    talk = transfer(0.0)
    last_ms = talk.packets[-1][0]
    talk.segment(last_ms + 1, True, 1 + 40 * SIZE, 1, 0x01)
    talk.ack(last_ms + RTT_MS, 2 + 40 * SIZE)
    talk.segment(last_ms + 3000, False, 1, 2 + 40 * SIZE, 0x01)
    assert not told(analysed(tmp_path, talk), "standstill")


@pytest.mark.parametrize("again_ms", [0.0, 600.0])
def test_a_standstill_within_a_recovery(tmp_path: Path, again_ms: float) -> None:
    """What fills the hole is in flight as the path stops, or is sent again later: then it is its loss."""
    talk, t_ms = conversation(), 200.0
    for number in range(10):
        flight(talk, t_ms, number)
        if number != 5:
            answer(talk, t_ms + RTT_MS, number)
            t_ms += RTT_MS + 5
            continue
        hole = 1 + number * 4 * SIZE
        for at in range(1, 4):
            talk.ack(t_ms + RTT_MS + at, hole, [(hole + SIZE, hole + (at + 1) * SIZE)])
        t_ms += RTT_MS + 4
        talk.data(t_ms + again_ms, hole, SIZE)
        t_ms += RTT_MS + 600
        talk.ack(t_ms, hole + 4 * SIZE)
        t_ms += 5
    found = told(analysed(tmp_path, talk), "standstill")
    assert ("stalled for about 600 ms" in found) == (again_ms == 0)


def stamped(talk: Conversation, flight: int, t_ms: float, sent_ms: float, echo_ms: float) -> None:
    """Four segments that come from `t_ms` on, with the timestamps of `sent_ms`, each answered at once."""
    for at in range(4):
        seq = 1 + (flight * 4 + at) * SIZE
        stamps = talk._stamps(sent_ms + at, echo_ms)
        talk.segment(t_ms + at, True, seq, 1, 0, bytes(SIZE), options=stamps)
        talk.ack(t_ms + at + 0.05, seq + SIZE, echo_ms=sent_ms + at)


@pytest.mark.parametrize(
    ("waits", "said"), [("path", "stalled for 952 ms"), ("timer", "stalled for at least 6"), ("sender", None)]
)
def test_a_receivers_capture_tells_a_path_from_a_sender_by_timestamps(
    tmp_path: Path, waits: str, said: str | None
) -> None:
    """What a timer sends 300 ms after the path has stalled has waited since then."""
    talk, t_ms = Conversation(timestamps=True), 200.0
    talk.handshake(rtt_ms=RTT_MS)
    for number in range(10):
        sent_ms = t_ms - 25
        if number == 5:
            t_ms += 900
            sent_ms = {"path": sent_ms, "timer": sent_ms + 300, "sender": t_ms - 25}[waits]
        stamped(talk, number, t_ms, sent_ms, t_ms - 50)
        t_ms += RTT_MS + 5
    found = told(analysed(tmp_path, talk), "standstill")
    assert ("before this capture, or the sender's host, stalled for" in found) == (said is not None)
    assert said is None or said in found


def received(behind: str) -> Conversation:
    """A transfer beside its receiver, of which nothing comes for 400 ms; `behind` says what else is there."""
    talk, t_ms = Conversation(), 200.0
    opening = struct.pack(">BBH", 2, 4, SIZE)
    talk.segment(0, True, 0, None, SYN, options=opening)
    talk.segment(0.05, False, 0, 1, SYN, window=41 * SIZE, options=opening)
    talk.segment(RTT_MS, True, 1, 1)
    for number in range(80):
        if number == 40:
            t_ms += 400
            talk.segment(t_ms - RTT_MS, False, 1, 1 + number * SIZE)
        t_ms += 5 if number < 40 or number > 46 or behind == "slowly" else 0.5
        if number == 41 and behind in ("slowly", "in two parts"):
            t_ms += 100 if behind == "slowly" else 90
        flags = PSH if behind == "pushed" and number == 39 else 0
        at = {40: 41, 41: 40}.get(number, number) if behind == "overtaken" else number
        left_out = behind == "numbers" and number >= 40
        talk.data(t_ms, 1 + at * SIZE, SIZE, flags, ident=3 + at + left_out)
        window = (40 - number) * SIZE if behind == "closed" and number < 40 else 60_000
        come = number if behind == "overtaken" and number == 40 else number + 1
        talk.segment(t_ms + 0.05, False, 1, 1 + come * SIZE, window=window)
    return talk


@pytest.mark.parametrize("behind", ["", "overtaken", "in two parts", "pushed", "numbers", "slowly", "closed"])
def test_a_receivers_capture_without_timestamps_tells_it_by_the_order(tmp_path: Path, behind: str) -> None:
    """More was to be sent, none of it was lost, and it comes at once; each of these is needed.

    The first that comes may have overtaken the one that is due. What comes less than 100 ms later is at once.
    """
    found = told(analysed(tmp_path, received(behind)), "standstill")
    said = "stalled for 400 ms: more data was to be sent (no PSH) and none arrived, then it did, in order"
    assert (said in found) == (behind in ("", "overtaken", "in two parts")), found


@pytest.mark.parametrize(("still_ms", "lost"), [(0.0, False), (90.0, False), (900.0, True)])
def test_a_short_wait_or_one_with_a_loss_in_it_is_none(tmp_path: Path, still_ms: float, lost: bool) -> None:
    assert not told(analysed(tmp_path, transfer(still_ms, lost=lost)), "standstill")


def test_a_pause_of_the_sender_is_no_standstill(tmp_path: Path) -> None:
    talk, t_ms = conversation(), 200.0
    for number in range(10):
        flight(talk, t_ms, number)
        answer(talk, t_ms + RTT_MS, number)
        t_ms += RTT_MS + 5 + (900.0 if number == 5 else 0.0)
    assert not told(analysed(tmp_path, talk), "standstill")


def test_what_waits_for_long_at_the_end_broke_off(tmp_path: Path) -> None:
    talk, t_ms = conversation(), 200.0
    for number in range(5):
        flight(talk, t_ms, number)
        answer(talk, t_ms + RTT_MS, number)
        t_ms += RTT_MS + 5
    flight(talk, t_ms, 5)
    under_way = analysed(tmp_path, talk)
    assert not told(under_way, "unfinished"), "what was sent last may be answered behind the end"
    # An ACK that brings nothing new, three seconds later: the capture goes on without an answer.
    talk.ack(t_ms + 3000, 1 + 5 * 4 * SIZE)
    assert "4,000 of 24,000 bytes were never acknowledged, the first of them 3.0 s before" in told(
        analysed(tmp_path, talk), "unfinished"
    )


def test_what_a_late_copy_does_not_end_broke_off(tmp_path: Path) -> None:
    """The first of what is missing came by for the first time when the receiver had waited for long."""
    talk, t_ms = conversation(), 200.0
    for number in range(5):
        flight(talk, t_ms, number)
        answer(talk, t_ms + RTT_MS, number)
        t_ms += RTT_MS + 5
    missing = 1 + 5 * 4 * SIZE
    talk.data(t_ms, missing + SIZE, SIZE)
    talk.ack(t_ms + RTT_MS, missing, [(missing + SIZE, missing + 2 * SIZE)])
    talk.data(t_ms + 9_000, missing, SIZE)
    talk.segment(t_ms + 9_010, False, 1, None, 0x04)
    found = told(analysed(tmp_path, talk), "unfinished")
    assert "broke off" in found, found
    assert "9.0 s before the capture ends" in found, found


def test_rates_are_over_the_time_that_is_named(tmp_path: Path) -> None:
    """A FIN ten seconds later does not belong to the transfer."""
    talk = transfer(0.0)
    last_ms = talk.packets[-1][0]
    talk.segment(last_ms + 10_000, True, 1 + 40 * SIZE, 1, 0x01)
    talk.segment(last_ms + 10_050, False, 1, 2 + 40 * SIZE, 0x01)
    (one,) = analysed(tmp_path, talk)["connections"]
    assert one["end"] - one["start"] > 10
    assert one["data_s"] == pytest.approx((last_ms - 200) / 1e3, abs=1e-3)
    assert one["goodput_bps"] == pytest.approx(8 * 40 * SIZE / one["data_s"], rel=1e-4)


@pytest.mark.parametrize("detail", ["full", "summary"])
def test_one_segment_has_no_rate(tmp_path: Path, detail: str) -> None:
    """Beside the receiver its ACK comes within microseconds: that is no rate of 200 Mbit/s."""
    talk = Conversation()
    talk.handshake()
    talk.data(200, 1)
    talk.ack(200.04, 1001)
    measured = mt.read(talk.write(tmp_path / "one.pcap"), detail=detail)
    (found,) = mt.analyze(measured).to_dict()["connections"]
    assert found["data_s"] == pytest.approx(4e-5)
    assert found["throughput_bps"] is found["goodput_bps"] is None


def test_a_capture_in_the_middle_of_the_path_has_rates(shared: Path) -> None:
    contract = mt.analyze(mt.read(shared / "everyday" / "slow-reader" / "mid.pcap.gz")).to_dict()
    (one,) = contract["connections"]
    assert one["goodput_bps"] * one["data_s"] / 8 == pytest.approx(one["bytes"]["acked"], rel=1e-3)
    assert "needless" in told(contract, "idle_receiver_window")


@pytest.mark.parametrize("name", ["r017", "r043"])
def test_bounds_of_losses_hold(shared: Path, name: str) -> None:
    """The truth is what the path dropped of the data."""
    import json

    from multitracer.output.losses import loss_bounds

    folder = shared / "random" / name
    dropped = json.loads((folder / "truth.json").read_text())["dropped"]
    truth = sum(number for cause, number in dropped.items() if cause != "ackloss")
    for point in ("snd", "rcv"):
        (one,) = mt.analyze(mt.read(folder / f"{point}.pcap.gz", detail="summary")).to_dict()["connections"]
        bounds = loss_bounds(one)
        assert bounds.upstream <= truth
        if point == "snd":
            assert truth <= bounds.upstream + bounds.downstream


def test_a_wait_for_a_retransmission_from_upstream_is_no_standstill(tmp_path: Path) -> None:
    """A segment was lost before the capture: its sender's timer ends the silence, not the path."""
    talk, t_ms = conversation(), 200.0
    for number in range(10):
        missing = number == 5
        for at in range(4):
            if not (missing and at == 0):
                talk.data(t_ms + at, 1 + (number * 4 + at) * SIZE, SIZE)
        if missing:
            talk.ack(t_ms + RTT_MS, 1 + number * 4 * SIZE)
            t_ms += 900.0
            talk.data(t_ms, 1 + number * 4 * SIZE, SIZE)
        answer(talk, t_ms + RTT_MS, number)
        t_ms += RTT_MS + 5
    assert not told(analysed(tmp_path, talk), "standstill")


def test_a_cost_ends_with_the_transfer(tmp_path: Path) -> None:
    """The FIN of the peer comes ten seconds late: no cause had anything to do with it."""
    talk = transfer(0.0)
    last_ms = talk.packets[-1][0]
    talk.segment(last_ms + 1, True, 1 + 40 * SIZE, 1, 0x01)
    talk.segment(last_ms + 10_050, False, 1, 2 + 40 * SIZE, 0x01)
    contract = analysed(tmp_path, talk)
    (one,) = contract["connections"]
    assert one["end"] - one["start"] > 10
    assert contract["loss"]["transfer_s"] == pytest.approx(one["limits"]["seconds"], abs=0.002)
    # The wait for the FIN's ACK is no part of the transfer: all of its data had been acknowledged.
    assert one["limits"]["seconds"] == pytest.approx(one["data_s"] + RTT_MS / 1e3, abs=0.002)
    assert all(sentence["cost_bounds_s"][1] <= 2 for sentence in contract["diagnosis"])


def test_timestamps_that_were_only_offered_do_not_divide_segments(tmp_path: Path) -> None:
    """The SYN has timestamps and the answer none: a segment of the whole MSS is one on the wire, not two."""
    talk = Conversation()
    offered = bytes([2, 4]) + SIZE.to_bytes(2, "big") + bytes([8, 10]) + bytes(8)
    talk.segment(0, True, 0, None, 0x02, options=offered)
    talk.segment(RTT_MS, False, 0, 1, 0x02, options=offered[:4])
    talk.segment(RTT_MS, True, 1, 1)
    for at in range(8):
        talk.data(100 + at, 1 + at * SIZE, SIZE)
    for _ in range(3):
        talk.ack(150, 1)
    talk.data(151, 1, SIZE)
    talk.ack(151 + RTT_MS, 1 + 8 * SIZE)
    (connection,) = analysed(tmp_path, talk)["connections"]
    assert connection["retransmissions"]["total"] == 1
    assert not connection["timestamps"]


def stood(tmp_path: Path, talk: Conversation) -> list[Object]:
    (one,) = analysed(tmp_path, talk)["connections"]
    found: list[Object] = one["standstills"]
    return found


def flights(talk: Conversation, t_ms: float, numbers: range) -> float:
    """Flights that are answered at once; when the next is due."""
    for number in numbers:
        flight(talk, t_ms, number)
        answer(talk, t_ms + RTT_MS, number)
        t_ms += RTT_MS + 5
    return t_ms


@pytest.mark.parametrize("sack", [True, False])
def test_a_standstill_that_ends_with_duplicate_acks(tmp_path: Path, sack: bool) -> None:
    """The first of a flight was lost, and a timer sent it again while the others stood still.

    SACK shows which of them arrive; without it, that there are as many ACKs as segments in flight.
    """
    talk = Conversation(sack=sack)
    talk.handshake(rtt_ms=RTT_MS)
    t_ms = flights(talk, 200.0, range(5))
    hole = 1 + 5 * 4 * SIZE
    flight(talk, t_ms, 5)
    for at in range(4, 8):
        talk.data(t_ms + at, hole + at * SIZE, SIZE)
    talk.data(t_ms + 400, hole, SIZE)
    end_ms = t_ms + 650
    for at in range(1, 8):
        blocks = [(hole + SIZE, hole + (at + 1) * SIZE)] if sack else []
        talk.ack(end_ms + at / 10, hole, blocks)
    talk.ack(end_ms + 1, hole + 8 * SIZE)
    flights(talk, end_ms + 5, range(7, 12))
    (one,) = stood(tmp_path, talk)
    # Due an RTT after it was sent. Of eight ACKs, one may answer what the network duplicated.
    assert one["length_s"] == pytest.approx(0.6, abs=0.006)
    assert not one["upstream"]


def test_acks_that_were_lost_are_no_standstill(tmp_path: Path) -> None:
    """All had arrived; what the timer sends again is answered with the timestamp of what arrived before."""
    talk = Conversation(timestamps=True)
    talk.handshake(rtt_ms=RTT_MS)
    t_ms = flights(talk, 200.0, range(5))
    first = 1 + 5 * 4 * SIZE
    flight(talk, t_ms, 5)
    talk.data(t_ms + 400, first, SIZE)
    talk.ack(t_ms + 400 + RTT_MS, first + 4 * SIZE, [(first, first + SIZE)], echo_ms=t_ms + 3)
    flights(talk, t_ms + 455, range(6, 11))
    assert not stood(tmp_path, talk)


@pytest.mark.parametrize(("echoed", "lengths_s"), [("first", [0.6]), ("second", [0.2])])
def test_the_timestamp_shows_which_copy_had_waited(
    tmp_path: Path, echoed: str, lengths_s: list[float]
) -> None:
    """A timer expires within a standstill, and the first copy is what arrives; or only the second is."""
    talk = Conversation(timestamps=True)
    talk.handshake(rtt_ms=RTT_MS)
    t_ms = flights(talk, 200.0, range(5))
    first = 1 + 5 * 4 * SIZE
    flight(talk, t_ms, 5)
    talk.data(t_ms + 400, first, SIZE)
    end_ms = t_ms + 650
    talk.ack(end_ms, first + 2 * SIZE, echo_ms=t_ms if echoed == "first" else t_ms + 400)
    talk.ack(end_ms + 1, first + 4 * SIZE, echo_ms=t_ms + 2 if echoed == "first" else t_ms + 400)
    flights(talk, end_ms + 5, range(6, 11))
    found = stood(tmp_path, talk)
    assert [one["length_s"] for one in found] == pytest.approx(lengths_s, abs=0.006)
    assert found[0]["silence_s"] == pytest.approx(0.651, abs=0.001)
    least = "stalled for at least" in told(analysed(tmp_path, talk), "standstill")
    assert least == (echoed == "second")


def test_acks_of_divided_segments_and_of_a_reader_do_not_count(tmp_path: Path) -> None:
    """A segment that the network interface divides is answered by many ACKs; a reader opens its window."""
    talk, t_ms = conversation(), 200.0
    for number in range(8):
        first = 1 + number * 8 * SIZE
        talk.data(t_ms, first, 8 * SIZE)
        for at in range(1, 9):
            talk.ack(t_ms + RTT_MS + at / 10, first + at * SIZE)
        for at in range(4):
            talk.ack(t_ms + RTT_MS + 1 + at / 10, first + 8 * SIZE, window=30_000 + 5_000 * at)
        t_ms += 500
    assert not stood(tmp_path, talk)


@pytest.mark.parametrize("last", [9, 19])
def test_a_standstill_before_the_capture_at_the_end(tmp_path: Path, last: int) -> None:
    """It makes the clock of the sender slow over all, if it is a large part of the transfer."""
    talk, t_ms = Conversation(timestamps=True), 200.0
    talk.handshake(rtt_ms=RTT_MS)
    for number in range(last + 1):
        sent_ms = t_ms - 25
        t_ms += 400 if number == last else 0
        stamped(talk, number, t_ms, sent_ms, sent_ms - 50)
        t_ms += RTT_MS + 5
    (one,) = stood(tmp_path, talk)
    assert one["length_s"] == pytest.approx(0.452, abs=0.001)
    assert one["upstream"]


def limits(tmp_path: Path, talk: Conversation) -> Object:
    (one,) = analysed(tmp_path, talk)["connections"]
    found: Object = one["limits"]
    return found


def missing(talk: Conversation, t_ms: float, first: int, *, more: bool = True) -> None:
    """Three duplicate ACKs of a flight whose first segment is missing; each releases one more, or none."""
    for at in range(1, 4):
        talk.ack(t_ms + at, first, [(first + SIZE, first + (at + 1) * SIZE)])
        if more:
            talk.data(t_ms + 2 + 2 * at, first + (3 + at) * SIZE, SIZE)


def test_duplicate_acks_of_reordering_are_no_recovery(tmp_path: Path) -> None:
    """Three of them and more in each flight, and nothing is retransmitted."""
    talk, t_ms = conversation(), 200.0
    flight(talk, t_ms, 0)
    for number in range(20):
        first = 1 + number * 4 * SIZE
        t_ms += RTT_MS
        missing(talk, t_ms, first)
        talk.ack(t_ms + 20, first + 4 * SIZE)
        talk.data(t_ms + 20.1, first + 7 * SIZE, SIZE)
    found = limits(tmp_path, talk)
    assert found["loss_recovery"] == 0
    assert found["congestion_window"] > 0.9


def test_reordering_is_no_recovery_next_to_a_sender_that_retransmits_nothing(tmp_path: Path) -> None:
    """Three duplicate ACKs in each flight; one was of a loss, and its sender retransmitted at once."""
    talk, t_ms = conversation(), 200.0
    flight(talk, t_ms, 0)
    for number in range(20):
        first = 1 + number * 4 * SIZE
        t_ms += RTT_MS
        missing(talk, t_ms, first, more=number != 3)
        if number == 3:
            talk.data(t_ms + 3.1, first, SIZE)
            t_ms += RTT_MS
            talk.ack(t_ms + 3.2, first + 4 * SIZE)
            for at in range(1, 4):
                talk.data(t_ms + 4 + 2 * at, first + (3 + at) * SIZE, SIZE)
        else:
            talk.ack(t_ms + 20, first + 4 * SIZE)
        talk.data(t_ms + 20.1, first + 7 * SIZE, SIZE)
    found = limits(tmp_path, talk)
    assert 0.02 < found["loss_recovery"] < 0.1  # most of one RTT of 21
    assert found["congestion_window"] > 0.8


@pytest.mark.parametrize("needless", [True, False])
def test_a_probe_of_what_had_arrived_repairs_nothing(tmp_path: Path, needless: bool) -> None:
    """The ACK of a tail is late, and the receiver reports the probe's copy; or the probe is what arrives."""
    talk, t_ms = conversation(), 200.0
    for number in range(20):
        first = 1 + number * 4 * SIZE
        flight(talk, t_ms, number)
        t_ms += RTT_MS
        talk.ack(t_ms, first + 2 * SIZE)
        if number % 4 < 3:
            talk.ack(t_ms + 3, first + 4 * SIZE)
            t_ms += 5
            continue
        talk.data(t_ms + 100, first + 3 * SIZE, SIZE)
        talk.ack(t_ms + (110 if needless else 150), first + 4 * SIZE)
        if needless:
            talk.ack(t_ms + 150, first + 4 * SIZE, [(first + 3 * SIZE, first + 4 * SIZE)])
        t_ms += 155
    assert (limits(tmp_path, talk)["loss_recovery"] == 0) == needless


@pytest.mark.parametrize(
    ("refused", "limit"),
    [(0, "application"), (10, "loss_recovery")],
)
def test_a_pause_in_which_segments_were_sent_is_not_the_application_s(
    tmp_path: Path, refused: int, limit: str
) -> None:
    """Their identifications are left out, and nothing was lost: the sender's own queue refused them.

    A pause as long as a timer is the wait for it.
    """
    talk, t_ms, ident = conversation(), 200.0, 100
    for number in range(10):
        first = 1 + number * 4 * SIZE
        for at in range(4):
            # The last is the end of a write.
            length, flags = (SIZE, 0) if at < 3 else (SIZE - 1, 0x08)
            talk.data(t_ms + at, first + at * SIZE - number, length, flags, ident=ident)
            ident += 1
        talk.ack(t_ms + RTT_MS, first + 2 * SIZE - number)
        talk.ack(t_ms + RTT_MS + 3, first + 4 * SIZE - number - 1)
        t_ms += 400
        ident += refused
    assert limits(tmp_path, talk)[limit] > 0.7


@pytest.mark.parametrize("others", [True, False])
def test_a_path_that_others_went_over_did_not_stall(tmp_path: Path, others: bool) -> None:
    """A second connection of the same hosts has its ACKs all the time, or stalls as well."""
    second, t_ms = Conversation(port_a=4001), 205.0
    second.handshake(rtt_ms=RTT_MS)
    for number in range(20):
        if others or not 500 <= t_ms <= 1380:
            flight(second, t_ms, number)
            answer(second, t_ms + RTT_MS, number)
        t_ms += RTT_MS + 15
    packets = sorted([*transfer(900.0).packets, *second.packets], key=lambda one: one[0])
    contract = analysed(tmp_path, Conversation(packets=packets))
    assert bool(contract["connections"][0]["standstills"]) != others


@pytest.mark.parametrize("others", [True, False])
def test_data_that_goes_the_other_way_shows_that_a_path_did_not_stall(tmp_path: Path, others: bool) -> None:
    """ACKs that wait behind it in a queue come late, too; where it stops as well, the path stalled."""
    upload, t_ms, seq = Conversation(port_a=4001), 205.0, 1
    upload.handshake(rtt_ms=RTT_MS)
    while t_ms < 2500:
        if others or not 500 <= t_ms <= 1380:
            upload.segment(t_ms, False, seq, 1, 0x18, bytes(SIZE))
            upload.segment(t_ms + 1, True, 1, seq + SIZE)
            seq += SIZE
        t_ms += 12.0
    packets = sorted([*transfer(900.0).packets, *upload.packets], key=lambda one: one[0])
    contract = analysed(tmp_path, Conversation(packets=packets))
    download = next(one for one in contract["connections"] if one["data_direction"] == "forward")
    assert bool(download["standstills"]) != others


def bursts(idle_ms: float, first: int) -> Conversation:
    """Six writes of 60 segments; each begins with so many at once, and each RTT sends twice as many."""
    talk, t_ms, seq = Conversation(scale=7), 200.0, 1
    talk.handshake(rtt_ms=RTT_MS)
    for number in range(6):
        left, window = 60, 10 if number == 0 else first
        while left:
            count = min(window, left)
            for at in range(count):
                left -= 1
                talk.data(t_ms + 0.01 * at, seq, SIZE, 0 if left else 0x08)
                seq += SIZE
                talk.ack(t_ms + 0.01 * at + RTT_MS, seq)
            window, t_ms = 2 * window, t_ms + RTT_MS + 1
        t_ms += idle_ms
    talk.packets.sort(key=lambda one: one[0])
    return talk


@pytest.mark.parametrize(
    ("idle_ms", "first", "found"),
    [
        (1000.0, 10, {"idle_times": 5, "count": 5, "flight_bytes": 10_000, "before_bytes": 30_000}),
        (1000.0, 40, {"idle_times": 5, "count": 0, "flight_bytes": 0, "before_bytes": 0}),
        (1000.0, 4, {"idle_times": 5, "count": 0, "flight_bytes": 0, "before_bytes": 0}),
        (100.0, 10, None),
    ],
)
def test_idle_times_after_which_the_window_is_small_again(
    tmp_path: Path, idle_ms: float, first: int, found: Object | None
) -> None:
    """Not where the window is as large as before, where losses had made it smaller, or without a timeout."""
    contract = analysed(tmp_path, bursts(idle_ms, first))
    (one,) = contract["connections"]
    assert one["restarts"] == found
    texts = " ".join(sentence["text"] for sentence in contract["diagnosis"])
    said = "it restarted with 10,000 bytes after 5 of 5 idle times (slow start after idle)"
    assert (said in texts) == (found is not None and found["count"] > 0), texts


def written_in_pieces(at_receiver: bool) -> Conversation:
    """700 bytes each 120 ms, seen at one end of the path."""
    talk, half_ms, host_ms = Conversation(), RTT_MS / 2, 0.05
    segments: list[tuple[float, bool, int]] = []
    for at in range(60):
        sent_ms = 2 * RTT_MS + EVERY_MS * at
        data_ms = sent_ms + half_ms if at_receiver else sent_ms
        segments += [(data_ms, True, at), (data_ms + (host_ms if at_receiver else RTT_MS), False, at)]
    if at_receiver:
        talk.handshake(half_ms, rtt_ms=host_ms)
        talk.packets[-1] = (half_ms + RTT_MS, talk.packets[-1][1])
    else:
        talk.handshake(0, rtt_ms=RTT_MS - host_ms)
    for t_ms, is_data, at in sorted(segments):
        if is_data:
            talk.data(t_ms, 1 + 700 * at, 700, flags=PSH)
        else:
            talk.ack(t_ms, 1 + 700 * (at + 1))
    return talk


def test_a_bound_of_a_cost_is_the_same_at_both_ends(tmp_path: Path) -> None:
    """The receiver's capture begins half an RTT later and ends as much earlier, as of any other transfer."""
    most_s = []
    for at_receiver in (False, True):
        diagnosis = analysed(tmp_path, written_in_pieces(at_receiver))["diagnosis"]
        (found,) = (one for one in diagnosis if one["kind"] == "idle_application")
        most_s.append(found["cost_bounds_s"][1])
    assert most_s[1] == pytest.approx(most_s[0], abs=0.01)
