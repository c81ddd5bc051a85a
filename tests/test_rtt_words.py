"""What is said of the RTT and of the queue is what the capture measured."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from support_entries import entry

from multitracer.cli import many, words
from multitracer.cli.terminal import Console
from multitracer.diagnosis.field.saying import sentences
from multitracer.output.rtt import shown_queue, usual_rtt


def _half(least: float, median: float | None = None, p95: float | None = None) -> dict[str, Any]:
    return {"min_ms": least, "median_ms": median, "p95_ms": p95, "samples": 9, "bound_ms": [0.0, least]}


def _measured(point: str, near_ms: float, *, timestamps: bool = False) -> dict[str, Any]:
    """Of a capture with 2.5 ms to the receiver and back, which does not know what the whole takes."""
    rtt = {
        "toward_receiver": _half(2.5, 2.9, 3.1),
        "toward_sender": _half(near_ms),
        "base_ms": 2.5 + near_ms,
        "median_ms": None,
        "p95_ms": None,
    }
    samples = {"samples": 298, "min": 2.5, "mean": 2.9, "max": 3.3}
    return entry(point=point, rtt=rtt, rtt_ms=samples, timestamps=timestamps)


def test_at_the_receiver_that_half_is_its_host() -> None:
    one = _measured("rcv", 5.8)
    said = "the receiver's host acknowledged after 2.9 ms, median; 95th percentile 3.1 ms"
    assert words.rtt(one) == f"base 8.3 ms; later RTTs unknown here: no timestamps ({said})"
    one["rtt"]["toward_receiver"] = _half(0.005, 0.007, 0.03)
    assert words.rtt(one) == "base 8.3 ms; later RTTs unknown here: no timestamps"


@pytest.mark.parametrize("point", ["snd", "mid"])
def test_away_from_the_sender_the_measured_half_is_named(point: str) -> None:
    one = _measured(point, 5.8)
    assert words.rtt(one) == (
        "base 8.3 ms; later RTTs unknown here: no timestamps "
        "(between this capture and the receiver: median 2.9 ms, 95th percentile 3.1 ms)"
    )
    usual = usual_rtt(one)
    assert usual is not None
    assert (usual.of, round(usual.ms, 1)) == ("least", 8.3)
    assert "timestamps do not show them (" in words.rtt(_measured(point, 5.8, timestamps=True))


def test_what_the_handshake_alone_measured_is_an_upper_bound() -> None:
    one = _measured("rcv", 5.8)
    one["rtt"]["base_at_most"] = True
    assert words.rtt(one).startswith("base at most 8.3 ms; later RTTs unknown here: no timestamps (")
    assert words.rtt_cell(one) == "at most 8.3 ms"
    one["rtt"] |= {"median_ms": 9.1, "p95_ms": 12.5}
    assert words.rtt(one) == "base at most 8.3 ms, median 9.1 ms, 95th percentile 12.5 ms"
    queued = entry(
        bandwidth=0.99, rate=7.9e6, full=1.0, queue=(20.0, 30.0), base=8.3, evidence=["queue"], point="rcv"
    )
    (said, *_) = sentences([queued])
    assert "to a base RTT of 8.3 ms" in said.text
    queued["rtt"] = one["rtt"] | {"median_ms": 29.8, "p95_ms": 39.8}
    (said, *_) = sentences([queued])
    assert "added about 20 ms (median" in said.text
    assert "to a base RTT of at most 8.3 ms" in said.text
    assert words.bottleneck(queued).endswith(
        "queue and jitter median about 20 ms, 95th percentile about 30 ms"
    )


def test_a_queue_in_front_of_the_capture_is_in_no_rtt() -> None:
    """Without timestamps: neither the RTT nor a queueing delay of microseconds is named as if it were all."""
    one = _measured("snd", 0.01)
    full = entry(
        bandwidth=0.99, rate=3.98e6, full=1.0, queue=(0.2, 0.3), base=0.03, evidence=["queue"], point="snd"
    )
    full["rtt"] = {**one["rtt"], "median_ms": 0.23, "p95_ms": 0.33, "base_ms": 0.03}
    full["rtt_ms"] = one["rtt_ms"]
    (before, *_) = sentences([full])
    assert "sender's own queue" not in before.text
    full["rtt"]["without_own_queue"] = one["rtt"]["without_own_queue"] = True
    (said, *_) = sentences([full])
    assert "packets waited for it in the sender's own queue, before this capture: no RTT here" in said.text
    assert shown_queue(full) is None
    assert words.rtt(full) == (
        "min 30 us, median 230 us, 95th percentile 330 us (without the wait in the sender's own queue)"
    )
    assert words.rtt(one).endswith("(298 samples; without the wait in the sender's own queue)")


def test_a_queue_is_one_by_the_rtt_that_it_makes() -> None:
    """A packet takes 4 ms at 3 Mbit/s; an RTT of 65.4 ms is three times the base RTT, one of 60 is not."""
    for median_ms, what in ((66.5, "queueing delay"), (60.0, "queue and jitter")):
        queue = (median_ms - 25.6, median_ms + 10.0)
        one = entry(
            bandwidth=0.99, rate=3e6, full=1.0, queue=queue, base=21.8, evidence=["queue"], point="snd"
        )
        one["rtt"] = _measured("snd", 0.01)["rtt"] | {"base_ms": 21.8, "median_ms": median_ms, "p95_ms": 90.0}
        assert f"{what} median" in words.bottleneck(one)
        (said, *_) = sentences([one])
        assert ("standing queue" in said.text) is (what == "queueing delay")


def test_next_to_the_sender_it_is_the_whole() -> None:
    one = _measured("snd", 0.01)
    assert words.rtt(one) == "min 2.5 ms, mean 2.9 ms, max 3.3 ms (298 samples)"
    usual = usual_rtt(one)
    assert usual is not None
    assert (usual.of, usual.ms) == ("mean", 2.9)


@pytest.mark.parametrize(
    ("queue", "evidence", "full", "shown"),
    [
        # Three packets take 4.5 ms.
        ((2.3, 4.5), ["constant_rate"], 1.0, False),
        ((2.3, 4.5), ["queue", "constant_rate"], 1.0, True),
        ((2.3, 4.5), ["constant_rate"], 0.8, True),
        ((4.8, 9.0), ["constant_rate"], 1.0, True),
    ],
)
def test_what_jitter_adds_is_no_queue_of_a_full_link(
    queue: tuple[float, float], evidence: list[str], full: float, shown: bool
) -> None:
    one = entry(bandwidth=0.99, rate=7.9e6, full=full, queue=queue, base=20.5, evidence=evidence, point="snd")
    assert (shown_queue(one) is not None) is shown
    assert any("queue and jitter added" in found.text for found in sentences([one])) is shown
    assert ("queue and jitter median" in words.bottleneck(one)) is shown
    assert "queueing delay" not in words.bottleneck(one)


@pytest.mark.parametrize(
    ("full", "median_ms", "refused", "shown"),
    [
        (0.8, 0.013, 0, False),
        (0.8, 1.0, 0, True),
        (0.6, 0.013, 0, True),
        (0.6, 0.013, 3, False),
        (0.4, 0.013, 3, True),
    ],
)
def test_who_waits_for_a_full_link_waits_for_half_a_packet(
    full: float, median_ms: float, refused: int, shown: bool
) -> None:
    """A packet takes 1.5 ms; the queue of the sender's own host, which refused some, is in front of it."""
    queue = (median_ms, 2 * median_ms)
    one = entry(
        bandwidth=0.8, rate=7.9e6, full=full, queue=queue, base=0.005, evidence=["queue"], point="snd"
    )
    one["losses"] = {"refused": refused}
    assert (shown_queue(one) is not None) is shown


