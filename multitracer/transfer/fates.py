"""What became of every data segment between two captures of one transfer: arrived, damaged or lost.

Two captures leave nothing to infer: what the far one holds has arrived, what it lacks has not, unless the
receiver acknowledged it before any other copy came: then the capture lost the record, not the network the
packet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitracer.distinct import distinct
from multitracer.measurement import Connection, Measurement
from multitracer.table import Table
from multitracer.transfer.transit import Flags, Times, damaged, data_at

LOST, ARRIVED, DAMAGED, UNKNOWN = range(4)
NEVER = int(np.iinfo(np.int64).max)
_PIECES = 4_000_000


@dataclass(frozen=True)
class Fates:
    """One direction of one connection; pieces are packets as they were on the path (offload taken apart).

    Attributes
    ----------
    sent : Table
        Data segments at the capture next to their sender, in time order.
    row : array
        For each piece: its row in `sent`.
    start, end : array
        Bytes of each piece.
    fate : array
        LOST, ARRIVED, DAMAGED or UNKNOWN.
    arrived_ns : array
        When it passed the far capture; -1 if that has no record of it.
    certain : array
        False where nothing tells copies of the same bytes apart and only some of them arrived.
    unrecorded : int
        Pieces that arrived although the far capture has no record of them: it lost them.
    unsent : int
        Data packets that the far capture has and the near one has not: that one lost them.
    """

    sent: Table
    row: Times
    start: Times
    end: Times
    fate: npt.NDArray[np.int8]
    arrived_ns: Times
    certain: Flags
    unrecorded: int
    unsent: int

    def of_segments(self) -> tuple[npt.NDArray[np.int8], Times, Flags, Times]:
        """Per row of `sent`: the worst fate of its pieces, last arrival (-1), certainty, bytes arrived."""
        rows = len(self.sent)
        arrived_bytes = np.zeros(rows, dtype=np.int64)
        there = self.fate == ARRIVED
        np.add.at(arrived_bytes, self.row[there], (self.end - self.start)[there])
        fate = np.full(rows, ARRIVED, dtype=np.int8)
        for worse in (UNKNOWN, DAMAGED, LOST):
            fate[self.row[self.fate == worse]] = worse
        last = np.full(rows, -1, dtype=np.int64)
        np.maximum.at(last, self.row, self.arrived_ns)
        certain = np.ones(rows, dtype=np.bool_)
        certain[self.row[~self.certain]] = False
        return fate, last, certain, arrived_bytes


def fates(m: Measurement, connection: Connection, reverse: bool = False) -> Fates | None:
    """Follow one direction from its sender's capture to its receiver's; None without both or without data.

    A connection may carry data against the bulk of the measurement: which capture is next to the sender of
    this direction shows in the times of the packets that both have.
    """
    if m.snd is None or m.rcv is None or m.snd == m.rcv:
        return None
    if m.snd not in connection.summaries or m.rcv not in connection.summaries:
        return None
    near, far = (m.rcv, m.snd) if reverse else (m.snd, m.rcv)
    known = _followed(m, connection, near, far, reverse)
    if known is not None:
        both = known.arrived_ns >= 0
        if np.any(both):
            way_ns = (known.arrived_ns - known.sent["t_ns"][known.row])[both]
            if float(np.median(way_ns)) < 0:
                return _followed(m, connection, far, near, reverse)
    return known


def _followed(m: Measurement, connection: Connection, near: int, far: int, reverse: bool) -> Fates | None:
    sent, heard = data_at(m, connection, near, reverse), data_at(m, connection, far, reverse)
    sent, heard = sent.where(sent["length"] > 0), heard.where(heard["length"] > 0)
    if not len(sent) or not len(heard):
        return None
    size = _packet_size(connection, near, sent, heard)
    row, start, end, mark = _pieces(sent, size)
    heard_row, heard_start, heard_end, heard_mark = _pieces(heard, size)
    ours, theirs, pool = _codes((start, end, mark), (heard_start, heard_end, heard_mark))
    copies, records = np.bincount(ours, minlength=pool), np.bincount(theirs, minlength=pool)
    # Where marks tell copies apart, the first record of a packet counts and network duplicates are ignored.
    # Where they do not, order is all there is: the last copies are taken to be those that arrived.
    distinct = copies[ours] == 1
    at = _pair(ours, theirs, distinct, pool)
    found = at >= 0
    arrived_ns = np.where(found, heard["t_ns"][heard_row[np.maximum(at, 0)]], -1)
    bad = damaged(heard)[heard_row]
    fate = np.where(found, np.where(bad[np.maximum(at, 0)], DAMAGED, ARRIVED), LOST).astype(np.int8)
    certain = distinct | (records[ours] == 0) | (records[ours] >= copies[ours])
    acks = _acks(m, connection, (far, near), reverse)
    unrecorded = _acknowledged(acks, sent["t_ns"][row], start, end, fate, arrived_ns)
    unsent = int(np.count_nonzero(copies[theirs] == 0))
    return Fates(sent, row, start, end, fate, arrived_ns, certain & (fate != UNKNOWN), unrecorded, unsent)


def _packet_size(connection: Connection, source: int, sent: Table, heard: Table) -> int:
    """Payload of a full packet: what the handshake agreed, else the longest that the far capture has."""
    summary = connection.summaries[source]
    sides = [summary["forward"], summary["reverse"]]
    agreed = [int(side["mss"]) for side in sides if side["mss"]]
    if len(agreed) == 2 and summary["handshake"]:
        stamped = all(side["timestamps"] for side in sides)
        return max(min(agreed) - (12 if stamped else 0), 1)
    return max(min(int(sent["length"].max()), int(heard["length"].max())), 1)


def _pieces(rows: Table, size: int) -> tuple[Times, Times, Times, Times]:
    """Packets of (super-)segments: row, first byte, end, mark (the IP identification counts on)."""
    count = -(-rows["length"].astype(np.int64) // size)
    if int(count.sum()) > _PIECES + len(rows):
        count = np.ones(len(rows), dtype=np.int64)
    row = np.repeat(np.arange(len(rows)), count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    whole = count[row] == 1
    start = rows["seq"][row] + np.where(whole, 0, nth * size)
    last = rows["seq"][row] + rows["length"][row]
    end = np.where(whole, last, np.minimum(start + size, last))
    ids = rows["ip_id"].astype(np.int64)
    if len(ids) and np.all(ids == ids[0]):
        # No identification (IPv6, or all zero): the timestamp is the next best mark.
        return row, start, end, rows["ts_val"][row]
    return row, start, end, (ids[row] + nth) % 65536


def _codes(*sides: tuple[Times, Times, Times]) -> tuple[Times, Times, int]:
    """Equal numbers for equal (start, end, mark), over both sides."""
    keys = np.concatenate([np.column_stack(side) for side in sides])
    _, codes = np.unique(keys, axis=0, return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    split = len(sides[0][0])
    return codes[:split], codes[split:], int(codes.max()) + 1


def _pair(ours: Times, theirs: Times, distinct: Flags, pool: int) -> Times:
    """For each of ours: the index of its record among theirs; -1 if there is none."""
    first = np.full(pool, -1, dtype=np.int64)
    first[theirs[::-1]] = np.arange(len(theirs))[::-1]
    found = np.where(distinct, first[ours], -1)
    rest = np.flatnonzero(~distinct)
    if len(rest):
        mine = ours[rest] * (len(ours) + len(theirs) + 1) + _rank_from_last(ours[rest])
        other = theirs * (len(ours) + len(theirs) + 1) + _rank_from_last(theirs)
        order = np.argsort(other)
        at = np.minimum(np.searchsorted(other[order], mine), len(other) - 1)
        found[rest] = np.where(other[order][at] == mine, order[at], -1)
    return found


def _rank_from_last(codes: Times) -> Times:
    order = np.lexsort((-np.arange(len(codes)), codes))
    grouped = codes[order]
    rank = np.empty(len(codes), dtype=np.int64)
    rank[order] = np.arange(len(codes)) - np.searchsorted(grouped, grouped, side="left")
    return rank


def _acks(m: Measurement, connection: Connection, captures: tuple[int, int], reverse: bool) -> Table:
    """ACKs for this direction at the first of the captures that has any."""
    found = Table.empty(m.table("segments").schema)
    for source in captures:
        rows = data_at(m, connection, source, not reverse)
        found = rows.where((rows["ack"] > 0) & ~damaged(rows))
        if len(found):
            break
    return found


def _acknowledged(
    acks: Table, sent_ns: Times, start: Times, end: Times, fate: npt.NDArray[np.int8], arrived_ns: Times
) -> int:
    """Turn LOST into ARRIVED where the receiver acknowledged bytes before any copy of them was recorded.

    Of several copies on their way by then, any may be the one that arrived: UNKNOWN. Returns how many
    packets the far capture lost.
    """
    if not len(acks):
        return 0
    reached = np.maximum.accumulate(acks["ack"])
    at = np.searchsorted(reached, end)
    acked_ns = np.append(acks["t_ns"], NEVER)[at]
    edges = distinct(np.concatenate([start, end]))
    low, high = np.searchsorted(edges, start), np.searchsorted(edges, end)
    if int((high - low).sum()) > 8 * len(low) + _PIECES:
        return 0  # overlaps without end: a capture that is made up
    recorded = np.full(len(edges), NEVER, dtype=np.int64)
    there = np.flatnonzero(fate == ARRIVED)
    _lower(recorded, low[there], high[there], arrived_ns[there])
    doubtful = np.flatnonzero((fate == LOST) & (acked_ns < NEVER))
    first_recorded = _highest(recorded, low[doubtful], high[doubtful])
    doubtful = doubtful[acked_ns[doubtful] < first_recorded]
    doubtful = doubtful[sent_ns[doubtful] < acked_ns[doubtful]]
    if not len(doubtful):
        return 0
    _, group, copies = np.unique(start[doubtful], return_inverse=True, return_counts=True)
    fate[doubtful] = np.where(copies[group.reshape(-1)] == 1, ARRIVED, UNKNOWN)
    return len(copies)


def _lower(values: Times, low: Times, high: Times, bound: Times) -> None:
    """values[low:high] = min(values[low:high], bound), for each; the ranges are nearly always one long."""
    np.minimum.at(values, low, bound)
    for index in np.flatnonzero(high - low > 1)[:_PIECES]:
        part = slice(int(low[index]), int(high[index]))
        values[part] = np.minimum(values[part], bound[index])


def _highest(values: Times, low: Times, high: Times) -> Times:
    """max(values[low:high]) for each: when the last of the bytes was recorded."""
    return np.array(
        [values[a:b].max(initial=-1) for a, b in zip(low.tolist(), high.tolist(), strict=True)],
        dtype=np.int64,
    )
