"""Several measurements in one figure: progress, utilization in words, and RTTs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.layers.tcp.transit import in_order
from multitracer.model.analysis import summary_of
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures.cdf import CURVES
from multitracer.plots.figures.rtt import samples
from multitracer.plots.panel import Axis, Figure, Panel, Series
from multitracer.plots.plot import Plot, PlotOptions, Subject
from multitracer.plots.series.result_marks import Results, number
from multitracer.plots.series.selection import select


def build_many(subjects: Sequence[Subject], options: PlotOptions) -> Figure:
    """Bytes delivered in order, and RTT, each from its own first TCP event.

    Raises
    ------
    UsageError
        If no measurement has data, or there are more than curves that can be drawn.
    """
    if len(subjects) > len(CURVES):
        raise base.nothing(
            PLOT.name, f"at most {len(CURVES)} measurements can be drawn, {len(subjects)} given"
        )
    progress, trips = [], []
    for rank, subject in enumerate(subjects):
        selection = select(subject.measurement, options)
        if selection.connection is None:
            continue
        delivery = in_order(subject.measurement, selection.connection)
        role = CURVES[rank]
        if len(delivery.t_ns):
            x = selection.seconds(delivery.t_ns)
            y = delivery.reached.astype(np.float64)
            words = _words(subject, float(x[-1]))
            progress.append(Series(subject.name, role, x, y, kind="steps", label=words))
        acks, rtt = samples(selection)
        if len(acks):
            trips.append((subject.name, role, selection.seconds(acks["t_ns"]), rtt))
    if not progress:
        raise base.nothing(PLOT.name, "none of the measurements carries data")
    unit, size = base.time_unit(np.concatenate([rtt for *_, rtt in trips]) if trips else np.zeros(1))
    panels = [Panel("progress", Axis("Delivered in order", "bytes"), tuple(progress), zero=True)]
    if trips:
        lines = tuple(
            Series(
                name,
                role,
                x,
                rtt * size,
                label=f"{name}: smallest {rtt.min() * size:,.3g} {unit}",
            )
            for name, role, x, rtt in trips
        )
        panels.append(Panel("rtt", Axis("RTT", unit), lines, height=0.6, zero=True))
    window = base.window_of(progress, progress, options)
    return Figure(
        PLOT.name,
        f"{len(progress):,} transfers compared" if len(progress) > 1 else "1 transfer",
        tuple(panels),
        window,
        subtitle="each from its own first TCP event; how long, and how much of its link was used",
        theme="dark" if options.dark else "light",
    )


def _words(subject: Subject, seconds: float) -> str:
    value = number(summary_of(subject.results, "utilization").get("value"))
    used = "" if value is None else f", {100 * value:.1f} %"
    return f"{subject.name}: {seconds:,.0f} s{used}"


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """One measurement, drawn as several would be."""
    return build_many([Subject("measurement", measurement, results)], options)


PLOT = Plot(
    "compare", "Several measurements in one figure: bytes delivered and RTT over time", build, build_many
)
