"""What became of every data segment between two captures of one transfer: arrived, damaged or lost.

Two captures leave nothing to infer: what the far one holds has arrived, what it lacks has not, unless the
receiver acknowledged it before any other copy came: then the capture lost the record, not the network the
packet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from multitracer.layers.tcp.copies import MOST_PACKETS, PathPackets, alike, paired, path_packets
from multitracer.layers.tcp.flow_batch import (
    Flags,
    FlowBatch,
    GroupedSearch,
    Times,
    damaged,
    highest,
    payload,
    valid_acks,
)
from multitracer.layers.tcp.segment_size import agreed_bytes
from multitracer.model.arrays.unique import sorted_difference, sorted_unique
from multitracer.model.frozen import frozen
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

if TYPE_CHECKING:
    import numpy.typing as npt

LOST, ARRIVED, DAMAGED, UNKNOWN = range(4)
NEVER = int(np.iinfo(np.int64).max)


@frozen
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
        False where nothing distinguishes copies of the same bytes and only some of them arrived.
    """

    sent: Table
    row: Times
    start: Times
    end: Times
    fate: npt.NDArray[np.int8]
    arrived_ns: Times
    certain: Flags

    def of_segments(self) -> tuple[npt.NDArray[np.int8], Times, Flags, Times]:
        """What became of each row of `sent`, whose packets may have had different fates.

        Returns
        -------
        fate : array of int8
            The worst fate of its packets.
        arrived_ns : array of int64
            When its last packet arrived; -1 if none did.
        certain : array of bool
            Whether the fates of all its packets are certain.
        arrived_bytes : array of int64
            Payload of its packets that arrived.
        """
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


@frozen
class AllFates:
    """One direction of many connections that both captures have.

    Attributes
    ----------
    places : array
        Which of the connections asked for each flow is.
    sent : FlowBatch
        As `Fates.sent`, flow after flow.
    of : array
        The flow of each piece.
    known : Fates
        Columns of all, one flow after the other, and counts of all together.
    unrecorded, unsent : array
        By flow.
    """

    places: Times
    sent: FlowBatch
    of: Times
    known: Fates
    unrecorded: Times
    unsent: Times

    def __len__(self) -> int:
        return len(self.places)

    def one(self, flow: int) -> Fates:
        """One of the flows."""
        rows, all_ = int(self.sent.bounds[flow]), self.known
        mine = slice(*np.searchsorted(self.of, [flow, flow + 1]).tolist())
        return Fates(
            self.sent.one(flow),
            all_.row[mine] - rows,
            all_.start[mine],
            all_.end[mine],
            all_.fate[mine],
            all_.arrived_ns[mine],
            all_.certain[mine],
        )


def fates(m: Timeline, connection: Connection, reverse: bool = False) -> Fates | None:
    """Follow one direction from its sender's capture to its receiver's; None without both or without data.

    A connection may carry data against the bulk of the measurement: which capture is next to the sender of
    this direction shows in the times of the packets that both have.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    reverse : bool
        Follow the direction against the bulk of the data.
    """
    for found in fates_of(m, [connection], reverse):
        return found.one(0)
    return None


def fates_of(m: Timeline, connections: Sequence[Connection], reverse: bool = False) -> list[AllFates]:
    """`fates` of all connections that have any: those in the way of the measurement, and those against it.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Connection
    reverse : bool
        Follow the direction against the bulk of the data.

    Returns
    -------
    list of AllFates
        Empty without captures of both ends.
    """
    if m.snd is None or m.rcv is None:
        return []
    near, far = (m.rcv, m.snd) if reverse else (m.snd, m.rcv)
    return [known for _, _, known in fates_between(m, connections, near, far, reverse)]


def fates_between(
    m: Timeline, connections: Sequence[Connection], near: int, far: int, reverse: bool = False
) -> list[tuple[int, int, AllFates]]:
    """Follow one direction of many connections between any two captures.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Connection
    near, far : int
        Sources: the one that most data passes first, and the other.
    reverse : bool
        Follow what goes against the bulk of each connection's data.

    Returns
    -------
    list of (int, int, AllFates)
        The capture that these connections pass first, the other, and what became of their data: at most one
        entry for either way.
    """
    if near == far:
        return []
    both = [at for at, one in enumerate(connections) if near in one.summaries and far in one.summaries]
    found = _followed(m, connections, np.array(both, dtype=np.int64), near, far, reverse)
    if found is None:
        return []
    against = _against(found)
    if not len(against):
        return [(near, far, found)]
    places = found.places[against]
    turned = _followed(m, connections, places, far, near, reverse)
    kept = sorted_difference(found.places, places)
    along = _followed(m, connections, kept, near, far, reverse) if len(kept) else None
    parts = ((near, far, along), (far, near, turned))
    return [(first, last, part) for first, last, part in parts if part is not None]


