"""What is said of captures alone: the main cause, its numbers, and what several connections share."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from support_entries import entry

from multitracer.cli.loss_words import losses
from multitracer.cli.words import limits as limits_line
from multitracer.diagnosis.field.causes import causes
from multitracer.diagnosis.field.entries import flow
from multitracer.diagnosis.field.facts import KernelCounts
from multitracer.diagnosis.field.groups import groups
from multitracer.diagnosis.field.lost import losses as losses_said
from multitracer.diagnosis.field.offered import Offered
from multitracer.diagnosis.field.phrases import percent_at_most
from multitracer.diagnosis.field.saying import sentences
from multitracer.diagnosis.field.sentences import text
from multitracer.diagnosis.field.waits import waits_s
from multitracer.diagnosis.findings.rules import RULES
from multitracer.output.costs import cost_words, is_said, tag
from multitracer.output.digest import LIMITS, digest
from multitracer.output.losses import loss_bounds
from multitracer.output.rtt import least_words

Object = dict[str, Any]


FULL = {"bandwidth": 0.9, "congestion_window": 0.1, "full": 0.93, "rate": 11.6e6}


def test_recovery_without_sack() -> None:
    found, *_ = sentences([entry(**LOSSY, sack=False, again={"fast": 40})])
    assert found.kind == "loss"
    assert found.text.endswith("; without SACK it retransmits one segment per RTT")
    few, *_ = sentences([entry(**LOSSY, sack=False, again={"fast": 2})])
    assert "without SACK" not in few.text
    # Slow start after a timeout retransmits several in each RTT.
    mostly_slow_start, *_ = sentences([entry(**LOSSY, sack=False, again={"fast": 5, "slow_start": 35})])
    assert "without SACK" not in mostly_slow_start.text
    selective, *_ = sentences([entry(**LOSSY, again={"fast": 40})])
    assert "without SACK" not in selective.text


def test_a_closed_window() -> None:
    found = sentences([entry(receiver_window=0.625, zero_windows=4, again={"unneeded_probe": 9})])
    assert found[0].kind == "idle_receiver_window"
    assert found[0].text.startswith(
        "limited by the receiver's window for 12.5 of 20.0 s "
        "(at most 65,535 bytes, 4 zero windows, 9 window probes); no loss"
    )
    assert found[0].cost_s == pytest.approx(12.5)


def test_a_full_link_with_losses_is_the_bottleneck() -> None:
    one = entry(**FULL, lost=(14, 0), queue=(37.0, 41.0), base=1.2)
    (found,) = sentences([one])
    assert found.kind == "bottleneck"
    assert found.text == (
        "the link was full: 11.6 Mbit/s of IP packets, for 93% of the time with data in flight; a "
        "standing queue (bufferbloat) added 37 ms (median; 95th percentile 41 ms) to a base RTT of 1.2 "
        "ms; at least 1.3% of the segments were lost (14 of 1,014)"
    )
    assert found.cost_s == 0


def test_a_link_that_its_data_alone_keeps_busier_was_full_for_at_least_that_time() -> None:
    """1,448,000 bytes in 20 s need 0.58 Mbit/s: at 0.6 that is 97% of the time, at 0.9 it is 64%."""
    for rate, least in ((0.6e6, True), (0.9e6, False)):
        found, *_ = sentences([entry(**FULL | {"rate": rate, "full": 0.7})])
        assert (", for at least 70% of the time with data in flight" in found.text) == least


def test_a_link_is_full_for_no_longer_than_what_it_carried_needs() -> None:
    """1,000 packets of 1,500 bytes need 12 s of 20 s; 100 more that were lost may need 1.2 s."""
    queue = {"longest_ms": 60.0, "dropping_ms": 59.0, "of": 100, "empty": 0}
    for at_longest, dropped, share in (
        (100, True, "60%"),
        (60, True, "60% to 62%"),
        (100, None, "60% to 66%"),
    ):
        facts: Any = {"bandwidth": 0.64, "loss_recovery": 0.36, "full": 0.64, "rate": 1e6}
        one = entry(point="snd", lost=(0, 100), again={"fast": 100}, **facts)
        one["packets"]["data"] = 1100
        one["queue_at_losses"] = queue | {"at_longest": at_longest, "dropped": dropped}
        text = " ".join(found.text for found in sentences([one]))
        assert f"1 Mbit/s of IP packets, for {share} of the time" in text, text


def test_what_may_have_been_dropped_in_front_of_a_link_took_none_of_its_time() -> None:
    """1,448,000 bytes and their headers need 12 s at 1 Mbit/s, of 12.6 s in which there was data to send."""
    mine: Any = {"bandwidth": 0.63, "application": 0.37, "full": 1.0, "rate": 1.0e6, "again": {"fast": 100}}
    for point, lost, share in (
        ("snd", (0, 100), "95% to 100%"),
        ("mid", (0, 100), "95% to 100%"),
        ("rcv", (100, 0), "95% to 100%"),
        ("snd", (0, 0), "100%"),
    ):
        found, *_ = sentences([entry(point=point, lost=lost, **mine)])
        assert f", for {share} of the time with data to send" in found.text, (point, found.text)
    # A rate at which the link would have been idle for long is not that of all the time.
    found, *_ = sentences([entry(lost=(0, 100), **mine | {"rate": 1.6e6})])
    assert ", for 100% of the time" in found.text
    shared, *_ = sentences([entry(lost=(0, 100), shared=2, **mine)])
    assert ", for 100% of the time" in shared.text


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "; at least 3 of at least 40 retransmissions were needless"),
        ({"sack": False}, "; at least 3 of at least 40 retransmissions were needless"),
        ({"point": "rcv"}, "; at least 3 of at least 40 retransmissions were needless"),
        ({"point": "rcv", "unseen": 2}, "; at least 3 of at least 42 retransmissions were needless"),
        ({"point": "rcv", "lost": (0, 40)}, "; 3 of 40 retransmissions were needless"),
        ({"lost": (0, 40), "point": "snd"}, "; at least 3 of 40 retransmissions were needless"),
    ],
)
def test_how_sure_a_number_of_needless_retransmissions_is(facts: dict[str, Any], said: str) -> None:
    """Away from the receiver those are counted that an answer gives away, nowhere those lost before it."""
    usual = {**LOSSY, "point": "mid", "again": {"fast": 40}, "needless_retransmissions": 3}
    found, *_ = sentences([entry(**usual | facts)])
    assert said in found.text


@pytest.mark.parametrize(
    ("facts", "hidden"),
    [
        ({"timestamps": False}, True),
        ({"timestamps": False, "rate": 5e6, "full": 0.3}, False),
        ({"timestamps": False, "point": "snd", "lost": (0, 40), "again": {"fast": 40}}, False),
        ({"timestamps": True}, False),
    ],
)
def test_a_full_link_that_may_not_show_is_not_excluded(facts: dict[str, Any], hidden: bool) -> None:
    (found, *_) = sentences([entry(loss_recovery=0.6, congestion_window=0.3, **{"lost": (40, 0)} | facts)])
    assert found.kind == "loss"
    assert ("whether the link was full does not show here without timestamps" in found.text) == hidden


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"timestamps": False}, True),
        ({"timestamps": False, "again": {"timeout": 2}}, False),
        ({"timestamps": False, "parts": {"loss_recovery_silent": 0.1}}, False),
        ({"timestamps": True}, False),
    ],
)
def test_a_silence_without_a_timer_may_be_a_path_that_stood_still(facts: dict[str, Any], said: bool) -> None:
    usual = {"loss_recovery": 0.6, "rate": 5e6, "full": 0.4, "bandwidth": 0.4, "lost": (40, 0)}
    (found, *_) = sentences([entry(**usual | {"parts": {"loss_recovery_silent": 0.5}} | facts)])
    assert found.kind == "loss"
    words = "no data passed for 10.00 s of that: a timer, or a path that stalled before this capture"
    assert (words in found.text) == said


@pytest.mark.parametrize(
    ("begin_s", "end_s", "cost_s"), [(0.0, 20.0, 0.0), (0.0, 7.0, 3.6), (4.0, 20.0, 3.6)]
)
def test_who_ends_long_before_another_beside_it_costs_nothing(
    begin_s: float, end_s: float, cost_s: float
) -> None:
    """The first has 3.6 of 4 s in slow start; what goes on for longer is no sooner complete without it."""
    small = entry(0, seconds=4.0, congestion_window=0.9, application=0.1)
    large = entry(1, seconds=end_s - begin_s, application=0.9, unique=100_000_000, congestion_window=0.1)
    found = sentences([small, large | {"start": begin_s, "end": end_s}])
    costs = [one.cost_s for one in found if one.kind == "idle_handshake_slow_start"]
    assert costs == [pytest.approx(cost_s)]


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        (0.0, "for 18.0 of 20.0 s, and TCP kept up with it"),
        (
            0.2,
            "for 18.0 of 20.0 s, and TCP was a write or more behind for at most 4.00 s of that, and caught "
            "up",
        ),
    ],
)
def test_how_far_tcp_was_behind_an_application_s_clock(behind: float, said: str) -> None:
    one = entry(application=0.9, parts={"writes_bps": 1e6, "application_behind": behind})
    (found, *_) = sentences([one])
    assert f"it wrote 1 Mbit/s by its own clock {said}" in found.text
    assert "SO_SNDBUF" not in found.text


def test_a_send_buffer_that_is_full_gives_a_rate_too() -> None:
    """48 kB in each RTT of 80 ms are 4.8 Mbit/s."""
    (found, *_) = sentences([entry(application=0.9, base=80.0, parts={"writes_bps": 4.8e6})])
    assert "a send buffer, SO_SNDBUF, that holds about 48 kB gives the same rate" in found.text
    for base_ms in (0.1, 2_000.0):
        (found, *_) = sentences([entry(application=0.9, base=base_ms, parts={"writes_bps": 4.8e6})])
        assert "SO_SNDBUF" not in found.text


LOSSY = {"loss_recovery": 0.6, "bandwidth": 0.3, "lost": (40, 0)}
SLOW_READER = {"receiver_window": 0.6, "bandwidth": 0.4, "full": 0.4, "rate": 5e6}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (LOSSY | {"full": 0.3, "rate": 5e6}, True),
        (LOSSY | {"full": 0.06, "rate": 5e6}, False),
        (LOSSY | {"full": 0.06, "shared": 2}, True),
        (LOSSY | {"full": 0.06, "evidence": ["queue"], "queue": (37.0, 41.0), "base": 1.2}, True),
        (SLOW_READER, False),
        (SLOW_READER | {"evidence": ["queue"], "queue": (37.0, 41.0), "base": 1.2}, True),
    ],
)
def test_a_full_link_that_is_not_the_main_cause_is_said_where_it_shows(
    facts: dict[str, Any], said: bool
) -> None:
    kinds = [found.kind for found in sentences([entry(**facts)])]
    assert kinds[0] not in ("bottleneck", "queue")
    assert bool({"bottleneck", "queue"} & set(kinds)) == said


@pytest.mark.parametrize(
    ("queue", "base", "lost", "kind"),
    [
        (37.0, 1.2, 0, "queue"),
        (29.0, 1.2, 0, "bottleneck"),
        (150.0, 80.0, 0, "bottleneck"),
        (170.0, 80.0, 0, "queue"),
        (170.0, 80.0, 1, "bottleneck"),
    ],
)
def test_a_queue_is_named_from_30_ms_and_3_times_the_base_on(
    queue: float, base: float, lost: int, kind: str
) -> None:
    assert sentences([entry(**FULL, queue=(queue, queue), base=base, lost=(0, lost))])[0].kind == kind


def test_drops_in_the_senders_own_queue_show_at_the_sender_only() -> None:
    mine, theirs = (sentences([entry(**FULL, lost=(17, 0), point=point)])[0] for point in ("snd", "rcv"))
    assert mine.kind == "local_drop"
    assert mine.text.startswith(
        "the sender's own queue dropped at least 17 segments (they never reached this capture)"
    )
    assert theirs.kind == "bottleneck"
    assert "at least 1.6% of the segments were lost (17 of 1,017)" in theirs.text


def test_a_guess_at_the_point_blames_no_queue() -> None:
    one = entry(**FULL, lost=(17, 0), point="snd")
    guessed = one | {"observation": {"point": "snd", "grade": "guess", "evidence": {}}}
    assert sentences([one])[0].kind == "local_drop"
    assert sentences([guessed])[0].kind == "bottleneck"


def test_losses_on_a_link_that_was_not_full() -> None:
    again = {"fast": 30, "timeout": 2}
    one = entry(
        loss_recovery=0.4, congestion_window=0.5, bandwidth=0.1, lost=(20, 10), point="mid", again=again,
        inferred=20, timeouts={"total": 2, "genuine": 2},
    )  # fmt: skip
    first, *_ = sentences([one])
    assert first.kind == "loss"
    assert first.text.startswith(
        "at least 1.9% of the segments were lost before this capture (20 of 1,020), at most 12 after it; "
    )
    assert "2 timeouts and 30 segments by fast retransmit" in first.text
    assert first.text.endswith("limited the transfer for 18.0 of 20.0 s")


def test_recovery_without_a_loss_is_needless() -> None:
    one = entry(
        loss_recovery=0.9, application=0.1, again={"timeout": 1}, timeouts={"total": 1, "spurious": 1}
    )
    found = sentences([one])[0]
    assert found.kind == "spurious"
    assert "1 spurious timeout" in found.text


@pytest.mark.parametrize(
    ("again", "needless", "said"),
    [
        (
            {"fast": 14},
            14,
            "14 retransmissions, needless: the data had arrived, reordered by the network",
        ),
        (
            {"fast": 9, "timeout": 5},
            14,
            "14 retransmissions, needless: the data had arrived; by inference 5 timeouts",
        ),
        ({"fast": 14}, 3, "14 retransmissions although no loss of data shows; by inference 14"),
        ({"fast": 14}, 0, "14 retransmissions; whether data had been lost does not show; by inference 14"),
    ],
)
def test_reordering_is_named_where_all_that_was_retransmitted_had_arrived(
    again: dict[str, int], needless: int, said: str
) -> None:
    one = entry(loss_recovery=0.9, application=0.1, again=again, needless_retransmissions=needless)
    assert sentences([one])[0].text.startswith(said)


def test_a_small_window_without_a_loss_is_slow_start() -> None:
    assert sentences([entry(congestion_window=0.9, application=0.1)])[0].kind == "idle_handshake_slow_start"


def test_the_unknown_is_headed_unknown_and_says_what_would_tell() -> None:
    at_rcv, alone = sentences([entry()])[0], sentences([entry(received=0)])[0]
    assert (at_rcv.kind, alone.kind) == ("unknown", "unknown")
    assert "capture at the sender too" in at_rcv.text
    assert "only one direction was captured" in alone.text
    without = {key: value for key, value in entry().items() if key not in ("limits", "bottleneck", "losses")}
    assert sentences([without])[0].kind == "unknown"


def test_connections_that_share_a_link_are_one_sentence() -> None:
    full = [entry(at, **FULL, shared=4, lost=(0, 5)) for at in range(3)]
    small = [entry(at, congestion_window=1.0, shared=4) for at in (3, 4)]
    found = sentences([*full, *small])
    assert [one.kind for one in found] == ["bottleneck"]
    assert "shared by 5 connections: together 2.9 Mbit/s of payload on average" in found[0].text


def test_what_several_fill_is_told_with_its_share_of_time() -> None:
    often = entry(0, bandwidth=0.9, congestion_window=0.1, full=0.9, shared=1)
    less = entry(1, bandwidth=0.4, congestion_window=0.2, application=0.4, full=0.6, shared=1)
    told = sentences([often, less])[0]
    assert told.kind == "bottleneck"
    assert "for 79% of their time with data to send" in told.text  # (0.9 * 20 + 0.6 * 12) / 32


def test_a_full_link_of_one_connection_of_several_is_said_with_its_number() -> None:
    one, other = entry(7, **FULL), entry(8, application=0.9, congestion_window=0.1)
    found = {each.kind: each.text for each in sentences([one, other])}
    assert found["bottleneck"].startswith("the link was full for connection 7: 11.6 Mbit/s of IP packets")
    (alone, *_) = sentences([one])
    assert alone.text.startswith("the link was full: 11.6 Mbit/s")


def test_a_reader_that_stopped_once_is_not_slow() -> None:
    """Its window of 13 kB was in flight for the rest of the time."""
    one = entry(seconds=4.1, receiver_window=0.99, zero_windows=1, base=20.0, unique=1_500_000)
    halves = {"toward_receiver": {"min_ms": 20.0}, "toward_sender": {"min_ms": 0.01}}
    one |= {"max_window_bytes": 13_032, "rtt": {"median_ms": 21.7, **halves}, "goodput_bps": 2.9e6}
    one["window_closures"] = {"count": 1, "longest_s": 1.39, "total_s": 1.39}
    (said, *_) = sentences([one])
    assert said.text.startswith(
        "limited by the receiver, with a small window and an application that stopped once, for "
        "4.1 of 4.1 s (window: at most 13,032 bytes, closed once, for 1.39 s)"
    )
    one["bytes"]["unique"] = 300_000
    (said, *_) = sentences([one])
    assert "whose application read slowly" in said.text


def test_a_window_that_the_payload_shows_to_fill_the_link_fills_it() -> None:
    """Where queues stood for less of the time: 9.65 of 10 Mbit/s of packets were brought all along."""
    facts = {"receiver_window": 0.9, "bandwidth": 0.1, "full": 0.62, "rate": 9.98e6}
    facts |= {"queue": (8.9, 10.8), "base": 8.9, "unique": 3_000_000, "evidence": ["queue", "constant_rate"]}
    one = entry(seconds=2.54, **facts)
    one["max_window_bytes"], one["goodput_bps"] = 23_168, 9.46e6
    assert sentences([one])[0].kind == "bottleneck"
    one["bytes"]["unique"] = 1_500_000
    assert sentences([one])[0].kind == "idle_receiver_window"


def test_what_the_own_queue_refused_is_loss_recovery() -> None:
    one = entry(loss_recovery=0.9, congestion_window=0.1, lost=(0, 0))
    one["losses"]["refused"] = 40
    facts = flow(one)
    assert facts is not None
    assert waits_s(facts)["loss_recovery"] == pytest.approx(18.0)
    one["losses"]["refused"] = 0
    unseen = flow(one)
    assert unseen is not None
    assert waits_s(unseen)["loss_recovery"] == 0.0


def test_several_that_stand_in_a_queue_fill_the_link() -> None:
    """What is in flight is more than the path holds, however small each window is."""
    waited = [entry(at, congestion_window=1.0, queue=(12.0, 13.0), base=0.03) for at in range(3)]
    assert sentences(waited)[0].kind == "bottleneck"
    assert sentences(waited[:1])[0].kind == "idle_handshake_slow_start"
    quick = [entry(at, congestion_window=1.0, queue=(12.0, 13.0), base=30.0) for at in range(3)]
    assert sentences(quick)[0].kind == "idle_handshake_slow_start"


def test_one_host_has_one_queue() -> None:
    found = sentences([entry(0, **FULL, lost=(9, 0), point="snd"), entry(1, **FULL, point="snd")])
    assert [one.kind for one in found] == ["local_drop"]


def test_a_connection_counts_by_its_data() -> None:
    idle = [entry(at, application=1.0, unique=1000) for at in range(9)]
    found = sentences([*idle, entry(9, **FULL)])
    assert found[0].kind == "bottleneck"
    assert "the sum over 9 connections of 10" in {one.kind: one.text for one in found}["idle_application"]


def test_recovery_that_cost_more_than_several_filled_the_link_for_comes_first() -> None:
    """Some filled the link in turn, the first flight of two was lost: 3.2 s of 5 s."""

    def filling(number: int) -> list[Object]:
        facts: Any = {"seconds": 0.6, "bandwidth": 0.97, "full": 0.97, "rate": 4e6, "shared": number - 1}
        return [entry(10 + at, lost=(20, 0), **facts) for at in range(number)]

    waited = {"loss_recovery": 0.84, "bandwidth": 0.16, "lost": (12, 0)}
    late = [entry(at, seconds=3.8, **waited, rate=4e6, full=0.97) for at in (3, 4)]
    assert sentences([*filling(2), *late])[0].kind == "loss"
    # Of most of them the link was the limit.
    assert sentences([*filling(3), *late])[0].kind == "bottleneck"
    # Beside a link that was full for longer than they waited, it is its losses.
    long = [entry(at, seconds=5.0, bandwidth=0.97, full=0.97, rate=4e6, shared=1) for at in range(2)]
    assert sentences([*long, *late])[0].kind == "bottleneck"


def test_the_kernels_count_overrules() -> None:
    first, second, *_ = sentences([entry(**FULL, point="snd")], kernel={0: KernelCounts(367)})
    assert (first.kind, second.kind) == ("local_drop", "kernel_count")
    assert "the kernel counted 367 retransmissions, the capture shows 0" in second.text
    assert not any(
        one.kind == "kernel_count" for one in sentences([entry(**FULL)], kernel={0: KernelCounts(0)})
    )


def test_nothing_is_well_without_proof() -> None:
    for share in LIMITS:
        assert all(one.kind != "well" for one in sentences([entry(**{share: 1.0})]))


def test_what_was_lost_is_said_once() -> None:
    again = {"tail_loss_probe": 3}
    one = entry(receiver_window=0.8, loss_recovery=0.2, lost=(0, 3), again=again, point="snd")
    texts = [found.text for found in sentences([one])]
    assert sum("3 of 1,000" in text for text in texts) == 1


@pytest.mark.parametrize(
    ("again", "needless", "unacked", "said"),
    [
        (0, 0, 0, "no loss"),
        (3, 3, 0, "no loss, 3 retransmissions, all of them needless"),
        (40, 0, 0, "at most 4.0% of the segments were lost (40 of 1,000)"),
        (
            40,
            5,
            0,
            "at most 3.5% of the segments were lost (35 of 1,000); at least 5 of 40 retransmissions were "
            "needless",
        ),
        (
            40,
            0,
            14_480,
            "at most 4.0% of the segments were lost (40 of 1,000; 10 others were in flight when the capture "
            "ended)",
        ),
        (0, 0, 14_480, "no loss seen"),
    ],
)
def test_a_capture_at_the_sender_bounds_the_losses(
    again: int, needless: int, unacked: int, said: str
) -> None:
    """Each copy that passed was lost, or acknowledged, or reported twice: RFC 2883."""
    one = entry(
        **FULL, point="snd", lost=(0, max(again - needless - 1, 0)), again={"fast": again},
        needless_retransmissions=needless, duplicates_reported=needless, mss=1460, timestamps=True,
    )  # fmt: skip
    one["bytes"]["acked"] -= unacked
    assert sentences([one])[0].text.endswith(f"; {said}")


@pytest.mark.parametrize(("unique", "kind"), [(4_100_000, "bottleneck"), (3_600_000, "loss")])
def test_a_link_that_needed_four_fifths_of_the_time_is_the_main_cause(unique: int, kind: str) -> None:
    """Its rate is known roughly, and a queue was seen for most of the time."""
    one = entry(
        bandwidth=0.56, congestion_window=0.32, loss_recovery=0.1, full=0.57, rate=2e6, evidence=["queue"],
        unique=unique, lost=(0, 60), again={"fast": 60}, base=20.0, queue=(9.0, 40.0), point="snd",
    )  # fmt: skip
    assert sentences([one])[0].kind == kind


def test_what_a_broken_transfer_left_unacknowledged_may_be_lost() -> None:
    one = entry(**FULL, point="snd", again={"fast": 40}, mss=1460, timestamps=True)
    one["bytes"]["acked"] -= 14_480
    assert (loss_bounds(one).downstream, loss_bounds(one).in_flight) == (40, 10)
    one["unfinished"] = {"timeouts": 6}
    assert (loss_bounds(one).downstream, loss_bounds(one).in_flight) == (50, 0)


def test_what_had_no_ack_at_a_reset_is_not_in_flight_at_the_end() -> None:
    """Who resets a connection acknowledges nothing more, though it had arrived."""
    one = entry(
        **FULL, point="snd", lost=(0, 40), again={"fast": 40}, mss=1460, timestamps=True, closed="reset"
    )
    one["bytes"]["acked"] -= 14_480
    assert (loss_bounds(one).in_flight, loss_bounds(one).at_reset) == (0, 10)
    said = sentences([one])[0].text
    assert "(40 of 1,000; 10 others had no ACK when the connection was reset)" in said
    assert losses(one).endswith("downstream of this capture, besides 10 without an ACK at the reset")


def test_a_capture_that_is_not_at_the_sender_proves_no_absence_of_losses() -> None:
    for point, said in (("snd", "; no loss"), ("mid", "; no loss seen"), ("rcv", "; no loss seen")):
        assert sentences([entry(**FULL, point=point)])[0].text.endswith(said)


def test_what_the_path_offers_is_known_only_if_it_was_seen_full() -> None:
    assert Offered([entry(**FULL)]).rate_bps == pytest.approx(11.6e6)
    assert Offered([entry(application=0.98, bandwidth=0.02, full=0.46, rate=1e10)]).rate_bps is None
    assert Offered([entry(receiver_window=1.0, full=0.0)]).rate_bps is None
    # A shaper lets the first bytes pass in a burst: a short transfer does not show the rate that others show.
    others, short = [entry(number, **FULL) for number in range(3)], entry(3, **FULL)
    short["bottleneck"] = {**short["bottleneck"], "rate_bps": 20e6}
    short["bytes"] = {name: value // 10 for name, value in short["bytes"].items()}
    assert Offered([*others, short]).rate_bps == pytest.approx(11.6e6)
    assert Offered([short]).rate_bps == pytest.approx(20e6)


@pytest.mark.parametrize(("rate_bps", "kinds"), [(1.1e6, []), (3e6, ["queue"])])
def test_the_pace_of_a_slow_reader_is_no_link(rate_bps: float, kinds: list[str]) -> None:
    """What it reads waits, too, and comes at one rate: its own, as far as goodput shows."""
    slow = entry(
        0,
        receiver_window=0.85,
        bandwidth=0.15,
        full=0.95,
        rate=rate_bps,
        goodput_bps=1e6,
        queue=(40.0, 50.0),
        base=5.0,
        zero_windows=9,
        window_closures={"count": 9, "longest_s": 0.05, "total_s": 9.0},
    )
    said = [one.kind for one in sentences([slow])]
    assert said == ["idle_receiver_window", *kinds]
    assert Offered([slow]).rate_bps == (rate_bps if kinds else None)


def test_the_digest_counts_by_the_limit_that_held_for_longest() -> None:
    found = digest([entry(0, **FULL), entry(1, application=0.6, bandwidth=0.4, unique=5)], 5)["limits"]
    assert found["bandwidth"] == {"connections": 1, "bytes": 1_448_000}
    assert found["application"] == {"connections": 1, "bytes": 5}


SHARES = st.lists(st.floats(0, 1), min_size=len(LIMITS), max_size=len(LIMITS)).filter(
    lambda some: sum(some) > 0.1
)


@st.composite
def entries(draw: st.DrawFn) -> Object:
    shares = draw(SHARES)
    whole = sum(shares)
    queue = draw(st.none() | st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)))
    return entry(
        draw(st.integers(0, 9)),
        seconds=draw(st.floats(0, 1e5)),
        point=draw(st.sampled_from([None, "snd", "rcv", "mid"])),
        **{name: value / whole for name, value in zip(LIMITS, shares, strict=True)},
        lost=draw(st.tuples(st.integers(0, 2000), st.integers(0, 2000))),
        full=draw(st.none() | st.floats(0, 1)),
        rate=draw(st.none() | st.floats(0, 1e12)),
        queue=queue,
        base=draw(st.none() | st.floats(0, 1e6)),
        shared=draw(st.none() | st.integers(0, 5)),
        zero_windows=draw(st.integers(0, 3)),
        again={"fast": draw(st.integers(0, 50)), "timeout": draw(st.integers(0, 9))},
    )


@given(entries())
def test_seconds_add_up_to_the_transfer(one: Object) -> None:
    found = flow(one)
    assert found is not None
    told = causes(found)
    assert sum(cause.seconds for cause in told) == pytest.approx(one["limits"]["seconds"], abs=1e-3)
    ranks = [cause.rank_s for cause in told]
    assert ranks == sorted(ranks, reverse=True)
    assert all(cause.rank_s <= cause.seconds for cause in told)


@given(st.lists(entries(), min_size=1, max_size=6))
def test_whatever_the_facts_there_is_an_answer_in_words(some: list[Object]) -> None:
    some = [one | {"index": at} for at, one in enumerate(some)]
    found = sentences(some)
    assert found
    assert all(one.kind in RULES for one in found)
    assert len({one.kind for one in found}) == len(found)
    assert not any(word in one.text for one in found for word in ("None", "nan", "  "))
    flows = [one for one in map(flow, some) if one is not None]
    assert sum(group.weight for group in groups(flows)) <= 1 + 1e-6


def test_what_an_application_writes_at_once_is_no_standing_queue() -> None:
    first, second = sentences(
        [entry(application=2.0, receiver_window=1.0, full=0.8, queue=(50.0, 76.0), base=11.0)]
    )
    assert (first.kind, second.kind) == ("idle_application", "queue")
    assert second.text == (
        "a queue filled by bursts of the application added 50 ms "
        "(median; 95th percentile 76 ms) to a base RTT of 11 ms"
    )
    paused: Any = {
        "application": 2.0,
        "receiver_window": 1.0,
        "full": 0.8,
        "queue": (50.0, 76.0),
        "base": 11.0,
    }
    several = sentences([entry(at, **paused) for at in range(2)])
    assert any("bursts of the application of connection 0 added 50 ms (" in one.text for one in several)


def test_a_standing_queue_is_said_whatever_limited_the_sender() -> None:
    one = entry(receiver_window=1.0, full=0.8, queue=(140.0, 190.0), base=40.0)
    first, second = sentences([one])
    assert (first.kind, second.kind) == ("idle_receiver_window", "queue")
    assert second.text == (
        "a standing queue (bufferbloat) added 140 ms (median; 95th percentile 190 ms) to a base RTT of 40 ms"
    )
    assert second.cost_s == 0
    for less in ({"queue": (29.0, 60.0)}, {"full": 0.2}):
        facts = {"full": 0.8, "queue": (140.0, 190.0), "base": 40.0} | less
        assert all(found.kind != "queue" for found in sentences([entry(receiver_window=1.0, **facts)]))


def test_a_handshake_of_a_round_trip_is_no_sentence_of_its_own() -> None:
    shares = {"bandwidth": 0.85, "handshake": 0.1, "congestion_window": 0.05, "full": 0.93, "rate": 11.6e6}
    usual = entry(**shares, base=2000.0)
    assert "idle_handshake_slow_start" not in {one.kind for one in sentences([usual]) if one.text}
    late = entry(**shares, base=100.0)
    rest = "; the congestion window limited the transfer for 1.00 s"
    assert f"the handshake took 2.0 of 20.0 s{rest}" in {one.text for one in sentences([late])}
    # The client opened it: away from it, nothing shows SYNs that were lost before the capture.
    behind = {**late, "rtt": {"toward_receiver": {"min_ms": 0.1}, "toward_sender": {"min_ms": 40.0}}}
    assert f"the handshake took 2.0 of 20.0 s from the first SYN seen{rest}" in {
        one.text for one in sentences([behind])
    }
    answered = {**behind, "data_direction": "reverse"}
    assert f"the handshake took 2.0 of 20.0 s{rest}" in {one.text for one in sentences([answered])}


@pytest.mark.parametrize(
    ("point", "shares", "exactly"),
    [
        ("rcv", {"application": 0.7, "congestion_window": 0.3}, "at most "),
        ("rcv", {"receiver_window": 0.7, "congestion_window": 0.3}, "about "),
        ("snd", {"application": 0.7, "congestion_window": 0.3}, ""),
        ("rcv", {"congestion_window": 0.9}, ""),
    ],
)
def test_away_from_the_sender_slow_start_may_have_been_a_wait(
    point: str, shares: dict[str, float], exactly: str
) -> None:
    said = [one.text for one in sentences([entry(**shares, point=point, unique=14_480)])]
    time_s = f"{20 * shares['congestion_window']:.1f}"
    assert any(f"limited the transfer for {exactly}{time_s} of" in one for one in said), said


def test_without_sack_many_needless_copies_are_not_one_segment_per_rtt() -> None:
    """A hundred segments in 10 s of RTTs of 80 or of 400 ms."""
    for base, said in ((80.0, True), (400.0, False)):
        one = entry(**LOSSY, base=base, sack=False, again={"fast": 100})
        assert ("retransmits one segment per RTT" in sentences([one])[0].text) is said


def test_what_repaired_nothing_is_no_recovery_of_a_loss() -> None:
    for lost, what in ((0, "recovery"), (3, "loss recovery")):
        facts = {"bandwidth": 0.8, "loss_recovery": 0.2, "full": 0.8, "rate": 5e6, "lost": (lost, 0)}
        (said, *_) = sentences([entry(**facts, again={"fast": 3}, needless_retransmissions=0 if lost else 3)])
        assert f"; {what} left the link less than full" in said.text, said.text


def test_recovery_among_far_more_reordered_segments_is_an_upper_bound() -> None:
    """Duplicate ACKs of what was reordered look like those of a loss, but at the sender."""
    facts: Any = {"loss_recovery": 0.6, "lost": (3, 0), "again": {"fast": 40}}
    for reordered, point, most in ((300, "mid", True), (60, "mid", False), (300, "snd", False)):
        one = entry(point=point, arrivals={"reordered": reordered}, **facts)
        (said, *_) = sentences([one])
        assert ("limited the transfer for at most 12.0 of 20.0 s" in said.text) == most, said.text
        assert ("loss recovery at most 60%" in limits_line(one)) == most


def test_a_share_of_time_leaves_out_what_is_unknown_and_says_so() -> None:
    for unknown, said_so in ((0.3, True), (0.02, False)):
        (said, *_) = sentences([entry(bandwidth=1 - unknown, unknown=unknown, full=1.0, rate=6e6)])
        words = "for 100% of the time with data in flight"
        assert (f"{words}, except the time of unknown limit" in said.text) == said_so, said.text
        assert words in said.text


def test_data_that_may_lie_unread_shows_no_link_without_an_rtt() -> None:
    """1.1 Mbit/s through 27,740 bytes, of which the base RTT needs a tenth: a reader's pace."""
    halves: Any = {"toward_receiver": {"min_ms": 0.004}, "toward_sender": {"min_ms": 21.5}}
    rtt: Any = halves | {"base_ms": 21.5, "median_ms": None, "base_at_most": True, "timed_share": 1.0}
    facts: Any = {"receiver_window": 0.97, "bandwidth": 0.03, "full": 0.8, "base": 21.5, "rtt": rtt}
    facts |= {"unique": 237_476, "goodput_bps": 1.11e6, "seconds": 1.73, "rate": 1.14e6}
    (said, *_) = sentences([entry(**facts) | {"max_window_bytes": 27_740}])
    assert "the link was full, too" not in said.text
    # All of a window that is in flight is behind a link.
    (said, *_) = sentences([entry(**facts) | {"max_window_bytes": 3_000}])
    assert "the link was full, too" in said.text


