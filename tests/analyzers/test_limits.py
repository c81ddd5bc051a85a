"""What limited the sender: transfers by hand with one limit each, and the samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_measurement import ack, data, measurement, table

import multitracer as mt
from multitracer.model import schema
from multitracer.model.schema.results import LIMITS

Rows = list[dict[str, Any]]


def of_phases(result: mt.Result) -> dict[str, float]:
    """Shares of the phases of the only connection."""
    phases = result.tables["phases"]
    spent = np.bincount(phases["limit"], phases["end_ns"] - phases["t_ns"], minlength=len(LIMITS))
    return dict(zip(LIMITS, (spent / spent.sum()).tolist(), strict=True))


def shares(rows: Rows) -> dict[str, float]:
    m = measurement(rows, rcv=None)
    result = mt.analyze(m, only=["limits"]).results["limits"]
    assert result.inconclusive is None
    return {name: share for name, share in of_phases(result).items() if share > 0.005}


def rounds(window: int, flight: int, count: int = 20) -> Rows:
    """Every 100 ms an ACK for all that is out, then at once as many segments of 60 bytes again."""
    rows: Rows = [ack(-1, 1, window)]
    seq = 1
    for turn in range(count):
        rows += [data(100 * turn + 0.1 * n, seq + 60 * n) for n in range(flight)]
        seq += 60 * flight
        rows.append(ack(100 * turn + 99.9, seq, window))
    return rows


def test_full_window() -> None:
    found = shares(rounds(window=240, flight=4))
    assert found.pop("receiver_window") > 0.9
    assert set(found) <= {"application", "congestion_window"}


def test_room_in_the_window() -> None:
    found = shares(rounds(window=8000, flight=4))
    assert found["congestion_window"] > 0.9


def test_zero_window() -> None:
    rows = [
        ack(-1, 1, 120),
        data(0, 1),
        data(0.1, 61),
        ack(50, 121, 0),
        ack(4000, 121, 8000),
        data(4000.1, 121),
    ]
    rows += [ack(4100, 181)]
    assert shares(rows)["zero_window"] > 0.9


def test_late_application() -> None:
    rows = [ack(-1, 1)]
    for turn in range(10):
        rows += [data(500 * turn, 1 + 60 * turn), ack(500 * turn + 50, 61 + 60 * turn)]
    assert shares(rows)["application"] > 0.95


def test_recovery() -> None:
    rows = [ack(-1, 1), data(0, 1), data(1, 61), data(2, 121), data(1000, 1, cause=1), ack(1900, 181)]
    rows += [data(1900.1, 181), ack(2000, 241)]
    assert shares(rows)["recovery"] > 0.9


def test_pacing_is_not_the_application() -> None:
    rows = [ack(-1, 1)]
    for n in range(400):
        rows.append(data(5 * n, 1 + 60 * n))
        if n >= 20:
            rows.append(ack(5 * n + 2.5, 1 + 60 * (n - 19)))
    assert shares(rows)["congestion_window"] > 0.9


def test_without_the_senders_capture_it_is_not_answered() -> None:
    m = measurement(rounds(240, 4), snd=None, rcv=0)
    assert "next to the data sender" in (mt.analyze(m, only=["limits"]).results["limits"].inconclusive or "")


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("flow-control", "receiver_window"),
        ("local-drops", "congestion_window"),
        ("link-resets-vj", "recovery"),
    ],
)
def test_samples(name: str, limit: str, samples: Path) -> None:
    result = mt.analyze(mt.read(samples / name), only=["limits"]).results["limits"]
    (entry,) = result.summary["connections"]
    spent_by = of_phases(result)
    assert max(spent_by, key=lambda word: spent_by[word]) == limit
    phases = result.tables["phases"]
    assert (phases["end_ns"][:-1] == phases["t_ns"][1:]).all(), "phases cover the transfer without a gap"
    spent = float((phases["end_ns"] - phases["t_ns"]).sum()) / 1e9
    assert spent == pytest.approx(entry["seconds"], abs=1e-6)


@pytest.mark.parametrize("name", ["flow-control", "local-drops", "spurious-timeouts"])
def test_one_number_in_one_place(name: str, samples: Path) -> None:
    """Shares are those of `connections`, and nothing else is called so."""
    results = mt.analyze(mt.read(samples / name), only=["limits", "connections"]).results
    (entry,) = results["limits"].summary["connections"]
    (whole,) = results["connections"].summary["connections"]
    assert entry["limits"] == whole["limits"] is not None
    assert not {"share", "mostly"} & set(entry)


def test_the_kernels_own_account(samples: Path) -> None:
    """The receiver's window, by the capture and by the kernel's counters."""
    result = mt.analyze(mt.read(samples / "spurious-timeouts"), only=["limits"]).results["limits"]
    (entry,) = result.summary["connections"]
    kernel = entry["kernel"]
    assert kernel["rwnd_limited_s"] / kernel["busy_s"] == pytest.approx(
        of_phases(result)["receiver_window"], abs=0.05
    )
    assert kernel["sndbuf_limited_s"] == 0


def test_only_the_kernel_knows_of_the_send_buffer() -> None:
    m = measurement(rounds(window=8000, flight=4), rcv=None)
    assert mt.analyze(m, only=["limits"]).results["limits"].summary["connections"][0]["kernel"] is None
    counters = [{"t_ns": n * 10**9, "source": 0, "conn": 0, "dir": 0, "busy_ns": n * 10**9} for n in range(3)]
    rows = [row | {"sndbuf_limited_ns": row["t_ns"] // 2, "rwnd_limited_ns": 0} for row in counters]
    m.tables["tcp_states"] = table(schema.TCP_STATES, rows)
    (entry,) = mt.analyze(m, only=["limits"]).results["limits"].summary["connections"]
    assert entry["kernel"] == {"busy_s": 2.0, "rwnd_limited_s": 0.0, "sndbuf_limited_s": 1.0}
