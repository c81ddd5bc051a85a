"""Logs of what an application wrote or read (iperf3): bytes cannot leave before they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from multitracer.alignment.clocks import ClockLine, Fit, Piece
from multitracer.alignment.connections import Merged
from multitracer.alignment.flows import Socket, seen, sockets
from multitracer.alignment.relation import Pairs, Relation
from multitracer.model.table import Array, Table
from multitracer.model.trace import Trace

_PROMPT_NS = 50_000_000  # an application that is awake writes, or reads what is there, within this


def join(
    index: int,
    trace: Trace,
    merged: Sequence[Merged],
    segments: Mapping[int, Table],
    span_ns: tuple[int, int],
    preferred: Sequence[int],
    points: Mapping[int, str | None],
) -> Relation | None:
    """Join a log of bytes written or read to the capture on the application's own host.

    When n bytes have been written, byte n has not been sent later, and the byte behind the block in work has
    not been sent yet. When n bytes have been read, byte n had arrived. A test that says when it began sent
    its first byte then. All bounds must agree; their middle is the answer.

    Parameters
    ----------
    index : int
        The log among the sources.
    trace : Trace
        The log.
    merged : sequence of Merged
        Connections that the captures have in common.
    segments : mapping of int to Table
        By capture: connections and directions in common terms, times on the reference timeline.
    span_ns : (int, int)
        First and last time of the log, as stamped.
    preferred : sequence of int
        Captures in the order in which they are tried.
    points : mapping of int to str or None
        Observation point of each capture ("snd", "rcv", "mid"); None where it is not known.

    Returns
    -------
    Relation or None
        None if no capture has the socket, or if the bounds contradict each other.
    """
    own = sockets(trace.flows, merged)
    for capture in preferred:
        low, high = _bounds(trace, own, merged, segments[capture], points[capture])
        if not len(low) or not len(high):
            continue
        bottom, top = int(low.max()), int(high.min())
        if bottom > top + _PROMPT_NS:
            continue
        offset = (bottom + top) // 2
        half = abs(top - bottom) // 2 + 1
        evidence = {
            "rule": "bytes written and read by the application",
            "bounds": len(low) + len(high),
            "interval_ns": [bottom, top],
        }
        piece = Piece(0, ClockLine(span_ns[0], offset), half, 0, 0.0)
        fit = Fit((piece,), half, "accurate" if half <= _PROMPT_NS else "approximate", 0, evidence)
        return Relation(capture, index, Pairs.none(), Pairs.none(), "ack-match", fit, half, evidence)
    return None


def _bounds(
    trace: Trace, own: Sequence[Socket], merged: Sequence[Merged], segments: Table, point: str | None
) -> tuple[Array, Array]:
    """Lower and upper bounds of the offset."""
    states, details = trace.tables["tcp_states"], trace.source.details
    block, before = (_count(details, name) for name in ("block_bytes", "bytes_before_writing"))
    start_ns = trace.source.first_ns if block else None
    lows, highs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for socket, rows, sending, receiving in seen(states, own, segments):
        if point != ("snd" if socket.sends == merged[socket.conn].data_dir else "rcv"):
            continue
        sent, t_sent = _highest(segments, sending)
        written = rows[states["app_written"][rows] > 0]
        if len(written) and len(sent):
            highs.append(_passing(sent, t_sent, states, written, "app_written", block))
            if start_ns is not None:
                place = np.searchsorted(sent, before, side="right")
                first = t_sent[place : place + 1] - start_ns
                highs.append(first)
                lows.append(first - _PROMPT_NS)
        arrived, t_arrived = _highest(segments, receiving)
        read = rows[states["app_read"][rows] > 0]
        if len(read) and len(arrived):
            lows.append(_passing(arrived, t_arrived, states, read, "app_read", -1))
            highs.append(_passing(arrived, t_arrived, states, read, "app_read", block) + _PROMPT_NS)
    return np.concatenate(lows), np.concatenate(highs)


def _highest(segments: Table, rows: Array) -> tuple[Array, Array]:
    """Bytes of the stream seen so far, and the time of each step."""
    rows = rows[segments["length"][rows] > 0]
    # the SYN is 0: byte n of the stream has number n
    seen = np.maximum.accumulate(segments["seq"][rows] + segments["length"][rows] - 1)
    steps = np.flatnonzero(np.diff(seen, prepend=-1) > 0)
    return seen[steps], segments["t_ns"][rows][steps]


def _passing(seen: Array, t_seen: Array, states: Table, rows: Array, counter: str, beyond: int) -> Array:
    """Shift of each row to the first packet with more than its bytes and so many beyond."""
    place = np.searchsorted(seen, states[counter][rows] + beyond, side="right")
    known = place < len(seen)
    return np.asarray(t_seen[place[known]] - states["t_ns"][rows[known]])


def _count(details: Mapping[str, object], name: str) -> int:
    value = details.get(name)
    return value if isinstance(value, int) and value > 0 else 0