@pytest.mark.parametrize(("delayed", "said"), [(0, False), (1, False), (15, True)])
def test_a_percentile_without_delayed_acks_is_said_to_be_so(delayed: int, said: bool) -> None:
    one = _measured("mid", 5.0)
    one["rtt"] |= {"base_ms": 8.0, "median_ms": 9.0, "p95_ms": 12.0, "delayed_acks": delayed}
    one["rtt"]["toward_receiver"]["samples"] = 200
    assert words.rtt(one).endswith(" (without delayed ACKs)") is said


def test_a_queue_far_above_the_base_rtt_is_no_jitter() -> None:
    one = entry(bandwidth=0.99, rate=19e6, full=1.0, queue=(1.5, 1.8), base=0.02, evidence=["constant_rate"])
    assert shown_queue(one) is not None


@pytest.mark.parametrize(("share", "said"), [(0.3, True), (0.7, True), (0.9, False), (None, False)])
def test_a_median_of_few_is_that_outside_of_loss_recovery(share: float | None, said: bool) -> None:
    """Without SACK, recovery measures no RTT, and the queue is longest then."""
    whole = {"base_ms": 20.0, "median_ms": 57.0, "p95_ms": 61.0, "timed_share": share}
    rtt = {"toward_receiver": _half(20.0), "toward_sender": _half(0.0), **whole}
    one = entry(bandwidth=0.99, rate=7.9e6, full=0.99, queue=(37.0, 41.0), base=20.0, point="snd", rtt=rtt)
    one |= {"rtt_ms": None, "timestamps": True}
    when = "outside of loss recovery"
    assert words.rtt(one).endswith(f"95th percentile 61 ms{f' ({when})' if said else ''}")
    assert words.bottleneck(one).endswith(f"41 ms ({when})" if said else "41 ms")
    found, *_ = sentences([one])
    assert (f"; {when}) to a base RTT" in found.text) == said


def test_the_table_cuts_no_number_and_no_limit(capsys: pytest.CaptureFixture[str]) -> None:
    listed = []
    for index in range(10, 13):
        one = entry(index, congestion_window=0.9, goodput_bps=2.02e6)
        one |= {key: _measured("rcv", 7.9)[key] for key in ("rtt", "rtt_ms")}
        one["rtt"]["base_at_most"] = True
        listed.append(one)
    many._table(Console(width=80, file=sys.stdout), listed, range(3), "Most data", 3)
    lines = [line for line in capsys.readouterr().out.splitlines() if "kB" in line or "MB" in line]
    assert len(lines) == 3
    assert all("at most 10.4 ms" in line and line.endswith("congestion window") for line in lines)
