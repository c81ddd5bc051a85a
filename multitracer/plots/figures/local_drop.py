"""A local drop: the own interface queue overflows, and what the congestion window does about it.

References
----------
Paper 5.2, Figure 7.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multitracer.model.table import Table
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures import multilayer
from multitracer.plots.panel import Figure, Pieces, duration_words
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select

OUTLOOK_S = 10.0  # shown after a drop that was never repaired


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Sender and receiver around one drop, over the sender's windows."""
    selection = select(measurement, options)
    drops = base.answered(PLOT.name, results, "local_drops").tables.get("local_drops")
    drops = _matched(selection, drops)
    if drops is None or not len(drops):
        raise base.nothing(PLOT.name, "no segment was dropped by the local queue")
    t = selection.seconds(drops["t_ns"])
    repaired = np.where(drops["recovered_ns"] >= 0, selection.seconds(drops["recovered_ns"]), t + OUTLOOK_S)
    low, high = base.asked(options)
    inside = np.flatnonzero((t >= low) & (t <= high))
    chosen = _isolated(t[inside], repaired[inside]) if len(inside) else None
    if chosen is not None:
        row = int(inside[chosen])
        span = float(repaired[row] - t[row])
        options = base.zoomed(options, float(t[row]) - 0.6 * span, float(repaired[row]) + 1.7 * span)
    full = multilayer.build(measurement, results, replace(options, trends=False))
    sequence = base.only(full, "sequence", "Tcp", "timeout", "retransmission")
    pieces = () if chosen is None else _repair(drops, row, t, repaired, options.offset_bytes)
    panels = [replace(sequence, spans=(), pieces=pieces)]
    panels += [panel for panel in full.panels if panel.name == "window"]
    notes = [note for note in full.notes if "link log" not in note]
    return replace(full, name=PLOT.name, panels=tuple(panels), notes=tuple(notes))


def _matched(selection: Selection, drops: Table | None) -> Table | None:
    """Drops of this connection's data that are known by their segment."""
    if drops is None or selection.connection is None:
        return None
    mine = (drops["conn"] == selection.connection.index) & (drops["dir"] == selection.data_dir)
    return drops.where(mine & (drops["seq"] >= 0)).sorted_by("t_ns")


def _isolated(
    t: np.ndarray[tuple[int], np.dtype[np.float64]], repaired: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> int:
    """The first drop that shares its repair with no other; else the first."""
    for row in range(len(t)):
        others = np.arange(len(t)) != row
        if not np.any(others & (t < repaired[row]) & (repaired > t[row])):
            return row
    return 0


def _repair(
    drops: Table,
    row: int,
    t: np.ndarray[tuple[int], np.dtype[np.float64]],
    repaired: np.ndarray[tuple[int], np.dtype[np.float64]],
    shift: int,
) -> tuple[Pieces, ...]:
    if drops["recovered_ns"][row] < 0:
        return ()
    level = float(drops["seq"][row] + shift)
    words = f"dropped, retransmitted after {duration_words(float(repaired[row] - t[row]))}"
    return (base.dimension("repair", (float(t[row]), level), (float(repaired[row]), level), words),)


PLOT = Plot("local-drop", "A local queue drop and the congestion window around it (Figure 7)", build)