def test_a_queue_that_differs_between_connections_says_by_how_much() -> None:
    """Half of the data had 40 ms of it; one connection 10 ms, one 90 ms."""
    several = [
        entry(at, bandwidth=1.0, full=1.0, rate=8e6, base=20.0, shared=2, queue=(ms, ms + 5.0))
        for at, ms in enumerate((10.0, 40.0, 90.0))
    ]
    (said, *_) = sentences(several)
    assert (
        "added 40 ms (median; of single connections 10 ms to 90 ms; 95th percentile up to 95 ms) to a base"
        in said.text
    )
    alike: Any = {
        "bandwidth": 1.0,
        "full": 1.0,
        "rate": 8e6,
        "base": 20.0,
        "shared": 2,
        "queue": (42.0, 47.0),
    }
    (said, *_) = sentences([entry(at, **alike) for at in range(3)])
    assert "added 42 ms (median; 95th percentile 47 ms) to a base RTT" in said.text


def test_a_window_far_beyond_what_was_in_flight_was_full_while_it_was_smaller() -> None:
    facts: Any = {"receiver_window": 0.6, "bandwidth": 0.4, "base": 60.0, "unique": 2_500_000}
    below = "while smaller than its largest of 1,000,000 bytes"
    for window, words in ((1_000_000, below), (65_535, "at most 65,535 bytes")):
        (said, *_) = sentences([entry(**facts) | {"max_window_bytes": window}])
        assert f"({words}" in said.text, said.text


