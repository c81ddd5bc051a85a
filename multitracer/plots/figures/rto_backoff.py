"""Exponential backoff: a segment is lost again and again, or its ACK is, and the timer doubles each time.

It doubles also from one segment to the next, as long as no RTT could be measured in between: the ACK of a
retransmitted segment gives none (Karn's algorithm).

References
----------
Paper 5.3, Figure 10; RFC 6298 3, 5.5 to 5.7.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multitracer.model.quantities import count
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures import multilayer
from multitracer.plots.panel import Figure, Pieces, duration_words
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import result_marks
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select

SAME = 0.02  # how far from twice a timer may be that was doubled: clocks of kernels tick


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """All layers around the longest run of timeouts, with every wait measured."""
    selection = select(measurement, options)
    base.answered(PLOT.name, results, "timeouts")
    rows = result_marks.timeout_rows(selection, results)
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
    sequence = full.panel("sequence")
    # The words of a wait name its timer; the mark at its end needs its letter only.
    marks = (replace(one, texts=()) if one.name.startswith("timeout:") else one for one in sequence.marks)
    pieces = tuple(_waits(rows, t, waits, options.offset_bytes))
    sequence = replace(sequence, marks=tuple(marks), pieces=pieces)
    panels = tuple(
        sequence if panel.name == "sequence" else panel for panel in full.panels if panel.name != "window"
    )
    factor = _factors(rows)[-1]
    seq = np.unique(rows["seq"]).tolist()
    what = f"byte {seq[0]:,}" if len(seq) == 1 else f"bytes {', '.join(f'{one:,}' for one in seq)}"
    between = "" if len(seq) == 1 else ", no RTT was measured in between"
    words = f"{count(len(rows), 'timeout')} in a row of {what}{between}: the timer reached {factor} times "
    words += "its value"
    return replace(full, name=PLOT.name, panels=panels, notes=(words, *full.notes))


def _run(
    rows: Table | None, selection: Selection, options: PlotOptions
) -> np.ndarray[tuple[int], np.dtype[np.intp]] | None:
    """Rows of the longest run of doubled timers that ends in the window that was asked for."""
    if rows is None:
        return None
    low, high = base.asked(options)
    t = selection.seconds(rows["t_ns"])
    best = np.arange(0)
    first = 0
    for row in range(len(rows)):
        if not _doubled(rows, row):
            first = row
        if low <= t[row] <= high and row - first >= max(len(best), 1):
            best = np.arange(first, row + 1)
    return best if len(best) else None


def _doubled(rows: Table, row: int) -> bool:
    """Whether this timer is twice the one of the expiry before."""
    if row == 0:
        return False
    if rows["backoff"][row] > 0:
        return bool(rows["backoff"][row - 1] == rows["backoff"][row] - 1)
    now, before = (float(rows["rto_ns"][one]) * 2.0 ** int(rows["backoff"][one]) for one in (row, row - 1))
    return before > 0 and abs(now / before - 2) < SAME


def _factors(rows: Table) -> list[int]:
    return [2**step for step in range(len(rows))]


def _waits(
    rows: Table,
    t: np.ndarray[tuple[int], np.dtype[np.float64]],
    waits: np.ndarray[tuple[int], np.dtype[np.float64]],
    shift: int,
) -> list[Pieces]:
    """The idle time before each expiry, as a multiple of the first one's timer."""
    pieces = []
    for row, (at, wait, factor) in enumerate(zip(t.tolist(), waits.tolist(), _factors(rows), strict=True)):
        level = float(rows["seq"][row] + shift)
        words = f"{duration_words(wait)} = {factor} \N{MULTIPLICATION SIGN} RTO"
        pieces.append(base.dimension("wait", (at - wait, level), (at, level), words))
    return pieces


PLOT = Plot(
    "rto-backoff", "Exponential backoff of the retransmission timer, every wait measured (Figure 10)", build
)
