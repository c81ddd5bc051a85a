"""The timeline as trace events that Perfetto (ui.perfetto.dev) and Chrome's tracing page open.

References
----------
Trace Event Format: complete events (X), instants (i), counters (C), metadata (M); times in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from multitracer.export.files import line, writing
from multitracer.plots.panel import Figure, Marks, Series, Spans

PROCESS = 1


def write(figure: Figure, path: str) -> int:
    """Write all series, marks and spans of a figure; returns the number of events.

    Curves become counters, points and marks instants, spans slices, each kind on a track of its own.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    count = 0
    with writing(path) as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [')
        for event in events(figure):
            file.write(("," if count else "") + "\n" + json.dumps(event, allow_nan=False))
            count += 1
        file.write("\n]}\n")
    return count


def events(figure: Figure) -> Iterator[dict[str, Any]]:
    """Trace events of a figure."""
    yield _named("process_name", 0, line(figure.title))
    track = 0
    for panel in figure.panels:
        for spans in panel.spans:
            if spans.lane or not any(other.lanes for other in figure.panels):
                track += 1
                yield _named("thread_name", track, spans.label or spans.name)
                yield from _slices(spans, track)
        for marks in panel.marks:
            track += 1
            yield _named("thread_name", track, marks.label or marks.name)
            yield from _instants(marks, track)
        for series in panel.series:
            if series.kind == "points":
                track += 1
                yield _named("thread_name", track, series.name)
                yield from _points(series, track)
            elif series.in_limits or series.role != "trend":
                yield from _counter(series, panel.y.unit or "value")


def _named(what: str, track: int, words: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": PROCESS, "tid": track, "args": {"name": line(words)}}


def _at(seconds: float) -> float:
    return round(seconds * 1e6, 3)


def _slices(spans: Spans, track: int) -> Iterator[dict[str, Any]]:
    for start, end in zip(spans.start.tolist(), spans.end.tolist(), strict=True):
        yield {
            "ph": "X",
            "name": line(spans.label or spans.name),
            "cat": spans.role,
            "ts": _at(start),
            "dur": _at(end - start),
            "pid": PROCESS,
            "tid": track,
        }


def _instants(marks: Marks, track: int) -> Iterator[dict[str, Any]]:
    for row, x in enumerate(marks.x.tolist()):
        args: dict[str, Any] = {"detail": line(marks.details[row])} if marks.details else {}
        if marks.y is not None:
            args["y"] = float(marks.y[row])
        name = line(marks.label or marks.name)
        yield {
            "ph": "i",
            "s": "t",
            "name": name,
            "cat": marks.role,
            "ts": _at(x),
            "pid": PROCESS,
            "tid": track,
            "args": args,
        }


def _points(series: Series, track: int) -> Iterator[dict[str, Any]]:
    records = None if series.record is None else series.record.tolist()
    for row, (x, y) in enumerate(zip(series.x.tolist(), series.y.tolist(), strict=True)):
        args: dict[str, Any] = {"y": y}
        if records is not None:
            args["record"] = records[row]
        yield {
            "ph": "i",
            "s": "t",
            "name": series.name,
            "cat": series.role,
            "ts": _at(x),
            "pid": PROCESS,
            "tid": track,
            "args": args,
        }


def _counter(series: Series, unit: str) -> Iterator[dict[str, Any]]:
    for x, y in zip(series.x.tolist(), series.y.tolist(), strict=True):
        yield {"ph": "C", "name": line(series.name), "ts": _at(x), "pid": PROCESS, "args": {unit: y}}