def test_seconds_of_several_connections_are_called_a_sum() -> None:
    some = [entry(at, application=0.5, bandwidth=0.5) for at in range(3)]
    assert "30.0 of 60.0 s, the sum over all 3 connections" in sentences(some)[0].text
    assert "sum" not in sentences(some[:1])[0].text


def test_a_long_queue_has_its_name_where_a_link_lost_segments_too() -> None:
    """Told of the link, as its losses are; a short one is partly jitter."""
    for queue_ms, named in ((432.0, True), (20.0, False)):
        lossy = entry(bandwidth=1.0, rate=3e6, base=23.5, queue=(queue_ms, 1.1 * queue_ms), lost=(20, 0))
        said = sentences([lossy])[0]
        assert said.kind == "bottleneck"
        assert ("; a standing queue (bufferbloat) added 432 ms" in said.text) == named
        assert ("; queue and jitter added" in said.text) != named


def test_the_bdp_is_named_only_where_a_full_link_shows_a_rate() -> None:
    window = {"congestion_window": 1.0, "base": 5000.0}
    assert "BDP" not in sentences([entry(**window)])[0].text
    # What a reader took at a time has a rate, too.
    assert "BDP" not in sentences([entry(**window, rate=1e6)])[0].text
    filled = {**window, "congestion_window": 0.8, "bandwidth": 0.2}
    assert "BDP" in sentences([entry(**filled, rate=2e6)])[0].text


