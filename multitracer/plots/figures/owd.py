"""One-way delay from two captures, with the bound that their clocks set.

Only the sum of both directions is free of the clocks: an error of the offset adds to one and takes from the
other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.layers.tcp.losses import arrival_ns
from multitracer.layers.tcp.transit import damaged, data_at
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Axis, Figure, Panel, Role, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select


def delays(selection: Selection) -> Iterator[tuple[str, Role, str, Floats, Floats]]:
    """Series name, role, words, times of sending and delays in seconds, for both directions."""
    m, connection = selection.measurement, selection.connection
    if connection is None or m.snd is None or m.rcv is None:
        return
    looks: tuple[tuple[str, Role, str, bool], ...] = (
        ("owd_data", "delay", "data: sender to receiver", False),
        ("owd_ack", "delay_back", "ACKs: receiver to sender", True),
    )
    for name, role, words, reverse in looks:
        sent = data_at(m, connection, m.rcv if reverse else m.snd, reverse)
        received = data_at(m, connection, m.snd if reverse else m.rcv, reverse)
        arrived = arrival_ns(sent, received.where(~damaged(received)))
        through = arrived >= 0
        if through.any():
            t_ns = sent["t_ns"][through]
            yield name, role, words, selection.seconds(t_ns), (arrived[through] - t_ns) / 1e9


def bound(selection: Selection) -> tuple[float | None, str]:
    """How far off the delays can be, in seconds (None if unknown), and how the clocks were joined."""
    m = selection.measurement
    involved = [clock for clock in m.clocks if clock.source in (m.snd, m.rcv)]
    if any(clock.uncertainty_ns is None for clock in involved):
        return None, ", ".join(sorted({clock.method for clock in involved}))
    total = sum(clock.uncertainty_ns or 0 for clock in involved) / 1e9
    methods = sorted({clock.method for clock in involved if clock.reference is not None})
    return total, ", ".join(methods) or "one clock"


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Delay of every packet that both captures saw, in both directions."""
    selection = select(measurement, options)
    found = [*delays(selection)]
    if not found:
        raise base.nothing(PLOT.name, "needs two captures, at sender and receiver, that share packets")
    unit, size = base.time_unit(np.concatenate([values for *_, values in found]))
    series = tuple(
        Series(name, role, t, values * size, label=words) for name, role, words, t, values in found
    )
    window = base.window_of(series, series, options)
    panel = Panel("owd", Axis("One-way delay", unit), series, zero=True)
    error, method = bound(selection)
    words = f"clocks: {method}; "
    words += (
        "bound of the error unknown"
        if error is None
        else f"delays are true to \N{PLUS-MINUS SIGN}{_exact(error)}"
    )
    return base.figure(PLOT.name, selection, results, (panel,), window, options, notes=[words])


def _exact(seconds: float) -> str:
    return f"{seconds * 1e3:,.3g} ms" if seconds < 1 else f"{seconds:,.3g} s"


PLOT = Plot("owd", "One-way delay in both directions from two captures, with the bound of the clocks", build)
