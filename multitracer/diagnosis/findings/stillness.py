"""Times in which the path of a connection stood still, as one capture shows them, with their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from multitracer.diagnosis.findings.finding import MOST_EVIDENCE, Finding, plot_command
from multitracer.layers.tcp.standstill import Standstill, standstills
from multitracer.layers.vantage import vantage
from multitracer.model.timeline import Timeline

Object = Mapping[str, Any]


def stalls(
    m: Timeline, entries: Sequence[Object], timeouts: Sequence[Object]
) -> dict[int, tuple[Standstill, ...]]:
    """Standstills of each connection that had any, by its index.

    Parameters
    ----------
    m : Timeline
        With segments.
    entries : sequence of mapping
        Of ``connections`` (docs/json.md).
    timeouts : sequence of mapping
        As in the result of `timeouts`.
    """
    known = {one.index: one for one in m.connections}
    needless: dict[tuple[int, str], list[int]] = {}
    for one in timeouts:
        if one["verdict"] == "spurious":
            needless.setdefault((one["conn"], one["direction"]), []).append(one["record"])
    found = {}
    for entry in entries:
        connection = known.get(entry["index"])
        if connection is None or not entry["bytes"]["sent"]:
            continue
        base_ms = (entry["rtt_ms"] or {}).get("min")
        mine = standstills(
            m,
            connection,
            vantage(m, connection),
            None if base_ms is None else int(base_ms * 1e6),
            needless.get((entry["index"], entry["data_direction"]), ()),
            point=(entry.get("observation") or entry).get("point"),
        )
        if mine:
            found[entry["index"]] = tuple(mine)
    return found


def shown(m: Timeline, found: Sequence[Finding], stood: Mapping[int, Sequence[Standstill]]) -> list[Finding]:
    """The findings, with records and picture of the standstills in the sentence that tells of them."""
    every = [one for mine in stood.values() for one in mine]
    if not every:
        return list(found)
    longest = max(every, key=lambda one: one.length_ns)
    command = plot_command(m, m.seconds(longest.start_ns), m.seconds(longest.end_ns))
    records = tuple((m.sources[one.source].path, one.record) for one in every[:MOST_EVIDENCE])
    return [
        replace(one, evidence=records, command=command) if one.kind == "standstill" and one.text else one
        for one in found
    ]
