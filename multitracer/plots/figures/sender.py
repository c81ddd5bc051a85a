"""How to read a time/sequence plot: one sender, with what can be read off it written into it.

References
----------
Paper 4.4, Figure 4.
"""

from __future__ import annotations

import numpy as np

from multitracer.model.table import Table
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.panel import Axis, Figure, Panel, Pieces, Spans, duration_words
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import result_marks, tcp_layer
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select
from multitracer.plots.series.window_layer import flight_size

GROUP = "TCP sender"
BEGIN_S = 30.0  # of a transfer without fast retransmit
PAUSE = 3.0  # a pause is so many times longer than the usual time between two segments


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """The sender's segments and ACKs: slow start, pause and fast retransmit named; RTT, flight measured."""
    selection = select(measurement, options)
    if selection.snd is None:
        raise base.nothing(PLOT.name, "needs a capture at the data sender")
    data = tcp_layer.good(selection.segments(selection.snd, data=True))
    acks = tcp_layer.good(selection.segments(selection.snd, data=False))
    acks = acks.where(acks["ack"] >= 0)
    if not len(data):
        raise base.nothing(PLOT.name, "the connection carries no data")
    options = base.zoomed(options, *_begin(selection, data, acks))
    series = [*tcp_layer.data_series(selection, "Snd", 0, GROUP)]
    window = base.window_of(series, series, options)

    spans, missing = _phases(selection, data, acks, window)
    judged = result_marks.timeout_rows(selection, results)
    marks = [] if judged is None else [*result_marks.timeout_marks(selection, judged, 0, GROUP)]
    marks += tcp_layer.retransmission_marks(
        selection, 0, GROUP, without=None if judged is None else judged["record"]
    )
    marks += result_marks.local_drop_marks(selection, results, selection.link("link_events"), 0, GROUP)
    if not any(one.role == "fast_retransmit" and one.inside(window).any() for one in marks):
        missing.append("no fast retransmit in this window")
    lanes = tuple(one.lane for one in spans)
    panels = (
        Panel("lanes", Axis("", ""), spans=tuple(spans), lanes=lanes, height=0.06 * len(lanes))
        if spans
        else None,
        Panel(
            "sequence",
            Axis("Sequence number", "bytes"),
            tuple(series),
            tuple(marks),
            pieces=tuple(_measured(selection, data, acks, window)),
        ),
    )
    return base.figure(PLOT.name, selection, results, panels, window, options, notes=missing)


def _begin(selection: Selection, data: Table, acks: Table) -> tuple[float, float]:
    """From the first segment until the first fast retransmit is over, with some room."""
    start = float(selection.seconds(data["t_ns"][:1])[0])
    fast = np.flatnonzero(data.words("cause") == "fast")
    end = start + BEGIN_S
    if len(fast):
        sent = int(np.max((data["seq"] + data["length"])[: int(fast[0]) + 1]))
        over = np.flatnonzero(np.maximum.accumulate(acks["ack"]) >= sent) if len(acks) else fast
        row = acks["t_ns"][over[0]] if len(over) and len(acks) else data["t_ns"][fast[0]]
        end = start + 1.25 * (float(selection.seconds(np.array([row]))[0]) - start)
    last = float(selection.seconds(data["t_ns"][-1:])[0])
    return start - 0.02 * (end - start), max(min(end, last), start + 1e-3)


def _phases(
    selection: Selection, data: Table, acks: Table, window: tuple[float, float]
) -> tuple[list[Spans], list[str]]:
    """Slow start, and the longest pause of the sender while data was in flight."""
    spans, missing = [], []
    t = selection.seconds(data["t_ns"])
    again = np.flatnonzero(data["duplicate"] > 0)
    begin, end = float(t[0]), float(t[again[0]]) if len(again) else float(t[-1])
    words = "to the first loss"
    states = selection.states()
    left = states["t_ns"][(states["ssthresh"] >= 0) & (states["cwnd"] >= states["ssthresh"])]
    if len(left) and begin < float(selection.seconds(left[:1])[0]) <= end:
        end, words = float(selection.seconds(left[:1])[0]), "to ssthresh"
    if end > begin:
        spans.append(_span("slow_start", begin, end, "slow start", words))
    found = _pause(selection, data, acks, window)
    if found is None:
        missing.append("no pause of the sender in this window")
    else:
        spans.append(_span("pause", *found, "pause", "no new data sent"))
    return spans, missing


def _span(role: str, start: float, end: float, lane: str, words: str) -> Spans:
    return Spans(
        role,
        "slow_start" if role == "slow_start" else "pause",
        np.array([start]),
        np.array([end]),
        lane=lane,
        label=words,
        texts=(duration_words(end - start),),
        details=(f"{words}: {end - start:.3f} s",),
    )


def _pause(
    selection: Selection, data: Table, acks: Table, window: tuple[float, float]
) -> tuple[float, float] | None:
    t_ns, flight = flight_size(data, acks)
    data = data.where(data["duplicate"] == 0)
    t = selection.seconds(data["t_ns"])
    inside = np.flatnonzero((t >= window[0]) & (t <= window[1]))
    if len(inside) < 4:
        return None
    steps = np.diff(t[inside])
    paced = steps[steps > 0.1 * float(np.median(steps))]  # without the steps inside a burst
    at = np.searchsorted(t_ns, data["t_ns"][inside[:-1]], side="right") - 1
    steps = np.where(flight[at] > 0, steps, 0.0)
    longest = int(np.argmax(steps))
    if not len(paced) or steps[longest] < PAUSE * float(np.median(paced)):
        return None
    return float(t[inside[longest]]), float(t[inside[longest + 1]])


def _measured(selection: Selection, data: Table, acks: Table, window: tuple[float, float]) -> list[Pieces]:
    """Bytes in flight at one time, and the RTT of one segment, as lines to measure by."""
    if not len(acks):
        return []
    again = np.flatnonzero(data["duplicate"] > 0)
    clean = data.where(np.arange(len(data)) < (again[0] if len(again) else len(data)))
    ends = clean["seq"] + clean["length"]
    reached = np.maximum.accumulate(acks["ack"])
    covered = np.searchsorted(reached, ends)
    t, back = selection.seconds(clean["t_ns"]), selection.seconds(np.append(acks["t_ns"], 0))[covered]
    fits = np.flatnonzero((covered < len(acks)) & (t >= window[0]) & (back <= window[1]) & (back > t))
    # The ACK that a segment itself triggered, not one that waited for a gap before it to be filled.
    fits = fits[(reached[covered[fits]] == ends[fits]) & ~np.isin(clean["seq"][fits], data["seq"][again])]
    if not len(fits):
        return []
    row = int(fits[int(0.6 * (len(fits) - 1))])
    level = float(ends[row])
    rtt = base.dimension(
        "RTT",
        (float(t[row]), level),
        (float(back[row]), level),
        f"RTT {duration_words(float(back[row] - t[row]))}",
    )
    other = int(fits[-1])
    una = np.searchsorted(acks["t_ns"], clean["t_ns"][other], side="right") - 1
    low = float(reached[una]) if una >= 0 else float(clean["seq"][0])
    high = float(ends[: other + 1].max())
    flight = base.dimension(
        "outstanding", (float(t[other]), low), (float(t[other]), high), f"{high - low:,.0f} bytes in flight"
    )
    return [rtt, flight]


PLOT = Plot(
    "sender",
    "How a sender behaves: slow start, pause, fast retransmit; RTT and flight (Figure 4)",
    build,
)