def test_nothing_is_said_of_no_time() -> None:
    assert " 0 s" not in sentences([entry(seconds=0.0, received=0)])[0].text


def test_losses_are_told_before_a_link_that_had_room_for_a_third_of_the_time() -> None:
    """A full link costs nothing: it is the cause only where it was full for most of the time."""
    for full, kind in ((0.6, "loss"), (0.8, "bottleneck")):
        share = {"bandwidth": full, "loss_recovery": 1 - full}
        found = flow(entry(0, **share, lost=(5, 0), full=full, rate=1e7, again={"fast": 5}))
        assert found is not None
        assert causes(found)[0].kind == kind


def test_a_full_link_that_counts_for_no_more_than_its_room_is_said() -> None:
    """Half of the time was the link's: slow start is the cause, and the link is said with it."""
    share = {"bandwidth": 0.5, "congestion_window": 0.37, "loss_recovery": 0.13}
    parts = {"congestion_window_before_loss": 0.37}
    facts: Any = {"rate": 1e7, "full": 0.5, "evidence": ["constant_rate"], "base": 2000.0}
    found = flow(entry(0, **share, parts=parts, lost=(5, 0), again={"fast": 5}, **facts))
    assert found is not None
    said = {group.kind: group.weight for group in groups([found])}
    assert next(iter(said)) == "idle_handshake_slow_start"
    assert said["bottleneck"] < 0.2


def test_no_link_is_said_to_be_full_that_was_not() -> None:
    """Connections may keep a queue filled together while none of them shows the rate of the link."""
    facts: Any = {"congestion_window": 1.0, "full": 0.0, "queue": (40.0, 50.0), "base": 5.0}
    crowd = [flow(entry(index, **facts)) for index in range(3)]
    (said,) = {text(group, with_loss=False) for group in groups([one for one in crowd if one])}
    assert "kept a queue filled together" in said
    assert "full" not in said.replace("filled", "")


