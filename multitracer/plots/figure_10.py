"""Exponential backoff: a segment is lost again and again, or its ACK is, and the timer doubles each time.

References
----------
Paper 5.3, Figure 10; RFC 6298 5.5.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multitracer.measurement import Measurement
from multitracer.plots import base, findings, multilayer
from multitracer.plots.findings import Results
from multitracer.plots.panel import Figure, Pieces, duration_words
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.selection import Selection, select
from multitracer.table import Table


def build(measurement: Measurement, results: Results, options: PlotOptions) -> Figure:
    """All layers around the longest run of timeouts, with every wait measured."""
    selection = select(measurement, options)
    base.answered(PLOT.name, results, "timeouts")
    rows = findings.timeout_rows(selection, results)
    run = _run(rows, selection, options)
    if rows is None or run is None:
        what = "no retransmission timeout" if rows is None else "no timeout expired twice in a row"
        raise base.nothing(PLOT.name, what)
    rows = rows.where(run)
    t = selection.seconds(rows["t_ns"])
    waits = rows["silence_ns"] / 1e9
    start, end = float(t[0] - waits[0]), float(t[-1])
    options = base.zoomed(options, start - 0.15 * (end - start), end + 0.35 * (end - start))
    full = multilayer.build(measurement, results, replace(options, trends=False))
    sequence = replace(full.panel("sequence"), pieces=tuple(_waits(rows, t, waits, options.offset_bytes)))
    panels = tuple(
        sequence if panel.name == "sequence" else panel for panel in full.panels if panel.name != "window"
    )
    factor = 2 ** int(rows["backoff"].max())
    byte = int(rows["seq"][0])
    words = f"{len(rows)} timeouts in a row of byte {byte:,}: the timer reached {factor} times its value"
    return replace(full, name=PLOT.name, panels=panels, notes=(words, *full.notes))


def _run(
    rows: Table | None, selection: Selection, options: PlotOptions
) -> np.ndarray[tuple[int], np.dtype[np.intp]] | None:
    """Rows of the run of consecutive expiries with the highest backoff, in the window that was asked for."""
    if rows is None:
        return None
    low, high = base.asked(options)
    t = selection.seconds(rows["t_ns"])
    backoff = np.where((t >= low) & (t <= high), rows["backoff"], -1)
    last = int(np.argmax(backoff))
    if backoff[last] < 1:
        return None
    first = last
    while (
        first > 0 and rows["backoff"][first] > 0 and rows["backoff"][first - 1] == rows["backoff"][first] - 1
    ):
        first -= 1
    return np.arange(first, last + 1)


def _waits(
    rows: Table,
    t: np.ndarray[tuple[int], np.dtype[np.float64]],
    waits: np.ndarray[tuple[int], np.dtype[np.float64]],
    shift: int,
) -> list[Pieces]:
    """The silence before each expiry, as a multiple of the first one's timer."""
    pieces = []
    for row, (at, wait) in enumerate(zip(t.tolist(), waits.tolist(), strict=True)):
        level = float(rows["seq"][row] + shift)
        factor = 2 ** int(rows["backoff"][row])
        words = f"{duration_words(wait)} = {factor} \N{MULTIPLICATION SIGN} RTO"
        pieces.append(base.dimension("wait", (at - wait, level), (at, level), words))
    return pieces


PLOT = Plot(
    "figure-10", "Exponential backoff of the retransmission timer, every wait measured (Figure 10)", build
)
