"""The tables of one source in the measurement's terms: timeline, source, connections, entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multitracer.alignment import connections, flows
from multitracer.alignment.relation import Nominal
from multitracer.alignment.state import AlignmentState, entities
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.errors import Issue
from multitracer.model.table import Array, Sparse, Table


def capture_tables(state: AlignmentState, source: int, clock: Nominal) -> dict[str, Table]:
    """Segments, retransmissions and timeouts with common connection numbers and sequence bases.

    Parameters
    ----------
    state : AlignmentState
    source : int
        The capture among the sources.
    clock : Nominal
        What puts its times on the reference timeline.

    Returns
    -------
    dict of str to Table
        By name of the schema.
    """
    trace = state.traces[source]
    terms = connections.Terms.of(source, state.merged, len(trace.connections))
    found = {}
    for name, table in trace.tables.items():
        columns = _common(table, source, clock)
        if {"conn", "dir", "seq"} <= set(table):
            columns |= connections.columns(table, terms)
        found[name] = table.replace(**columns)
    return found


def kernel_tables(
    state: AlignmentState, source: int, clock: Nominal, spans: Sequence[tuple[int, int]]
) -> dict[str, Table]:
    """States and events with connection, direction and relative sequence numbers.

    Parameters
    ----------
    state : AlignmentState
        Sockets that no capture has are added to its issues.
    source : int
        The kernel log among the sources.
    clock : Nominal
        What puts its times on the reference timeline.
    spans : sequence of (int, int)
        Of each connection: first and last time on the reference timeline, for ports that were used again.

    Returns
    -------
    dict of str to Table
        By name of the schema.
    """
    trace = state.traces[source]
    found = {}
    foreign: set[int] = set()
    first_record = 0
    for name, table in trace.tables.items():
        table = table.replace(**_common(table, source, clock))
        if "flow" in table and "conn" in table:
            conn, direction = flows.assign(table, trace.flows, state.merged, spans)
            table = table.replace(conn=conn, dir=direction)
            unknown = np.flatnonzero(conn < 0)
            if len(unknown) and state.merged:
                foreign |= set(sorted_unique(table["flow"][unknown]).tolist())
                record = int(table["record"][unknown].min())
                first_record = min(first_record or record, record)
            if "snd_una" in table:
                table = table.replace(**_relative(state, table))
        found[name] = table
    if foreign:
        index = min(foreign)
        words = "no flow" if not 0 <= index < len(trace.flows) else _words(trace.flows[index])
        state.issues.append(Issue("foreign-flow", len(foreign), first_record, words, trace.source.path))
    return found


def link_tables(state: AlignmentState, source: int, clock: Nominal) -> dict[str, Table]:
    """Frames and events with the measurement's entity numbers.

    Parameters
    ----------
    state : AlignmentState
    source : int
        The link log among the sources.
    clock : Nominal
        What puts its times on the reference timeline.

    Returns
    -------
    dict of str to Table
        By name of the schema.
    """
    trace = state.traces[source]
    names = entities(state)
    turn = np.array([names.index(name) for name in trace.entities] + [-1], dtype=np.int16)
    found = {}
    for name, table in trace.tables.items():
        table = _without(table, name, state.repeated.get(source))
        columns = _common(table, source, clock)
        if "entity" in table:
            columns["entity"] = turn[np.where(table["entity"] >= 0, table["entity"], len(turn) - 1)]
        found[name] = table.replace(**columns)
    return found


def _without(table: Table, name: str, repeated: Mapping[str, Array] | None) -> Table:
    """A table of a link log without the rows that another log of the same link has."""
    mask = None if repeated is None else repeated.get(name)
    return table if mask is None or not mask.any() else table.where(~mask)


def _common(table: Table, source: int, clock: Nominal) -> dict[str, Any]:
    return {
        "t_ns": clock.apply(table["t_ns"], table["record"]),
        "source": Sparse(source),
    }


def _relative(state: AlignmentState, table: Table) -> dict[str, Array]:
    """snd_una and snd_nxt relative to the base of the direction in which the socket sends."""
    una, nxt = table["snd_una"].copy(), table["snd_nxt"].copy()
    grouped = Grouped(table["conn"], table["dir"])
    for conn in sorted_unique(table["conn"][table["conn"] >= 0]).tolist():
        merged = state.merged[conn]
        for direction in (0, 1):
            rows = grouped.rows(conn, direction)
            if not len(rows):
                continue
            guess = merged.ranges[direction][0]
            una[rows] = flows.relative(una[rows], merged.base[direction], guess)
            # snd_nxt is ahead of snd_una by less than a window: count from there
            ahead = np.where(
                (nxt[rows] >= 0) & (una[rows] >= 0),
                (nxt[rows] - table["snd_una"][rows]) % (1 << 32),
                -1,
            )
            alone = flows.relative(nxt[rows], merged.base[direction], guess)
            nxt[rows] = np.where(ahead >= 0, una[rows] + ahead, alone)
    return {"snd_una": una, "snd_nxt": nxt}


def _words(flow: Any) -> str:
    return f"{flow.local_address}:{flow.local_port} to {flow.remote_address}:{flow.remote_port}"
