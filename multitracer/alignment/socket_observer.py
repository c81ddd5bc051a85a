"""Kernel logs in the place of a missing capture: they record when segments arrived at a socket.

tcp_probe runs for every segment that a socket receives: an ACK (its number is ``snd_una`` of the next event)
or data. That is what a capture on that host would show of the way in; and what the socket sends, it sends
upon an arrival. So a link log and the counters of `ss` can be joined to it without any capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from multitracer.alignment import kernel, linklog, samples
from multitracer.alignment.clocks import ClockLine, Int, fit
from multitracer.alignment.connections import Merged
from multitracer.alignment.flows import relative
from multitracer.alignment.joining import Captures, Log
from multitracer.alignment.linksearch import Packets
from multitracer.alignment.relation import Relation
from multitracer.model import schema
from multitracer.model.frozen import frozen
from multitracer.model.table import Table
from multitracer.model.trace import Flow, Trace

_FEW = 8


@frozen
class SocketObserver:
    """What one socket of a kernel log saw.

    Attributes
    ----------
    source : int
    flow : Flow
    states : Table
        Its events, in the order of the log, on the log's own clock.
    sends : bool
        Whether it sends most of what it and its peer send.
    """

    source: int
    flow: Flow
    states: Table
    sends: bool

    def segments(self) -> Table:
        """Arrivals as the segments of a capture at that host; direction 0 is the one that it sends."""
        rows = self.states
        una, length = rows["snd_una"].astype(np.int64), np.maximum(rows["data_length"], 0)
        ack = 1 + relative(una, int(una[0]), 0)  # the SYN is 0
        count = len(rows) - 1  # what the last event acknowledges is not known
        return Table.filled(
            schema.SEGMENTS,
            count,
            {
                "t_ns": rows["t_ns"][:count],
                "record": rows["record"][:count],
                "conn": np.zeros(count, dtype=np.int32),
                "dir": np.ones(count, dtype=np.int8),
                "length": length[:count],
                "ack": ack[1:],
                "ack_raw": una[1:].astype(np.uint32),
            },
        )

    def merged(self) -> Merged:
        """The socket's connection, as sent from it."""
        ends = (
            (self.flow.local_address, self.flow.local_port),
            (self.flow.remote_address, self.flow.remote_port),
        )
        return Merged(ends, (0, 0), [None, None], [(0, 0), (0, 0)], data_bytes=[1, 0])


def observers(source: int, trace: Trace) -> Iterator[SocketObserver]:
    """The sockets of a kernel log that record when segments arrived."""
    states = trace.tables.get("tcp_states")
    if states is None or not len(states):
        return
    reported = states.where((states["snd_una"] >= 0) & (states["data_length"] >= 0))
    for number, flow in enumerate(trace.flows):
        mine = reported.where(reported["flow"] == number).sorted_by("record")
        if len(mine) < _FEW:
            continue
        una = mine["snd_una"].astype(np.int64)
        sent = int(relative(una, int(una[0]), 0)[-1])
        yield SocketObserver(source, flow, mine, sent > int(mine["data_length"].sum(dtype=np.int64)))


def join_link(
    log: int,
    trace: Trace,
    sides: Mapping[tuple[int, int], int],
    seen: SocketObserver,
    span_ns: tuple[int, int],
) -> Relation | None:
    """Join a link log to a socket, as to a capture next to it: with the socket's clock as the timeline.

    The link leaves idleness within a slot of an arrival, which makes TCP send, and hands a packet to the
    socket at once after its last frame.

    Parameters
    ----------
    log : int
        The link log among the sources.
    trace : Trace
        The link log.
    sides : mapping of (int, int) to int
        By log and entity: the side of the link at which the entity is.
    seen : SocketObserver
        The socket whose kernel log stands in for a capture.
    span_ns : (int, int)
        First and last time of the link log, as stamped.

    Returns
    -------
    Relation or None
        That of the entity on which most moments fit; None if none does.
    """
    rows = np.argsort(seen.states["t_ns"], kind="stable")
    times = seen.states["t_ns"][rows]
    packets = Packets(times, rows, times, rows)
    best: Relation | None = None
    for entity in range(len(trace.entities)):
        if sides[log, entity] != (0 if seen.sends else 1):
            continue
        found = linklog.join(log, trace, entity, seen.source, packets, seen.states, span_ns, None)
        if found is not None and (best is None or _share(found) > _share(best)):
            best = found
    return best


def _share(relation: Relation) -> float:
    return float(relation.evidence["votes"]) / float(relation.evidence["voters"])


def join_log(log: int, trace: Trace, seen: SocketObserver, span_ns: tuple[int, int]) -> Relation | None:
    """Join another kernel log, or a log of counters, of the same socket: with its clock as the timeline.

    Parameters
    ----------
    log : int
        The other log among the sources.
    trace : Trace
        The other log.
    seen : SocketObserver
        The socket whose log gives the timeline.
    span_ns : (int, int)
        First and last time of the other log, as stamped.
    """
    source = seen.source
    captures = Captures([seen.merged()], {source: seen.segments()}, [source], {source: "snd"})
    given = Log(log, trace, span_ns)
    relation = kernel.join(given, captures)
    if relation is None and len(trace.tables.get("tcp_states", ())):
        relation = samples.join(given, captures)
    return relation


def turned(
    relation: Relation, mapped: Callable[[Int, Int], Int], span_ns: tuple[int, int]
) -> Relation | None:
    """The same relation seen from its other end: `b` is on the timeline, and `a` is placed.

    Parameters
    ----------
    relation : Relation
        Its fit maps b to the clock of a.
    mapped : callable
        Times of b on the timeline.
    span_ns : (int, int)
        First and last time of a.

    Returns
    -------
    Relation or None
        None where a step of b's clock prevents it.
    """
    if len(relation.fit.pieces) > 1:
        return None
    if relation.half_ns is None:
        a_first, b_first = relation.b_first.swapped(), relation.a_first.swapped()
        lower = a_first.points(mapped(a_first.t_a, a_first.record_a))
        upper = b_first.points(mapped(b_first.t_a, b_first.record_a))
        fitted = fit(lower, upper, span_ns, steps=False)
        evidence = {**relation.evidence, **fitted.evidence}
        return Relation(relation.b, relation.a, a_first, b_first, relation.method, fitted, None, evidence)
    (piece,) = relation.fit.pieces
    # One clock's time at the middle of the span, and what the other one showed then.
    middle = sum(span_ns) // 2
    other = middle - int(piece.line.offset_at(middle - piece.line.offset_ns))
    offset = int(mapped(np.array([other]), np.array([0]))[0]) - middle
    line = ClockLine(middle, offset, -piece.line.skew / (1 + piece.line.skew))
    fitted = replace(relation.fit, pieces=(replace(piece, line=line),))
    return Relation(
        relation.b,
        relation.a,
        relation.b_first.swapped(),
        relation.a_first.swapped(),
        relation.method,
        fitted,
        relation.half_ns,
        relation.evidence,
    )
