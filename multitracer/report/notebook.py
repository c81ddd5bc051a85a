"""How a measurement shows itself in a notebook: files, clocks, connections, a small picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.model.timeline import Timeline
from multitracer.report.markup import Markup, join, tag
from multitracer.report.page_text import count, duration

SIZE = (13.0, 8.2)
DPI = 56.0
MOST_ROWS = 12
PICTURED_ROWS = 300_000
"""Rows up to which a look at a variable may take the time of drawing a figure."""


def measurement_html(measurement: Timeline) -> str:
    """A measurement as HTML: every word of a trace is escaped."""
    files = [os.path.basename(source.path) for source in measurement.sources]
    title = f"{count(len(files), 'file')}, {count(len(measurement.connections), 'connection')}"
    if measurement.issues or any(trace.issues for trace in measurement.traces):
        number = len(measurement.issues) + sum(len(trace.issues) for trace in measurement.traces)
        title += f", {count(number, 'issue')}"
    return join(
        tag("p", tag("b", "Timeline"), ": ", title),
        _sources(measurement),
        _connections(measurement),
        _picture(measurement),
    )


def _sources(measurement: Timeline) -> Markup:
    rows = []
    clocks = {clock.source: clock for clock in measurement.clocks}
    for index, source in enumerate(measurement.sources):
        clock = clocks.get(index)
        known = None if clock is None else clock.uncertainty_ns
        rows.append(
            (
                os.path.basename(source.path),
                source.format,
                source.point or "unknown",
                f"{source.records:,}",
                "" if clock is None else f"{clock.grade} ({clock.method})",
                "" if known is None else f"±{duration(known / 1e9)}",
            )
        )
    return _table(("file", "format", "point", "records", "clock", "known to"), rows)


def _connections(measurement: Timeline) -> Markup:
    rows = []
    for one in measurement.connections:
        ends = [f"{host}:{port}" for host, port in one.endpoints]
        ordered = ends if one.data_dir == 0 else ends[::-1]
        rows.append((str(one.index), " → ".join(ordered)))
    return _table(("connection", "from → to"), rows)


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Markup:
    if not rows:
        return Markup("")
    more = len(rows) - MOST_ROWS
    return join(
        tag(
            "table",
            tag("tr", [tag("th", heading, style="text-align:left") for heading in headings]),
            [
                tag("tr", [tag("td", cell, style="text-align:left") for cell in row])
                for row in rows[:MOST_ROWS]
            ],
        ),
        tag("p", f"and {more:,} more") if more > 0 else None,
    )


def _picture(measurement: Timeline) -> Markup:
    from multitracer import registry
    from multitracer.plots.plot import PlotOptions
    from multitracer.report.stills import png_uri

    rows: Any = len(measurement.table("segments")) + len(measurement.table("link_frames"))
    if not rows or rows > PICTURED_ROWS:
        return Markup("")
    try:
        figure = registry.plots()["multilayer"].build(measurement, {}, PlotOptions())
    except UsageError:
        return Markup("")  # nothing on the timeline
    return tag("img", src=png_uri(figure, "light", SIZE, DPI), alt="Sequence numbers of all layers over time")
