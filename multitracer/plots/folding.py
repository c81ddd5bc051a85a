"""Empty time: where a figure shows nothing for long, its time axis is folded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from multitracer.model.errors import UsageError
from multitracer.plots.fold import Floats, Fold
from multitracer.plots.panel import Figure, Panel, Series, duration_words

AIR = 0.1  # of the threshold, left on both sides of a cut
BREAK = 0.025  # of the time that is left: what each cut is drawn as
BREAKS = 0.3  # of it at most, all cuts together
LEAST = 1e-9  # of the window: the shortest empty time that is cut
DISTINCT = 64  # steps of a float at these times: what is shorter has no room for a cut between its ends
MOST = 200  # cuts; the longest are made
TIMED = "Time"  # how the label of a time axis begins


def folded(figure: Figure, longer_than_s: float) -> Figure:
    """The figure with every empty stretch cut that lasts longer than a threshold.

    Empty is a time in which no panel has a point, a step or a mark. What merely lasts (a lane's bar, a
    trend, a value that holds) continues across the cut.

    Raises
    ------
    UsageError
        If the figure has no time axis.
    """
    if not figure.x.label.startswith(TIMED):
        raise UsageError(f"{figure.name} has no time axis to fold: its axis shows {figure.x.label}")
    fold = find(figure, longer_than_s)
    if fold is None:
        none = f"nothing to fold: no empty time is longer than {longer_than_s:g} s"
        return replace(figure, notes=(*figure.notes, none))
    cut = float(fold.lengths.sum())
    words = f"{len(fold.start)} empty stretches" if len(fold.start) > 1 else "an empty stretch"
    note = f"folded: {words} longer than {longer_than_s:g} s, {duration_words(cut)} left out"
    return replace(with_corners(figure, fold), fold=fold, notes=(*figure.notes, note))


def find(figure: Figure, longer_than_s: float) -> Fold | None:
    """The cuts of a figure's time window; None if no empty stretch is so long."""
    low, high = figure.window
    times = np.concatenate([[low, high], *(x for panel in figure.panels for x in _busy(panel))])
    times = np.unique(times[(times >= low) & (times <= high)])
    lengths = np.diff(times)
    # What is shorter than this share of the window looks like a point on its axis.
    step = float(np.spacing(max(abs(low), abs(high))))
    least = max(longer_than_s, LEAST * (high - low), DISTINCT * step)
    chosen = np.flatnonzero(lengths > least)
    if len(chosen) > MOST:
        chosen = np.sort(chosen[np.argsort(-lengths[chosen], kind="stable")[:MOST]])
    if not len(chosen):
        return None
    air = AIR * least
    start, end = times[chosen] + air, times[chosen + 1] - air
    left = (high - low) - float((end - start).sum())
    shown = min(BREAK * left, BREAKS * left / len(chosen), 0.9 * float((end - start).min()))
    return Fold(start, end, shown)


def with_corners(figure: Figure, fold: Fold) -> Figure:
    """The figure with a point at both ends of every cut that a straight line crosses: it bends there."""
    return replace(
        figure,
        panels=tuple(
            replace(panel, series=tuple(_bent(one, fold) for one in panel.series)) for panel in figure.panels
        ),
    )


def _busy(panel: Panel) -> Iterator[Floats]:
    """Times at which something of a panel happens."""
    for series in panel.series:
        if series.role == "cwnd_sample":
            continue  # a poll is no event; where the value changes, its line steps
        if series.kind == "steps":
            yield series.x[np.r_[True, np.diff(series.y) != 0][: len(series.x)]]
        elif series.kind != "line" or series.record is not None:
            yield series.x
    for marks in panel.marks:
        yield marks.x
    for pieces in panel.pieces:
        yield pieces.x
        yield pieces.x_end


def _bent(series: Series, fold: Fold) -> Series:
    if series.kind != "line" or series.record is not None or len(series.x) < 2:
        return series
    edges = np.concatenate([fold.start, fold.end])
    edges = edges[(edges > series.x[0]) & (edges < series.x[-1])]
    x = np.unique(np.concatenate([series.x, edges]))
    return replace(series, x=x, y=np.interp(x, series.x, series.y)) if len(edges) else series
