"""Queueing: how much of each RTT is queueing delay, and how many bytes that is on the link.

References
----------
Paper 5.2: BDP and queue of the path; the queue is RTT - min RTT, in bytes times the link's rate.
"""

from __future__ import annotations

import numpy as np

from multitracer.model.analysis import summary_of
from multitracer.model.quantities import duration
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures.rtt import samples
from multitracer.plots.panel import Axis, Figure, Panel, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series.result_marks import Results, entry_of, min_rtt_s, number
from multitracer.plots.series.selection import Selection, select
from multitracer.plots.series.trends import rate_words
from multitracer.plots.series.window_layer import window_panel


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Queueing delay of every sample; if the link's rate is known, also bytes queued and bytes in flight."""
    selection = select(measurement, options)
    acks, rtt = samples(selection)
    if not len(acks):
        raise base.nothing(PLOT.name, "no RTT was measured")
    x = selection.seconds(acks["t_ns"])
    least = min_rtt_s(selection, results)
    least = float(rtt.min()) if least is None else least
    waiting = np.maximum(rtt - least, 0.0)
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
    notes = [f"min RTT {duration(least, 'µs')}, largest {duration(float(rtt.max()), 'µs')}"]
    rate, source = _link_rate(selection, results)
    if rate is None:
        notes.append(f"the queue is not shown in bytes: {source}")
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
        pipe = rate * least
        notes.append(f"link {rate_words(rate)} ({source}): BDP {pipe:,.0f} bytes, the rest is queued")
        notes.append(f"the fullest queue takes {duration(float(waiting.max()), 'µs')} to drain")
    return base.figure(PLOT.name, selection, results, panels, window, options, notes=notes)


def _link_rate(selection: Selection, results: Results) -> tuple[float | None, str]:
    """Bytes per second that the data-sending entity of the link, or else the bottleneck, offered; by what.

    Without a rate: why.
    """
    answer = summary_of(results, "link_retransmissions")
    for entity in answer.get("entities") or ():
        if entity.get("entity") == answer.get("data_entity"):
            logged = number(entity.get("rate_bytes_per_s"))
            return (logged, "link log") if logged else (None, "the link log shows no rate")
    bottleneck = (entry_of(selection, results) or {}).get("bottleneck") or {}
    if bottleneck.get("rates_bps"):
        return None, "the rate of the link changed"
    seen = number(bottleneck.get("rate_bps"))
    if not seen:
        return None, "the rate of the link is not known"
    return seen / 8, f"{'' if bottleneck.get('rate_exact', True) else 'about, '}IP packets, from the captures"


PLOT = Plot("queue", "Queueing delay (RTT - min RTT) and bytes queued at the bottleneck", build)
