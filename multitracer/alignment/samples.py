"""Samples of counters (`ss` loops) to capture: what had been acknowledged at that moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.alignment.clocks import ClockLine, Fit, Piece
from multitracer.alignment.flows import Socket, seen, sockets
from multitracer.alignment.joining import Captures, Log
from multitracer.alignment.relation import Pairs, Relation
from multitracer.model.arrays.unique import among
from multitracer.model.table import Array, Table

_COMMAND_NS = 50_000_000  # the time is printed before the counters are read: they may be newer by this much
_OUTLIERS = 0.01
_ENOUGH = 0.5
_FEW = 3
_UNBOUNDED = 1 << 62


def join(log: Log, captures: Captures) -> Relation | None:
    """Join a log of counters to a capture.

    A sample with "n bytes acknowledged" was taken after the ACK of n passed and before the next one.
    Each sample bounds the offset from both sides; the bounds that all but a few samples share are the
    answer. A clock that is the capture's own (as stamped) is kept where it lies within them.

    At a capture on the other side of the path an ACK passes earlier, and data later, than at the socket:
    there only the bounds that this leaves are used, and they are as far apart as the RTT.

    Parameters
    ----------
    log : Log
    captures : Captures

    Returns
    -------
    Relation or None
        None if no capture has enough samples, or if their bounds do not agree.
    """
    own = sockets(log.trace.flows, captures.merged)
    for capture in captures.preferred:
        low, high = _bounds(log.trace.tables["tcp_states"], own, captures, capture)
        if len(low) < _FEW:
            continue
        bottom, top, agree = _common_stretch(low, high)
        if agree < _ENOUGH * len(low) or bottom == -_UNBOUNDED or top == _UNBOUNDED:
            continue
        stamped = log.trace.source.clock == "realtime" and bottom - _COMMAND_NS <= 0 <= top + _COMMAND_NS
        offset = 0 if stamped else (bottom + top) // 2
        # The offset found is that of the moment of counting; the stamp may be older by the command's run.
        half = max(abs(bottom - offset), abs(top - offset)) + (0 if stamped else _COMMAND_NS) + 1
        piece = Piece(0, ClockLine(log.span_ns[0], offset), half, 0, 0.0)
        evidence = {
            "rule": "bytes_acked, bytes_sent",
            "samples": len(low),
            "agree": agree,
            "interval_ns": [bottom, top],
        }
        fit = Fit((piece,), half, "accurate" if half <= _COMMAND_NS else "approximate", 0, evidence)
        method = "as-stamped" if stamped else "ack-match"
        return Relation(capture, log.index, Pairs.none(), Pairs.none(), method, fit, half, evidence)
    return None


def _common_stretch(low: Array, high: Array) -> tuple[int, int, int]:
    """The stretch of offsets that most samples allow, and how many do."""
    edges = np.concatenate([low, high])
    change = np.concatenate([np.ones(len(low), np.int64), np.full(len(high), -1)])
    order = np.lexsort((-change, edges))
    height = np.cumsum(change[order])
    best = int(height.max())
    good = np.flatnonzero(height >= best - int(_OUTLIERS * len(low)))
    top = int(np.argmax(height))
    # the run of good stretches around the best one
    breaks = np.flatnonzero(np.diff(good) > 1)
    run = np.split(good, breaks + 1)
    mine = next(part for part in run if part[0] <= top <= part[-1])
    end = min(int(mine[-1]) + 1, len(edges) - 1)
    return int(edges[order[mine[0]]]), int(edges[order[end]]), best


def _bounds(states: Table, own: Sequence[Socket], captures: Captures, capture: int) -> tuple[Array, Array]:
    """Lower and upper bound of the offset by sample."""
    segments, point = captures.segments[capture], captures.points[capture]
    lows, highs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for socket, rows, sending, acks in seen(states, own, segments):
        acks = acks[segments["ack"][acks] >= 0]
        data = sending[segments["length"][sending] > 0]
        highest = np.maximum.accumulate(segments["ack"][acks])
        sent = np.cumsum(segments["length"][data], dtype=np.int64)
        rows = rows[states["bytes_acked"][rows] > 0]
        syn = _syn_counted(states["bytes_acked"][rows], highest)
        near = point == ("snd" if socket.sends == captures.merged[socket.conn].data_dir else "rcv")
        t = states["t_ns"][rows]
        low, high = _between_changes(states["bytes_acked"][rows] + syn, t, highest, segments["t_ns"][acks])
        lows.append(low)
        highs.append(high if near else np.full_like(high, _UNBOUNDED))
        low, high = _between_changes(states["bytes_sent"][rows], t, sent, segments["t_ns"][data])
        lows.append(low if near else np.full_like(low, -_UNBOUNDED))
        highs.append(high)
    return np.concatenate(lows), np.concatenate(highs)


def _syn_counted(acked: Array, highest: Array) -> int:
    """0 if the kernel counts the SYN as an acknowledged byte (the side that opened), else 1."""
    return int(among(acked + 1, highest).sum() > among(acked, highest).sum())


def _between_changes(values: Array, t_ns: Array, counter: Array, t_change: Array) -> tuple[Array, Array]:
    """For each sample, what moves it between the change to its value and the next change."""
    new = np.flatnonzero(np.diff(counter, prepend=-1) > 0)
    numbers, first = counter[new], t_change[new]
    place = np.searchsorted(numbers, values)
    exact = place < len(numbers) - 1
    exact[exact] &= numbers[place[exact]] == values[exact]
    t = t_ns[exact]
    return first[place[exact]] - t, first[place[exact] + 1] - t
