"""A radio bearer over time: polls until answered, PDUs received out of order until complete."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.layers.events import sender_entity
from multitracer.model.quantities import count
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.panel import Axis, Figure, Panel, Role, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import result_marks
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select
from multitracer.plots.series.transfer_panel import transfer_panel

_PANELS = (("polls", "Poll to status report", False), ("reorderings", "PDU missing for", True))


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Delay of every poll and of every PDU that others overtook, in both directions, below TCP's data."""
    selection = select(measurement, options)
    found = results.get("bearer")
    if found is None or found.inconclusive is not None:
        raise base.nothing(PLOT.name, "needs a capture or log of RLC in acknowledged mode")
    drawn = [
        (name, title, [*_series(selection, results, name, at_receiver)])
        for name, title, at_receiver in _PANELS
    ]
    everything = tuple(series for *_, each in drawn for series in each)
    if not everything:
        raise base.nothing(PLOT.name, "no poll was answered, and no PDU received out of order, in the log")
    window = base.window_of(everything, everything, options)
    resets = result_marks.resets(selection, results, selection.link("link_events"))
    panels = (
        transfer_panel(selection, results),
        *(
            Panel(
                name,
                Axis(title, "ms"),
                tuple(each),
                tuple(result_marks.reset_marks(resets, "", "Rlc")) if name == "polls" else (),
                tuple(result_marks.gap_spans(resets, "")),
                zero=True,
            )
            for name, title, each in drawn
            if each
        ),
    )
    given_up = sum(direction["discards"]["total"] for direction in found.summary["directions"])
    notes = [f"given up: {count(given_up, 'packet')}"] if given_up else []
    return base.figure(PLOT.name, selection, results, panels, window, options, notes=notes)


def _series(selection: Selection, results: Results, name: str, at_receiver: bool) -> Iterator[Series]:
    """One series for each direction that has any; `at_receiver`: rows name the receiver."""
    m = selection.measurement
    table = results["bearer"].tables[name]
    table = table.where(table["end_ns"] >= 0)
    data_sender = sender_entity(m)
    for direction in results["bearer"].summary["directions"]:
        entity = m.entities.index(direction["receiver"] if at_receiver else direction["entity"])
        rows = table.where(table["entity"] == entity).sorted_by("t_ns")
        if not len(rows):
            continue
        along = m.entities.index(direction["entity"]) == data_sender
        role: Role = "delay" if along else "delay_back"
        delay = (rows["end_ns"] - rows["t_ns"]).astype(np.float64) / 1e6
        words = f"{direction['entity']} to {direction['receiver']}"
        yield Series(
            f"{name}_{direction['entity']}", role, selection.seconds(rows["t_ns"]), delay, label=words
        )


PLOT = Plot("bearer", "Radio bearer: polls until answered, PDUs received out of order until complete", build)