@pytest.mark.parametrize(
    ("rtt_ms", "zero_windows", "acks", "kind"),
    [
        (350.0, 0, 500, "queue"),
        (350.0, 0, 250, "idle_receiver_window"),
        (350.0, 3, 500, "idle_receiver_window"),
        (60.0, 0, 500, "idle_receiver_window"),
    ],
)
def test_a_window_that_keeps_a_full_link_filled_is_not_its_limit(
    rtt_ms: float, zero_windows: int, acks: int, kind: str
) -> None:
    """65,535 bytes are seven times what 1.5 Mbit/s and 50 ms hold, and all in flight at an RTT of 350 ms.

    At an RTT of 60 ms most of it is not: what the reader does not take is no queue. Nor is what waits for an
    ACK that comes when the reader takes four segments.
    """
    facts: Any = {
        "unique": 3_600_000,
        "received": acks,
        "queue": (rtt_ms - 50, rtt_ms - 40),
        "zero_windows": zero_windows,
        "window_closures": {"count": zero_windows, "longest_s": 0.1, "total_s": 0.1 * zero_windows},
    }
    found = flow(entry(0, receiver_window=1.0, full=1.0, rate=1.5e6, base=50.0, **facts))
    assert found is not None
    assert causes(found)[0].kind == kind
    (said,) = (text(group, with_loss=False) for group in groups([found]))
    assert ("a larger one would only lengthen the queue" in said) == (kind == "queue")
    assert ("read slowly" in said) == (acks < 500)


@pytest.mark.parametrize(
    ("facts", "said", "cost_s"),
    [
        # 20 s: full for 16 s of those with data in flight, 2 s of them as the limit itself.
        (
            {"full": 0.8},
            "; for about 14.00 s of that the link was full, too (600 kbit/s of IP packets): a larger",
            2.0,
        ),
        ({"full": 0.8, "rate": None}, "; for about 14.00 s of that the link was full, too: a larger", 2.0),
        ({"full": 0.45, "rate": None}, None, 9.0),
        ({"full": 0.2}, None, 14.0),
        # Unread data makes a window small, and nothing of that waits for a link.
        ({"full": 0.8, "zero_windows": 4}, None, 16.0),
        ({"full": 0.8, "base": 0.03}, None, 16.0),
    ],
)
def test_a_link_that_is_full_beside_a_full_window_is_said(
    facts: dict[str, Any], said: str | None, cost_s: float
) -> None:
    whole = {"receiver_window": 0.8, "bandwidth": 0.1, "congestion_window": 0.1, "rate": 0.6e6, "base": 200.0}
    first, *_ = sentences([entry(**whole | facts)])
    assert first.kind == "idle_receiver_window"
    assert ("the link was full, too" in first.text) == (said is not None)
    assert said is None or said in first.text
    assert first.cost_s == pytest.approx(cost_s)


@pytest.mark.parametrize(
    ("full", "inferred", "kind"),
    [(0.0, 0, "loss"), (0.9, 0, "local_drop"), (0.0, 40, "local_drop")],
)
def test_numbers_that_a_host_skips_are_no_drops_of_its_queue(full: float, inferred: int, kind: str) -> None:
    """A queue that refuses segments is full; what fills a gap at the sender had been refused, too."""
    facts: Any = {"congestion_window": 1 - full, "bandwidth": full, "full": full, "rate": 1e7}
    again = {"again": {"fast": 10 + inferred}, "inferred": inferred}
    found = flow(entry(0, point="snd", lost=(77, 7), **facts, **again))
    assert found is not None
    assert causes(found)[0].kind == kind
    assert found.lost == (7 if kind == "loss" else 84)


@pytest.mark.parametrize("point", ["snd", "mid", "rcv"])
def test_identifications_left_out_without_a_loss_show_a_queue_that_refuses(point: str) -> None:
    losses = {"upstream": 0, "downstream": 0, "acks": None, "refused": 41}
    one = entry(point=point, congestion_window=0.9, application=0.1, base=61.0) | {"losses": losses}
    said, *_ = sentences([one])
    assert (said.kind, said.cost_s) == ("local_drop", pytest.approx(18.0))
    assert said.text == (
        "the sender's own queue dropped at least 41 segments (by gaps in the IP identifications; they never "
        "reached this capture); the reduced congestion window after that, or the full link, limited "
        "the transfer for 18.0 of 20.0 s"
    )


def test_a_queue_that_refuses_held_those_that_waited_for_its_timer_and_fills_no_link() -> None:
    """Three of four waited for the timer of their refusals; a short one alone filled the link."""
    late = {"losses": {"upstream": 0, "downstream": 0, "acks": None, "refused": 41}}
    waited = [entry(at, point="snd", loss_recovery=0.9, application=0.1, base=1.0) | late for at in range(3)]
    short = entry(3, point="snd", bandwidth=0.9, application=0.1, full=0.95, base=1.0, seconds=1.0) | late
    said, *_ = sentences([*waited, short])
    assert said.kind == "local_drop"
    assert "its timer then sent one segment at a time, which limited 3 connections for" in said.text
    assert "full" not in said.text


def test_a_transfer_that_broke_off_was_not_refused_by_a_queue_far_away() -> None:
    late = {"losses": {"upstream": 2, "downstream": 0, "acks": None, "refused": 2}}
    facts: Any = {"loss_recovery": 0.99, "again": {"timeout": 2}, "inferred": 2}
    for point, closed, kind in (
        ("rcv", "reset", "loss"),
        ("rcv", "fin", "local_drop"),
        ("snd", "reset", "local_drop"),
    ):
        one = entry(point=point, **facts) | late | {"closed": closed}
        one["bytes"] = one["bytes"] | {"acked": 1_400_000}
        assert sentences([one])[0].kind == kind, (point, closed)


def test_the_wait_for_the_first_data_that_a_queue_let_pass_is_said() -> None:
    late = {"losses": {"upstream": 0, "downstream": 0, "acks": None, "refused": 41}}
    facts: Any = {
        "point": "snd",
        "bandwidth": 0.5,
        "loss_recovery": 0.4,
        "full": 0.9,
        "rate": 1e7,
        "base": 1.0,
    }
    waited: Any = {"loss_recovery_before_data": 0.03}
    alone, *_ = sentences([entry(**facts, parts=waited) | late])
    assert alone.text.endswith("; its first data passed 600 ms after the handshake")
    several = [entry(at, **facts, shared=2, parts=waited if at else {}) | late for at in range(3)]
    together, *_ = sentences(several)
    assert together.text.endswith("; of 2 connections the first data passed up to 600 ms after the handshake")


def test_a_link_that_was_full_for_longest_stands_behind_what_cost_time_and_moves_nothing_ahead() -> None:
    found = flow(
        entry(bandwidth=0.4, handshake=0.36, congestion_window=0.16, loss_recovery=0.08, lost=(0, 9))
    )
    assert found is not None
    kinds = [cause.kind for cause in causes(found)]
    assert kinds == ["idle_handshake_slow_start", "loss", "bottleneck"]
    # A short recovery moves it nowhere.
    opening: Any = {"handshake": 0.06, "congestion_window": 0.34}
    parts = {"congestion_window_before_loss": 0.34}
    found = flow(entry(bandwidth=0.55, loss_recovery=0.05, lost=(0, 9), parts=parts, **opening))
    assert found is not None
    assert causes(found)[0].kind == "bottleneck"


@pytest.mark.parametrize(
    ("rate_bps", "evidence", "kind"),
    [
        (0.7e6, ["constant_rate"], "bottleneck"),
        (0.7e6, ["queue"], "loss"),
        (0.8e6, ["constant_rate"], "loss"),
    ],
)
def test_a_link_that_needs_nearly_all_of_the_time_for_the_payload_is_the_cause(
    rate_bps: float, evidence: list[str], kind: str
) -> None:
    """1,448,000 bytes in 20 s: 16.5 s at 0.7 Mbit/s, 14.5 s at 0.8 Mbit/s; a queue stood for 8 s of them."""
    shares: Any = {"bandwidth": 0.4, "congestion_window": 0.4, "loss_recovery": 0.2, "full": 0.4}
    found = flow(entry(**shares, rate=rate_bps, evidence=evidence, lost=(0, 37), again={"fast": 37}))
    assert found is not None
    assert causes(found)[0].kind == kind


@pytest.mark.parametrize(
    ("window", "full", "kind"),
    [(0.9, 0.0, "local_drop"), (0.01, 0.9, "bottleneck"), (0.01, 0.0, "idle_application")],
)
def test_one_attempt_that_was_refused_matters_where_nothing_else_kept_the_window_small(
    window: float, full: float, kind: str
) -> None:
    facts: Any = {"congestion_window": window, "bandwidth": full, "full": full, "rate": 1e7, "base": 61.0}
    losses = {"upstream": 0, "downstream": 0, "acks": None, "refused": 1}
    said, *_ = sentences([entry(**facts, application=1 - window - full) | {"losses": losses}])
    assert said.kind == kind


@pytest.mark.parametrize(("near_ms", "kind"), [(0.02, "local_drop"), (5.9, "bottleneck")])
def test_a_sender_that_never_answers_at_once_is_not_here(near_ms: float, kind: str) -> None:
    """What was lost between it and the capture need not have been lost in its own queue."""
    rtt = {"toward_receiver": {"min_ms": 45.0}, "toward_sender": {"min_ms": near_ms}}
    facts: Any = {"lost": (28, 0), "again": {"fast": 28}, "inferred": 28, "rtt": rtt}
    (said, *_) = sentences([entry(0, point="snd", **FULL, **facts)])
    assert said.kind == kind
    assert ("own queue" in said.text) == (kind == "local_drop")


