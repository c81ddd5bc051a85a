"""A transfer over several paths: what each path carried, and what was reinjected on another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.diagnosis.findings.finding import Finding, plot_command
from multitracer.model.analysis import Result
from multitracer.model.timeline import Timeline

_NAMED = 3  # subflows in a sentence; the rest is counted


def multipath(m: Timeline, results: Mapping[str, Result]) -> list[Finding]:
    """A sentence for each Multipath TCP transfer that carried data over more than one subflow."""
    result = results.get("mptcp")
    if result is None or result.inconclusive is not None:
        return []
    ends = {one.index: one.endpoints for one in m.connections}
    found = []
    for transfer in result.summary["transfers"]:
        direction = transfer["data_direction"]
        whole, flows = transfer[direction], transfer["subflows"]
        if whole is None or len(flows) < 2 or not whole["bytes"]:
            continue
        by_share = sorted(flows, key=lambda one: -((one[direction] or {}).get("bytes") or 0))
        named = [_part(ends, one, direction) for one in by_share[:_NAMED]]
        more = f" and {len(flows) - _NAMED} more" if len(flows) > _NAMED else ""
        text = f"one MPTCP transfer of {whole['bytes']:,} bytes over {len(flows)} subflows: " + ", ".join(
            named
        )
        text += more
        if whole["reinjected"]:
            part = whole["reinjected"] / whole["bytes"]
            text += f"; {whole['reinjected']:,} bytes ({part:.1%}) were reinjected on another subflow"
        if whole["unmapped"]:
            text += f"; of {whole['unmapped']:,} bytes no mapping was captured"
        found.append(Finding(text, 0.0, "multipath", plot_command(m, None, None)))
    return found


def _part(ends: Mapping[int, Any], one: Mapping[str, Any], direction: str) -> str:
    carried = one[direction]
    if carried is None:
        return f"unknown over connection {one['conn']}"
    (first, _), (second, _) = ends[one["conn"]]
    return f"{carried['share'] or 0:.0%} over connection {one['conn']} ({first} - {second})"
