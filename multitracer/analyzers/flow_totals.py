"""Totals: what a simulator counted of each flow, and whether the captures have it so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Totals by flow, in the simulator's terms, with the segments that captures have of it.

    Two captures of a connection saw what was sent and what was received: the one with more packets is next to
    the sender. One alone saw one of both. What still waited in the sender's device at the end was sent by
    IP, but not seen by its capture.

    References
    ----------
    ns-3 ``src/flow-monitor/model/flow-monitor.cc``.
    """
    totals = m.table("flow_totals")
    segments = m.table("segments")
    flows = [_flow(m, totals, segments, row) for row in range(len(totals))]
    known = [flow["agrees"] for flow in flows if flow["agrees"] is not None]
    summary = {"flows": flows, "compared": len(known), "agree": sum(known)}
    return Result("flow_totals", summary)


def _flow(m: Timeline, totals: Table, segments: Table, row: int) -> dict[str, Any]:
    found = {name: totals[name][row].item() for name in totals}
    ends = m.traces[found["source"]].flows[found["flow"]]
    span_ns = found["last_rx_ns"] - found["t_ns"]
    received = found["rx_packets"]
    seen = _seen(segments, found["conn"], found["dir"]) if found["conn"] >= 0 else []
    return {
        "source": f"{ends.local_address}:{ends.local_port}",
        "destination": f"{ends.remote_address}:{ends.remote_port}",
        "conn": found["conn"] if found["conn"] >= 0 else None,
        **{
            name: found[name] if found[name] >= 0 else None
            for name in (
                "tx_packets",
                "tx_bytes",
                "rx_packets",
                "rx_bytes",
                "lost_packets",
                "dropped_packets",
            )
        },
        "delay_ms": round(found["delay_sum_ns"] / received / 1e6, 6) if received > 0 else None,
        "throughput_bps": round(found["rx_bytes"] * 8e9 / span_ns) if span_ns > 0 and received > 0 else None,
        "seen": [{"packets": packets, "bytes": size} for packets, size in seen] or None,
        "agrees": _agrees(found, seen),
    }


def _seen(segments: Table, conn: int, direction: int) -> list[tuple[int, int]]:
    """Packets and bytes at each capture that has the connection, the one with most first."""
    mine = segments.where((segments["conn"] == conn) & (segments["dir"] == direction))
    found = []
    for source in np.unique(mine["source"]).tolist():
        here = mine["source"] == source
        found.append((int(here.sum()), int(mine["ip_length"][here].sum(dtype=np.int64))))
    return sorted(found, reverse=True)


def _agrees(found: Mapping[str, int], seen: list[tuple[int, int]]) -> bool | None:
    """Whether captures have what was counted; None without one."""
    if not seen:
        return None
    totals = [(found[f"{direction}_packets"], found[f"{direction}_bytes"]) for direction in ("tx", "rx")]
    return seen[0] in totals if len(seen) == 1 else [seen[0], seen[-1]] == totals


ANALYZER = Analyzer(
    name="flow_totals",
    question="What did the simulator count for each flow, and do the captures agree?",
    run=run,
    **QUESTIONS["flow_totals"]._asdict(),
)
