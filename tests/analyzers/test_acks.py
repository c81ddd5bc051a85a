"""How a receiver acknowledges: made by hand, and the samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_measurement import ack, data, measurement

import multitracer as mt
from multitracer.model.schema import ACK_KINDS


def entry(rows: list[dict[str, Any]], rcv: int | None = None) -> dict[str, Any]:
    m = measurement(rows, rcv=rcv)
    if rcv is not None:
        m.connections[0].summaries.update({0: {}, rcv: {}})
    result = mt.analyze(m, only=["acks"]).results["acks"]
    assert result.inconclusive is None
    (found,) = result.summary["connections"]
    return dict(found)


def test_bunch_of_acks() -> None:
    """Data every 10 ms; three regular ACKs, then five within 4 ms."""
    rows = [data(10 * n, 1 + 60 * n) for n in range(8)]
    times = [100, 110, 120, 161, 162, 163, 164, 165]
    rows += [ack(t, 61 + 60 * n) for n, t in enumerate(times)]
    found = entry(rows)["compression"]
    assert found["pairs"] == 7
    assert found["compressed"] == 4
    assert found["compressed_runs"] == 1
    assert found["longest"] == 5


def test_regular_acks_are_not_compressed() -> None:
    rows = [data(10 * n, 1 + 60 * n) for n in range(8)] + [ack(100 + 10 * n, 61 + 60 * n) for n in range(8)]
    assert entry(rows)["compression"]["compressed"] == 0


def test_data_sent_twice_measures_nothing() -> None:
    rows = [data(0, 1), data(10, 61), data(500, 1), ack(600, 61), ack(601, 121)]
    assert entry(rows)["compression"]["pairs"] == 0


def test_zero_window_and_update() -> None:
    update = ACK_KINDS.index("window_update")
    rows = [data(0, 1, ack_kind=0), ack(50, 61, 0, ack_kind=0), ack(4050, 61, 8000, ack_kind=update)]
    found = entry(rows)["window"]
    assert found["zero_s"] == 4.0
    assert [span["start"] for span in found["zero"]] == [0.05]
    assert found["updates"] == 1
    assert (found["smallest"], found["largest"]) == (0, 8000)


def test_delayed_acks() -> None:
    """At the receiver: one ACK for two segments, 40 ms after the second."""
    rows = [data(0, 1), data(1, 61), ack(90, 121)]
    for turn in range(6):
        base = 100 * turn
        rows += [data(base + 20, 1 + 120 * turn, source=1), data(base + 21, 61 + 120 * turn, source=1)]
        rows += [ack(base + 61, 121 + 120 * turn, source=1)]
    found = entry(rows, rcv=1)["delayed"]
    assert found["segments_per_ack"] == 2.0
    assert found["every_second_share"] == 1.0
    assert found["held_median_ms"] == pytest.approx(40.0)


def test_delay_needs_the_receivers_capture() -> None:
    assert entry([data(0, 1), ack(50, 61)])["delayed"] is None


def test_samples(sample: Path) -> None:
    result = mt.analyze(mt.read(sample), only=["acks"]).results["acks"]
    (found,) = result.summary["connections"]
    kinds = found["acks"]
    assert kinds["total"] == sum(count for name, count in kinds.items() if name != "total")
    assert found["delayed"]["held_max_ms"] <= 500
    assert found["window"]["zero_s"] == 0
