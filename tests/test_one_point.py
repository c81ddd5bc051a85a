"""What one capture tells, wherever it was taken: limits, round trip, bottleneck, observation point."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import multitracer as mt
from multitracer.layers.onepoint import _app_limited, nothing_outstanding_ns
from multitracer.model.declared import with_points
from multitracer.model.errors import UsageError

POINTS = ("snd", "mid", "rcv")
NAMES = (
    "application",
    "receiver_window",
    "congestion_window",
    "bandwidth",
    "loss_recovery",
    "handshake",
    "unknown",
)
SAMPLES = Path(__file__).parent.parent / "sample_traces"


@pytest.fixture(scope="module")
def everyday() -> Path:
    shared = os.environ.get("MULTITRACER_SHARED")
    if shared is None or not (Path(shared) / "everyday").is_dir():
        pytest.skip("MULTITRACER_SHARED names no folder with everyday/")
    return Path(shared) / "everyday"


def _connections(path: Path, detail: Any = "full") -> list[dict[str, Any]]:
    measurement = mt.read(path, detail=detail)
    results = mt.analyze(measurement, only=["connections"]).results
    return [dict(entry) for entry in results["connections"].summary["connections"]]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    ("transfer", "expected"),
    [
        ("app-pauses", "application"),
        ("slow-reader", "receiver_window"),
        ("router-bloat", "bandwidth"),
        ("router-drop", "bandwidth"),
        ("qdisc-cubic", "bandwidth"),
    ],
)
def test_everyday_limits(everyday: Path, transfer: str, expected: str, point: str) -> None:
    (entry,) = _connections(everyday / transfer / f"{point}.pcap.gz")
    limits = entry["limits"]
    assert limits["method"] == "inferred"
    assert sum(limits[name] for name in NAMES) == pytest.approx(1, abs=1e-4)
    assert max(NAMES, key=lambda name: float(limits[name])) == expected


@pytest.mark.parametrize("point", POINTS)
def test_everyday_bottleneck(everyday: Path, point: str) -> None:
    (entry,) = _connections(everyday / "router-bloat" / f"{point}.pcap.gz")
    found = entry["bottleneck"]
    assert found["full_share"] > 0.7
    assert found["rate_bps"] == pytest.approx(15e6, rel=0.1)


@pytest.mark.parametrize("point", POINTS)
def test_a_shared_link_is_full_only_while_it_is(everyday: Path, point: str) -> None:
    """One of six fills it with the others for a third of its time, and then paces itself at 0.3 Mbit/s."""
    entries = _connections(everyday / "router-flows" / f"{point}.pcap.gz")
    (slow,) = [entry for entry in entries if entry["endpoints"][0].endswith(":56440")]
    assert slow["bottleneck"]["full_share"] < 0.5
    assert slow["limits"]["bandwidth"] < 0.5
    assert max(NAMES, key=lambda name: float(slow["limits"][name])) == "congestion_window"
    others = [entry for entry in entries if entry is not slow]
    assert all(entry["limits"]["bandwidth"] > 0.7 for entry in others)


@pytest.mark.parametrize("point", ["snd", "mid"])
def test_a_full_link_of_some_connections_is_told_with_their_time(everyday: Path, point: str) -> None:
    """Five of six are over after two seconds; the utilization is that of all the time."""
    analysis = mt.analyze(mt.read(everyday / "router-flows" / f"{point}.pcap.gz"))
    told = json.loads(analysis.to_json())["diagnosis"]
    (full,) = [one["text"] for one in told if one["kind"] == "bottleneck"]
    there = "which was 2.3 of 5.9 s"
    assert re.search(rf"1[45][.\d]* Mbit/s of IP packets, for 100% of their time, {there}", full)
    (used,) = [one["text"] for one in told if one["kind"] == "utilization"]
    assert re.match(r"utilization about 4[2-6]%", used)


def test_idle_phases_without_a_utilization_are_explained(everyday: Path) -> None:
    """An application that pauses leaves the link idle, and never fills it: its rate is not known."""
    analysis = mt.analyze(mt.read(everyday / "app-pauses" / "snd.pcap.gz"))
    phases, utilization = (analysis.results[name] for name in ("idle_phases", "utilization"))
    assert phases.summary["basis"] == "estimate from captures"
    assert phases.summary["idle_s"] > 0.8 * phases.summary["span_s"]
    assert utilization.inconclusive is not None
    assert "captures do not show the capacity of the link" in utilization.inconclusive


@pytest.mark.parametrize("point", POINTS)
def test_summary_says_the_same(everyday: Path, point: str) -> None:
    path = everyday / "router-flows" / f"{point}.pcap.gz"
    assert [entry["limits"] for entry in _connections(path, "summary")] == [
        entry["limits"] for entry in _connections(path, "full")
    ]


def test_the_kernel_decides(everyday: Path, tmp_path: Path) -> None:
    for name in ("snd.pcap", "ss.log"):
        with (
            gzip.open(everyday / "slow-reader" / f"{name}.gz") as packed,
            open(tmp_path / name, "wb") as file,
        ):
            shutil.copyfileobj(packed, file)
    (entry,) = _connections(tmp_path)
    assert entry["limits"]["method"] == "kernel"
    assert entry["limits"]["receiver_window"] > 0.7
    assert sum(entry["limits"][name] for name in NAMES) == pytest.approx(1, abs=1e-4)


def test_points_of_the_caller_come_first() -> None:
    settings = {"sources": {"a.pcap": {"point": "snd", "clock_offset_s": 2}, "b.pcap": {"point": "rcv"}}}
    merged = with_points(settings, {"a.pcap": "mid"}, ["x/a.pcap", "x/b.pcap"])
    assert merged["sources"]["x/a.pcap"] == {"point": "mid", "clock_offset_s": 2}
    assert merged["sources"]["b.pcap"] == {"point": "rcv"}
    assert settings["sources"]["a.pcap"]["point"] == "snd"
    assert with_points({}, "rcv", ["x/a.pcap"])["sources"] == {"x/a.pcap": {"point": "rcv"}}


@pytest.mark.parametrize("wrong", ["sender", {"c.pcap": "snd"}, {"a.pcap": "here"}])
def test_points_that_cannot_be(wrong: Any) -> None:
    with pytest.raises(UsageError):
        with_points({}, wrong, ["x/a.pcap"])


@pytest.mark.parametrize("detail", ["full", "summary"])
@pytest.mark.parametrize("point", POINTS)
def test_declared_point(point: str, detail: Any) -> None:
    capture = next(iter(sorted(SAMPLES.glob("*/*snd*.pcap*"))))
    measurement = mt.read(capture, detail=detail, point=point)
    assert measurement.sources[0].point == point


def test_a_writer_that_is_always_busy_to_the_kernel() -> None:
    """Only what the capture gives to the application, and the kernel calls app_limited, is taken from it."""
    busy_ns = np.array([100, 200, 300, 400])
    assert _app_limited(np.array([1, 1, 1, 1]), busy_ns) == 1.0
    assert _app_limited(np.array([1, 0, 0, 0]), busy_ns) == 0.0, "every connection begins so"
    assert _app_limited(np.array([1, 1, 0, -1]), busy_ns) == 0.5, "what is unknown counts for nothing"
    assert _app_limited(np.array([-1, -1, -1, -1]), busy_ns) == 0.0
    assert _app_limited(np.array([1]), busy_ns[:1]) == 0.0


def test_time_behind_the_last_acknowledgement_is_the_application_s() -> None:
    """A FIN may come long after all data was acknowledged: nobody waited for the network then."""
    m = mt.read(SAMPLES / "host-queue")
    (connection,) = m.connections
    acks = m.flow(0, 1 - connection.data_dir, 0)
    begin_ns = int(acks["t_ns"].max())
    assert nothing_outstanding_ns(m, connection, 0, begin_ns, begin_ns + 1_000_000_000) == 1_000_000_000
    data = m.flow(0, connection.data_dir, 0)
    inside = int(data["t_ns"][data["length"] > 0][20])
    assert nothing_outstanding_ns(m, connection, 0, inside, inside + 1_000) == 0