def test_one_drop_of_its_queue_is_not_what_lost_the_others() -> None:
    facts: Any = {"loss_recovery": 0.8, "congestion_window": 0.2, "again": {"fast": 64}, "inferred": 1}
    for lost, kind in (((1, 63), "loss"), ((40, 24), "local_drop")):
        found = flow(entry(0, point="snd", lost=lost, **facts))
        assert found is not None
        assert causes(found)[0].kind == kind


def test_a_trifle_beside_a_transfer_is_not_told() -> None:
    """A control connection says nothing of why another was slow; one that goes on for long behind it does."""
    bulk = entry(0, **FULL)
    for seconds, said in ((0.02, False), (19.0, False), (29.0, True)):
        control = entry(1, seconds, unique=185, application=1.0)
        kinds = [one.kind for one in sentences([bulk, control]) if one.text]
        assert ("idle_application" in kinds) == said


SMALL_WINDOW: Any = {"receiver_window": 0.9, "congestion_window": 0.1, "base": 200.0, "queue": (10.0, 12.0)}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        # 312 kB/s at an RTT of 210 ms are all of 65,535 bytes; 31 kB/s are a tenth, and the base RTT allows
        # 20 times as much. A timer that expired may have taken the time as well.
        (
            {"unique": 6_240_000},
            "the receiver's small window for 18.0 of 20.0 s (at most 65,535 bytes in each RTT of 210 ms",
        ),
        (
            {"unique": 320_000, "goodput_bps": 128e3},
            "the receiver, whose application read slowly, for 18.0 of 20.0 s (window: at most 65,535 bytes)",
        ),
        (
            {"unique": 320_000, "goodput_bps": 128e3, "timeouts": {"total": 1, "spurious": 1}},
            "the receiver's window for 18.0 of 20.0 s (at most 65,535 bytes)",
        ),
        (
            {"unique": 2_400_000, "goodput_bps": 960e3},
            "the receiver's window for 18.0 of 20.0 s (at most 65,535 bytes)",
        ),
        ({"unique": 3_700_000}, "the receiver's window for 18.0 of 20.0 s (at most 65,535 bytes)"),
        (
            {"zero_windows": 40, "window_closures": {"count": 40, "longest_s": 0.3, "total_s": 9.0}},
            "the receiver, whose application read slowly, for 18.0 of 20.0 s (window: at most 65,535 bytes, ",
        ),
        (
            {"zero_windows": 9, "window_closures": {"count": 1, "longest_s": 12.0, "total_s": 12.0}},
            "the receiver's window for 18.0 of 20.0 s (at most 65,535 bytes, closed once, for 12.00 s): its "
            "application stopped reading",
        ),
        (
            {
                "unique": 6_240_000,
                "zero_windows": 1,
                "window_closures": {"count": 1, "longest_s": 0.01, "total_s": 0.01},
            },
            "the receiver's small window for 18.0 of 20.0 s (at most 65,535 bytes in each RTT of 210 ms",
        ),
    ],
)
def test_what_kept_a_receiver_s_window_small(facts: Any, words: str) -> None:
    (said, *_) = sentences([entry(0, **SMALL_WINDOW | facts)])
    assert said.text.startswith(f"limited by {words}"), said.text


@pytest.mark.parametrize(("unique", "small"), [(6_000_000, True), (5_000_000, False)])
def test_below_an_upper_bound_of_the_rtt_more_of_a_window_has_to_be_in_flight(
    unique: int, small: bool
) -> None:
    """Of 65,535 bytes in each RTT of 200 ms at most, 92% or 76% were in flight at most."""
    half = {"min_ms": 100.0}
    rtt = {"base_at_most": True, "toward_receiver": half, "toward_sender": half}
    (said, *_) = sentences([entry(0, receiver_window=0.9, unique=unique, base=200.0, rtt=rtt, point="rcv")])
    assert ("small window" in said.text) is small, said.text


def test_most_of_the_time_between_requests_may_be_the_path_s() -> None:
    """Ten RTTs of 1 s, and 2 or 12 s in which the client thinks; or most of the time is neither."""
    asked = {
        "requests": 11,
        "count": 11,
        "client_sends_data": False,
        "request_wait_s": 12.0,
        "response_wait_s": 0.0,
        **dict.fromkeys(("requests_held", "requests_held_s", "responses_held", "responses_held_s"), 0),
    }
    rtt = {"toward_receiver": {"min_ms": 1000.0}, "toward_sender": {"min_ms": 0.0}}
    for seconds, think_s, path in ((12.0, 2.0, True), (25.0, 2.0, False), (20.0, 12.0, False)):
        waits = asked | {"request_wait_s": 10.0 + think_s}
        (said, *_) = sentences([entry(0, seconds, application=1.0, exchanges=waits, rtt=rtt)])
        assert ("requests that wait for responses" in said.text) is path, said.text
        assert ("most of it RTTs of the path" in said.text) is path


@pytest.mark.parametrize(("point", "about"), [("snd", ""), ("mid", "about "), ("rcv", "about ")])
def test_a_window_that_others_took_over_from_is_known_roughly(point: str, about: str) -> None:
    one = entry(receiver_window=0.6, congestion_window=0.3, point=point)
    (said, *_) = [found for found in sentences([one]) if found.kind == "idle_receiver_window"]
    assert f"the receiver's window for {about}12.0 of 20.0 s" in said.text


def test_a_small_window_says_what_it_allows() -> None:
    (said, *_) = sentences([entry(0, unique=6_240_000, **SMALL_WINDOW)])
    assert "(at most 65,535 bytes in each RTT of 210 ms)" in said.text


@pytest.mark.parametrize(
    ("scaling", "largest", "words"),
    [
        ("refused", 65_535, ": more needs window scaling, which the SYN+ACK did not accept)"),
        ("not_offered", 64_240, ": more needs window scaling, which the SYN did not offer when it passed"),
        ("agreed", 65_535, "210 ms)"),
        (None, 65_535, "210 ms)"),
        ("refused", 30_000, "210 ms)"),
    ],
)
def test_a_window_that_is_not_scaled_is_said(scaling: str | None, largest: int, words: str) -> None:
    facts = {"max_window_bytes": largest, "unique": largest * 20_000 // 210, "window_scaling": scaling}
    (said, *_) = sentences([entry(0, **SMALL_WINDOW | facts)])
    assert words in said.text, said.text


def test_of_requests_and_responses_it_is_said_who_waited_for_whom() -> None:
    """The capture is the server's: a request takes the RTT of 50 ms, and the client's pause before it."""
    asked = {
        "requests": 11,
        "count": 11,
        "client_sends_data": False,
        "request_wait_s": 10.5,
        "response_wait_s": 2.2,
        "requests_held": 0,
        "requests_held_s": 0.0,
        "responses_held": 0,
        "responses_held_s": 0.0,
    }
    rtt = {"toward_receiver": {"min_ms": 50.0}, "toward_sender": {"min_ms": 0.0}}
    (said, *_) = sentences([entry(0, application=1.0, exchanges=asked, rtt=rtt)])
    assert (
        "11 requests and responses, one at a time: in all, from the first request on, the client (10.0.0.2) "
        "took at most 10.00 s between responses and its next requests, the server 2.20 s to respond, the "
        "path at least 500 ms" in said.text
    )
    # Beside the client, jitter of the path is in what the server takes.
    beside = {"toward_receiver": {"min_ms": 0.1}, "toward_sender": {"min_ms": 50.0}}
    (said, *_) = sentences([entry(0, application=1.0, exchanges=asked, rtt=beside)])
    assert "took 10.50 s between" in said.text
    assert "the server at most 1.65 s to respond, the path at least 551 ms" in said.text
    # Between them, both are upper bounds, however near they are.
    (said, *_) = sentences([entry(0, point="mid", application=1.0, exchanges=asked, rtt=beside)])
    assert "took at most 10.50 s between" in said.text
    # One request has no next one; of an end that sends most in its requests, it is not said.
    one = {"requests": 1, "count": 1, "request_wait_s": 0.0}
    (said, *_) = sentences([entry(0, application=1.0, exchanges=asked | one, rtt=rtt)])
    assert "; one request: the server (10.0.0.1) took 2.20 s to respond; no loss" in said.text
    mine = one | {"client_sends_data": True}
    (said, *_) = sentences([entry(0, application=1.0, exchanges=asked | mine, rtt=rtt)])
    assert "request" not in said.text
    # In a capture by a host of itself, to both ends, no path is left: what floats leave over is nothing.
    itself = {"toward_receiver": {"min_ms": 0.0}, "toward_sender": {"min_ms": 0.0}}
    waits = {"request_wait_s": 13.055249, "response_wait_s": 0.70314}
    (said, *_) = sentences([entry(0, application=1.0, exchanges=asked | waits, rtt=itself)])
    assert "the path 0 s" in said.text
    (unknown, *_) = sentences([entry(0, application=1.0, exchanges=asked, rtt=None)])
    assert "requests" not in unknown.text
    (late, *_) = sentences([entry(0, application=1.0, exchanges=asked, rtt=rtt, again={"timeout": 1})])
    assert "requests" not in late.text


@pytest.mark.parametrize(("fast", "kind"), [(14, "spurious"), (0, "idle_handshake_slow_start")])
def test_a_window_that_needless_retransmissions_left_small_is_theirs(fast: int, kind: str) -> None:
    """Slow start of 1,000 segments takes eight RTTs at most."""
    facts: Any = {"congestion_window": 0.8, "loss_recovery": 0.2, "base": 50.0, "queue": (1.0, 2.0)}
    found = flow(entry(0, **facts, again={"fast": fast}))
    assert found is not None
    first, *rest = causes(found)
    assert first.kind == kind
    if fast:
        assert (first.seconds, rest) == (20.0, [])


def test_a_handshake_that_waited_for_a_timer_says_so() -> None:
    (said, *_) = sentences([entry(0, seconds=4.0, handshake=0.9, syn_timeouts=2)])
    assert said.text == (
        "the handshake took 3.6 of 4.0 s: 2 times a SYN or SYN+ACK was lost or late, "
        "or a full accept queue left the SYN unanswered; it was retransmitted after a timeout"
    )
    (said, *_) = sentences([entry(0, seconds=4.0, handshake=0.9)])
    assert "lost" not in said.text


def test_a_handshake_that_waited_for_a_timer_is_said_however_long_the_queue() -> None:
    """A stall of a second is the 95th percentile of what was queued: a SYN did not wait in it."""
    facts: Any = {"bandwidth": 0.8, "full": 0.9, "rate": 1.5e6, "base": 59.0, "queue": (36.0, 1006.0)}
    for timeouts in (0, 1):
        said = sentences([entry(0, seconds=10.0, handshake=0.2, syn_timeouts=timeouts, **facts)])
        told = any("once a SYN or SYN+ACK was lost or late" in one.text for one in said)
        assert told == (timeouts > 0)


def test_the_recovery_of_a_full_link_is_said_beside_its_cost() -> None:
    shares = {"bandwidth": 0.9, "loss_recovery": 0.1}
    (said, *_) = sentences([entry(0, **shares, lost=(5, 0), full=0.9, rate=1e7, again={"fast": 5})])
    assert said.kind == "bottleneck"
    assert said.text.endswith("; loss recovery left the link less than full")
    # A link that needed the time for what it carried was not left.
    needed = 8 * (2_500_000 + 40 * 1_000) / 19.0
    (said, *_) = sentences(
        [entry(0, **shares, lost=(5, 0), full=0.9, rate=needed, unique=2_500_000, again={"fast": 5})]
    )
    assert "left the link" not in said.text


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((1.3, 1.3, 1.3), "1.30 s"),
        ((0.9, 1.3, 1.6), "1.30 s, 900 ms to 1.60 s"),
        ((0.0, 1.3, 1.3), "at most 1.30 s"),
        ((0.0, 1.3, 1.5), "at most 1.50 s"),
        ((0.0, 1.3, 3.5), "at most 3.50 s"),
        ((0.0, 1.3, 4.0), "at most 4.00 s"),
        ((0.0, 0.0, 15.4), "at most 15.40 s"),
    ],
)
def test_words_of_a_cost(bounds: tuple[float, float, float], words: str) -> None:
    assert cost_words(*bounds) == words


