"""Logs of what an application wrote or read (iperf3): bytes cannot leave before they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from multitracer.alignment.clocks import ClockLine, Fit, Piece
from multitracer.alignment.flows import Socket, seen, sockets
from multitracer.alignment.joining import Captures, Log
from multitracer.alignment.relation import Pairs, Relation
from multitracer.model.table import Array, Table
from multitracer.model.trace import Trace

_PROMPT_NS = 50_000_000  # an application that is awake writes, or reads what is there, within this


def join(log: Log, captures: Captures) -> Relation | None:
    """Join a log of bytes written or read to the capture on the application's own host.

    When n bytes have been written, byte n has not been sent later, and the byte after the current block has
    not been sent yet. When n bytes have been read, byte n had arrived. A test that records when it began sent
    its first byte then. All bounds must agree; their middle is the answer.

    Parameters
    ----------
    log : Log
    captures : Captures

    Returns
    -------
    Relation or None
        None if no capture has the socket, or if the bounds contradict each other.
    """
    own = sockets(log.trace.flows, captures.merged)
    for capture in captures.preferred:
        low, high = _bounds(log.trace, own, captures, capture)
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
        piece = Piece(0, ClockLine(log.span_ns[0], offset), half, 0, 0.0)
        fit = Fit((piece,), half, "accurate" if half <= _PROMPT_NS else "approximate", 0, evidence)
        return Relation(capture, log.index, Pairs.none(), Pairs.none(), "ack-match", fit, half, evidence)
    return None


def _bounds(trace: Trace, own: Sequence[Socket], captures: Captures, capture: int) -> tuple[Array, Array]:
    """Lower and upper bounds of the offset."""
    segments, point = captures.segments[capture], captures.points[capture]
    states, details = trace.tables["tcp_states"], trace.source.details
    block, before = (_count(details, name) for name in ("block_bytes", "bytes_before_writing"))
    start_ns = trace.source.first_ns if block else None
    lows, highs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for socket, rows, sending, receiving in seen(states, own, segments):
        if point != ("snd" if socket.sends == captures.merged[socket.conn].data_dir else "rcv"):
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
