"""Segments that one capture has and the next has not: when they were lost, and which a queue dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.layers.link.path import LinkPath
from multitracer.layers.tcp.copies import equal, from_last
from multitracer.layers.tcp.flow_batch import FlowBatch, single_flow
from multitracer.layers.tcp.transit import Flags, Times, damaged, data_at, ignored
from multitracer.model.frozen import changeable, frozen
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

if TYPE_CHECKING:
    import numpy.typing as npt

_SAME = ("seq", "ack", "length", "flags", "ip_id")  # what copies of a segment have in common
LOG_LAG_NS = 200_000_000  # a queue logs a drop within this of the capture in front of it


@frozen
class Losses:
    """Segments of one direction that the capture at its source has and the one at its destination has not.

    Attributes
    ----------
    segments : Table
        Rows of the capture at the source.
    after_ns, before_ns : array
        Arrivals of the segments sent just before and just after that did get through: a link that keeps the
        order lost the segment between these times. The smallest and largest integers where there is none.
    seen : array of bool
        A packet of these numbers did come and was refused there. After a header decompressor that has lost
        its state it may have been another one (RFC 1144). Either way no queue in front of the link dropped
        it: what never entered the compressor lends its numbers to nothing.
    """

    segments: Table
    after_ns: Times
    before_ns: Times
    seen: Flags

    def during(self, start_ns: int, end_ns: int) -> Flags:
        """Those that something between two times can have lost."""
        return np.asarray((self.after_ns <= end_ns) & (self.before_ns > start_ns), dtype=np.bool_)


@frozen
class QueueDrop:
    """A line of the log that reports that a queue dropped a packet, and the segment that it was.

    Attributes
    ----------
    t_ns, record, entity : int
    segment : dict or None
        conn, dir, seq, length, record, t_ns of the segment in the capture; None if none fits.
    """

    t_ns: int
    record: int
    entity: int
    segment: dict[str, Any] | None


def losses(m: Timeline, connection: Connection, reverse: bool = False) -> Losses | None:
    """Losses between the captures in the data direction, or in the other; None without both captures.

    What arrived and was refused (`multitracer.layers.tcp.transit.discarded`) shows nothing by its numbers:
    they may be those of another segment. It does not count as an arrival.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    reverse : bool
        The direction against the bulk of the data.
    """
    if m.snd is None or m.rcv is None:
        return None
    sent = data_at(m, connection, m.rcv if reverse else m.snd, reverse)
    received = data_at(m, connection, m.snd if reverse else m.rcv, reverse)
    arrived = arrival_ns(sent, received.where(~refused(m, connection, reverse)))
    through = arrived >= 0
    lost = np.flatnonzero(~through)
    position = np.cumsum(through)[lost]
    limit = np.iinfo(np.int64)
    # Arrivals in the order of sending; the running maximum keeps bounds true where copies were mistaken.
    times = np.maximum.accumulate(arrived[through]) if np.any(through) else arrived[through]
    after = np.concatenate([[limit.min], times])[position]
    before = np.append(times, limit.max)[position]
    return Losses(sent.where(lost), after, before, arrival_ns(sent, received)[lost] >= 0)


def refused(m: Timeline, connection: Connection, reverse: bool) -> Flags:
    """Which segments of one direction its receiver refused, in the capture there.

    Damaged ones; of the data direction also those that its ACKs show it discarded (`ignored`).

    Parameters
    ----------
    m : Timeline
        With captures of both ends.
    connection : Connection
    reverse : bool
        The direction against the bulk of the data.

    Returns
    -------
    bool array
        One for each segment of that direction in its receiver's capture, in time order.
    """
    received = data_at(m, connection, m.snd if reverse else m.rcv, reverse)
    bad = damaged(received)
    return bad if reverse else bad | ignored(received, data_at(m, connection, m.rcv, reverse=True))


def arrival_ns(sent: Table, received: Table) -> Times:
    """For each segment at the source's capture: when its copy passed the other capture; -1 if it never did.

    Copies of the same bytes are distinguished by the IP identification; where that is constant (IPv6), the
    last copies are taken to be the ones that arrived.
    """
    return arrivals_ns(single_flow(sent), single_flow(received))


def arrivals_ns(sent: FlowBatch, received: FlowBatch) -> Times:
    """`arrival_ns` for the same flows at both captures."""
    codes = equal(
        np.concatenate([sent.of, received.of]),
        *(np.concatenate([sent[name].astype(np.int64), received[name]]) for name in _SAME),
    )
    mine, other = codes[: len(sent)], codes[len(sent) :]
    size = len(codes) + 1
    mine, other = mine * size + from_last(mine), other * size + from_last(other)
    order = np.argsort(other)
    at = np.searchsorted(other[order], mine)
    found = np.full(len(mine), -1, dtype=np.int64)
    inside = at < len(other)
    hit = inside.copy()
    hit[inside] = other[order][at[inside]] == mine[inside]
    found[hit] = received["t_ns"][order[at[hit]]]
    return found


def queue_drops(m: Timeline, path: LinkPath | None) -> list[QueueDrop]:
    """Every drop that a queue logged, matched to a segment that never arrived, or else to none."""
    events = m.table("link_events").sorted_by("t_ns")
    lines = events.where(events["kind"] == events.code("kind", "drop"))
    if not len(lines):
        return []
    pools = {reverse: _candidates(m, reverse) for reverse in (False, True)}
    found = []
    for row in range(len(lines)):
        entity = int(lines["entity"][row])
        pool = pools[path is not None and entity != path.sender]
        t_ns, size = int(lines["t_ns"][row]), int(lines["length"][row])
        segment = _take(pool, t_ns, size)
        found.append(QueueDrop(t_ns, int(lines["record"][row]), entity, segment))
    return found


@changeable
class _Pool:
    segments: Table
    free: npt.NDArray[np.bool_]


def _candidates(m: Timeline, reverse: bool) -> _Pool:
    """Segments that a queue in front of the link may have dropped, in time order."""
    source = m.rcv if reverse else m.snd
    parts = []
    for connection in m.connections:
        known = losses(m, connection, reverse)
        if known is None:
            parts.append(data_at(m, connection, source, reverse))
        else:
            parts.append(known.segments.where(~known.seen))
    rows = Table.concat(m.table("segments").schema, parts).sorted_by("t_ns")
    return _Pool(rows, np.ones(len(rows), dtype=np.bool_))


def _take(pool: _Pool, t_ns: int, size: int) -> dict[str, Any] | None:
    """The first free segment of that size around that time; it is then taken."""
    times = pool.segments["t_ns"]
    low, high = np.searchsorted(times, [t_ns - LOG_LAG_NS, t_ns + LOG_LAG_NS])
    fits = pool.free[low:high].copy()
    if size >= 0:
        fits &= pool.segments["ip_length"][low:high] == size
    where = np.flatnonzero(fits)
    if not len(where):
        return None
    index = int(low + where[0])
    pool.free[index] = False
    return segment_facts(pool.segments, index)


def segment_facts(segments: Table, index: int) -> dict[str, Any]:
    """What names a segment."""
    return {name: segments[name][index].item() for name in ("conn", "dir", "seq", "length", "record", "t_ns")}
