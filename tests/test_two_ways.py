"""What is said where data goes both ways, where routers mark packets, where no full segment arrives."""

from __future__ import annotations

from typing import Any

import pytest
from support_entries import entry

from multitracer.cli.words import bottleneck
from multitracer.diagnosis.field.entries import flow
from multitracer.diagnosis.field.groups import groups
from multitracer.diagnosis.field.links import are_several_links
from multitracer.diagnosis.field.measurement import _without_data
from multitracer.diagnosis.field.phrases import percent_at_least
from multitracer.diagnosis.field.saying import sentences
from multitracer.diagnosis.findings.broken_off import _too_large

FULL = {"bandwidth": 0.9, "congestion_window": 0.1, "full": 0.93}
BACK = {"data_direction": "reverse"}


def test_the_two_directions_of_a_path_are_two_links() -> None:
    both = sentences([entry(0, **FULL, rate=8e6), entry(1, **FULL, rate=4e6, **BACK)])
    full = [one for one in both if one.kind == "bottleneck"]
    words = sorted(one.text.partition(",")[0] for one in full)
    assert words == [
        "the link from 10.0.0.1 was full for connection 0: 8 Mbit/s of IP packets",
        "the link toward 10.0.0.1 was full for connection 1: 4 Mbit/s of IP packets",
    ]


def test_connections_of_one_direction_are_one_link() -> None:
    found, *_ = sentences([entry(number, **FULL, rate=8e6) for number in range(2)])
    assert found.text.startswith("the link was full for 2 connections")
    flows = [flow(entry(number, **FULL, rate=8e6)) for number in range(2)]
    assert {group.way for group in groups([one for one in flows if one is not None])} == {""}


def to(number: int, host: int, rate: float, **more: Any) -> dict[str, Any]:
    """A connection to one of several hosts that fills a link."""
    ends = [f"10.0.0.1:{4000 + number}", f"10.0.0.{host}:5001"]
    return entry(number, **FULL, rate=rate, endpoints=ends, **more)


def full_links(entries: list[dict[str, Any]]) -> list[str]:
    return sorted(one.text for one in sentences(entries) if one.kind == "bottleneck")


def test_links_to_different_hosts_are_apart() -> None:
    first, second = full_links([to(0, 2, 8e6), to(1, 3, 4e6)])
    assert first.startswith("the link to 10.0.0.2 was full for connection 0: 8 Mbit/s of IP packets")
    assert second.startswith("the link to 10.0.0.3 was full for connection 1: 4 Mbit/s of IP packets")


def test_those_that_queue_at_one_place_share_a_link() -> None:
    (said,) = full_links([to(0, 2, 8e6, shared=1), to(1, 3, 8e6, shared=1)])
    assert said.startswith("the link was full, shared by 2 connections")


def test_many_links_are_told_together() -> None:
    (said,) = full_links([to(number, 2 + number, (1 + number) * 1e6) for number in range(5)])
    assert said.startswith(
        "the links to 5 hosts were full for 5 connections: 1 Mbit/s to 5 Mbit/s of IP packets"
    )


def test_several_links_have_no_utilization() -> None:
    def several(*entries: dict[str, Any]) -> bool:
        return are_several_links([found for one in entries if (found := flow(one)) is not None])

    assert several(to(0, 2, 8e6), to(1, 3, 4e6))
    assert not several(to(0, 2, 8e6), to(1, 2, 4e6))
    assert not several(to(0, 2, 8e6, shared=1), to(1, 3, 8e6, shared=1))


MARKED = {"congestion_window": 0.8, "bandwidth": 0.2, "base": 20.0, "queue": (2.0, 4.0), "full": 0.2}


@pytest.mark.parametrize(("times", "words"), [(1, "once"), (6, "6 times")])
def test_marks_reduce_the_window(times: int, words: str) -> None:
    one = entry(**MARKED, ecn={"ce": 24, "ece": 97, "cwr": times}, point="snd")
    found = sentences([one])[0]
    assert found.kind == "congestion_marks"
    assert found.text.startswith(
        "a router marked packets instead of dropping them (ECN), and the sender reduced its congestion "
        f"window {words}; the reduced congestion window limited the transfer for "
    )
    assert found.text.endswith("; no loss")


def test_losses_outweigh_fewer_marks() -> None:
    one = entry(**MARKED, ecn={"ce": 0, "ece": 97, "cwr": 6}, lost=(0, 40), again={"fast": 40}, point="snd")
    assert sentences([one])[0].kind == "loss"


