"""Flow control of the link: the rate while it may send, and what XOFF leaves of it.

References
----------
Paper 5.5, Figure 12: almost 1200 bytes/s between the gaps, about 960 over all, gaps of 950 to 1300 ms.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures import multilayer
from multitracer.plots.panel import Axis, Figure, Pieces, Series, duration_words
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import link_layer, result_marks
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import select

SHOWN = 4  # XOFF intervals in the figure's own window


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """The frames of the link's sender with both slopes; every gap between XOFF and XON measured."""
    selection = select(measurement, options)
    frames, events = selection.link("link_frames"), selection.link("link_events")
    entity = link_layer.sending_entity(frames)
    if entity is None:
        raise base.nothing(PLOT.name, "needs a link log that shows data frames being sent")
    starts, ends = result_marks.xoff(selection, results, events, entity)
    low, high = base.asked(options)
    inside = (ends > low) & (starts < high)
    starts, ends = starts[inside], ends[inside]
    if not len(starts):
        raise base.nothing(PLOT.name, "the link's sender was never flow controlled (no XOFF)")
    last = min(SHOWN, len(starts)) - 1
    # Half a period before the first and after the last, so that both slopes show.
    room = 0.5 * float(np.median(np.diff(starts[: last + 1]))) if last else 2.0 * float(ends[0] - starts[0])
    options = base.zoomed(
        options, float(starts[0]) - room, float(ends[last]) + room, offset_bytes=0, trends=True
    )
    full = multilayer.build(measurement, results, options)
    sequence = base.only(full, "sequence", "Rlp")
    data = base.by_name(sequence.series, "RlpSnd_data")
    sequence = replace(
        sequence,
        y=Axis("Byte of the link's stream", "bytes"),
        pieces=() if data is None else tuple(_gaps(data, starts, ends, full.window)),
    )
    lanes = [replace(panel, lanes=("XOFF",), height=0.07) for panel in full.panels if panel.name == "lanes"]
    return replace(full, name=PLOT.name, panels=(*lanes, sequence), notes=())


def _gaps(data: Series, starts: object, ends: object, window: tuple[float, float]) -> list[Pieces]:
    """The time without a new frame around each XOFF interval, measured at its level."""
    pieces = []
    for start, end in zip(np.asarray(starts).tolist(), np.asarray(ends).tolist(), strict=True):
        if not (window[0] <= start and end <= window[1]):
            continue
        # Frames may still leave after XOFF arrived: the gap is the one around the middle of the interval.
        after = int(np.searchsorted(data.x, (start + end) / 2))
        if 0 < after < len(data.x):
            level = float(data.y[after])
            words = duration_words(float(data.x[after] - data.x[after - 1]))
            pieces.append(
                base.dimension("gap", (float(data.x[after - 1]), level), (float(data.x[after]), level), words)
            )
    return pieces


PLOT = Plot("flow-control", "Flow control of the link with both slopes and every gap (Figure 12)", build)
