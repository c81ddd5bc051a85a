"""Gaps after link resets, as the TCP receiver sees them.

References
----------
Paper 5.3, Figure 8: only the receiver's ACKs and the resets are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.panel import Axis, Figure, Panel, Pieces, Series, duration_words
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import result_marks, tcp_layer, trends
from multitracer.plots.series.result_marks import Results, number
from multitracer.plots.series.selection import select

GROUP = "TCP receiver"
COUNTS = (("segments_lost", "lost"), ("segments_discarded", "discarded"), ("acks_lost", "ACKs lost"))


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """The ACKs that leave the receiver, link resets, and the gap after each."""
    selection = select(measurement, options)
    answer = base.answered(PLOT.name, results, "link_resets")
    entries = [entry for entry in answer.summary.get("resets") or () if number(entry.get("t")) is not None]
    if not entries:
        raise base.nothing(PLOT.name, "no link reset")
    end = "Rcv" if selection.rcv is not None else "Snd"
    series = [
        one
        for one in tcp_layer.data_series(selection, end, 0, GROUP if end == "Rcv" else "TCP sender")
        if one.name.endswith("_ack")
    ]
    if not series:
        raise base.nothing(PLOT.name, "no ACKs in the captures")
    starts = [number(entry.get("gap_start")) or float(entry["t"]) for entry in entries]
    ends = [number(entry.get("gap_end")) or float(entry["t"]) for entry in entries]
    margin = max(0.15 * (max(ends) - min(starts)), 5.0)
    low, high = float(series[0].x[0]), float(series[0].x[-1])
    options = base.zoomed(options, max(min(starts) - margin, low), min(max(ends) + margin, high))
    window = base.window_of(series, series, options)
    found = result_marks.resets(selection, results, selection.link("link_events"))
    panel = Panel(
        "sequence",
        Axis("Sequence number acknowledged", "bytes"),
        tuple(series),
        tuple(result_marks.reset_marks(found, "RLP")),
        tuple(result_marks.gap_spans(found, "")),
        pieces=tuple(_gaps(entries, series[0])),
    )
    notes = [words for words in (_rate(series[0], window),) if words]
    if end == "Snd":
        notes.append("no capture at the receiver: its ACKs are shown as they reach the sender")
    return base.figure(PLOT.name, selection, results, (panel,), window, options, notes=notes)


def _gaps(entries: list[Mapping[str, Any]], acks: Series) -> list[Pieces]:
    """One dimension line per gap; resets that share a gap share the line."""
    lines: dict[tuple[float, float], Mapping[str, Any]] = {}
    for entry in entries:
        start, end = number(entry.get("gap_start")), number(entry.get("gap_end"))
        if start is not None and end is not None and end > start:
            lines.setdefault((start, end), entry)
    pieces = []
    span = float(acks.y.max() - acks.y.min())
    for (start, end), entry in lines.items():
        at = int(np.searchsorted(acks.x, start, side="right")) - 1
        level = float(acks.y[max(at, 0)]) - 0.05 * span
        words = f"gap of {duration_words(end - start)}"
        counts = [f"{int(entry[key]):,} {name}" for key, name in COUNTS if number(entry.get(key))]
        words += f": {', '.join(counts)}" if counts else ""
        pieces.append(base.dimension("reset gap", (start, level), (end, level), words))
    return pieces


def _rate(acks: Series, window: tuple[float, float]) -> str:
    inside = acks.inside(window)
    x, y = acks.x[inside], acks.y[inside]
    if len(x) < 2 or x[-1] <= x[0]:
        return ""
    rate = float(y.max() - y[0]) / float(x[-1] - x[0])
    return f"throughput over this interval: {trends.rate_words(rate)}"


PLOT = Plot("reset-gaps", "Gaps after link resets, seen by the TCP receiver (Figure 8)", build)
