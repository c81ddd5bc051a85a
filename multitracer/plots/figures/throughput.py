"""Throughput and goodput over time, and what the link carried meanwhile.

Throughput counts every payload byte that the sender sent; goodput the bytes that reached the receiving
application's order for the first time; the link, user bytes of frames sent for the first time.
"""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.transit import in_order
from multitracer.model.table import Array
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Axis, Figure, Panel, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import link_layer, result_marks
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select

BINS = 100  # about so many over the window, at least
STEPS_S = (
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    60.0,
    300.0,
    3600.0,
)


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Rates in steps of equal length; the step is in the note."""
    selection = select(measurement, options)
    sent = selection.segments(selection.snd if selection.snd is not None else selection.rcv, data=True)
    if not len(sent) or selection.connection is None:
        raise base.nothing(PLOT.name, "the connection carries no data")
    t = selection.seconds(sent["t_ns"])
    ruler = Series("sent", "snd_data", t, t)
    window = base.window_of([ruler], [ruler], options)
    step = step_of(window)
    delivery = in_order(measurement, selection.connection)
    gained = np.diff(delivery.reached, prepend=1)
    curves = [
        ("throughput", "throughput", t, sent["length"], "throughput: every byte sent"),
        ("goodput", "goodput", selection.seconds(delivery.t_ns), gained, "goodput: new bytes in order"),
    ]
    frames = selection.link("link_frames")
    entity = link_layer.sending_entity(frames)
    if entity is not None:
        first = frames.where(
            (frames["entity"] == entity)
            & (frames["action"] == frames.code("action", "snd"))
            & (frames["attempt"] == 0)
        )
        user = np.maximum(first["length"].astype(np.int64), 0)
        curves.append(
            (
                "link",
                "flight",
                selection.seconds(first["t_ns"]),
                user,
                "link: user bytes, first transmissions",
            )
        )
    binned = [
        (name, role, *binned_rate(x, size, window, step), words) for name, role, x, size, words in curves
    ]
    unit, size = base.unit_of(max(float(rate.max(initial=0.0)) for _, _, _, rate, _ in binned))
    series = tuple(
        Series(name, role, x, rate / size, kind="steps", label=words)  # type: ignore[arg-type]
        for name, role, x, rate, words in binned
    )
    spans = [
        *result_marks.gap_spans(result_marks.resets(selection, results, selection.link("link_events")), "")
    ]
    panel = Panel("throughput", Axis("Rate", unit), series, spans=tuple(spans), zero=True)
    note = f"averages over {step:g} s" if step >= 1 else f"averages over {1e3 * step:g} ms"
    notes = [note, *_far(selection)]
    return base.figure(PLOT.name, selection, results, (panel,), window, options, notes=notes)


def step_of(window: tuple[float, float]) -> float:
    """A round length that cuts a window into about `BINS` steps."""
    return next((s for s in STEPS_S if (window[1] - window[0]) / s <= BINS), (window[1] - window[0]) / BINS)


def binned_rate(t: Floats, size: Array, window: tuple[float, float], step: float) -> tuple[Floats, Floats]:
    """Bit/s in steps of equal length over a window: start of each step, and rate in it.

    Parameters
    ----------
    t : float array
        Times in seconds.
    size : array
        Bytes at each of them.
    window : (float, float)
        Begin and end in seconds; steps begin at multiples of `step`.
    step : float
        Seconds.

    Returns
    -------
    start, rate : float array
        Seconds and bit/s, one for each step.
    """
    first = int(np.floor(window[0] / step))
    count = max(int(np.ceil(window[1] / step)) - first, 1)
    inside = (t >= first * step) & (t < (first + count) * step)
    index = np.floor(t[inside] / step).astype(np.int64) - first
    total = np.bincount(np.clip(index, 0, count - 1), weights=size[inside], minlength=count)
    starts: Floats = (first + np.arange(count)).astype(np.float64) * step
    rate: Floats = (total * (8.0 / step)).astype(np.float64)
    return starts, rate


def _far(selection: Selection) -> list[str]:
    notes = []
    if selection.rcv is None:
        notes.append("no capture at the receiver: goodput from the ACKs")
    if selection.snd is None:
        notes.append("no capture at the sender: throughput as it arrived")
    return notes


PLOT = Plot("throughput", "Throughput and goodput over time, with the link's rate", build)
