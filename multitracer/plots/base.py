"""What the builders of figures share: time windows, the parts of a figure, and clear refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from multitracer.model.analysis import Result
from multitracer.model.errors import UsageError
from multitracer.model.timeline import Timeline
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Axis, Figure, Panel, PieceEnds, Pieces, Role, Series
from multitracer.plots.plot import PlotOptions
from multitracer.plots.series.headline import title_words
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection

TIME = Axis("Time since the first TCP event", "s")


def window_of(ruling: Sequence[Series], shown: Sequence[Series], options: PlotOptions) -> tuple[float, float]:
    """The time window: as asked, else all of the ruling series; refused if nothing is in it.

    Parameters
    ----------
    ruling : sequence of Series
        Series that give the window its extent.
    shown : sequence of Series
        All series of the figure.
    options : PlotOptions
        With what the user asked for.

    Returns
    -------
    (float, float)
        Begin and end in seconds from the first TCP event.

    Raises
    ------
    UsageError
    """
    if not shown:
        raise UsageError("nothing to plot: neither TCP segments nor link frames on the timeline")
    low = min(float(series.x[0]) for series in ruling)
    high = max(float(series.x[-1]) for series in ruling)
    margin = 0.01 * max(high - low, 1e-3)
    window = (
        low - margin if options.from_s is None else options.from_s,
        high + margin if options.to_s is None else options.to_s,
    )
    if window[0] >= window[1] or not any(series.inside(window).any() for series in shown):
        begin = "" if options.from_s is None else f" from {options.from_s:g} s"
        end = "" if options.to_s is None else f" to {options.to_s:g} s"
        raise UsageError(f"nothing to plot{begin}{end}: the data lies between {low:.3f} s and {high:.3f} s")
    return window


def zoomed(options: PlotOptions, start: float, end: float, **changes: Any) -> PlotOptions:
    """The options with a time window where the user gave none.

    Parameters
    ----------
    options : PlotOptions
        As the user gave them.
    start, end : float
        The figure's own window, in seconds from the first TCP event.
    **changes : Any
        Other options by name.

    Raises
    ------
    UsageError
        If the end that the user gave is before the figure's own begin, or the other way round.
    """
    return replace(
        options,
        from_s=start if options.from_s is None else options.from_s,
        to_s=end if options.to_s is None else options.to_s,
        **changes,
    )


def asked(options: PlotOptions) -> tuple[float, float]:
    """The time window that the user gave; infinite where open."""
    return (
        -np.inf if options.from_s is None else options.from_s,
        np.inf if options.to_s is None else options.to_s,
    )


def figure(
    name: str,
    selection: Selection,
    results: Results,
    panels: Sequence[Panel | None],
    window: tuple[float, float],
    options: PlotOptions,
    *,
    notes: Sequence[str] = (),
    subtitle: str | None = None,
) -> Figure:
    """A figure of one connection, with its endpoints and facts as heading.

    Parameters
    ----------
    name : str
    selection : Selection
        The flow that is drawn.
    results : Results
        By name of the analyzer.
    panels : sequence of Panel or None
        Those that are None are left out.
    window : (float, float)
        Begin and end in seconds from the first TCP event.
    options : PlotOptions
    notes : sequence of str
        Sentences below the figure.
    subtitle : str, optional
        None: endpoints and facts of the connection.
    """
    title, facts = title_words(selection, results)
    return Figure(
        name,
        title,
        tuple(panel for panel in panels if panel is not None),
        window,
        subtitle=facts if subtitle is None else subtitle,
        notes=tuple(notes),
        t0_ns=selection.measurement.t0_ns,
        absolute=options.absolute_time and on_wall_clock(selection.measurement),
        theme="dark" if options.dark else "light",
    )


def on_wall_clock(measurement: Timeline) -> bool:
    """True; refused if no capture carries the time of day.

    Raises
    ------
    UsageError
    """
    source = next((s for s in measurement.sources if s.layer == "tcp"), None)
    if source is None or source.clock != "realtime":
        raise UsageError("absolute time needs a capture whose clock is the time of day")
    return True


def answered(name: str, results: Mapping[str, Result], question: str) -> Result:
    """A result that a figure cannot do without.

    Parameters
    ----------
    name : str
    results : mapping of str to Result
        By name of the analyzer.
    question : str
        The analyzer.

    Raises
    ------
    UsageError
        If it is missing or inconclusive; `name` is the figure's.
    """
    found = results.get(question)
    if found is None:
        raise UsageError(f"{name}: the analysis {question} is missing; analyze without leaving it out")
    if found.inconclusive is not None:
        raise UsageError(f"{name}: cannot be drawn: {found.inconclusive}")
    return found


def nothing(name: str, what: str) -> UsageError:
    """The refusal of a figure whose subject the measurement does not have."""
    return UsageError(f"{name}: nothing to show: {what}")


def only(figure: Figure, panel: str, *prefixes: str) -> Panel:
    """A panel of a figure with the series, marks and groups left whose names begin with a prefix.

    Parameters
    ----------
    figure : Figure
    panel : str
        Its name.
    *prefixes : str
    """
    found = figure.panel(panel)
    return replace(
        found,
        series=tuple(one for one in found.series if one.name.startswith(prefixes)),
        marks=tuple(one for one in found.marks if one.name.startswith(prefixes)),
    )


def dimension(
    name: str,
    start: tuple[float, float],
    end: tuple[float, float],
    words: str,
    *,
    role: Role = "dimension",
    ends: PieceEnds = "dimension",
) -> Pieces:
    """One distance, measured between two points, with its words.

    Parameters
    ----------
    name : str
    start, end : (float, float)
        x and y of the points: seconds, and the panel's unit.
    words : str
    role : Role
        Which look it has.
    ends : PieceEnds
        How its ends are drawn.
    """
    return Pieces(
        name,
        role,
        np.array([start[0]]),
        np.array([start[1]]),
        np.array([end[0]]),
        np.array([end[1]]),
        ends=ends,
        texts=(words,),
        details=(words,),
    )


def by_name(series: Sequence[Series], name: str) -> Series | None:
    """The series of a name; None if there is none."""
    return next((one for one in series if one.name == name), None)


def unit_of(bits_per_second: float) -> tuple[str, float]:
    """A unit for rates of about this size, and how many bit/s it is."""
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits_per_second >= size:
            return unit, size
    return "bit/s", 1.0


LONG_TAIL = 20.0  # times the median from which most of a linear axis would be empty
TAIL_NOTE = "logarithmic axis: the largest {} is more than 20 times the median"
APART_NOTE = "logarithmic axis: the {} of the measurements differ by more than 20 times"


def long_tailed(values: Floats) -> bool:
    """Whether positive values reach so far that a linear axis hides most of them."""
    known = values[np.isfinite(values)]
    if len(known) < 2 or float(known.min()) <= 0:
        return False
    return float(known.max()) > LONG_TAIL * float(np.median(known))


def far_apart(values: Sequence[float]) -> bool:
    """Whether one positive value of each of several measurements would vanish on a linear axis."""
    return len(values) > 1 and min(values) > 0 and max(values) > LONG_TAIL * min(values)


def time_unit(seconds: Floats) -> tuple[str, float]:
    """A unit for durations of about this size, and how many of it make a second."""
    known = seconds[np.isfinite(seconds)]
    return ("s", 1.0) if len(known) and float(known.max()) >= 2.0 else ("ms", 1e3)
