"""What the hover of a point shows in addition to its place: the segment or frame behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from multitracer.model.table import Table
from multitracer.model.timeline import Timeline
from multitracer.plots.bokeh.layers import Array, Describe
from multitracer.plots.panel import Series

COLUMNS = {"segments": ("length", "transmission", "flight"), "link_frames": ("length", "attempt", "ns", "nr")}

WORDS = {
    "length": ("length", "@length{0,0} bytes"),
    "transmission": ("transmission", "@transmission{0,0}"),
    "flight": ("in flight after it", "@flight{0,0} bytes"),
    "attempt": ("retransmitted", "@attempt{0,0} times"),
    "ns": ("N(S)", "@ns"),
    "nr": ("N(R)", "@nr"),
}
"""Line of the hover for each column, in Bokeh's notation."""


def describer(measurement: Timeline) -> Describe:
    """A function that looks up the segments or frames behind the points of a series."""
    known: dict[int, tuple[Table, tuple[str, ...]]] = {}

    def describe(series: Series) -> Mapping[str, Array]:
        if series.record is None or not 0 <= series.source < len(measurement.sources):
            return {}
        if series.source not in known:
            name = {"tcp": "segments", "link": "link_frames"}.get(measurement.sources[series.source].layer)
            if name is None:
                return {}
            rows = measurement.table(name)
            rows = rows.where(rows["source"] == series.source).sorted_by("record")
            known[series.source] = rows, COLUMNS[name]
        rows, names = known[series.source]
        place = np.searchsorted(rows["record"], series.record)
        if len(rows) == 0 or place.max(initial=0) >= len(rows):
            return {}
        if not np.array_equal(rows["record"][place], series.record):
            return {}
        found = {name: rows[name][place] for name in names}
        return {name: column for name, column in found.items() if bool(np.any(column >= 0))}

    return describe


def plain(words: str) -> str:
    """A name from the file system, harmless in HTML and Bokeh's templates."""
    return re.sub(r"[^\w .,:;()/%+\u00d7-]", "?", words)[-60:]
