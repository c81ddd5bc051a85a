"""TCP data in transit: the transfer's span, what the receiver refused, and when bytes arrived in order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.layers.tcp import flow_batch
from multitracer.layers.tcp.flow_batch import Flags as Flags, Times as Times
from multitracer.model.arrays.intervals import Intervals, intervals
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.frozen import frozen
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline
from multitracer.native.spans import spans

PIECES = 1_000_000
ANSWER_NS = 100_000_000
"""A receiver answers data out of order at once; its capture shows the answer within this."""


@frozen
class Delivery:
    """In-order delivery to the receiving TCP.

    Attributes
    ----------
    t_ns : array
        Times at which the next byte expected advanced, ascending.
    reached : array
        The next byte expected from then on.
    """

    t_ns: Times
    reached: Times

    def at(self, t_ns: int) -> int:
        """The next byte expected just after a time; the first byte at the beginning."""
        index = int(np.searchsorted(self.t_ns, t_ns, side="right")) - 1
        return int(self.reached[index]) if index >= 0 else 1

    def around(self, t_ns: int) -> tuple[int | None, int | None]:
        """Last advance at or before a time, first advance after it."""
        index = int(np.searchsorted(self.t_ns, t_ns, side="right"))
        before = int(self.t_ns[index - 1]) if index > 0 else None
        after = int(self.t_ns[index]) if index < len(self.t_ns) else None
        return before, after


def data_at(m: Timeline, connection: Connection, source: int | None, reverse: bool = False) -> Table:
    """Segments of the data direction (or the other) at one capture, in time order.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int or None
        Index of the capture; None gives no rows.
    reverse : bool
        The direction against the bulk of the data.

    Returns
    -------
    Table
        Rows of `segments`.
    """
    direction = 1 - connection.data_dir if reverse else connection.data_dir
    return m.flow(connection.index, direction, source)


def valid_acks(m: Timeline, connection: Connection, source: int | None) -> Table:
    """Segments with an ACK for the data direction at one capture, without those damaged in transit.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int or None
        Index of the capture; None gives no rows.

    Returns
    -------
    Table
        Rows of `segments` of the other direction, in time order.
    """
    at = flow_batch.place(m, connection)
    if at is not None and source is not None:
        return flow_batch.valid_acks(m, m.connections, source).one(at)
    rows = data_at(m, connection, source, reverse=True)
    return rows.where((rows["ack"] > 0) & ~damaged(rows))


def payload_at(m: Timeline, connection: Connection, source: int) -> Table:
    """Segments with payload of the data direction at one capture, in time order.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        Index of the capture.

    Returns
    -------
    Table
        Rows of `segments`.
    """
    at = flow_batch.place(m, connection)
    if at is not None:
        return flow_batch.payload(m, m.connections, source).one(at)
    rows = data_at(m, connection, source)
    return rows.where(rows["length"] > 0)


def near_sender(m: Timeline) -> int | None:
    """Index of the capture next to the data sender, else next to the receiver; None without either."""
    return m.snd if m.snd is not None else m.rcv


def spans_of(m: Timeline, connections: Sequence[Connection]) -> tuple[Intervals, Flags]:
    """Time from the first data segment to the ACK of the last byte, for each connection (Paper 4.3).

    Returns
    -------
    spans : array of int64, shape (len(connections), 2)
        Start and end in ns; without an ACK the end is the last data segment.
    carrying : array of bool, shape (len(connections),)
        Which connections have data; the spans of the others mean nothing.
    """
    if flow_batch.one_batch(m, connections):
        return m.once("spans_of", lambda: _spans_of(m, connections))
    known: dict[int, tuple[int, int, bool]] = m.once("spans", dict)
    new = [one for one in connections if one.index not in known]
    if new:
        spans, carrying = _spans_of(m, new)
        found = zip(*spans.T.tolist(), carrying.tolist(), strict=True)
        known.update(zip([one.index for one in new], found, strict=True))
    rows = [known[one.index] for one in connections]
    return (
        np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2),
        np.array([row[2] for row in rows], dtype=np.bool_),
    )


def _spans_of(m: Timeline, connections: Sequence[Connection]) -> tuple[Intervals, Flags]:
    source = near_sender(m)
    data, acks = flow_batch.both_bounds(m, connections, source)
    begin_ns, end_ns, carrying = spans(m.segments_by_flow, data, acks)
    return np.column_stack([begin_ns, end_ns]), carrying


def data_spans(m: Timeline) -> Intervals:
    """Times in which any connection transferred data: first data segment to last ACK.

    Without a log of the link, until the last timeout of one that broke off: its link carried nothing while
    its sender waited for the timer. A log shows whether there was a link then.
    """
    return m.once("data_spans", lambda: _data_spans(m))


def _data_spans(m: Timeline) -> Intervals:
    found = []
    for some in flow_batch.batches(m):
        spans, carrying = spans_of(m, some)
        spans = np.column_stack([spans[:, 0], given_up_ns(m, some, spans[:, 1])])
        found.append(spans[carrying])
    return intervals(np.concatenate(found) if found else ())


def given_up_ns(m: Timeline, connections: Sequence[Connection], end_ns: Times) -> Times:
    """The ends of connections, of those that broke off the last timeout without an answer.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Connection
    end_ns : array of int64
        The last ACK of each.

    Returns
    -------
    array of int64
        The same where a log of the link shows whether there was one.
    """
    source = near_sender(m)
    if source is None or len(m.table("link_frames")):
        return end_ns
    last_ns = np.full(len(connections), np.iinfo(np.int64).min, dtype=np.int64)
    for at, connection in enumerate(connections):
        data = connection.summaries.get(source, {}).get(("forward", "reverse")[connection.data_dir], {})
        unfinished = data.get("unfinished")
        if unfinished and unfinished["last_ns"] is not None:
            last_ns[at] = unfinished["last_ns"] + m.clocks[source].offset_ns
    return np.maximum(end_ns, last_ns)


def damaged(data: Table) -> Flags:
    """Mask of the segments of one flow that TCP discards for a bad checksum (RFC 9293 3.1)."""
    return flow_batch.damaged(flow_batch.single_flow(data))


def ignored(data: Table, acks: Table) -> Flags:
    """Segments at the receiver that it discarded without a word, as its ACKs show: no checksum is needed.

    A receiver acknowledges data in order within half a second (RFC 9293, 3.8.6.3); if the same bytes arrive
    later than that and no ACK for them left in between, it had discarded the first copy. Data out of order,
    or received before, it answers at once (RFC 5681, 4.2; RFC 9293, 3.10.7.4): what gets no answer was
    discarded.
    """
    if not len(data):
        return np.zeros(0, dtype=np.bool_)
    ends = data["seq"] + data["length"]
    again = _next_copy_ns(data["seq"], data["t_ns"])
    acks = acks.where(acks["ack"] > 0)
    reached = np.maximum.accumulate(acks["ack"]) if len(acks) else np.zeros(0, dtype=np.int64)
    covered = np.searchsorted(reached, ends)  # the first ACK that covers it
    never = np.iinfo(np.int64).max
    acked = np.append(acks["t_ns"], never)[covered]
    sent_before = np.searchsorted(acks["t_ns"], data["t_ns"], side="right") - 1
    expected = np.where(sent_before >= 0, np.append(reached, 1)[sent_before], 1)
    in_order = (data["seq"] <= expected) & (ends > expected)
    repeated = (again < never) & (acked > again)
    late = repeated & (again - data["t_ns"] > 500_000_000)
    answer = np.append(acks["t_ns"], never)[sent_before + 1]
    silent = (answer > data["t_ns"] + ANSWER_NS) & (answer < never)
    ahead, old = data["seq"] > expected, ends <= expected
    lost = (in_order & late) | (ahead & repeated & silent) | (old & silent)
    return np.asarray((data["length"] > 0) & lost, dtype=np.bool_)


def discarded(m: Timeline, connection: Connection) -> Table:
    """Data segments that arrived at the receiver and were refused there; empty without its capture."""
    data = data_at(m, connection, m.rcv)
    acks = data_at(m, connection, m.rcv, reverse=True)
    bad = damaged(data)
    return data.where(bad | (ignored(data, acks) & ~bad))


def in_order(m: Timeline, connection: Connection) -> Delivery:
    """When the receiving TCP had each byte and all before it, from the receiver's capture.

    Without that capture: from the ACKs at the sender, which are later by their return delay.
    """
    if m.rcv is None:
        acks = valid_acks(m, connection, near_sender(m))
        return _advances(acks["t_ns"], acks["ack"])
    data = data_at(m, connection, m.rcv)
    refused = damaged(data) | ignored(data, data_at(m, connection, m.rcv, reverse=True))
    data = data.where((data["length"] > 0) & ~refused)
    if not len(data):
        return Delivery(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    starts, ends = data["seq"], data["seq"] + data["length"]
    edges = sorted_unique(np.concatenate([starts, ends]))
    low, high = np.searchsorted(edges, starts), np.searchsorted(edges, ends)
    # One entry per elementary piece of each segment. Pieces come from partial overlaps, so there are few,
    # unless the capture is made up: then the receiver's ACKs show nearly the same, later by its delayed ACKs.
    count = high - low
    if int(count.sum()) > 8 * len(data) + PIECES:
        acks = valid_acks(m, connection, m.rcv)
        return _advances(acks["t_ns"], acks["ack"])
    row = np.repeat(np.arange(len(data)), count)
    piece = low[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    never = np.iinfo(np.int64).max
    arrived = np.full(len(edges) - 1, never, dtype=np.int64)
    np.minimum.at(arrived, piece, data["t_ns"][row])
    complete = np.maximum.accumulate(arrived)
    known = complete < never
    return _advances(complete[known], edges[1:][known])


def _advances(t_ns: Times, reached: Times) -> Delivery:
    order = np.argsort(t_ns, kind="stable")
    t_ns, high = t_ns[order], np.maximum.accumulate(reached[order]) if len(order) else reached
    # The last of equal times, and only where the highest byte grew.
    last = np.append(t_ns[1:] != t_ns[:-1], True) if len(t_ns) else np.zeros(0, dtype=np.bool_)
    t_ns, high = t_ns[last], high[last]
    grew = np.diff(high, prepend=1) > 0
    return Delivery(t_ns[grew], high[grew])


def _next_copy_ns(seq: Times, t_ns: Times) -> Times:
    """For each segment: when the same first byte comes again; the largest integer if never."""
    order = np.argsort(seq, kind="stable")  # they are in time order
    again = np.full(len(seq), np.iinfo(np.int64).max, dtype=np.int64)
    same = seq[order][1:] == seq[order][:-1]
    again[order[:-1][same]] = t_ns[order][1:][same]
    return again