def _against(found: AllFates) -> Times:
    """Flows of which packets passed the far capture before the near one, by the middle of all."""
    both = np.flatnonzero(found.known.arrived_ns >= 0)
    delay_ns = found.known.arrived_ns[both] - found.sent["t_ns"][found.known.row[both]]
    if not np.any(delay_ns < 0):
        return np.zeros(0, dtype=np.int64)
    of = found.of[both]
    ordered = delay_ns[np.lexsort((delay_ns, of))]
    sizes = np.bincount(of, minlength=len(found))
    begin, there = np.cumsum(sizes) - sizes, np.flatnonzero(sizes)
    low = ordered[(begin + (sizes - 1) // 2)[there]]
    return np.asarray(there[low + ordered[(begin + sizes // 2)[there]] < 0], dtype=np.int64)


def _followed(
    m: Timeline, connections: Sequence[Connection], places: Times, near: int, far: int, reverse: bool
) -> AllFates | None:
    asked = [connections[at] for at in places.tolist()]
    sent, received = payload(m, asked, near, reverse), payload(m, asked, far, reverse)
    chosen = np.flatnonzero((sent.sizes > 0) & (received.sizes > 0))
    if not len(chosen):
        return None
    asked, sent, received = (
        [asked[at] for at in chosen.tolist()],
        sent.chosen(chosen),
        received.chosen(chosen),
    )
    size = _packet_sizes(asked, near, sent, received)
    here, there = path_packets(sent, size), path_packets(received, size)
    ours, theirs, pool = alike(len(asked), here, there)
    copies, records = np.bincount(ours, minlength=pool), np.bincount(theirs, minlength=pool)
    # Where marks distinguish copies, the first record of a packet counts and network duplicates are ignored.
    # Where they do not, order is all there is: the last copies are taken to be those that arrived.
    apart = copies[ours] == 1
    at = paired(ours, theirs, apart, pool)
    found, last = at >= 0, there.row[np.maximum(at, 0)]
    arrived_ns = np.where(found, received["t_ns"][last], -1)
    fate = np.where(found, np.where(damaged(received)[last], DAMAGED, ARRIVED), LOST).astype(np.int8)
    certain = apart | (records[ours] == 0) | (records[ours] >= copies[ours])
    acks = _acks(m, asked, near, far, reverse)
    unrecorded = _acknowledged(acks, sent["t_ns"][here.row], here, fate, arrived_ns)
    _in_flight(m, asked, near, far, reverse, sent["t_ns"][here.row], here.of, fate, arrived_ns)
    unsent = np.bincount(there.of[copies[theirs] == 0], minlength=len(asked))
    certain &= fate != UNKNOWN
    known = Fates(sent.rows, here.row, here.start, here.end, fate, arrived_ns, certain)
    return AllFates(places[chosen], sent, here.of, known, unrecorded, unsent)


def _packet_sizes(
    connections: Sequence[Connection], source: int, sent: FlowBatch, received: FlowBatch
) -> Times:
    """Payload of full packets: what the handshake agreed, else the longest that the far capture has."""
    sizes = np.minimum(sent.largest(sent["length"], 0), received.largest(received["length"], 0))
    for at, connection in enumerate(connections):
        summary = connection.summaries[source]
        forward, reverse = summary["forward"], summary["reverse"]
        if forward["mss"] and reverse["mss"] and summary["handshake"]:
            sizes[at] = agreed_bytes(summary)
    return np.maximum(sizes, 1)


def _acks(m: Timeline, connections: Sequence[Connection], near: int, far: int, reverse: bool) -> FlowBatch:
    """ACKs for this direction of each connection at the far capture, or at the near one if that has none."""
    acks = valid_acks(m, connections, far, reverse)
    if np.all(acks.sizes):
        return acks
    return valid_acks(m, connections, np.where(acks.sizes > 0, far, near), reverse)


def _acknowledged(
    acks: FlowBatch, sent_ns: Times, here: PathPackets, fate: npt.NDArray[np.int8], arrived_ns: Times
) -> Times:
    """Turn LOST into ARRIVED where the receiver acknowledged bytes before any copy of them was recorded.

    Of several copies in transit by then, any may be the one that arrived: UNKNOWN. Returns by flow how many
    packets the far capture lost.
    """
    unrecorded = np.zeros(acks.count, dtype=np.int64)
    lost = np.flatnonzero(fate == LOST)
    if not len(lost):
        return unrecorded
    of = here.of
    reached = highest(acks.of, acks["ack"])
    at = GroupedSearch(acks.count, reached).search((acks.of, reached), (of[lost], here.end[lost]))
    acked = at < acks.bounds[of[lost] + 1]
    lost, acked_ns = lost[acked], acks["t_ns"][at[acked]]
    line = GroupedSearch(acks.count, here.start, here.end)
    start, end = line.at(of, here.start), line.at(of, here.end)
    edges = sorted_unique(np.concatenate([start, end]))
    low, high = np.searchsorted(edges, start), np.searchsorted(edges, end)
    covers, sizes = np.zeros(acks.count, dtype=np.int64), np.bincount(of, minlength=acks.count)
    np.add.at(covers, of, high - low)
    sane = covers <= 8 * sizes + MOST_PACKETS  # overlaps without end: a capture that is made up
    recorded = np.full(len(edges), NEVER, dtype=np.int64)
    there = np.flatnonzero((fate == ARRIVED) & sane[of])
    _lower(recorded, low[there], high[there], arrived_ns[there])
    lost, acked_ns = lost[sane[of[lost]]], acked_ns[sane[of[lost]]]
    doubtful = acked_ns < _highest(recorded, low[lost], high[lost])
    doubtful &= sent_ns[lost] < acked_ns
    lost = lost[doubtful]
    if len(lost):
        _, first, group, copies = np.unique(
            start[lost], return_index=True, return_inverse=True, return_counts=True
        )
        fate[lost] = np.where(copies[group.reshape(-1)] == 1, ARRIVED, UNKNOWN)
        np.add.at(unrecorded, of[lost[first]], 1)
    return unrecorded


def _in_flight(
    m: Timeline,
    connections: Sequence[Connection],
    near: int,
    far: int,
    reverse: bool,
    sent_ns: Times,
    of: Times,
    fate: npt.NDArray[np.int8],
    arrived_ns: Times,
) -> None:
    """Turn LOST into UNKNOWN where the captures end before the packet could have come: it may be in transit.

    That holds for packets after the last that arrived, within the longest time that any of the flow took.
    The captures end with their last record; the far one with its own if the near one has packets from there
    later than that.
    """
    source = m.table("segments")["source"]
    last_ns = [m.table("segments")["t_ns"][source == one].max(initial=-1) for one in (near, far)]
    rows = np.flatnonzero(fate == LOST)
    if not len(rows) or min(last_ns) < 0 or any(m.sources[one].last_ns is None for one in (near, far)):
        return
    count = len(connections)
    took_ns, newest_ns = np.zeros(count, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    there = np.flatnonzero(arrived_ns >= 0)
    np.maximum.at(took_ns, of[there], arrived_ns[there] - sent_ns[there])
    np.maximum.at(newest_ns, of[there], sent_ns[there])
    back = valid_acks(m, connections, near, reverse)
    acked_ns = np.full(count, -1, dtype=np.int64)
    np.maximum.at(acked_ns, back.of, back["t_ns"])
    ended_ns = np.where(acked_ns > last_ns[1] + took_ns, last_ns[1], max(last_ns))
    tail = (sent_ns[rows] > newest_ns[of[rows]]) & (sent_ns[rows] + took_ns[of[rows]] >= ended_ns[of[rows]])
    fate[rows[tail]] = UNKNOWN


def _lower(values: Times, low: Times, high: Times, bound: Times) -> None:
    """values[low:high] = min(values[low:high], bound), for each; the ranges are nearly always one long."""
    np.minimum.at(values, low, bound)
    for index in np.flatnonzero(high - low > 1)[:MOST_PACKETS]:
        part = slice(int(low[index]), int(high[index]))
        values[part] = np.minimum(values[part], bound[index])


def _highest(values: Times, low: Times, high: Times) -> Times:
    """max(values[low:high]) for each: when the last of the bytes was recorded."""
    return np.array(
        [values[a:b].max(initial=-1) for a, b in zip(low.tolist(), high.tolist(), strict=True)],
        dtype=np.int64,
    )
