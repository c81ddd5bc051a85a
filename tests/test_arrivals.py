"""Arrivals from one capture (docs/arrivals.md), against what both ends of the same transfers show."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import multitracer

SHARED = os.environ.get("MULTITRACER_SHARED")
needs_shared = pytest.mark.skipif(not SHARED, reason="MULTITRACER_SHARED names no folder of measurements")


def connections(path: Path) -> list[dict[str, object]]:
    results = multitracer.analyze(multitracer.read(path), only=["connections"]).results
    return list(results["connections"].summary["connections"])


@needs_shared
@pytest.mark.parametrize(("end", "inferred"), [("snd", 0), ("mid", 0), ("rcv", 40)])
def test_a_routers_queue_drops(end: str, inferred: int) -> None:
    """40 segments lost at a router, as TcpRetransSegs says: seen twice before it, inferred behind it."""
    (one,) = connections(Path(SHARED or "") / "everyday" / "router-drop" / f"{end}.pcap.gz")
    assert one["retransmissions"]["total"] == 40  # type: ignore[index]
    assert one["retransmissions"]["inferred"] == inferred  # type: ignore[index]
    side = "upstream" if end == "rcv" else "downstream"
    assert one["losses"][side] == 40  # type: ignore[index]


@needs_shared
@pytest.mark.parametrize("end", ["snd", "mid", "rcv"])
def test_the_senders_own_queue_drops(end: str) -> None:
    """49 first copies died before every tap; TcpRetransSegs - TCPRetransFail = 49."""
    found = connections(Path(SHARED or "") / "everyday" / "qdisc-flows" / f"{end}.pcap.gz")
    assert sum(one["retransmissions"]["inferred"] for one in found) == 49  # type: ignore[index]
