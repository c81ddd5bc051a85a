"""What stands beside the shares of limits: windows full in recovery or with room, and what no loss did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import PSH, Conversation
from support_entries import entry

import multitracer as mt
from multitracer.cli.words import limits as limits_line
from multitracer.diagnosis.field.causes import causes
from multitracer.diagnosis.field.entries import flow
from multitracer.diagnosis.field.facts import Flow
from multitracer.diagnosis.field.saying import sentences
from multitracer.diagnosis.field.waits import waits_s

RTT_MS = 40
Object = dict[str, Any]


def facts(found: Object) -> Flow:
    """Of an entry with data."""
    one = flow(found)
    assert one is not None
    return one


def analysed(said: Conversation, path: Path) -> Object:
    """As JSON has it."""
    return mt.analyze(mt.read(said.write(path / "one.pcap"), point="snd")).to_dict()


def five_losses(path: Path, *, filled: bool, more: bool) -> Object:
    """Ten segments of which five are lost, without SACK: one of them is repaired in each RTT.

    If they have filled the window, its right edge stays until all are there. Then comes the rest, if `more`.
    """
    window = 10_000 if filled else 60_000
    said = Conversation(sack=False)
    said.handshake(0, RTT_MS)
    t_ms, seq = said.rounds(RTT_MS + 1, 1, 3, RTT_MS, window=window)
    for number in range(10):
        said.data(t_ms, seq + 1000 * number)
    lost, end = [0, 2, 4, 6, 8], seq + 10_000
    for number in range(5):
        said.ack(t_ms + RTT_MS + 0.1 * number, seq, window=window)
    t_ms += RTT_MS + 1
    for at, number in enumerate(lost):
        said.data(t_ms, seq + 1000 * number)
        t_ms += RTT_MS
        if number < 8:
            acked = seq + 1000 * lost[at + 1]
            said.ack(t_ms, acked, window=end - acked if filled else window)
        else:
            said.ack(t_ms, end, window=window)
        t_ms += 0.1
    if more:
        said.rounds(t_ms, end, 3, RTT_MS, window=window)
    return analysed(said, path)


def test_a_window_that_is_full_during_recovery_is_said_beside_it(tmp_path: Path) -> None:
    """Five RTTs of the recovery, of about thirteen in all; the last of them ends with the ACK that ends it.

    With the RTT until the loss showed it has six. The window alone held the sender in four.
    """
    found = five_losses(tmp_path, filled=True, more=True)
    (one,) = found["connections"]
    rtt = RTT_MS / 1e3 / one["limits"]["seconds"]
    assert one["limits"]["receiver_window"] == pytest.approx(4 * rtt, rel=0.03)
    assert one["limits"]["loss_recovery"] == pytest.approx(6 * rtt, rel=0.03)
    assert one["retransmissions"]["fast"] == 5
    assert 0.35 < one["limits"]["receiver_window_in_recovery"] < 0.45
    assert "; receiver window full during recovery: at least " in limits_line(one)
    said = next(finding["text"] for finding in found["diagnosis"] if finding["kind"] == "loss")
    assert "uring recovery the receiver's window was full, too, for at least 2" in said


@pytest.mark.parametrize(("filled", "more"), [(False, True), (True, False)])
def test_neither_an_open_window_nor_one_for_which_no_more_came_is_full(
    filled: bool, more: bool, tmp_path: Path
) -> None:
    (one,) = five_losses(tmp_path, filled=filled, more=more)["connections"]
    assert one["limits"]["loss_recovery"] > 0.3
    assert one["limits"]["receiver_window_in_recovery"] == 0
    assert "during recovery" not in limits_line(one)


def test_time_before_the_first_loss_is_no_loss_s(tmp_path: Path) -> None:
    """Six RTTs, one loss, and six RTTs of a window half as large."""
    said = Conversation()
    said.handshake(0, RTT_MS)
    t_ms, seq = said.rounds(RTT_MS + 1, 1, 6, RTT_MS)
    for number in range(10):
        said.data(t_ms, seq + 1000 * number)
    for number in range(2, 11):
        said.ack(t_ms + RTT_MS + 0.01 * number, seq, [(seq + 1000, seq + 1000 * number)])
    said.data(t_ms + RTT_MS + 1, seq)
    said.ack(t_ms + 2 * RTT_MS + 1, seq + 10_000)
    t_ms, seq = t_ms + 2 * RTT_MS + 2, seq + 10_000
    said.rounds(t_ms, seq, 6, RTT_MS, segments=5)
    found = analysed(said, tmp_path)
    (one,) = found["connections"]
    shares = one["limits"]
    # Seven round trips of fifteen until the retransmission, with that in which it was lost.
    assert 0.35 < shares["congestion_window_before_loss"] < 0.5
    by_kind = {cause.kind: cause.seconds for cause in causes(facts(one))}
    waited_s = shares["congestion_window_after_data"] * shares["seconds"]
    assert waited_s == pytest.approx(RTT_MS / 1e3, rel=0.01)
    assert by_kind["loss"] + by_kind["idle_handshake_slow_start"] + waited_s == pytest.approx(
        shares["seconds"], rel=0.01
    )
    assert by_kind["loss"] < 9 / 15 * shares["seconds"]


def test_without_a_loss_all_of_it_is_before_it(tmp_path: Path) -> None:
    said = Conversation()
    said.handshake(0, RTT_MS)
    said.rounds(RTT_MS + 1, 1, 6, RTT_MS)
    shares = analysed(said, tmp_path)["connections"][0]["limits"]
    parts = [shares[f"congestion_window_{name}"] for name in ("before_loss", "after_data")]
    assert sum(parts) == pytest.approx(shares["congestion_window"], abs=2e-6)
    assert parts[0] > 0.7


def test_no_window_held_anything_back_while_the_last_ack_was_delayed(tmp_path: Path) -> None:
    said = Conversation()
    said.handshake(0, RTT_MS)
    t_ms, seq = said.rounds(RTT_MS + 1, 1, 2, RTT_MS)
    for number in range(5):
        said.data(t_ms, seq + 1000 * number)
    said.ack(t_ms + 2 * RTT_MS, seq + 5000)
    (one,) = analysed(said, tmp_path)["connections"]
    shares = one["limits"]
    assert shares["congestion_window_after_data"] * shares["seconds"] == pytest.approx(
        2 * RTT_MS / 1e3, rel=0.01
    )
    assert limits_line(one).startswith("congestion window 41%, wait for the last ACK 40%, handshake 20%")
    by_kind = {cause.kind: cause.seconds for cause in causes(facts(one))}
    assert by_kind["idle_handshake_slow_start"] == pytest.approx(3 * RTT_MS / 1e3, rel=0.02)


def test_a_small_window_before_the_first_loss_is_slow_start_and_is_said_so() -> None:
    one = entry(
        congestion_window=0.6,
        loss_recovery=0.3,
        lost=(40, 0),
        parts={"congestion_window_before_loss": 0.5},
    )
    first, second, *_ = sentences([one])
    assert (first.kind, second.kind) == ("idle_handshake_slow_start", "loss")
    assert "limited the transfer for 10.0 of 20.0 s before the first loss showed: slow start" in first.text
    assert "limited the transfer for 8.0 of 20.0 s" in second.text


@pytest.mark.parametrize(
    ("step", "silent_ms", "asked", "left_out"),
    [(11, 208, False, 0.208), (1, 208, False, 0.0), (11, 90, False, 0.0), (11, 208, True, 0.0)],
)
def test_a_first_flight_that_never_came_by(
    step: int, silent_ms: int, asked: bool, left_out: float, tmp_path: Path
) -> None:
    """The first data comes with the tenth next identification, so long after the handshake.

    Without identifications left out, or after less than a timeout, the application had nothing to send; if
    the other end sent data before (asked), ACKs of that may have been lost: the application waited for it.
    """
    said = Conversation()
    said.handshake(0, RTT_MS)
    if asked:
        said.segment(RTT_MS + 10, False, 1, 1, PSH, b"go")
    t_ms, seq = RTT_MS + float(silent_ms), 1
    said.idents[0] += step - 1
    said.rounds(t_ms, seq, 4, RTT_MS)
    shares = analysed(said, tmp_path)["connections"][0]["limits"]
    assert shares["loss_recovery_before_data"] * shares["seconds"] == pytest.approx(left_out, abs=1e-4)
    assert shares["loss_recovery"] == pytest.approx(shares["loss_recovery_before_data"])
    waited_s = silent_ms / 1e3 if asked else 0.0
    assert shares["application"] * shares["seconds"] == pytest.approx(waited_s, abs=1e-4)
    data_s = 0.041 * 4 - 0.001
    assert shares["seconds"] == pytest.approx(left_out + waited_s + RTT_MS / 1e3 + data_s, rel=0.01)


def one_initial_window(path: Path, *, short: int) -> float:
    """Short segments at once (Nagle is off), the rest after the first ACK: the share of the application."""
    said = Conversation()
    said.handshake(0, RTT_MS)
    for number in range(short):
        said.data(RTT_MS + 1 + 0.01 * number, 1 + 100 * number, 100, PSH)
    end = 1 + 100 * short
    for number in range(1, short + 1):
        said.ack(2 * RTT_MS + 1 + 0.01 * number, 1 + 100 * number)
    said.rounds(2 * RTT_MS + 1.2, end, 4, RTT_MS)
    return float(analysed(said, path)["connections"][0]["limits"]["application"])


def test_ten_short_segments_fill_the_first_congestion_window(tmp_path: Path) -> None:
    assert one_initial_window(tmp_path, short=10) < 0.01
    assert one_initial_window(tmp_path, short=8) > 0.1


def paced(path: Path, pause_ms: float) -> Object:
    """A window of four segments: an ACK opens it, two are sent at once, and two so much later."""
    said = Conversation()
    said.handshake(0, RTT_MS)
    t_ms, seq = RTT_MS + 1.0, 1
    for _ in range(20):
        for number in range(4):
            said.data(t_ms + (pause_ms if number > 1 else 0.0) + 0.01 * number, seq + 1000 * number)
        t_ms, seq = t_ms + RTT_MS, seq + 4000
        said.ack(t_ms, seq, window=4000)
        t_ms += 0.02
    return analysed(said, path)


def test_a_window_with_room_while_the_sender_paces_itself_is_said_beside_it(tmp_path: Path) -> None:
    """Ten of forty milliseconds."""
    found = paced(tmp_path, 10.0)
    (one,) = found["connections"]
    assert one["limits"]["receiver_window"] > 0.8
    assert 0.2 < one["limits"]["receiver_window_paced"] < 0.26
    assert "; receiver window with room: 2" in limits_line(one)
    first = found["diagnosis"][0]
    assert first["kind"] == "idle_receiver_window"
    words = "of it the window had room, and the sender waited for more of it or paced its segments"
    assert words in first["text"]


def test_a_window_that_is_filled_at_once_has_no_room(tmp_path: Path) -> None:
    (one,) = paced(tmp_path, 0.0)["connections"]
    assert one["limits"]["receiver_window_paced"] == 0
    assert "with room" not in limits_line(one)


def test_the_pace_of_a_reader_is_no_link_s_in_the_table_either() -> None:
    """It takes 0.579 Mbit/s, and all that seems full came at that rate."""
    paced_link = {"rate": 0.6e6, "full": 0.6, "queue": (7.0, 10.0), "base": 6.0}
    one = entry(receiver_window=0.95, bandwidth=0.05, goodput_bps=0.579e6, **paced_link)
    assert limits_line(one) == "receiver window 100% of 20.00 s (inferred)"
    faster = entry(receiver_window=0.95, bandwidth=0.05, goodput_bps=0.3e6, **paced_link)
    assert limits_line(faster) == "receiver window 95%, bandwidth 5% of 20.00 s (inferred)"


@pytest.mark.parametrize("window", [60_000, 60_216])
def test_the_end_of_a_write_does_not_fill_a_window_that_is_far_larger(window: int, tmp_path: Path) -> None:
    """Writes of 2,216 bytes in less than an RTT; full segments leave as much of one window as of a write."""
    said = Conversation()
    said.handshake(0, RTT_MS)
    events: list[tuple[float, int, int]] = []
    for number in range(60):
        t_ms, seq = RTT_MS + 1 + 33.0 * number, 1 + 2216 * number
        for at, length in enumerate((1000, 1000, 216)):
            events.append((t_ms + 0.01 * at, seq + 1000 * at, length))
            events.append((t_ms + 0.01 * at + RTT_MS, seq + 1000 * at + length, 0))
    for t_ms, seq, length in sorted(events):
        if length:
            said.data(t_ms, seq, length, PSH if length < 1000 else 0)
        else:
            said.ack(t_ms, seq, window=window)
    shares = analysed(said, tmp_path)["connections"][0]["limits"]
    assert shares["application"] > 0.8


@pytest.mark.parametrize(("stalled_s", "said"), [(0.0, True), (3.0, False)])
def test_a_stall_is_no_recovery_in_which_the_window_was_full(stalled_s: float, said: bool) -> None:
    """4 s of loss recovery, of which a stall took 3 s; the window was full in 2.8 s of them."""
    stalls = [{"length_s": stalled_s, "silence_s": stalled_s, "upstream": False}] if stalled_s else []
    one = entry(
        receiver_window=0.6,
        bandwidth=0.2,
        loss_recovery=0.2,
        parts={"receiver_window_in_recovery": 0.14},
        again={"fast": 3},
        lost=(0, 3),
        standstills=stalls,
    )
    assert ("receiver window full during recovery: at least 14%" in limits_line(one)) is said


def test_a_stall_behind_slow_start_takes_no_time_of_it() -> None:
    """2 s of slow start, then a full window, and a stall of 3 s; that of a full link may be anywhere."""
    stalls = [{"length_s": 3.0, "silence_s": 3.0, "upstream": False}]
    parts = {"congestion_window_before_loss": 0.1}
    slow = {"base": 500.0, "queue": (10.0, 10.0), "standstills": stalls, "parts": parts}
    window = flow(entry(receiver_window=0.9, congestion_window=0.1, **slow))
    link = flow(entry(bandwidth=0.9, congestion_window=0.1, **slow))
    assert isinstance(window, Flow)
    assert isinstance(link, Flow)
    assert waits_s(window)["congestion_window"] == pytest.approx(2.0)
    assert waits_s(window)["receiver_window"] == pytest.approx(15.0)
    assert waits_s(link)["congestion_window"] == 0.0
    assert waits_s(link)["bandwidth"] == pytest.approx(17.0)


@pytest.mark.parametrize(
    ("queue_ms", "full", "window_s"), [(3.0, 0.16, 1.6), (9.0, 0.16, 0.79), (3.0, 0.6, 0.79)]
)
def test_bursts_of_a_small_window_fill_no_link(queue_ms: float, full: float, window_s: float) -> None:
    """A link of 10 Mbit/s needs 1.2 of 2 s for what it carried: it is idle between the bursts of a window."""
    facts = {"bandwidth": 0.18, "congestion_window": 0.8, "rate": 1e7, "evidence": ["constant_rate"]}
    one = flow(entry(seconds=2.0, full=full, base=40.5, queue=(queue_ms, 2 * queue_ms), **facts))
    assert isinstance(one, Flow)
    assert waits_s(one)["congestion_window"] == pytest.approx(window_s, abs=0.02)


def test_what_no_ack_released_is_the_pace_of_its_sender(tmp_path: Path) -> None:
    """Requests of fourteen segments, in pairs 5 ms apart, as BBR sends them after the first."""
    said = Conversation(timestamps=True)
    said.handshake(0, RTT_MS)
    t_ms, seq = RTT_MS + 1.0, 1
    for request in range(20):
        for number in range(14):
            length, flags = (700, PSH) if number == 13 else (988, 0)
            said.data(t_ms + (0.01 * number if request == 0 else 5 * (number // 2)), seq, length, flags)
            seq += length
        t_ms += RTT_MS + 40
        said.ack(t_ms, seq)
        t_ms += 200
    (one,) = (found := analysed(said, tmp_path))["connections"]
    shares = one["limits"]
    paced_s = shares["congestion_window_paced"] * shares["seconds"]
    assert paced_s == pytest.approx(19 * 0.030, rel=0.1)
    assert shares["bandwidth"] == 0
    texts = [sentence["text"] for sentence in found["diagnosis"]]
    assert any(text.startswith("the sender paced its segments") for text in texts)
    line = limits_line(one)
    assert f"sender's pacing {shares['congestion_window_paced']:.0%}" in line
    left = shares["congestion_window"] - shares["congestion_window_paced"]
    assert (f"congestion window {left:.0%}" in line) == (left >= 0.02)


def test_pairs_with_psh_within_a_write_are_the_pace_of_their_sender(tmp_path: Path) -> None:
    """Writes of 14 segments, in pairs 5 ms apart with PSH on each, as BBR sends them, and pauses between."""
    said = Conversation(timestamps=True)
    said.handshake(0, RTT_MS)
    t_ms, seq, acks = RTT_MS + 1.0, 1, []
    for _ in range(20):
        for number in range(14):
            length = 700 if number == 13 else 988
            said.data(t_ms + 5 * (number // 2), seq, length, PSH if number % 2 else 0)
            seq += length
            if number % 2:
                acks.append((t_ms + 5 * (number // 2) + RTT_MS, seq))
        t_ms += RTT_MS + 240.0
    for at_ms, ack in acks:
        said.ack(at_ms, ack)
    said.packets.sort(key=lambda one: one[0])
    (one,) = analysed(said, tmp_path)["connections"]
    shares = one["limits"]
    paced_s = shares["congestion_window_paced"] * shares["seconds"]
    assert paced_s == pytest.approx(20 * 0.030, abs=0.1)
    assert shares["application"] == pytest.approx(
        1 - shares["congestion_window"] - shares["handshake"], abs=0.01
    )


@pytest.mark.parametrize(("at_once", "paced"), [(3, True), (1, False)])
def test_bursts_long_after_all_was_acknowledged_are_the_pace_of_their_sender(
    at_once: int, paced: bool, tmp_path: Path
) -> None:
    """Full segments three at a time, 120 ms apart, and no timestamps: nothing is in flight between them.

    One by one they may come out of a slow queue of the host.
    """
    said = Conversation()
    said.handshake(0, 1.0)
    t_ms, seq = 2.0, 1
    for _ in range(159 // at_once):
        for number in range(at_once):
            said.data(t_ms + 0.005 * number, seq, 1000, PSH if seq % 3000 == 2001 else 0)
            seq += 1000
        said.ack(t_ms + 0.5, seq)
        t_ms += 40 * at_once
    (one,) = analysed(said, tmp_path)["connections"]
    assert (one["limits"]["congestion_window_paced"] > 0.5) is paced
    # But for the way of the last ACK.
    assert paced or one["limits"]["congestion_window"] < 0.001


@pytest.mark.parametrize(("path_ms", "filled"), [(20.0, True), (80.0, False)])
def test_ten_segments_fill_a_link_of_a_smaller_bdp_from_the_first_on(
    path_ms: float, filled: bool, tmp_path: Path
) -> None:
    """Each packet takes 5 ms; the window grows by a segment with each ACK, up to the receiver's 24."""
    size, packet_ms, window = 1460, 5.0, 24
    sent_ms: list[float] = []
    answered_ms: list[float] = []
    free_ms = 0.0
    for at in range(120):
        answers = -(-(at - 9) // 2)
        due_ms = answered_ms[answers - 1] if answers > 0 else 100.0
        if at >= window:
            due_ms = max(due_ms, answered_ms[at - window])
        sent_ms.append(max(due_ms, sent_ms[-1] + 0.01 if sent_ms else 0.0))
        free_ms = max(free_ms, sent_ms[-1]) + packet_ms
        answered_ms.append(free_ms + path_ms)
    said = Conversation(scale=3)
    said.handshake(0, path_ms, mss=size)
    events = [(t_ms, True, at) for at, t_ms in enumerate(sent_ms)]
    for t_ms, sends, at in sorted(events + [(t_ms, False, at) for at, t_ms in enumerate(answered_ms)]):
        if sends:
            said.data(t_ms, 1 + at * size, size)
        else:
            said.ack(t_ms, 1 + (at + 1) * size, window=window * size // 8)
    (one,) = analysed(said, tmp_path)["connections"]
    assert one["bottleneck"]["rate_bps"] == pytest.approx(2_400_000, rel=0.01)
    assert (one["limits"]["congestion_window_before_loss"] == 0) is filled


@pytest.mark.parametrize(("rtt_ms", "filled"), [(30, False), (60, True)])
def test_a_congestion_window_that_never_was_full_limited_nothing(
    rtt_ms: int, filled: bool, tmp_path: Path
) -> None:
    """A segment each 4 ms, the end of a write only each eighth: seven are in flight at once, or fifteen."""
    size = 1448
    said = Conversation(scale=3)
    said.handshake(0, rtt_ms, mss=size)
    sent = [1 + at * size for at in range(300)]
    times = [(100 + 4 * at, True, at) for at in range(300)]
    for t_ms, sends, at in sorted(times + [(t_ms + rtt_ms, False, at) for t_ms, _, at in times]):
        if sends:
            short = 188 if at % 8 == 7 else 0
            said.data(t_ms, sent[at] - 188 * (at // 8), size - short, flags=PSH if short else 0)
        else:
            said.ack(t_ms, sent[at] + size - 188 * ((at + 1) // 8))
    (one,) = analysed(said, tmp_path)["connections"]
    assert one["limits"]["application"] > 0.8
    assert (one["limits"]["congestion_window_before_loss"] > 0.02) is filled


@pytest.mark.parametrize("pushed", [True, False])
def test_writes_of_full_segments_show_once_they_are_no_longer_behind(pushed: bool, tmp_path: Path) -> None:
    """Seventy segments of slow start without PSH, then one each millisecond, of an RTT of 40 ms.

    With PSH each is a write. Without, more was to be sent, and something else paced it.
    """
    said = Conversation(scale=3)
    said.handshake(0, RTT_MS)
    t_ms, seq = RTT_MS + 1.0, 1
    for segments in (10, 20, 40):
        t_ms, seq = said.rounds(t_ms, seq, 1, RTT_MS, segments=segments)
    times = [(t_ms + at, True, at) for at in range(400)]
    for at_ms, sends, at in sorted(times + [(at_ms + RTT_MS + 0.5, False, at) for at_ms, _, at in times]):
        if sends:
            said.data(at_ms, seq + 1000 * at, flags=PSH if pushed else 0)
        else:
            said.ack(at_ms, seq + 1000 * (at + 1))
    (one,) = analysed(said, tmp_path)["connections"]
    assert (one["limits"]["application"] > 0.6) is pushed


def test_a_sender_that_paces_each_write_leaves_the_time_between_them_to_the_application(
    tmp_path: Path,
) -> None:
    """Groups of three to five full segments as a pacing sender spaces them, 80 ms from write to write.

    The groups come at one rate, whatever their length: a link of that rate would be idle nearly always.
    """
    said = Conversation()
    said.handshake(0, 6.7)
    t_ms, seq = 8.0, 1
    for _ in range(31):
        at_ms = t_ms
        for group in (3, 4, 3, 5, 3, 4):
            for number in range(group):
                said.data(at_ms + 0.001 * number, seq, 1000, PSH if number == group - 1 else 0)
                seq += 1000
            at_ms += 0.29 * group
        said.data(at_ms, seq, 176, PSH)
        seq += 176
        said.ack(at_ms + 7, seq)
        t_ms += 80
    (one,) = analysed(said, tmp_path)["connections"]
    assert one["limits"]["application"] > 0.75
