"""In which direction each connection passes two captures: by its own packets first, then by its addresses.

A packet is seen later at the second capture by the offset of the clocks plus its delay if it passes the first
one before, and by the offset minus its delay if it comes from the other side. So of two packets of one
connection that pass close to each other in both directions, the larger difference belongs to the one that
passes the first capture before: whatever the clocks show, and however many addresses a host has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from multitracer.model.table import Array, Table

if TYPE_CHECKING:
    from multitracer.alignment.captures import Matches
    from multitracer.alignment.connections import Merged

UNKNOWN = -1
_AGREE = 0.75  # share of a connection's neighbours that must agree
_FEW = 3  # neighbours: fewer do not outweigh what the addresses' other connections show


def first_pass(
    first: Table, second: Table, matches: Matches, merged: Sequence[Merged]
) -> tuple[Array, Array]:
    """For each connection the direction that passes the first capture before the second.

    A connection whose own packets do not show it (seen in one direction only, or at captures without a
    measurable delay between them) takes the direction of others between the same addresses; one whose few
    packets contradict these stays unknown: a step of a clock can fall between them.

    Parameters
    ----------
    first, second : Table
        Segments of both captures, in common terms.
    matches : Matches
        Rows that are the same packet.
    merged : sequence of Merged
        All connections.

    Returns
    -------
    direction : int8 array, shape (connections,)
        0 forward, 1 reverse, -1 unknown.
    neighbours : int64 array, shape (connections,)
        Pairs of packets that show it; 0 for those named by addresses.

    References
    ----------
    Paxson, "On Calibrating Measurements of Packet Transit Times", SIGMETRICS 1998 (both directions).
    """
    count = len(merged)
    direction, neighbours, agree = _by_packets(first, second, matches, count)
    direction[agree < _AGREE] = UNKNOWN
    near = _addresses(merged, direction, neighbours)
    for conn in range(count) if near else ():
        if neighbours[conn] >= _FEW and direction[conn] != UNKNOWN:
            continue
        weights = [near.get(address, 0) for address, _ in merged[conn].endpoints]
        by_address = UNKNOWN if weights[0] * weights[1] >= 0 else int(weights[1] > 0)
        if direction[conn] == UNKNOWN:
            direction[conn], neighbours[conn] = by_address, 0
        elif by_address not in (UNKNOWN, direction[conn]):
            direction[conn], neighbours[conn] = UNKNOWN, 0
    return direction, neighbours


def _by_packets(first: Table, second: Table, matches: Matches, count: int) -> tuple[Array, Array, Array]:
    """Direction, number of neighbours and share of them that agree, by connection."""
    way = np.full(count, UNKNOWN, dtype=np.int8)
    neighbours, share = np.zeros(count, dtype=np.int64), np.ones(count)
    conn, direction = first["conn"][matches.first], first["dir"][matches.first]
    apart = second["t_ns"][matches.second] - first["t_ns"][matches.first]
    order = np.lexsort((np.arange(len(conn)), conn))  # matches are in order of time at the first capture
    conn, direction, apart = conn[order], direction[order], apart[order]
    turn = np.flatnonzero((conn[1:] == conn[:-1]) & (direction[1:] != direction[:-1]) & (conn[1:] >= 0))
    if not len(turn):
        return way, neighbours, share
    sign = np.where(direction[turn] == 0, 1, -1)
    round_trip = (apart[turn] - apart[turn + 1]) * sign  # positive: forward passes the first capture before
    of = conn[turn]
    by_size = np.lexsort((round_trip, of))
    of, round_trip = of[by_size], round_trip[by_size]
    start = np.flatnonzero(np.diff(of, prepend=-1))
    total = np.diff(np.append(start, len(of)))
    middle = round_trip[start + total // 2] + round_trip[start + (total - 1) // 2]
    known = of[start]
    way[known] = np.where(middle == 0, UNKNOWN, np.where(middle > 0, 0, 1))
    neighbours[known] = total
    forward = np.add.reduceat((round_trip > 0).astype(np.int64), start)
    reverse = np.add.reduceat((round_trip < 0).astype(np.int64), start)
    share[known] = np.where(middle > 0, forward, reverse) / total
    return way, neighbours, share


def _addresses(merged: Sequence[Merged], way: Array, weight: Iterable[int]) -> dict[str, int]:
    """By address, how many neighbours show it at the first capture (positive) or after the second."""
    near: dict[str, int] = {}
    for one, direction, size in zip(merged, way.tolist(), weight, strict=True):
        if direction == UNKNOWN:
            continue
        (sender, _), (receiver, _) = one.endpoints[direction], one.endpoints[1 - direction]
        if sender != receiver:
            near[sender] = near.get(sender, 0) + int(size)
            near[receiver] = near.get(receiver, 0) - int(size)
    return near
