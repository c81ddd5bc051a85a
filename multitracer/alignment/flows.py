"""Sockets of kernel logs as connections of the measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multitracer.alignment.connections import Merged
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.table import Array, Table
from multitracer.model.trace import Flow

_WRAP = 1 << 32


class Socket(NamedTuple):
    """A socket of a kernel log as one of the connections that it may be.

    Attributes
    ----------
    flow : int
        Its number in the log.
    conn : int
    sends : int
        The direction in which it sends.
    """

    flow: int
    conn: int
    sends: int


def sockets(flows: Sequence[Flow], merged: Sequence[Merged]) -> list[Socket]:
    """Sockets of a log that belong to a connection; to several, if a port was used again."""
    known: dict[tuple[tuple[str, int], tuple[str, int]], list[int]] = {}
    for index, common in enumerate(merged):
        for first, second in common.names:
            known.setdefault((first, second), []).append(index)
    found = []
    for number, flow in enumerate(flows):
        local, remote = (flow.local_address, flow.local_port), (flow.remote_address, flow.remote_port)
        mine = [Socket(number, index, 0) for index in known.get((local, remote), ())]
        if local != remote:
            mine += [Socket(number, index, 1) for index in known.get((remote, local), ())]
        found += sorted(mine, key=lambda socket: socket.conn)
    return found


class Seen(NamedTuple):
    """What a capture has of a socket, and a log: rows of their tables.

    Attributes
    ----------
    socket : Socket
    states : array
        Rows of the log's table that are the socket's.
    sent, received : array
        Rows of the capture's segments.
    """

    socket: Socket
    states: Array
    sent: Array
    received: Array


def seen(log: Table, found: Sequence[Socket], segments: Table) -> list[Seen]:
    """Rows of every socket in a table of a kernel log, and in the segments of a capture.

    Parameters
    ----------
    log : Table
        Rows with a column `flow`.
    found : sequence of Socket
        Sockets of the log that the capture has as well.
    segments : Table
        Of the capture, with connection and direction in common terms.

    Returns
    -------
    list of Seen
        For each socket its rows in the log, and in the capture those that it sent and those that it
        received.
    """
    logged, captured = Grouped(log["flow"]), Grouped(segments["conn"], segments["dir"])
    return [
        Seen(
            one,
            logged.rows(one.flow),
            captured.rows(one.conn, one.sends),
            captured.rows(one.conn, 1 - one.sends),
        )
        for one in found
    ]


def assign(
    table: Table, flows: Sequence[Flow], merged: Sequence[Merged], spans: Sequence[tuple[int, int]]
) -> tuple[Array, Array]:
    """The conn and dir columns of a kernel table.

    A port used again makes several connections of one pair of sockets; then the time decides.

    Parameters
    ----------
    table : Table
        tcp_states or kernel_events, with times on the reference timeline.
    flows : sequence of Flow
    merged : sequence of Merged
    spans : sequence of (int, int)
        First and last time of each connection on the reference timeline.

    Returns
    -------
    conn : int32 array, shape (rows,)
        -1 for rows of no connection.
    dir : int8 array, shape (rows,)
        0 forward, 1 reverse.
    """
    conn = np.full(len(table), -1, dtype=np.int32)
    direction = np.zeros(len(table), dtype=np.int8)
    flow_column = table["flow"]
    by_endpoints: dict[frozenset[tuple[str, int]], list[int]] = {}
    for index, common in enumerate(merged):
        for names in common.names:
            by_endpoints.setdefault(frozenset(names), []).append(index)
    order = np.argsort(flow_column, kind="stable")
    bounds = np.searchsorted(flow_column[order], np.arange(len(flows) + 1))
    for index, flow in enumerate(flows):
        rows = order[bounds[index] : bounds[index + 1]]
        local, remote = (flow.local_address, flow.local_port), (flow.remote_address, flow.remote_port)
        candidates = by_endpoints.get(frozenset((local, remote)), [])
        if not candidates and 0 in (local[1], remote[1]):
            candidates = _unbound(local, remote, merged)
        if not candidates or not len(rows):
            continue
        conn[rows] = candidates[0]
        if len(candidates) > 1:
            t = table["t_ns"][rows]
            outside = [np.maximum(np.maximum(spans[c][0] - t, t - spans[c][1]), 0) for c in candidates]
            conn[rows] = np.array(candidates)[np.argmin(outside, axis=0)]
        firsts = [names[0] for names in merged[candidates[0]].names]
        direction[rows] = not any(local == one or (local[1] == 0 and one[0] == local[0]) for one in firsts)
    return conn, direction


def _unbound(local: tuple[str, int], remote: tuple[str, int], merged: Sequence[Merged]) -> list[int]:
    """A socket before its port was chosen, if only one connection can become of it."""

    def fits(named: tuple[str, int], real: tuple[str, int]) -> bool:
        return named[0] == real[0] and named[1] in (0, real[1])

    found = [
        index
        for index, common in enumerate(merged)
        for names in common.names
        for a, b in (names, names[::-1])
        if fits(local, a) and fits(remote, b)
    ]
    return found if len(found) == 1 else []


def relative(values: Array, base: int, first_guess: int = 0) -> Array:
    """Raw 32-bit numbers of one direction, in time order, as 64-bit numbers relative to a base.

    Each step is the shorter way round (RFC 9293 section 3.4); -1 stays -1.

    Parameters
    ----------
    values : int64 array
    base : int
        Raw number that is relative 0.
    first_guess : int
        Relative number expected about where the values begin: decides how often it has wrapped before.

    Returns
    -------
    int64 array
        As long as `values`.
    """
    result = np.full(len(values), -1, dtype=np.int64)
    known = np.flatnonzero(values >= 0)
    if not len(known):
        return result
    raw = values[known].astype(np.int64)
    step = (np.diff(raw) + _WRAP // 2) % _WRAP - _WRAP // 2
    start = int((raw[0] - base) % _WRAP)
    start += _WRAP * round((first_guess - start) / _WRAP)
    result[known] = start + np.concatenate([[0], np.cumsum(step)])
    return result