def test_marks_of_a_full_link_are_said() -> None:
    found, *_ = sentences([entry(**FULL, rate=8e6, ecn={"ce": 0, "ece": 9, "cwr": 3})])
    assert found.kind == "bottleneck"
    assert found.text.endswith(
        "; no loss seen; a router marked packets instead of dropping them (ECN), and the sender reduced its "
        "congestion window 3 times"
    )


def test_without_marks_nothing_is_said_of_them() -> None:
    found, *_ = sentences([entry(**FULL, rate=8e6, ecn={"ce": 0, "ece": 0, "cwr": 0})])
    assert "ECN" not in found.text


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (
            "snd",
            "no data passed this capture in 20.00 s: 10.0.0.1 sent none; the other end sent none, or all of "
            "it was lost before this point (a capture at the other end shows which)",
        ),
        ("rcv", ": 10.0.0.2 sent none; the other end sent none, or all of it was lost"),
        ("mid", ": none was sent, or all of it was lost before this point (a capture at the sender"),
    ],
)
def test_without_data(point: str, words: str) -> None:
    assert words in _without_data([entry(point=point)])


def test_without_data_at_both_ends() -> None:
    assert _without_data([entry()], both_ends=True) == "no data was sent: there is nothing to explain"


def _broken(**facts: Any) -> dict[str, Any]:
    counts = {"sent": 20_000, "unique": 15_000, "duplicate": 5_000, "acked": 0} | facts.pop("counts", {})
    return entry(mss=1460, **facts) | {"bytes": counts}


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (_broken(), True),
        (_broken(counts={"acked": 300}), True),
        (_broken(counts={"acked": 1448 * 2}), False),
        (_broken(counts={"unique": 900}), False),
        (_broken() | {"handshake": False}, False),
    ],
)
def test_no_full_segment_got_through(ended: dict[str, Any], said: bool) -> None:
    assert ("PMTU blackhole" in _too_large([ended])) is said


WAITED = {"congestion_window": 1.0, "base": 20.0, "queue": (32.5, 34.0)}


def test_acks_that_wait_are_a_sentence() -> None:
    *_, found = sentences(
        [entry(**WAITED, point="snd") | {"losses": {"upstream": 0, "downstream": 0, "acks": 644}}]
    )
    assert found.kind != "ack_queue", "nothing tells"
    one = entry(**WAITED, point="snd") | {"losses": {"upstream": 0, "downstream": 0, "acks": 644}}
    one["bottleneck"]["acks_share"] = 0.91
    *_, found = sentences([one])
    assert found.kind == "ack_queue"
    assert found.text == (
        "ACKs waited in a queue in their own direction: by their timestamps, about 91% of what queues added "
        "to the RTT (32.5 ms, median); at least 644 ACKs were lost before this capture and 500 reached it "
        "(by IP identifications)"
    )
    assert found.cost_s == 0.0
    one["losses"]["acks"] = 0
    *_, found = sentences([one])
    assert found.text == (
        "ACKs were delayed, by a queue or by jitter, in their own direction: by their timestamps, about 91% "
        "of what queues and jitter added to the RTT (32.5 ms, median)"
    )


def _rtt(median_ms: float) -> dict[str, Any]:
    half = {"min_ms": 25.0}
    return {"median_ms": median_ms, "p95_ms": 480.0, "toward_receiver": half, "toward_sender": half}


def _asymmetric(**shares: float) -> list[dict[str, Any]]:
    """A download whose ACKs wait behind the capture at its receiver, and the upload that fills their link."""
    waits = {"congestion_window": 1.0, "base": 50.0, "queue": (360.0, 400.0)}
    download = entry(1, **waits, point="rcv") | {"rtt": _rtt(410.0)}
    download["data_direction"] = "backward"
    download["bottleneck"] |= {"acks_share": 0.0, "data_share": 0.05} | shares
    upload = entry(bandwidth=1.0, full=1.0, rate=1e6, base=50.0, queue=(400.0, 430.0))
    upload["rtt"] = _rtt(450.0)
    return [upload, download]


def test_acks_that_wait_behind_the_capture() -> None:
    """Of what makes the RTT long, data waited for hardly anything, and another connection fills that link."""
    found = next(one for one in sentences(_asymmetric()) if one.kind == "ack_queue")
    assert found.text == (
        "the ACKs of connection 1 waited in a queue in their own direction behind this capture, or the "
        "sender of the data waited itself: by timestamps, data waited for none of about 95% of what queues "
        "added to the RTT (360 ms, median); the data of connection 0 filled the link in that direction"
    )
    assert all(one.kind != "ack_queue" for one in sentences(_asymmetric(data_share=0.5)))


