"""Several measurements in one figure: progress, utilization in words, and RTTs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from multitracer.layers.tcp.transit import in_order
from multitracer.model.analysis import summary_of
from multitracer.model.quantities import duration
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
    notes: list[str] = []
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
                label=f"{name}: min RTT {duration(float(rtt.min()))}",
            )
            for name, role, x, rtt in trips
        )
        tailed = base.long_tailed(np.concatenate([rtt for *_, rtt in trips]))
        notes += [base.TAIL_NOTE.format("RTT")] if tailed else []
        panels.append(Panel("rtt", Axis("RTT", unit), lines, height=0.6, zero=not tailed, log=tailed))
    if base.far_apart([float(one.y[-1]) for one in progress]):
        panels[0] = replace(panels[0], zero=False, log=True)
        notes.append(base.APART_NOTE.format("sizes"))
    open_end = options.from_s is None and options.to_s is None and options.fold_s is None
    x_log = open_end and base.far_apart([float(one.x[-1]) for one in progress])
    if x_log:
        notes.append(base.APART_NOTE.format("durations"))
    window = base.window_of(progress, progress, options)
    return Figure(
        PLOT.name,
        f"{len(progress):,} transfers compared" if len(progress) > 1 else "1 transfer",
        tuple(panels),
        window,
        notes=tuple(notes),
        x_log=x_log,
        subtitle="each from its own first TCP event; duration and utilization of its link",
        theme="dark" if options.dark else "light",
    )


def _words(subject: Subject, seconds: float) -> str:
    value = number(summary_of(subject.results, "utilization").get("value"))
    used = "" if value is None else f", {100 * value:.1f}%"
    return f"{subject.name}: {duration(seconds)}{used}"


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """One measurement, drawn as several would be."""
    return build_many([Subject("measurement", measurement, results)], options)


PLOT = Plot(
    "compare", "Several measurements in one figure: bytes delivered and RTT over time", build, build_many
)
