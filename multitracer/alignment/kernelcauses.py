"""Causes of retransmissions by the kernel's log: where it records in which state TCP sent, that decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from multitracer.model.arrays.group_by import Grouped
from multitracer.model.schema.tcp import CAUSES, KERNEL_EVENTS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Clock, Connection

SAME_NS = 2_000_000
"""The kernel logs a retransmission this long before or after the capture has it, at most."""

RECOVERY, LOSS = 3, 4  # tcp_ca_state of Linux
_JUDGED = tuple(CAUSES.index(word) for word in ("unknown", "fast", "slow_start"))
_DIRECTIONS = ("forward", "reverse")


def by_kernel(
    tables: dict[str, Table],
    connections: Sequence[Connection],
    clocks: Sequence[Clock],
    near: tuple[int | None, int | None],
) -> tuple[dict[str, Table], list[Connection]]:
    """Tables and connections in which the kernel's state decides between fast retransmit and slow start.

    A retransmission in state Recovery is a fast retransmit, one in state Loss is slow start, as Linux counts
    them (TCPFastRetrans, TCPSlowStartRetrans). Timeouts and tail loss probes keep the cause that the capture
    shows. Without a log that is on time to `SAME_NS`, nothing changes.

    Parameters
    ----------
    tables : dict of str to Table
    connections : sequence of Connection
    clocks : sequence of Clock
    near : tuple of int or None
        Captures next to the data sender and next to the receiver.

    Returns
    -------
    tables : dict of str to Table
    connections : list of Connection
        With the causes, and the counts by cause, that the kernel's state gives.
    """
    events, rows = tables.get("kernel_events"), tables.get("retransmissions")
    if events is None or rows is None or not len(events) or not len(rows):
        return tables, list(connections)
    on_time = [at for at, one in enumerate(clocks) if _within(one, SAME_NS)]
    events = events.where(np.isin(events["source"], on_time)).sorted_by("t_ns")
    causes = rows["cause"].copy()
    logged = Grouped(events["conn"], events["dir"])
    captured = Grouped(rows["conn"], rows["dir"])
    for one in connections:
        for direction, source in ((one.data_dir, near[0]), (1 - one.data_dir, near[1])):
            if source is None:
                continue
            mine = logged.rows(one.index, direction)
            at = captured.rows(one.index, direction)
            at = at[rows["source"][at] == source]
            if not len(mine) or not len(at):
                continue
            states = _states(events.where(mine), rows["t_ns"][at])
            judged = np.isin(causes[at], _JUDGED)
            causes[at[judged & (states == RECOVERY)]] = CAUSES.index("fast")
            causes[at[judged & (states == LOSS)]] = CAUSES.index("slow_start")
    changed = np.flatnonzero(causes != rows["cause"])
    if not len(changed):
        return tables, list(connections)
    tables = tables | {"retransmissions": rows.replace(cause=causes)}
    if "segments" in tables:
        tables["segments"] = _marked(tables["segments"], rows.where(changed), causes[changed])
    return tables, [_counted(one, rows.where(changed), causes[changed]) for one in connections]


def _within(clock: Clock, bound_ns: int) -> bool:
    return clock.uncertainty_ns is not None and clock.uncertainty_ns < bound_ns


def _states(events: Table, t_ns: Array) -> Array:
    """The state in which the kernel retransmitted at each time; -1 where its log does not show it."""
    kinds = events["kind"]
    sent = events["t_ns"][kinds == KERNEL_EVENTS.code("kind", "retransmit")]
    changes = events.where(kinds == KERNEL_EVENTS.code("kind", "cong_state"))
    found = np.full(len(t_ns), -1, dtype=np.int64)
    if not len(sent) or not len(changes):
        return found
    after = np.minimum(np.searchsorted(sent, t_ns), len(sent) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(sent[before] - t_ns) <= np.abs(sent[after] - t_ns), before, after)
    same = np.abs(sent[nearest] - t_ns) <= SAME_NS
    last = np.searchsorted(changes["t_ns"], sent[nearest], side="right") - 1
    known = same & (last >= 0)
    found[known] = changes["value"][last[known]]
    return found


def _marked(segments: Table, changed: Table, causes: Array) -> Table:
    """Segments with the causes of the retransmissions that changed."""
    marked = segments["cause"].copy()
    for source in np.unique(changed["source"]).tolist():
        mine = changed["source"] == source
        there = np.flatnonzero(segments["source"] == source)
        order = there[np.argsort(segments["record"][there], kind="stable")]
        at = np.searchsorted(segments["record"][order], changed["record"][mine])
        marked[order[at]] = causes[mine]
    return segments.replace(cause=marked)


def _counted(connection: Connection, changed: Table, causes: Array) -> Connection:
    """A connection whose counts by cause are those of the changed retransmissions."""
    mine = changed["conn"] == connection.index
    if not np.any(mine):
        return connection
    summaries: dict[int, dict[str, Any]] = dict(connection.summaries)
    for row in np.flatnonzero(mine).tolist():
        source, name = int(changed["source"][row]), _DIRECTIONS[int(changed["dir"][row])]
        if source not in summaries:
            continue
        summary: Mapping[str, Any] = summaries[source][name]
        counts = dict(summary["retransmissions"])
        counts[CAUSES[int(changed["cause"][row])]] -= 1
        counts[CAUSES[int(causes[row])]] += 1
        summaries[source] = summaries[source] | {name: {**summary, "retransmissions": counts}}
    return replace(connection, summaries=summaries)