@pytest.mark.parametrize(("share", "queue_ms"), [(0.3, 32.5), (0.9, 4.0), (None, 32.5)])
def test_few_that_wait_are_none(share: float | None, queue_ms: float) -> None:
    one = entry(**WAITED | {"queue": (queue_ms, 40.0)})
    one["bottleneck"]["acks_share"] = share
    assert all(found.kind != "ack_queue" for found in sentences([one]))


def test_a_rate_that_changes_is_said() -> None:
    one = entry(bandwidth=0.98, full=0.98, congestion_window=0.02)
    one["bottleneck"] |= {"rates_bps": [1e6, 7.97e6]}
    found, *_ = sentences([one])
    assert found.kind == "bottleneck"
    assert found.text.startswith(
        "the link was full for 98% of the time with data in flight, at a rate that changed, mostly 1 Mbit/s "
        "and 7.97 Mbit/s of IP packets; "
    )
    assert bottleneck(one).startswith("mostly 1 Mbit/s and 7.97 Mbit/s of IP packets")


def test_few_losses_are_some() -> None:
    assert percent_at_least(2 / 2766) == "0.07%"
    assert percent_at_least(0.0019) == "0.1%"


def test_what_identifications_leave_out_is_no_absence_of_loss() -> None:
    one = entry(**FULL, rate=8e6, point="mid", base=300.0, queue=(1.0, 2.0))
    one["losses"]["refused"] = 1
    found, *_ = sentences([one])
    assert found.kind == "bottleneck"
    assert "; no loss seen except at least 1 segment (by missing IP identifications)" in found.text


CROSSED = {
    "congestion_window": 0.55,
    "bandwidth": 0.3,
    "loss_recovery": 0.15,
    "base": 36.0,
    "queue": (30.4, 61.0),
}


@pytest.mark.parametrize(
    ("facts", "share", "said"),
    [
        ({}, 0.97, True),
        ({}, 0.4, False),
        ({}, None, False),
        ({"bandwidth": 0.5, "congestion_window": 0.35}, 0.97, False),
        ({"loss_recovery": 0.4, "congestion_window": 0.3}, 0.97, False),
        ({"queue": (12.0, 61.0)}, 0.97, False),
        ({"shared": 2}, 0.97, False),
    ],
)
def test_a_queue_that_others_fill(facts: dict[str, Any], share: float | None, said: bool) -> None:
    one = entry(**CROSSED | facts, lost=(0, 40), again={"fast": 40}, point="snd")
    one["bottleneck"]["data_share"] = share
    found = [found.text for found in sentences([one]) if found.kind == "other_traffic"]
    assert bool(found) is said
    assert all(
        text.startswith("its data waited in a queue for most of the time (30.4 ms, median)") for text in found
    )


def test_another_connection_of_the_capture_is_no_other_traffic() -> None:
    def said(*entries: dict[str, Any]) -> bool:
        return any(found.kind == "other_traffic" for found in sentences(list(entries)))

    one = entry(**CROSSED, lost=(0, 40), again={"fast": 40}, point="snd")
    one["bottleneck"]["data_share"] = 0.97
    beside = entry(1, bandwidth=0.9, point="snd") | {"unique": 900_000}
    assert said(one)
    assert not said(one, beside), "that may have filled the link"
    assert said(one, beside | {"start": 21.0, "end": 40.0}), "it came later"
    assert said(one, beside | {"bytes": beside["bytes"] | {"unique": 10_000}}), "it hardly brought data"


def test_a_short_transfer_shows_no_other_traffic() -> None:
    """A handshake of 1.1 s, and 0.4 s in which the link was full for most of the time."""
    facts = {"base": 41.4, "queue": (45.8, 63.2), "point": "snd", "lost": (0, 7), "again": {"fast": 7}}
    one = entry(0, 1.5, handshake=0.71, bandwidth=0.23, congestion_window=0.06, **facts)
    one["bottleneck"]["data_share"] = 0.97
    assert not [found for found in sentences([one]) if found.kind == "other_traffic"]


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (
            ["unanswered"],
            "the connection was never established: nothing answered its SYN (retransmitted 6 times)",
        ),
        (["refused"], "the connection was never established: a RST answered its SYN (retransmitted 6 times)"),
        (
            ["refused", "unanswered"],
            "none of the connections was established: nothing answered or a RST answered their SYNs",
        ),
    ],
)
def test_what_never_opened(ends: list[str], words: str) -> None:
    entries = [entry(at, point=None, closed=end, syn_timeouts=6) for at, end in enumerate(ends)]
    assert _without_data(entries) == words
