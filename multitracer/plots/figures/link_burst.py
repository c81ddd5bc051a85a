"""A burst of retransmissions on the link, and the gap that it causes in the data at the receiver.

References
----------
Paper 5.4, Figure 11: a burst of 1325 ms, a gap of 2260 ms, and no timer fired.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multitracer.model.errors import UsageError
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures import multilayer
from multitracer.plots.panel import Figure, Pieces, Series, duration_words
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import link_layer, result_marks
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """All layers around the longest burst that ended without a link reset."""
    selection = select(measurement, options)
    frames, events = selection.link("link_frames"), selection.link("link_events")
    entity = link_layer.sending_entity(frames)
    if entity is None:
        raise base.nothing(PLOT.name, "needs a link log that shows data frames being sent")
    bursts = _bursts(selection, frames, entity)
    spans = [
        (reset.t, max(reset.end or reset.t, reset.gap[1] if reset.gap else reset.t))
        for reset in result_marks.resets(selection, results, events)
    ]
    clear = np.array(
        [not any(a < end + 1 and b > start - 1 for start, end in spans) for a, b in bursts], dtype=bool
    )
    low, high = base.asked(options)
    bursts = bursts[clear & (bursts[:, 0] >= low) & (bursts[:, 1] <= high)] if len(bursts) else bursts
    if not len(bursts):
        raise base.nothing(PLOT.name, "the link retransmitted no two frames in a row, except around resets")
    start, end = (float(value) for value in bursts[int(np.argmax(bursts[:, 1] - bursts[:, 0]))])
    wide = max(end - start, 0.5)
    zoomed = base.zoomed(options, start - 3 * wide, end + 4 * wide)
    try:
        full = multilayer.build(measurement, results, replace(zoomed, trends=False))
    except UsageError as error:
        raise UsageError(f"{PLOT.name}: {error}") from error
    sequence = full.panel("sequence")
    gap = _gap(base.by_name(sequence.series, "TcpRcv_data"), start, end)
    pieces = _measured(sequence.series, (start, end), gap)
    panels = tuple(
        replace(panel, pieces=tuple(pieces)) if panel.name == "sequence" else panel
        for panel in full.panels
        if panel.name != "window"
    )
    return replace(
        full,
        name=PLOT.name,
        panels=panels,
        notes=(_words(selection, results, (start, end), gap), *full.notes),
    )


def _bursts(
    selection: Selection, frames: Table, entity: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Runs of retransmitted frames without a new one between them: start and end, in seconds."""
    sent = frames.where((frames["entity"] == entity) & (frames["action"] == frames.code("action", "snd")))
    edges = np.diff((sent["attempt"] > 0).astype(np.int8), prepend=np.int8(0), append=np.int8(0))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    several = ends > starts
    t = selection.seconds(sent["t_ns"])
    return np.stack([t[starts[several]], t[ends[several]]], axis=1) if several.any() else np.empty((0, 2))


def _gap(data: Series | None, start: float, end: float) -> tuple[float, float] | None:
    """The longest time without a segment at the receiver that the burst can have caused."""
    if data is None or len(data.x) < 2:
        return None
    gaps = np.stack([data.x[:-1], data.x[1:]], axis=1)
    # What the burst delayed arrives after it began, and no later than a link RTT after its end.
    touched = gaps[(gaps[:, 1] > start) & (gaps[:, 0] < end + 1.0)]
    if not len(touched):
        return None
    longest = touched[int(np.argmax(touched[:, 1] - touched[:, 0]))]
    return float(longest[0]), float(longest[1])


def _measured(
    series: tuple[Series, ...], burst: tuple[float, float], gap: tuple[float, float] | None
) -> list[Pieces]:
    pieces = []
    again = base.by_name(series, "RlpSnd_rexmt")
    if again is not None:
        inside = again.inside(burst)
        level = float(again.y[inside].max()) + 900.0
        words = f"burst of {duration_words(burst[1] - burst[0])}"
        pieces.append(base.dimension("burst", (burst[0], level), (burst[1], level), words))
    data = base.by_name(series, "TcpRcv_data")
    if data is not None and gap is not None:
        level = float(data.y[int(np.searchsorted(data.x, gap[0]))]) - 900.0
        words = f"gap of {duration_words(gap[1] - gap[0])}"
        pieces.append(base.dimension("gap", (gap[0], level), (gap[1], level), words))
    return pieces


def _words(
    selection: Selection, results: Results, burst: tuple[float, float], gap: tuple[float, float] | None
) -> str:
    words = f"link burst {1e3 * (burst[1] - burst[0]):,.0f} ms"
    if gap is not None:
        words += f", gap at the TCP receiver {1e3 * (gap[1] - gap[0]):,.0f} ms"
    rows = result_marks.timeout_rows(selection, results)
    until = max(burst[1], gap[1] if gap is not None else burst[1])
    t = selection.seconds(rows["t_ns"]) if rows is not None else np.empty(0)
    fired = int(np.count_nonzero((t >= burst[0]) & (t <= until + 1.0)))
    if "timeouts" not in results or results["timeouts"].inconclusive is not None:
        return words
    return words + ("; no retransmission timer fired" if not fired else f"; {fired} retransmission timeouts")


PLOT = Plot(
    "link-burst", "A burst of link retransmissions and the gap at the TCP receiver (Figure 11)", build
)
