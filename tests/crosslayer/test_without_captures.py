"""Logs without any capture: joined by what a socket saw, within their bounds, or said to be unjoined."""

from __future__ import annotations

import numpy as np
import pytest
from support_alignment import HOUR, MS, Wrong, errors, log_of, traces, warped

from multitracer.api.measurement import Measurement, align
from multitracer.reading.opening import open_trace

BOOT_NS = 1_795_246_858_019_188_000  # what the samples' kernel logs count from
LINK, PROBE, COUNTERS = "rlp.log.gz", "tcp_probe.txt.gz", "ss.log.gz"


def worst(measurement: Measurement, source: int, original: object, offset: int) -> int:
    return int(errors(measurement, source, original, offset).max())  # type: ignore[arg-type]


@pytest.mark.parametrize("sample", ["link-resets-sack", "spurious-timeouts"])
def test_link_log_and_kernel_log(sample: str) -> None:
    link, probe = traces(sample, [LINK, PROBE])
    for moved in (0, 3 * HOUR):
        measurement = align([link, warped(probe, Wrong(moved))])
        clock = measurement.clocks[1]
        assert clock.method == "causality"
        assert clock.uncertainty_ns is not None
        assert clock.uncertainty_ns < 15 * MS
        assert worst(measurement, 1, probe, BOOT_NS) <= clock.uncertainty_ns + 5_000


@pytest.mark.parametrize("sample", ["flow-control", "local-drops"])
def test_link_log_that_never_runs_empty_gives_one_side(sample: str) -> None:
    link, probe = traces(sample, [LINK, PROBE])
    measurement = align([link, probe])
    assert measurement.clocks[1].uncertainty_ns is None
    assert worst(measurement, 1, probe, BOOT_NS) < MS
    (issue,) = [one for one in measurement.issues if one.code == "wide-clock-bound"]
    assert issue.detail == "known on one side only"


@pytest.mark.parametrize("sample", ["flow-control", "link-resets-vj", "spurious-timeouts"])
def test_counters_and_kernel_log(sample: str) -> None:
    counters, probe = traces(sample, [COUNTERS, PROBE])
    for order in ((0, 1), (1, 0)):
        measurement = align([(counters, probe)[at] for at in order])
        clock = measurement.clocks[order.index(1)]
        assert clock.method == "ack-match"
        assert clock.uncertainty_ns is not None
        assert clock.uncertainty_ns < 80 * MS
        assert worst(measurement, order.index(1), probe, BOOT_NS) <= clock.uncertainty_ns


def test_kernel_log_binds_counters_to_the_link_log() -> None:
    link, counters, probe = traces("spurious-timeouts", [LINK, COUNTERS, PROBE])
    measurement = align([link, warped(counters, Wrong(-2 * HOUR)), probe])
    clock = measurement.clocks[1]
    assert clock.uncertainty_ns is not None
    assert worst(measurement, 1, counters, 0) <= clock.uncertainty_ns
    assert not [one for one in measurement.issues if one.code == "unjoined-source"]


def test_two_kernel_logs_of_one_socket() -> None:
    probe, again = traces("local-drops", [PROBE, PROBE])
    second = warped(again, Wrong(-HOUR, 20e-6))
    second.source.path = "second.txt"
    measurement = align([probe, second])
    clock = measurement.clocks[1]
    assert (clock.method, clock.grade) == ("ack-match", "accurate")
    assert worst(measurement, 1, again, 0) <= (clock.uncertainty_ns or 0) + 5_000


def test_two_link_logs(tmp_path: object) -> None:
    mine = open_trace(log_of("flow-control", "ms", tmp_path / "ms.log"))  # type: ignore[operator]
    peer = open_trace(log_of("flow-control", "iwf", tmp_path / "iwf.log"))  # type: ignore[operator]
    measurement = align([mine, warped(peer, Wrong(2 * HOUR))])
    clock = measurement.clocks[1]
    assert clock.method == "hull"
    assert worst(measurement, 1, peer, 0) <= (clock.uncertainty_ns or 0)


def test_logs_of_different_transfers_are_not_joined() -> None:
    (link,) = traces("flow-control", [LINK])
    (probe,) = traces("spurious-timeouts", [PROBE])
    (counters,) = traces("link-resets-sack", [COUNTERS])
    measurement = align([link, probe, warped(counters, Wrong(9 * HOUR))])
    assert [clock.grade for clock in measurement.clocks[1:]] == ["unjoined", "unjoined"]
    told = [one.path for one in measurement.issues if one.code == "unjoined-source"]
    assert len(told) == 2


def test_clock_steps_do_not_break_it() -> None:
    link, probe = traces("spurious-timeouts", [LINK, PROBE])
    measurement = align([warped(link, Wrong(0, 0.0, -1_000 * MS)), probe])
    assert np.all(np.diff(measurement.events_table()["t_ns"]) >= 0)
