"""The walk of the data: files to traces to one timeline to results to a figure.

The command line, reports and notebooks call exactly these functions.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Literal

from multitracer import registry
from multitracer.api.analysis import Analysis
from multitracer.api.answering import FULL_KEEPS, WhenAsked, answers
from multitracer.api.measurement import Measurement
from multitracer.model.errors import (
    Issue,
    MultiTracerError,
    NothingToRead,
    TooManyConnections,
    UnknownFormat,
    UnmappedTable,
    UsageError,
)
from multitracer.model.parser import Parser
from multitracer.model.quantities import count
from multitracer.model.timeline import Timeline
from multitracer.model.trace import Trace
from multitracer.reading.discovery import STDIN, Files, discover
from multitracer.reading.opening import (
    Formats,
    check_formats,
    declared_format,
    format_of,
    open_trace,
    recognise,
)
from multitracer.reading.standard_input import HeldInput

Progress = Callable[[int, int, str], None]
"""Called before each step: ``progress(done, total, what)``."""

Detail = Literal["full", "summary", "auto", "brief", "bounded"]

SUMMARY_BYTES = 64 << 20
"""A single capture above this size is summarised where the caller leaves it open."""

SUMMARY_CONNECTIONS = 10_000
"""A single capture of more connections is summarised where the caller leaves it open: each takes half a
millisecond of processor time and more, ten times what it takes in a summary."""

FULL_CONNECTIONS = 100_000
"""Of more connections in a single capture, single segments are kept only where the caller insists."""

SMALLEST_RECORD = 56
"""Bytes of the shortest packet with TCP in a capture: a record's header, and two headers without options."""

SMALLEST_PACKED = 1
"""Bytes that it may come to in a compressed one: packets of a flood differ in a few."""

PACKED = 8
"""A compressed capture is taken to be so many times as large."""

CONNECTION_BYTES = 16_000
"""What a connection of one segment takes in `analyze --full` (1.6 GB for 100,000; docs/performance.md)."""


