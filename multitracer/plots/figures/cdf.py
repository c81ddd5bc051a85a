"""Distributions: RTT, one-way delay and frame delay of one measurement, or RTT of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.layers.link.path import link_path
from multitracer.model.quantities import count, duration
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures.owd import delays
from multitracer.plots.figures.rtt import samples
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Axis, Figure, Panel, Role, Series
from multitracer.plots.plot import Plot, PlotOptions, Subject
from multitracer.plots.series.headline import title_words
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import select

CURVES: tuple[Role, ...] = (
    "curve_1",
    "curve_2",
    "curve_3",
    "curve_4",
    "curve_5",
    "curve_6",
    "curve_7",
    "curve_8",
)


def curve(name: str, rank: int, values: Floats, size: float, words: str) -> Series:
    """An empirical distribution function: the share of values up to each value.

    Parameters
    ----------
    name : str
    rank : int
        Its place among the curves, which gives the colour.
    values : float array
        At least one.
    size : float
        What one of the unit of `values` is in the figure's.
    words : str
        What is distributed, for the legend.

    Returns
    -------
    Series
        y is a percentage.
    """
    x = np.sort(values) * size
    y = 100.0 * np.arange(1, len(x) + 1) / len(x)
    label = f"{words} ({len(x):,}, median {duration(float(np.median(values)))})"
    return Series(name, CURVES[rank % len(CURVES)], x, y, kind="steps", label=label)


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Distributions of the delays of one measurement."""
    selection = select(measurement, options)
    low, high = base.asked(options)
    acks, rtt = samples(selection)
    found = [("rtt", "RTT", selection.seconds(acks["t_ns"]), rtt)]
    found += [
        (name, "one-way, " + words.partition(":")[0], t, values)
        for name, _, words, t, values in delays(selection)
    ]
    path = link_path(measurement)
    if path is not None:
        came = path.arrived_ns >= 0
        t_ns = path.first["t_ns"][came]
        frames = (path.arrived_ns[came] - t_ns) / 1e9
        found.append(("frame", "link frame", selection.seconds(t_ns), frames))
    kept = [(name, words, values[(t >= low) & (t <= high)]) for name, words, t, values in found]
    kept = [(name, words, values) for name, words, values in kept if len(values)]
    title, facts = title_words(selection, results)
    return _figure(title, facts, [*kept], options)


def build_many(subjects: Sequence[Subject], options: PlotOptions) -> Figure:
    """RTTs of several measurements; of one, all its delays."""
    if len(subjects) == 1:
        return build(subjects[0].measurement, subjects[0].results, options)
    found = []
    for subject in subjects:
        selection = select(subject.measurement, options)
        acks, rtt = samples(selection)
        t = selection.seconds(acks["t_ns"])
        low, high = base.asked(options)
        found.append((subject.name, subject.name, rtt[(t >= low) & (t <= high)]))
    known = [(name, words, values) for name, words, values in found if len(values)]
    return _figure(f"RTTs of {count(len(known), 'measurement')}", "", known, options)


def _notes(tailed: bool, apart: bool) -> tuple[str, ...]:
    """Why the axis is logarithmic."""
    if tailed:
        return (base.TAIL_NOTE.format("delay"),)
    return (base.APART_NOTE.format("medians"),) if apart else ()


def _figure(title: str, facts: str, found: Sequence[tuple[str, str, Floats]], options: PlotOptions) -> Figure:
    if not found:
        raise base.nothing(PLOT.name, "no delay was measured")
    everything = np.concatenate([values for _, _, values in found])
    unit, size = base.time_unit(everything)
    tailed = base.long_tailed(everything)
    apart = everything.min() > 0 and base.far_apart([float(np.median(values)) for *_, values in found])
    series = tuple(curve(name, rank, values, size, words) for rank, (name, words, values) in enumerate(found))
    low, top = min(float(one.x[0]) for one in series), max(float(one.x[-1]) for one in series)
    panel = Panel("cdf", Axis("Share of samples", "%"), series, zero=True)
    window = (min(low, 0.0), 1.02 * top)
    if window[1] <= window[0]:
        window = (window[0], window[0] + 1.0)
    return Figure(
        PLOT.name,
        title,
        (panel,),
        window,
        subtitle=facts,
        notes=_notes(bool(tailed), bool(apart)),
        x=Axis("Delay", unit),
        x_log=bool(tailed or apart),
        theme="dark" if options.dark else "light",
    )


PLOT = Plot(
    "cdf", "Distributions of RTT, one-way and frame delay; RTT of several measurements", build, build_many
)
