"""What each of some files is, whether or not they belong together and whether or not all can be read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from multitracer import registry
from multitracer.api.pipeline import Progress, is_large, summarised
from multitracer.model.declared import with_points
from multitracer.model.errors import MultiTracerError, UnknownFormat, UnreadableFile
from multitracer.model.trace import Trace
from multitracer.output.contract import source_object
from multitracer.reading.discovery import discover
from multitracer.reading.opening import Formats, check_formats, declared_format, format_of, open_trace

SUMMARY = "a summary: single segments of a large capture are not kept, and rows are not counted"
"""Of captures above `multitracer.api.pipeline.SUMMARY_BYTES`."""


@dataclass
class Inventory:
    """The files of some paths.

    Attributes
    ----------
    traces : list of Trace
        Those that could be read, in the order given; `Source.point` is filled in if they are of one
        measurement.
    errors : dict of str to str
        Path to reason, for those that could not.
    skipped : dict of str to str
        Path to reason, for files of a directory that are no traces.
    order : list of str
        Paths of traces and errors, in the order found.
    """

    traces: list[Trace] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As printed by ``multitracer info --json``."""
        by_path: dict[str, list[Trace]] = {}
        for trace in self.traces:
            by_path.setdefault(trace.source.path, []).append(trace)
        sources: list[dict[str, Any]] = []
        for path in self.order:
            if path in self.errors:
                sources.append({"path": path, "error": self.errors[path]})
            else:
                sources += [
                    source_object(trace)
                    | {
                        "connections": len(trace.connections) or len(trace.flows),
                        "rows": {name: len(table) for name, table in trace.tables.items()},
                    }
                    for trace in by_path[path]
                ]
        return {
            "sources": sources,
            "skipped": [{"path": path, "reason": reason} for path, reason in self.skipped.items()],
        }


def inspect(
    paths: Iterable[str | os.PathLike[str]],
    format: Formats = None,
    progress: Progress | None = None,
    point: str | Mapping[str, str] | None = None,
) -> Inventory:
    """Read every file on its own; of a large capture a summary, as `analyze` does.

    Parameters
    ----------
    progress : Progress, optional
        Called while files are read.
    paths : iterable of str or path-like
        Files and directories.
    format : str or mapping, optional
        As of `multitracer.read`.
    point : str or mapping, optional
        As of `multitracer.read`.

    Raises
    ------
    UsageError
        A format or a point that does not exist, or for a file that was not given.
    """
    found = Inventory()
    named: list[str] = []
    candidates: list[str] = []
    settings: dict[str, Any] = {}
    summaries: list[Trace] = []
    for path in [os.fspath(path) for path in paths]:
        try:
            files = discover([path])
        except UnreadableFile as error:
            found.errors[path] = _reason(path, error)
            found.order.append(path)
            continue
        named += files.named
        candidates += [file for file in files.named + files.found if file not in candidates]
        settings = settings or files.settings
    known = registry.parsers()
    check_formats(format, candidates + found.order, known)
    settings = with_points(settings, point, candidates)
    for done, path in enumerate(candidates):
        if progress:
            progress(done, len(candidates), path)
        try:
            asked = format_of(path, format) or declared_format(path, settings)
            summary = summarised(path, asked, known) if is_large(path) else None
            if summary is not None:
                summary.source.details["read_as"] = SUMMARY
                summaries.append(summary)
            trace = summary or open_trace(path, asked, known, settings)
        except UnknownFormat as error:
            (found.errors if path in named else found.skipped)[path] = _reason(path, error)
        except MultiTracerError as error:
            found.errors[path] = _reason(path, error)
        else:
            found.traces += [trace, *trace.others]
        if path not in found.skipped:
            found.order.append(path)
    if not summaries:
        _locate(found.traces, settings)
    for summary in summaries:
        _locate_single_capture(summary, settings)
    return found


def _locate_single_capture(summary: Trace, settings: dict[str, Any]) -> None:
    """Fill in the observation point, as far as one capture shows it."""
    from multitracer.alignment import align_single

    with contextlib.suppress(MultiTracerError):
        align_single(summary, settings)


def _locate(traces: list[Trace], settings: dict[str, Any]) -> None:
    """Fill in the observation points, as far as the files belong to one transfer."""
    if not traces:
        return
    from multitracer.alignment import align

    try:
        measurement = align(traces, settings)
    except MultiTracerError:
        return  # files of different transfers, or one twice: each is still described
    for trace, source in zip(traces, measurement.sources, strict=False):
        trace.source.point = source.point


def _reason(path: str, error: MultiTracerError) -> str:
    return str(error).removeprefix(f"{path}: ")


def column_map(path: str) -> str:
    """A first column map of a table of any make (CSV), as TOML for measurement.toml; to be corrected.

    Raises
    ------
    UnreadableFile
    CorruptTrace
        If no column holds times.
    """
    from multitracer.parsers._helpers.csvguess import first_map

    return first_map(path)
