"""Figures for xplot (xplot.org): tcptrace's colours and marks.

References
----------
xplot's demo.0 (the plot language) and README.tcp_plots; tcptrace manual, "Time Sequence Graph".
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from multitracer.export.files import file_name, line, writing
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Figure, Marks, Panel, Pieces, Role, Series, Spans

# tcptrace: data white, ACKs green, window yellow, retransmissions red, SACK purple.
COLORS: dict[Role, str] = {
    "snd_data": "white",
    "snd_ack": "green",
    "rcv_data": "magenta",
    "rcv_ack": "green",
    "rwnd": "yellow",
    "link_data": "blue",
    "link_retransmission": "orange",
    "link_reset": "red",
    "timeout": "red",
    "timeout_spurious": "red",
    "timeout_genuine": "red",
    "timeout_inconclusive": "red",
    "fast_retransmit": "red",
    "slow_start_retransmission": "red",
    "tail_loss_probe": "red",
    "other_retransmission": "red",
    "corrupted": "orange",
    "local_drop": "orange",
    "sack": "purple",
    "zero_window": "green",
    "cwnd": "blue",
    "ssthresh": "red",
    "flight": "white",
}
OTHER = "pink"


def write(figure: Figure, path: str) -> list[str]:
    """Write every panel that has a y axis: the tallest to `path`, the others next to it.

    Returns
    -------
    list of str
        Paths written.

    Raises
    ------
    UsageError
        If a file cannot be written.
    """
    panels = sorted((one for one in figure.panels if not one.lanes), key=lambda one: -one.height)
    stem, ending = os.path.splitext(path)
    paths = [path, *(f"{stem}-{file_name(panel.name)}{ending or '.xpl'}" for panel in panels[1:])]
    for panel, target in zip(panels, paths, strict=False):
        with writing(target) as file:
            for words in lines(figure, panel):
                file.write(words + "\n")
    return paths[: len(panels)]


def lines(figure: Figure, panel: Panel) -> Iterator[str]:
    """One panel in xplot's language."""
    yield from ("double double", "title", line(f"{figure.name}: {figure.title}"))
    yield from ("xlabel", line(str(figure.x)), "ylabel", line(str(panel.y)))
    for series in panel.series:
        yield COLORS.get(series.role, OTHER)
        yield from _series(series)
    for pieces in panel.pieces:
        yield COLORS.get(pieces.role, OTHER)
        yield from _pieces(pieces)
    low, high = panel.limits(figure.window)
    for spans in panel.spans:
        yield COLORS.get(spans.role, OTHER)
        yield from _spans(spans, low)
    for marks in panel.marks:
        yield COLORS.get(marks.role, OTHER)
        yield from _marks(marks, low, high)
    yield "go"


def _finite(*columns: Floats) -> Iterator[tuple[float, ...]]:
    keep = np.logical_and.reduce([np.isfinite(column) for column in columns])
    yield from zip(*(column[keep].tolist() for column in columns), strict=True)


def _series(series: Series) -> Iterator[str]:
    places = [*_finite(series.x, series.y)]
    if series.kind == "points":
        yield from (f"dot {x:.9f} {y:.15g}" for x, y in places)
        return
    if series.kind == "bars":
        yield from (f"line {x:.9f} 0 {x:.9f} {y:.9g}" for x, y in places)
        return
    for (x, y), (x_next, y_next) in pairwise(places):
        if series.kind == "steps":
            yield f"line {x:.9f} {y:.15g} {x_next:.9f} {y:.15g}"
            if y_next != y:
                yield f"line {x_next:.9f} {y:.15g} {x_next:.9f} {y_next:.15g}"
        else:
            yield f"line {x:.9f} {y:.15g} {x_next:.9f} {y_next:.15g}"


def _pieces(pieces: Pieces) -> Iterator[str]:
    for x, y, x_end, y_end in _finite(pieces.x, pieces.y, pieces.x_end, pieces.y_end):
        if x == x_end and pieces.ends == "plain":
            # A segment as tcptrace draws it: from its first byte, arrow down, to its last, arrow up.
            yield f"darrow {x:.9f} {y:.15g}"
            yield f"uarrow {x:.9f} {y_end:.15g}"
        yield f"line {x:.9f} {y:.15g} {x_end:.9f} {y_end:.15g}"


def _spans(spans: Spans, low: float) -> Iterator[str]:
    """A bar at the foot of the panel: xplot has no shades."""
    for start, end in _finite(spans.start, spans.end):
        yield f"line {start:.9f} {low:.15g} {end:.9f} {low:.15g}"
        yield f"htick {start:.9f} {low:.15g}"
        yield f"htick {end:.9f} {low:.15g}"


def _marks(marks: Marks, low: float, high: float) -> Iterator[str]:
    if marks.y is None:
        for (x,) in _finite(marks.x):
            yield f"line {x:.9f} {low:.15g} {x:.9f} {high:.15g}"
        return
    for x, y in _finite(marks.x, marks.y):
        yield f"diamond {x:.9f} {y:.15g}"
        if marks.letter:
            yield f"atext {x:.9f} {y:.15g}"
            yield line(marks.letter, 8)