@pytest.mark.parametrize(
    ("kind", "cost_s", "high_s", "said"),
    [
        ("loss", 1.0, 2.0, True),
        ("loss", 0.0, 2.0, True),
        ("loss", 0.0, 0.04, False),
        ("bottleneck", 0.0, 2.0, False),
        ("bottleneck", 1.0, 2.0, True),
    ],
)
def test_a_cost_that_is_not_reckoned_is_said_by_its_bound(
    kind: str, cost_s: float, high_s: float, said: bool
) -> None:
    assert is_said({"kind": kind, "cost_s": cost_s, "cost_bounds_s": [0.0, high_s]}) == said


def test_what_several_bring_is_no_rate_of_a_link_that_none_shows() -> None:
    """The sum of connections held by losses is what they got, and not what the link offers."""
    held = entry(bandwidth=0.5, loss_recovery=0.5, full=0.5, rate=None)
    assert Offered([held, {**held, "index": 1}]).rate_bps is None


def stood(length_s: float, *, before: bool = False) -> list[Object]:
    one = {"start": 1.0, "length_s": length_s, "record": 7, "upstream": before, "silence_s": length_s}
    return [one]


@pytest.mark.parametrize(
    ("stalled", "words"), [(False, "(median; 95th percentile 890 ms)"), (True, "(median)")]
)
def test_what_waited_for_the_end_of_a_stall_is_no_part_of_a_queue(stalled: bool, words: str) -> None:
    facts = {"bandwidth": 0.95, "full": 0.95, "rate": 1e7, "queue": (123.0, 890.0), "base": 5.0}
    one = entry(**facts, standstills=stood(0.9) if stalled else [])
    (text,) = (one.text for one in sentences([one]) if "queue" in one.text)
    assert f"added 123 ms {words} to a base RTT of 5 ms" in text


def test_a_path_that_stood_still_has_the_time_of_what_the_sender_seemed_to_wait_for() -> None:
    facts = {"bandwidth": 0.5, "loss_recovery": 0.45, "full": 0.5, "lost": (3, 0), "unknown": 0.05}
    first, *rest = sentences([entry(**facts, standstills=stood(9.0))])
    assert (first.kind, first.cost_s) == ("standstill", pytest.approx(9.0))
    assert first.text == (
        "the path, or the receiver's host, stalled for about 9.00 s: data was in flight and no ACK "
        "arrived; then that data was acknowledged"
    )
    costs = {found.kind: found.cost_s for found in rest}
    # The second of the unknown and eight of the nine of recovery are the standstill's.
    assert costs["loss"] == pytest.approx(1.0)
    assert "unknown" not in costs
    first, *_ = sentences([entry(**facts, standstills=stood(9.0, before=True))])
    assert first.text.startswith("the path before this capture, or the sender's host, stalled for 9.00 s")


@pytest.mark.parametrize(
    ("before", "said"),
    [(False, "in flight and only 1 ACK arrived;"), (True, "only 1 segment of data arrived, then")],
)
def test_what_passed_in_the_middle_of_a_stall_is_named(before: bool, said: str) -> None:
    stalls = [{**stood(9.0, before=before)[0], "passed": 1}]
    first, *_ = sentences([entry(bandwidth=0.5, loss_recovery=0.5, full=0.5, standstills=stalls)])
    assert said in first.text


def test_a_window_that_was_small_for_far_longer_than_slow_start_was_so_in_the_stall() -> None:
    """Of 20 s, 4 s before the first loss, 14 s of recovery, 2 s unknown; slow start takes 0.2 s."""
    facts: Any = {"congestion_window": 0.2, "loss_recovery": 0.7, "base": 20.0, "queue": (2.0, 5.0)}
    for before_loss, window_s, recovery_s in ((0.2, 0.4, 14.0), (0.01, 4.0, 12.4)):
        parts = {"congestion_window_before_loss": before_loss}
        found = flow(entry(**facts, lost=(9, 0), parts=parts, standstills=stood(3.6)))
        assert found is not None
        assert waits_s(found)["congestion_window"] == pytest.approx(window_s, abs=0.3)
        assert waits_s(found)["loss_recovery"] == pytest.approx(recovery_s, abs=0.3)


@pytest.mark.parametrize(("still_s", "first"), [(1.0, "bottleneck"), (8.0, "standstill")])
def test_a_full_link_is_the_cause_unless_its_path_stood_still_for_long(still_s: float, first: str) -> None:
    one = entry(bandwidth=0.9, congestion_window=0.1, full=0.9, lost=(3, 0), standstills=stood(still_s))
    kinds = [found.kind for found in sentences([one])]
    assert kinds[0] == first
    assert {"bottleneck", "standstill"} <= set(kinds)


def test_a_recovery_that_sent_nothing_again_is_not_known() -> None:
    found = sentences([entry(loss_recovery=0.6, congestion_window=0.4)])
    assert found[0].kind == "unknown"
    assert not any("0 retransmissions" in one.text for one in found)
    assert (
        sentences([entry(loss_recovery=0.6, congestion_window=0.4, again={"fast": 1})])[0].kind == "spurious"
    )


def test_many_fill_a_link_while_one_waits_for_its_timer() -> None:
    """What they bring together shows that the link was full: a loss of one is how the link says so."""
    lossy = {"bandwidth": 0.55, "loss_recovery": 0.45, "rate": 59e6, "again": {"fast": 90, "timeout": 10}}
    many = [
        entry(at, **lossy, lost=(0, 100), shared=3, full=0.99, evidence=["constant_sum"]) for at in range(4)
    ]
    (found,) = sentences(many)
    assert found.kind == "bottleneck"
    assert found.text.startswith(
        "the link was full, shared by 4 connections: 59 Mbit/s of IP packets, for 99% of the time; "
    )
    assert found.cost_s == pytest.approx(20 * 0.45 * 0.01 * 4)
    # Nor was it full for longer than it needed for what they brought: 6.6 MB of packets in 20 s.
    lossy["rate"] = 2.8e6
    (found,) = sentences(
        [entry(at, **lossy, lost=(0, 0), shared=3, full=0.99, evidence=["constant_sum"]) for at in range(4)]
    )
    assert "2.8 Mbit/s of IP packets, for 95% of the time; " in found.text
    seldom = [
        entry(at, **lossy, lost=(0, 100), shared=3, full=0.6, evidence=["constant_sum"]) for at in range(4)
    ]
    assert sentences(seldom)[0].kind == "loss"


def test_where_much_was_needless_no_bound_of_losses_is_said() -> None:
    again = {"loss_recovery": 0.8, "again": {"slow_start": 100}, "lost": (0, 100), "point": "snd"}
    vague, *_ = sentences([entry(**again, needless_retransmissions=60)])
    assert vague.text.startswith(
        "10% of the segments were retransmitted (100 of 1,000); at least 60 of 100 retransmissions were "
        "needless"
    )
    bound, *_ = sentences([entry(**again, needless_retransmissions=3)])
    assert bound.text.startswith("at most 10% of the segments were lost (100 of 1,000); at least 3 of 100")


@pytest.mark.parametrize(
    ("records", "about", "least"), [(1000, "", "at least "), (400, "about ", "at least ")]
)
def test_counts_of_super_segments_are_about_right(records: int, about: str, least: str) -> None:
    """They count as what they become on the wire; into which segments each was divided does not show."""
    one = entry(
        **FULL, point="snd", lost=(0, 20), again={"fast": 20}, mss=1460, timestamps=True,
        needless_retransmissions=3,
    )  # fmt: skip
    one["packets"]["data"] = records
    text = " ".join(said.text for said in sentences([one]))
    assert f"(20 of {about}1,000); {least}3 of 20 retransmissions were needless" in text


@pytest.mark.parametrize(
    ("upstream", "possible", "expected"),
    [
        (12, 0, "of the retransmissions seen, by inference 2 timeouts"),
        (0, 3, "of the retransmissions seen, by inference 2 timeouts"),
        (0, 0, "by inference 2 timeouts"),
    ],
)
def test_causes_are_lower_bounds_where_retransmissions_are_missing(
    upstream: int, possible: int, expected: str
) -> None:
    facts: Any = {"loss_recovery": 0.8, "congestion_window": 0.2, "again": {"timeout": 2, "fast": 20}}
    losses = {"upstream": upstream, "downstream": 10, "acks": None, "possible": possible}
    (said, *_) = sentences([entry(0, point="mid", **facts) | {"losses": losses}])
    assert expected in said.text.replace("By", "by")


