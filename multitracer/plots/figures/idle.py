"""When and why the link was idle: phases by cause, and how they add up.

References
----------
Paper 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.model.analysis import summary_of
from multitracer.model.quantities import count
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures.multilayer import build as build_multilayer
from multitracer.plots.panel import Axis, Figure, Panel, Series, Spans, duration_words
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
    window = _of_all(full.window, spans, options)
    lengths = np.array([float(np.sum(one.end - one.start)) for one in spans])
    unit, size = base.time_unit(lengths)
    totals = tuple(_total(one, window[1], size) for one in spans)
    growth = Panel("total", Axis("Cumulative idle time", unit), totals, height=0.45, zero=True)
    notes = [*full.notes]
    if answer.summary.get("phases"):
        phases, flows = sum(len(one.start) for one in spans), len(measurement.connections)
        whose = f"link of {flows:,} connections " if flows > 1 else ""
        notes.insert(0, f"{whose}idle for {duration_words(lengths.sum())} in {count(phases, 'phase')}")
    return base.figure(PLOT.name, selection, results, (lanes, sequence, growth), window, options, notes=notes)


def _of_all(window: tuple[float, float], spans: Sequence[Spans], options: PlotOptions) -> tuple[float, float]:
    """What is drawn, up to the last phase of all connections: the link is idle for all of them at once."""
    start = min(window[0], *(float(one.start.min()) for one in spans))
    end = max(window[1], *(float(one.end.max()) for one in spans))
    return window[0] if options.from_s is not None else start, window[1] if options.to_s is not None else end


def _in_lane(spans: Spans) -> Spans:
    words = spans.label.removeprefix("idle: ")
    return Spans(
        spans.name, spans.role, spans.start, spans.end, words, spans.label, "", spans.texts, spans.details
    )


def _total(spans: Spans, until: float, size: float) -> Series:
    """Time idle for one cause up to each time: it grows inside a phase and rests outside."""
    length = np.cumsum(spans.end - spans.start)
    x = np.concatenate([np.stack([spans.start, spans.end], axis=1).ravel(), [max(until, spans.end[-1])]])
    y = np.concatenate([np.stack([np.append(0.0, length[:-1]), length], axis=1).ravel(), length[-1:]])
    words = spans.label.removeprefix("idle: ")
    label = f"{words}: {duration_words(float(length[-1]))}"
    return Series(f"total:{words}", spans.role, x, y * size, kind="line", label=label)


PLOT = Plot("idle", "Idle phases of the link by cause, and how they add up", build)
