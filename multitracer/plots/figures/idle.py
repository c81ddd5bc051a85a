"""When and why the link was idle: phases by cause, and how they add up.

References
----------
Paper 4.3.
"""

from __future__ import annotations

import numpy as np

from multitracer.model.analysis import summary_of
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures.multilayer import build as build_multilayer
from multitracer.plots.panel import Axis, Figure, Panel, Series, Spans
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import result_marks
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import select


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """A lane per cause over the sequence numbers, and the idle time that each has caused so far."""
    selection = select(measurement, options)
    answer = base.answered(PLOT.name, results, "idle_phases")
    spans = [*result_marks.idle_spans(results, "idle")]
    if not spans:
        utilized = result_marks.number(summary_of(results, "utilization").get("value"))
        words = "the link was never idle" + (f" (utilization {100 * utilized:.1f}%)" if utilized else "")
        raise base.nothing(PLOT.name, words)
    full = build_multilayer(measurement, results, options)
    sequence = base.only(full, "sequence", "Rlp", "TcpSnd", "timeout")
    by_cause = [_in_lane(one) for one in spans]
    shown = tuple(one.lane for one in by_cause)
    lanes = Panel("lanes", Axis("", ""), spans=tuple(by_cause), lanes=shown, height=0.07 * len(shown))
    totals = tuple(_total(one, full.window[1]) for one in spans)
    growth = Panel("total", Axis("Cumulative idle time", "s"), totals, height=0.45, zero=True)
    notes = [*full.notes]
    if answer.summary.get("phases"):
        lengths = [float(np.sum(one.end - one.start)) for one in spans]
        notes.insert(0, f"idle for {sum(lengths):,.1f} s in {sum(len(one.start) for one in spans):,} phases")
    return base.figure(
        PLOT.name, selection, results, (lanes, sequence, growth), full.window, options, notes=notes
    )


def _in_lane(spans: Spans) -> Spans:
    words = spans.label.removeprefix("idle: ")
    return Spans(
        spans.name, spans.role, spans.start, spans.end, words, spans.label, "", spans.texts, spans.details
    )


def _total(spans: Spans, until: float) -> Series:
    """Seconds idle for one cause up to each time: it grows inside a phase and rests outside."""
    length = np.cumsum(spans.end - spans.start)
    x = np.concatenate([np.stack([spans.start, spans.end], axis=1).ravel(), [max(until, spans.end[-1])]])
    y = np.concatenate([np.stack([np.append(0.0, length[:-1]), length], axis=1).ravel(), length[-1:]])
    words = spans.label.removeprefix("idle: ")
    return Series(f"total:{words}", spans.role, x, y, kind="line", label=f"{words}: {length[-1]:,.1f} s")


PLOT = Plot("idle", "Idle phases of the link by cause, and how they add up", build)
