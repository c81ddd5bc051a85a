"""The contract of a plot: a name, a title, and a function from results to a figure."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from multitracer.model.analysis import Result
from multitracer.model.errors import UsageError
from multitracer.model.frozen import frozen
from multitracer.model.timeline import Timeline
from multitracer.plots.appearance import Appearance
from multitracer.plots.folding import folded
from multitracer.plots.panel import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure


MOST_OFFSET_BYTES = 2**40  # far beyond what any figure has room for


@frozen
class PlotOptions:
    """What the user may set; every plot accepts all of it and uses what applies.

    Attributes
    ----------
    from_s, to_s : float or None
        Time window in seconds from the first TCP event; None for the beginning and the end.
    offset_bytes : int
        Distance by which the graphs of different layers are moved apart (Paper 4.5); 0 draws true values.
    conn : int or None
        Connection; None for the one with the most data.
    dark : bool
        Light on dark.
    absolute_time : bool
        Time of day (UTC) on the time axis.
    trends : bool
        Regression lines with their rates.
    fold_s : float or None
        Cut stretches longer than this in which nothing happens; None draws all time.

    Raises
    ------
    UsageError
        If a time is not finite, the window is empty, the offset is negative, or the fold is not positive.
    """

    from_s: float | None = None
    to_s: float | None = None
    offset_bytes: int = 10_000
    conn: int | None = None
    dark: bool = False
    absolute_time: bool = False
    trends: bool = True
    fold_s: float | None = None

    def __post_init__(self) -> None:
        for value in (self.from_s, self.to_s):
            if value is not None and not math.isfinite(value):
                raise UsageError(f"time window: {value} is not a time")
        if self.fold_s is not None and not 0 < self.fold_s < math.inf:
            raise UsageError(f"fold: empty time must be longer than 0 s to be cut, not {self.fold_s:g} s")
        if self.from_s is not None and self.to_s is not None and self.from_s >= self.to_s:
            raise UsageError(f"time window from {self.from_s:g} s to {self.to_s:g} s is empty")
        if not 0 <= self.offset_bytes <= MOST_OFFSET_BYTES:
            most = f"{MOST_OFFSET_BYTES:,}"
            raise UsageError(
                f"offset between the layers: {self.offset_bytes} is not between 0 and {most} bytes"
            )


class Subject(NamedTuple):
    """One of several measurements in a figure: its name in the legend, its data, its results."""

    name: str
    measurement: Timeline
    results: Mapping[str, Result]


@frozen
class Plot:
    """One kind of figure.

    Attributes
    ----------
    name : str
        As given to `multitracer plot`.
    title : str
        One line for `--help` and the docs.
    build : callable
        ``build(measurement, results, options) -> Figure``. Every result is optional: the figure shows what
        there is and its notes list what is missing. Raises `UsageError` if the measurement has nothing to
        show in the window.
    build_many : callable or None
        ``build_many(subjects, options) -> Figure`` of plots that compare several measurements; None of those
        that show one.
    """

    name: str
    title: str
    build: Callable[[Timeline, Mapping[str, Result], PlotOptions], Figure]
    build_many: Callable[[Sequence[Subject], PlotOptions], Figure] | None = None


def build(plot: Plot, subjects: Sequence[Subject], options: PlotOptions | None = None) -> Figure:
    """Build a plot of one measurement, or of several if it can compare.

    Parameters
    ----------
    plot : Plot
    subjects : sequence of Subject
        Measurements with their results.
    options : PlotOptions, optional
        None: the usual ones.

    Raises
    ------
    UsageError
        If there is nothing to show, or several measurements are given to a plot of one.
    """
    options = options or PlotOptions()
    built = _built(plot, subjects, options)
    return built if options.fold_s is None else folded(built, options.fold_s)


def _built(plot: Plot, subjects: Sequence[Subject], options: PlotOptions) -> Figure:
    if plot.build_many is not None:
        return plot.build_many(subjects, options)
    if len(subjects) != 1:
        raise UsageError(
            f"{plot.name} shows one measurement, {len(subjects)} given: use compare, cdf or utilization"
        )
    return plot.build(subjects[0].measurement, subjects[0].results, options)


def render(figure: Figure, appearance: Appearance | None = None) -> MplFigure:
    """Draw a built figure with matplotlib."""
    from multitracer.plots.mpl import renderer as mpl

    return mpl.draw(figure, appearance=appearance)


def split_options(options: Mapping[str, Any]) -> tuple[PlotOptions, Appearance]:
    """What to show and how to draw it, from options that are named as the fields of both.

    Raises
    ------
    TypeError
        For a name that neither has.
    UsageError
    """
    content, look = ({one.name for one in fields(kind)} for kind in (PlotOptions, Appearance))
    for name in options:
        if name not in content | look:
            near = difflib.get_close_matches(name, content | look, 1)
            meant = (
                f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(content | look))}"
            )
            raise TypeError(f"plot has no option {name!r}{meant}")
    return (
        PlotOptions(**{name: value for name, value in options.items() if name in content}),
        Appearance(**{name: value for name, value in options.items() if name in look}),
    )


def draw(
    plot: Plot, measurement: Timeline, results: Mapping[str, Result], options: PlotOptions | None = None
) -> MplFigure:
    """Build a plot and draw it with matplotlib.

    Parameters
    ----------
    plot : Plot
    measurement : Timeline
    results : mapping of str to Result
        By name of the analyzer.
    options : PlotOptions, optional
        None: the usual ones.

    Raises
    ------
    UsageError
        If there is nothing to show in the window.
    """
    from multitracer.plots.mpl import renderer as mpl

    return mpl.draw(build(plot, [Subject("", measurement, results)], options))


def save(figure: MplFigure, path: str | os.PathLike[str]) -> None:
    """Write a drawn figure; see `multitracer.plots.mpl.renderer.save`."""
    from multitracer.plots.mpl import renderer as mpl

    mpl.save(figure, os.fspath(path))