def read(
    *paths: str | os.PathLike[str],
    format: Formats = None,
    progress: Progress | None = None,
    detail: Detail = "full",
    point: str | Mapping[str, str] | None = None,
) -> Measurement:
    """Read the traces of one transfer and put them on one timeline.

    Parameters
    ----------
    *paths : str or path-like
        Files, or directories whose files are taken one level deep; ``-`` is standard input, a URL
        (``s3://``, ``http://``) is opened by fsspec. Files are recognised by content, compressed or not.
        Captures that continue in the next file (tcpdump -C, -G) are read as one. A file that is named
        must be a trace; in a directory, what is no trace is left out and listed in `Measurement.issues`.
    format : str or mapping, optional
        Name of the parser for all files, or by file, instead of recognising it by content.
    progress : callable, optional
        ``progress(done, total, what)``, called before each file and before the alignment.
    detail : {"full", "summary", "auto", "brief", "bounded"}
        summary: a single capture is read without tables, in memory that does not grow with it; questions that
        need single segments then stay open. bounded: so for one of any size that holds more than
        `FULL_CONNECTIONS`, with an issue that reports it; brief: of more than `SUMMARY_CONNECTIONS`. auto: as
        brief, and also for one of more than `SUMMARY_BYTES`.
    point : str or mapping, optional
        Observation point (snd, rcv, mid) of all captures, or by file, instead of what they show.

    Returns
    -------
    Measurement

    Raises
    ------
    UsageError
        Without a path.
    UnreadableFile, UnknownFormat, CorruptTrace
        A named file that cannot be used.
    NothingToRead
        No trace at all.
    AlignmentError
        Traces that cannot be put on one timeline.

    Examples
    --------
    >>> import multitracer as mt
    >>> m = mt.read("sample_traces/flow-control")
    >>> m.events.columns[0]
    't_ns'
    """
    if not paths:
        raise UsageError("nothing to read: name files or a directory")
    files = discover(paths)
    known = registry.parsers()
    check_formats(format, files.named + files.found, known)
    lone = files.named + files.found
    if point is not None:
        from multitracer.model import declared

        files.settings = declared.with_points(files.settings, point, lone)
    with contextlib.ExitStack() as stack:
        if len(lone) != 1 or detail == "full":
            return _whole(files, paths, format, progress)
        path, held = lone[0], None
        if detail != "summary" and path == STDIN and not os.isatty(0):
            held = stack.enter_context(HeldInput(SUMMARY_BYTES))
        size, packed = _size(path, held)
        limit = FULL_CONNECTIONS if detail == "bounded" else SUMMARY_CONNECTIONS
        small = size <= (SUMMARY_BYTES // PACKED if packed else SUMMARY_BYTES)
        if detail != "summary" and (small or (detail == "bounded" and held is None)):
            # One that may hold many connections is read whole until it is known that it does.
            few = size <= limit * (SMALLEST_PACKED if packed else SMALLEST_RECORD)
            try:
                return _whole(files, paths, format, progress, None if few else limit)
            except TooManyConnections:
                if held is not None:
                    held.again()
        summary = _summary(path, format_of(path, format), detail, known, held, limit)
        if summary is not None:
            from multitracer.alignment import align_single

            return Measurement.of(align_single(summary, files.settings))
        return _whole(files, paths, format, progress)


def _summary(
    path: str,
    format: str | None,
    detail: Detail,
    known: Mapping[str, Parser],
    held: HeldInput | None,
    limit: int,
) -> Trace | None:
    """A single trace without tables, if it is to be read so; else standard input can be read still."""
    summary = summarised(path, format, known)
    large = is_large(path) if held is None else held.goes_on
    if summary is None or detail == "summary" or (detail == "auto" and large):
        return summary
    count = len(summary.connections)
    if count > limit:
        said = cost_of(count) + (FULL_KEEPS if count <= FULL_CONNECTIONS else "")
        summary.issues.append(Issue("too-many-connections", count, detail=said, path=path))
        return summary
    if held is not None:
        if held.goes_on:
            return summary
        held.again()
    return None


def _whole(
    files: Files,
    paths: tuple[str | os.PathLike[str], ...],
    format: Formats,
    progress: Progress | None,
    most: int | None = None,
) -> Measurement:
    """Every segment of all files; `TooManyConnections` if a capture has more than `most`."""
    known = registry.parsers()
    total = len(files.named) + len(files.found) + 1
    traces: list[Trace] = []
    issues: list[Issue] = []
    for done, path in enumerate(files.named + files.found):
        if progress:
            progress(done, total, path)
        try:
            asked = format_of(path, format) or declared_format(path, files.settings)
            trace = open_trace(path, asked, known, files.settings, most)
            traces += [trace, *trace.others]
        except MultiTracerError as error:
            if path in files.named:
                raise
            code = _left_out(error)
            issues.append(Issue(code, detail=_without(path, str(error)), path=path))
    if not traces:
        raise NothingToRead(_nothing(paths, issues))
    if not any(trace.source.layer == "link" for trace in traces):
        for trace in traces:
            trace.piped = None  # nothing asks for packets as bytes
    if progress:
        progress(total - 1, total, "timeline")
    from multitracer.alignment import align

    traces = _together(traces, known, files.settings)
    measurement = Measurement.of(align(traces, files.settings))
    measurement.issues.extend(issues)
    return measurement


def refuse_without_tcp(m: Measurement) -> None:
    """Refuse captures in which nothing can be analysed.

    Raises
    ------
    NothingToRead
        All that was read is captures, and none has a segment of TCP.
    """
    if all(one.layer == "tcp" and one.tcp_segments == 0 for one in m.sources):
        raise NothingToRead("; ".join(f"{one.path}: {_no_segments(one.records)}" for one in m.sources))


def _no_segments(packets: int) -> str:
    if packets < 2:
        return "1 packet, not of TCP" if packets else "no packets"
    return f"{packets:,} packets, none of them TCP"


def _left_out(error: MultiTracerError) -> str:
    """The code of the issue that a file of a directory was left out."""
    if isinstance(error, UnmappedTable):
        return "unmapped-table"
    return "skipped-file" if isinstance(error, UnknownFormat) else "unreadable-file"


def _together(traces: list[Trace], known: Mapping[str, Parser], settings: Mapping[str, Any]) -> list[Trace]:
    """The traces, of which several files may be of one thing."""
    names = [trace.source.format for trace in traces]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        merge_traces = known[name].merge_traces if name in known else None
        if merge_traces is not None:
            from multitracer.model import declared

            traces = merge_traces(traces, lambda path: declared.entry(settings, path))
    return traces


def cost_of(connections: int) -> str:
    """What it takes to keep every segment of so many connections, in words."""
    gigabytes = connections * CONNECTION_BYTES / 1e9
    return f"{connections:,} connections: all their segments take about {gigabytes:.1f} GB or more"


def is_large(path: str) -> bool:
    """Whether a capture is summarised where the caller leaves it open."""
    try:
        return os.path.getsize(path) > SUMMARY_BYTES
    except OSError:
        return False


def _size(path: str, held: HeldInput | None) -> tuple[int, bool]:
    """Bytes of a file, and whether they may be compressed; of one that cannot be read 0."""
    if held is not None:
        return held.size, held.begin not in _PLAIN
    try:
        with open(path, "rb") as file:
            begin = file.read(4)
        return os.path.getsize(path), begin not in _PLAIN
    except OSError:
        return 0, False


_PLAIN = tuple(bytes.fromhex(magic) for magic in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a"))
"""First bytes of captures that are not compressed."""


def summarised(path: str, format: str | None, known: Mapping[str, Parser]) -> Trace | None:
    """A trace without tables.

    Parameters
    ----------
    path : str
        The capture.
    format : str or None
        Its format where it was named; None: recognised.
    known : mapping of str to Parser
        Parsers by name.

    Returns
    -------
    Trace or None
        None if its format has no such form.
    """
    parser = known.get(format) if format is not None else recognise(path, known)
    return None if parser is None or parser.summarise is None else parser.summarise(path)


def analyze(
    subject: Measurement | Timeline | Trace | str | os.PathLike[str],
    *paths: str | os.PathLike[str],
    only: Iterable[str] | None = None,
    progress: Progress | None = None,
    without: Container[str] = (),
) -> Analysis:
    """Answer all questions, or some, about a measurement.

    Parameters
    ----------
    subject : Measurement, Trace, str or path-like
        What `read` or `open_trace` returned; or a file or directory, which is read first.
    *paths : str or path-like
        More files of the same measurement, if `subject` is a path.
    only : iterable of str, optional
        Names of analyzers; what they need is run too, but is not part of the outcome.
    progress : callable, optional
    without : container of str
        Names of analyzers that are left out where all are asked, unless another needs them.

    Returns
    -------
    Analysis
        A question that the traces cannot answer is in it as "inconclusive", with the reason.

    Raises
    ------
    UsageError
        An unknown name in `only`; paths in addition to a measurement that has been read.

    Examples
    --------
    >>> import multitracer as mt
    >>> mt.analyze("sample_traces/flow-control", only=["utilization"]).utilization.value > 0.9
    True
    """
    measurement = _measurement(subject, paths)
    return Analysis(measurement, answers(measurement, only, progress, without))


def _measurement(
    subject: Measurement | Timeline | Trace | str | os.PathLike[str],
    paths: tuple[str | os.PathLike[str], ...],
) -> Timeline:
    if isinstance(subject, str | os.PathLike):
        return read(subject, *paths)
    if paths:
        raise UsageError("analyze takes files, or one measurement that was read from them, not both")
    if isinstance(subject, Trace):
        from multitracer.alignment import align

        return Measurement.of(align([subject], {}))
    return subject


def plot(
    subject: Measurement | Analysis | Mapping[str, Measurement | Analysis],
    kind: str = "multilayer",
    path: str | os.PathLike[str] | None = None,
    *,
    interactive: bool = False,
    **options: Any,
) -> Any:
    """Draw a figure.

    Parameters
    ----------
    subject : Measurement or Analysis, or a mapping of names to several of them
        Of a measurement those questions are answered that the figure marks: verdicts, resets. Several go into
        one figure by plots that compare (``compare``, ``cdf``, ``utilization``).
    kind : str
        Name of the plot, or its alias (``figure-8`` for ``reset-gaps``).
    path : str or path-like, optional
        Where to save it; the ending (png, svg, pdf) decides on the format.
    interactive : bool
        A Bokeh layout to zoom into, point at and hide curves in, in the place of a picture: give it to
        `bokeh.io.show` after `bokeh.io.output_notebook`. `path` must be left out: the file to zoom into is
        what `multitracer report` writes.
    **options
        What to show, fields of `multitracer.plots.plot.PlotOptions`: time window, connection, offset ...; and
        how to draw it, fields of `multitracer.plots.appearance.Appearance`: style, width, title, log ...

    Returns
    -------
    matplotlib.figure.Figure or bokeh.models.LayoutDOM

    Raises
    ------
    UsageError
        If no figure has this name, or the format cannot do what is asked for.
    """
    from multitracer.api.drawing import draw

    given = subject if isinstance(subject, Mapping) else {"": subject}
    answered = {
        name: (one.measurement, one.results) if isinstance(one, Analysis) else (one, WhenAsked(one))
        for name, one in given.items()
    }
    return draw(answered, kind, path, interactive=interactive, **options)


def _without(path: str, message: str) -> str:
    return message.removeprefix(f"{path}: ")


def _nothing(paths: Iterable[str | os.PathLike[str]], issues: list[Issue]) -> str:
    where = ", ".join(os.fspath(path) for path in paths)
    if not issues:
        return f"{where}: no files here; name a directory with traces (captures, kernel logs, link logs)"
    looked = "; ".join(f"{os.path.basename(issue.path)}: {issue.detail}" for issue in issues[:3])
    more = f"; and {len(issues) - 3} more" if len(issues) > 3 else ""
    below = next(
        (one for path in paths if os.path.isdir(path) for one in _with_traces(os.fspath(path))), None
    )
    batch = f"`multitracer batch {where} -o OUT` analyses all such directories"
    advice = "" if below is None else f"; there are traces in {below}: {batch}"
    return f"{where}: no readable trace among {count(len(issues), 'file')} ({looked}{more}){advice}"


_LOOKED_INTO = 20
"""Directories, and files of each, in which traces are looked for after all."""


def _with_traces(path: str) -> Iterator[str]:
    """Directories in a directory that hold traces."""
    known = registry.parsers()
    with os.scandir(path) as entries:
        folders = sorted(one.path for one in entries if one.is_dir() and not one.name.startswith("."))
    for folder in folders[:_LOOKED_INTO]:
        for file in discover([folder]).found[:_LOOKED_INTO]:
            with contextlib.suppress(MultiTracerError, OSError):
                recognise(file, known)
                yield folder
                break
