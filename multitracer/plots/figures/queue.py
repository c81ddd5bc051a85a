"""Queueing: how much of each round trip is waiting, and how many bytes that is on the link.

References
----------
Paper 5.2: pipe capacity, pipe queue; the queue is RTT - smallest RTT, in bytes times the link's rate.
"""

from __future__ import annotations

import numpy as np

from multitracer.model.analysis import summary_of
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures.rtt import samples
from multitracer.plots.panel import Axis, Figure, Panel, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series.result_marks import Results, number
from multitracer.plots.series.selection import select
from multitracer.plots.series.window_layer import window_panel


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Queueing delay of every sample; with a link log also bytes queued, beside the bytes in flight."""
    selection = select(measurement, options)
    acks, rtt = samples(selection)
    if not len(acks):
        raise base.nothing(PLOT.name, "no RTT was measured")
    x = selection.seconds(acks["t_ns"])
    waiting = rtt - rtt.min()
    unit, size = base.time_unit(waiting)
    delay = Series(
        "queueing delay",
        "delay",
        x,
        waiting * size,
        label="RTT - min RTT",
        record=acks["record"],
        source=int(acks["source"][0]),
    )
    window = base.window_of([delay], [delay], options)
    panels = [Panel("delay", Axis("Queueing delay", unit), (delay,), zero=True)]
    notes = [f"min RTT {rtt.min() * 1e3:,.0f} ms, largest {rtt.max() * 1e3:,.0f} ms"]
    rate = _link_rate(results)
    if rate is None:
        notes.append("no link log: its rate is not known, so the queue is not shown in bytes")
    else:
        queued = Series(
            "bdp queue",
            "cwnd",
            x,
            waiting * rate,
            kind="steps",
            label="queue: delay \N{MULTIPLICATION SIGN} link rate",
        )
        windows = window_panel(selection)
        flight = base.by_name(windows.series, "TcpSnd_flight") if windows is not None else None
        shown = (queued,) if flight is None else (queued, flight)
        panels.append(Panel("queue", Axis("Flight and queue", "bytes"), shown, height=0.7, zero=True))
        pipe = rate * float(rtt.min())
        notes.append(f"link {rate:,.0f} bytes/s: BDP {pipe:,.0f} bytes, the rest is queued")
        worst = float(waiting.max())
        notes.append(f"the fullest queue takes {worst:,.1f} s to drain")
    return base.figure(PLOT.name, selection, results, panels, window, options, notes=notes)


def _link_rate(results: Results) -> float | None:
    """User bytes per second that the data-sending entity of the link offered."""
    answer = summary_of(results, "link_retransmissions")
    for entity in answer.get("entities") or ():
        if entity.get("entity") == answer.get("data_entity"):
            rate = number(entity.get("rate_bytes_per_s"))
            return rate if rate is not None and np.isfinite(rate) and rate > 0 else None
    return None


PLOT = Plot("queue", "Queueing delay (RTT - min RTT) and bytes queued at the bottleneck", build)
