"""What the sender may send and does: congestion window, threshold, flight, advertised window.

A lane shows which window is full. That is not yet what limits a transfer: behind a full link the congestion
window is full, too (docs/limits.md).

References
----------
RFC 5681 section 2 (cwnd, rwnd, FlightSize).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from multitracer.model.table import Array
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Axis, Figure, Panel, Role, Series, Spans, duration_words
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import tcp_layer
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import select
from multitracer.plots.series.window_layer import segment_size, window_panel

LIMITS: tuple[tuple[Role, str], ...] = (
    ("limit_congestion", "congestion window"),
    ("limit_receiver", "advertised window"),
    ("limit_neither", "neither"),
)
LANE = "full window"
MOMENT_S = 0.01
_NEITHER = 2  # of LIMITS


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """The windows in bytes over time, under a lane that shows which one had no room."""
    selection = select(measurement, options)
    panel = window_panel(selection, base.asked(options))
    if panel is None:
        raise base.nothing(PLOT.name, "neither a sender's capture nor a kernel log of its windows")
    window = base.window_of(panel.series, panel.series, options)
    data = selection.segments(selection.snd, data=True)
    marks = tuple(tcp_layer.retransmission_marks(selection, 0, "retransmission"))
    flight = base.by_name(panel.series, "TcpSnd_flight")
    if flight is not None and len(data):
        # At the flight of their time: the panel's unit is bytes in flight, not sequence numbers.
        marks = tuple(replace(one, y=_held(flight, one.x), texts=()) for one in marks)
    else:
        marks = ()
    mss = segment_size(selection, selection.states())
    limits = [] if flight is None or mss is None else [*_limits(panel.series, flight, mss)]
    lanes = Panel("lanes", Axis("", ""), spans=tuple(limits), lanes=(LANE,), height=0.07) if limits else None
    notes = []
    if base.by_name(panel.series, "TcpSnd_cwnd") is None:
        notes.append("no kernel log: only a full advertised window is known")
    elif limits:
        notes += _blank(panel.series, window)
    windows = replace(panel, height=1.0, marks=(*panel.marks, *marks))
    return base.figure(PLOT.name, selection, results, (lanes, windows), window, options, notes=notes)


def _blank(series: tuple[Series, ...], window: tuple[float, float]) -> Iterator[str]:
    """Why the lane is empty at first."""
    cwnd, flight = base.by_name(series, "TcpSnd_cwnd"), base.by_name(series, "TcpSnd_flight")
    if cwnd is not None and flight is not None and cwnd.x[0] > max(window[0], flight.x[0]) + MOMENT_S:
        yield f"congestion window not known before {cwnd.x[0]:.3g} s: the log's first sample"


def _held(series: Series, x: Floats) -> Floats:
    """The value that a step series holds at given times; its first one before it begins."""
    at = np.searchsorted(series.x, x, side="right") - 1
    held: Floats = series.y[np.maximum(at, 0)]
    return held


def _limits(series: tuple[Series, ...], flight: Series, mss: int) -> Iterator[Spans]:
    """Which window had no room for another segment; nothing without data in flight or with cwnd unknown."""
    cwnd, rwnd = base.by_name(series, "TcpSnd_cwnd"), base.by_name(series, "TcpSnd_rwnd")
    x = flight.x
    if not len(x):
        return
    room = np.full((2, len(x)), np.inf)
    for row, one in enumerate((cwnd, rwnd)):
        if one is not None and len(one.x):
            # tcp_probe shows a change at the sample after it: the value known at the end of each step.
            room[row] = _held(one, x) - flight.y
    held: Array = np.full(len(x), _NEITHER)
    held[room[1] < mss] = 1
    held[(room[0] < mss) & (room[0] <= room[1])] = 0
    unknown = np.full(len(x), True) if cwnd is None else x < cwnd.x[0]
    held[unknown & (held != 1)] = -1
    held[flight.y <= 0] = -1
    held = _without_moments(x, held)
    edges = np.flatnonzero(np.diff(held, prepend=-2))
    starts, ends = x[edges], np.append(x[edges[1:]], x[-1:])
    for code, (role, words) in enumerate(LIMITS):
        mine = (held[edges] == code) & (ends > starts)
        if mine.any():
            texts = tuple(duration_words(float(length)) for length in (ends - starts)[mine])
            yield Spans(f"limit:{words}", role, starts[mine], ends[mine], LANE, words, LANE, texts, texts)


def _without_moments(x: Floats, held: Array) -> Array:
    """A window with room for a moment, between an ACK and the segment that it releases, counts as full."""
    edges = np.flatnonzero(np.diff(held, prepend=-2))
    lengths = np.diff(x[edges], append=x[-1])
    brief = (held[edges] == _NEITHER) & (lengths < MOMENT_S)
    brief[:1] = False
    of_run = held[edges][np.maximum.accumulate(np.where(brief, 0, np.arange(len(edges))))]
    return np.repeat(of_run, np.diff(np.append(edges, len(x))))


PLOT = Plot("cwnd", "Congestion window, ssthresh, flight and advertised window, and which is full", build)