@pytest.mark.parametrize(
    ("possible", "expected"),
    [
        (10, "10 segments in order may be retransmissions (IP identifications are missing before them)"),
        (1, "1 segment in order may be a retransmission (IP identifications are missing before it)"),
        (0, "no loss seen"),
    ],
)
def test_no_loss_is_not_claimed_where_what_came_in_order_may_be_sent_again(
    possible: int, expected: str
) -> None:
    losses = {"upstream": 0, "downstream": 0, "acks": None, "possible": possible}
    found = flow(entry(0) | {"losses": losses})
    assert found is not None
    assert losses_said((found,)) == expected


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.134, "14%"), (0.13, "13%"), (0.0281, "2.9%"), (0.028, "2.8%"), (0.00041, "0.05%"), (1.0, "100%")],
)
def test_an_upper_bound_is_rounded_up(share: float, words: str) -> None:
    assert percent_at_most(share) == words


def test_a_syn_that_was_retransmitted_is_no_loss_of_data() -> None:
    """It is the sender's timeout, and its retransmission; the data arrived."""
    (said, *_) = sentences([entry(0, bandwidth=1.0, full=1.0, again={"timeout": 1}, syn_timeouts=1)])
    assert "; no loss" in said.text
    assert "retransmission" not in said.text


def test_behind_a_first_flight_that_was_lost_the_window_is_small_by_that() -> None:
    """The timer that repaired it left a window of one segment: no loss showed since, and none had to."""
    late = {"loss_recovery_before_data": 0.4, "congestion_window_before_loss": 0.55}
    found = flow(entry(0, loss_recovery=0.4, congestion_window=0.6, parts=late))
    assert found is not None
    assert {cause.kind for cause in causes(found) if cause.seconds > 0} == {"loss"}


@pytest.mark.parametrize(("point", "words"), [("rcv", "at most 10%"), ("snd", "10%")])
def test_a_share_that_is_known_roughly_is_said_so(point: str, words: str) -> None:
    one = entry(0, point=point, application=0.9, congestion_window=0.1)
    assert f"congestion window {words} of" in limits_line(one)


@pytest.mark.parametrize("timestamps", [True, False])
def test_without_sack_and_timestamps_lost_and_late_look_alike(timestamps: bool) -> None:
    one = entry(0, point="snd", congestion_window=1.0, lost=(0, 40), again={"fast": 40})
    one |= {"handshake": True, "sack": False, "timestamps": timestamps}
    (said, *_) = sentences([one])
    assert ("were lost or only late (40 of" in said.text) == (not timestamps)


@pytest.mark.parametrize(("exact", "share"), [(True, "40%"), (False, "80%")])
def test_what_a_link_needed_leaves_no_time_to_a_window(exact: bool, share: str) -> None:
    """Of 20 s the link needs 12.1 for 1,000 segments at its rate."""
    one = entry(0, congestion_window=0.8, bandwidth=0.2, full=0.2, rate=1e6, queue=(30.0, 60.0), base=50.0)
    one["bottleneck"] |= {"rate_exact": exact}
    assert f"congestion window {share}" in limits_line(one | {"point": "snd"}).replace("at most ", "")


@pytest.mark.parametrize(("queue_ms", "share"), [(30.0, "40%"), (20.0, "80%")])
def test_a_window_whose_segments_meet_no_queue_leaves_the_link_idle(queue_ms: float, share: str) -> None:
    """A packet takes the link 12 ms: who waits for two others met a queue, and not who came in a burst."""
    one = entry(
        0, congestion_window=0.8, bandwidth=0.2, full=0.2, rate=1e6, queue=(queue_ms, 60.0), base=50.0
    )
    assert f"congestion window {share}" in limits_line(one | {"point": "snd"}).replace("at most ", "")


def test_a_cost_beside_a_full_link_is_that_of_recovery() -> None:
    cost = {"cost_s": 1.3, "cost_bounds_s": [1.3, 1.3]}
    contract = {"loss": {"transfer_s": 4.0, "s": 1.3, "bounds_s": [1.2, 1.4]}}
    assert tag(contract, cost | {"kind": "bottleneck"}) == "cost of recovery 1.30 s"
    assert tag(contract, cost | {"kind": "loss"}) == "cost 1.30 s"


def test_a_short_queue_is_partly_jitter() -> None:
    for queue_ms, words in ((4.0, "queue and jitter added 4 ms"), (70.0, "(bufferbloat) added 70 ms")):
        lossy = entry(
            loss_recovery=0.4,
            bandwidth=0.6,
            full=0.6,
            rate=1e6,
            queue=(queue_ms, 2 * queue_ms),
            base=20.0,
            lost=(9, 0),
        )
        assert any(words in said.text for said in sentences([lossy])), words


@pytest.mark.parametrize(
    ("full", "words"), [(0.98, "wait for the last ACK 1%"), (0.5, "wait for the last ACK 5%")]
)
def test_the_last_ack_of_a_full_link_waits_for_its_queue_first(full: float, words: str) -> None:
    """The last data was sent 1 s before its ACK came; without a queue, an RTT takes 200 ms."""
    parts = {"congestion_window_after_data": 0.05}
    one = entry(0, bandwidth=0.95, congestion_window=0.05, full=full, rate=8e5, base=200.0, parts=parts)
    assert words in limits_line(one)


@pytest.mark.parametrize(("base", "said"), [(80.0, False), (200.0, True)])
def test_one_segment_per_rtt_may_take_most_of_recovery_though_slow_start_repairs_more(
    base: float, said: bool
) -> None:
    """Forty segments in 3.2 s, or in 8 s, of 12 s of recovery; slow start repaired seventy in a few RTTs."""
    one = entry(**LOSSY, base=base, sack=False, again={"fast": 40, "slow_start": 70})
    assert ("retransmits one segment per RTT" in sentences([one])[0].text) is said


@pytest.mark.parametrize(("sack", "said"), [(False, True), (True, False)])
def test_recovery_that_left_a_link_less_than_full_took_an_rtt_for_each(sack: bool, said: bool) -> None:
    shares = {"bandwidth": 0.7, "loss_recovery": 0.2, "congestion_window": 0.1, "full": 0.75, "rate": 11.6e6}
    one = entry(**shares, base=40.0, sack=sack, again={"fast": 100}, lost=(0, 100))
    text = sentences([one])[0].text
    assert "loss recovery left the link less than full" in text
    assert ("less than full; without SACK it retransmits one segment per RTT" in text) is said


@pytest.mark.parametrize(("control_bytes", "said"), [(900, False), (90_000, True)])
def test_a_connection_with_little_data_beside_a_transfer_is_not_worth_a_sentence(
    control_bytes: int, said: bool
) -> None:
    control = entry(1, application=1.0, unique=control_bytes)
    found = sentences([entry(0, **FULL), control])
    assert [bool(one.text) for one in found if one.kind == "idle_application"] == [said]
    assert sentences([control])[0].text


@pytest.mark.parametrize(("lost", "said"), [({0: 0}, False), ({0: 3}, True), ({}, True)])
def test_recovery_from_no_loss_is_no_reason_of_a_full_link(lost: dict[int, int], said: bool) -> None:
    """With both captures, a timer that expired without a loss shows a path that stalled."""
    one = entry(bandwidth=0.7, loss_recovery=0.3, full=0.7, rate=12e6, point="snd", again={"timeout": 1})
    (found, *_) = [one for one in sentences([one], lost=lost) if one.kind in ("bottleneck", "queue")]
    assert ("left the link less than full" in found.text) == said


@pytest.mark.parametrize(
    ("point", "base_ms", "said"),
    [("snd", 0.02, "min 20 us"), ("rcv", 0.02, "base less than 1 ms"), ("mid", 40.8, "base 40.8 ms")],
)
def test_a_base_rtt_of_what_hosts_take(point: str, base_ms: float, said: str) -> None:
    assert least_words({"point": point, "rtt": {}}, base_ms) == said


@pytest.mark.parametrize(("reordered", "needless", "said"), [(5, 40, True), (2, 40, False), (5, 3, False)])
def test_reordering_is_named_beside_needless_retransmissions(
    reordered: int, needless: int, said: bool
) -> None:
    """Each segment that three others overtake may open a recovery, which retransmits several."""
    usual: Any = {**LOSSY, "point": "rcv", "again": {"fast": 40}, "needless_retransmissions": needless}
    one = entry(**usual)
    one["arrivals"] = {**(one.get("arrivals") or {}), "reordered": reordered}
    text = " ".join(found.text for found in sentences([one]))
    assert (f"the network reordered {reordered} segments" in text) == said, text


@pytest.mark.parametrize(("refused", "rate"), [(41, None), (41, 1e7), (0, None)])
def test_behind_an_own_queue_that_drops_a_window_is_not_told_from_a_full_link(
    refused: int, rate: float | None
) -> None:
    losses = {"upstream": 0, "downstream": 0, "acks": None, "refused": refused}
    facts: Any = {"congestion_window": 0.8, "application": 0.2, "rate": rate}
    line = limits_line(entry(point="snd", **facts) | {"losses": losses})
    assert ("congestion window or full link 80%" in line) == (refused > 0 and rate is None), line
    assert ("application or timer 20%" in line) == (refused > 0), line


def test_counts_of_the_kernel_add_up() -> None:
    """What its own queue did not accept, what it accepted, what came by, and the rest of it."""
    flows = [entry(**FULL, point="snd")]
    (text,) = [
        one.text
        for one in sentences(flows, kernel={0: KernelCounts(165, refused=196)})
        if one.kind == "kernel_count"
    ]
    assert text.startswith("the kernel tried 361 retransmissions: the sender's own queue did not accept 196")
    assert "accepted 165, of which the capture shows 0; the other 165 were dropped" in text
