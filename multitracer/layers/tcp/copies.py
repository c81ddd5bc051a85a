"""Packets that two captures have of the same flows, and which of one is which of the other."""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.flow_batch import Flags, FlowBatch, GroupedSearch, Times
from multitracer.model.frozen import frozen

MOST_PACKETS = 4_000_000


@frozen
class PathPackets:
    """Packets of (super-)segments as they were on the path.

    Attributes
    ----------
    of, row : array
        Which flow, and which row of it.
    start, end : array
        Bytes.
    mark : array
        What distinguishes copies of the same bytes: the IP identification, which counts on.
    """

    of: Times
    row: Times
    start: Times
    end: Times
    mark: Times


def path_packets(rows: FlowBatch, size: Times) -> PathPackets:
    """Packets of at most `size` bytes, by flow."""
    lengths = rows["length"].astype(np.int64)
    count = -(-lengths // size[rows.of])
    count[(rows.summed(count) > MOST_PACKETS + rows.sizes)[rows.of]] = 1
    row = np.repeat(np.arange(len(rows)), count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    whole = count[row] == 1
    start = rows["seq"][row] + np.where(whole, 0, nth * size[rows.of[row]])
    last = rows["seq"][row] + lengths[row]
    end = np.where(whole, last, np.minimum(start + size[rows.of[row]], last))
    ids = rows["ip_id"].astype(np.int64)
    # No identification (IPv6, or all zero): the timestamp is the next best mark.
    unmarked = (rows.largest(ids, 0) == rows.smallest(ids, 0))[rows.of[row]]
    mark = np.where(unmarked, rows["ts_val"][row], (ids[row] + nth) % 65536)
    return PathPackets(rows.of[row], row, start, end, mark)


def alike(count: int, ours: PathPackets, theirs: PathPackets) -> tuple[Times, Times, int]:
    """Equal numbers for equal packets of the same of `count` flows, over both sides; how many there are.

    Parameters
    ----------
    count : int
        Flows on each side; `of` of both counts the same ones.
    ours, theirs : PathPackets

    Returns
    -------
    ours, theirs : int64 array
        The packet that each record is a copy of, as a number from 0.
    pool : int
        Different packets.
    """
    of, start, end, mark = (
        np.concatenate([getattr(ours, name), getattr(theirs, name)])
        for name in ("of", "start", "end", "mark")
    )
    codes = equal(GroupedSearch(count, start).at(of, start), end, mark)
    split = len(ours.of)
    return codes[:split], codes[split:], int(codes.max(initial=-1)) + 1


def equal(*columns: Times) -> Times:
    """Equal numbers, from 0 on, for rows that are equal in all columns."""
    order = np.lexsort(columns[::-1])
    fresh = np.zeros(len(order), dtype=np.bool_)
    for column in columns:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    codes = np.empty(len(order), dtype=np.int64)
    codes[order] = np.cumsum(fresh)
    return codes


def paired(ours: Times, theirs: Times, distinct: Flags, pool: int) -> Times:
    """For each of ours: the index of its record among theirs; -1 if there is none.

    Where packets are distinct, the first record of each counts; elsewhere order is all there is, and the last
    copies are taken to be those that arrived.

    Parameters
    ----------
    ours, theirs : int64 array
        Packets by number, as `alike` gives them, in time order.
    distinct : bool array
        For each of ours: whether its packet differs from all others of its flow.
    pool : int
        Different packets.

    Returns
    -------
    int64 array
        As long as `ours`.
    """
    first = np.full(pool, -1, dtype=np.int64)
    first[theirs[::-1]] = np.arange(len(theirs))[::-1]
    found = np.where(distinct, first[ours], -1)
    rest = np.flatnonzero(~distinct)
    if len(rest):
        size = len(ours) + len(theirs) + 1
        mine, other = ours[rest] * size + from_last(ours[rest]), theirs * size + from_last(theirs)
        order = np.argsort(other)
        at = np.minimum(np.searchsorted(other[order], mine), len(other) - 1)
        found[rest] = np.where(other[order][at] == mine, order[at], -1)
    return found


def from_last(codes: Times) -> Times:
    """Position of each entry among those with the same code, counted from the last."""
    order = np.lexsort((-np.arange(len(codes)), codes))
    grouped = codes[order]
    rank = np.empty(len(codes), dtype=np.int64)
    rank[order] = np.arange(len(codes)) - np.searchsorted(grouped, grouped, side="left")
    return rank
