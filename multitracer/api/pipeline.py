"""The walk of the data: files to traces to one timeline to results to a figure.

The command line, reports and notebooks call exactly these functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from multitracer import registry
from multitracer.api.analysis import Analysis
from multitracer.api.answering import answers
from multitracer.api.measurement import Measurement
from multitracer.model.errors import Issue, MultiTracerError, NothingToRead, UnknownFormat, UsageError
from multitracer.model.parser import Parser
from multitracer.model.timeline import Timeline
from multitracer.model.trace import Trace
from multitracer.reading.discovery import discover
from multitracer.reading.opening import (
    Formats,
    check_formats,
    declared_format,
    format_of,
    open_trace,
    recognise,
)

Progress = Callable[[int, int, str], None]
"""Called before each step: ``progress(done, total, what)``."""

Detail = Literal["full", "summary", "auto", "bounded"]

SUMMARY_BYTES = 64 << 20
"""A lone capture above this size is summarised where the caller leaves it open."""

FULL_CONNECTIONS = 100_000
"""Of more connections in a lone large capture, single segments are kept only where the caller insists."""

CONNECTION_BYTES = 9_000
"""What one connection of a few segments takes where they are kept, measured over a million of them."""


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
        Captures that go on in the next file (tcpdump -C, -G) are read as one. A file that is named
        must be a trace; in a directory, what is no trace is left out and listed in `Measurement.issues`.
    format : str or mapping, optional
        Name of the parser for all files, or by file, instead of what content says.
    progress : callable, optional
        ``progress(done, total, what)``, called before each file and before the alignment.
    detail : {"full", "summary", "auto", "bounded"}
        summary: a single capture is read without tables, in memory that does not grow with it; questions that
        need single segments then stay open. auto: so for a capture of more than `SUMMARY_BYTES`.
        bounded: so for one that holds more than `FULL_CONNECTIONS` besides, with an issue that says so.
    point : str or mapping, optional
        Observation point (snd, rcv, mid) of all captures, or by file, instead of what they show.

    Returns
    -------
    Measurement

    Raises
    ------
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
    total = len(files.named) + len(files.found) + 1
    known = registry.parsers()
    check_formats(format, files.named + files.found, known)
    lone = files.named + files.found
    if point is not None:
        from multitracer.model import declared

        files.settings = declared.with_points(files.settings, point, lone)
    if len(lone) == 1 and (detail == "summary" or (detail in ("auto", "bounded") and is_large(lone[0]))):
        summary = summarised(lone[0], format_of(lone[0], format), known)
        if summary is not None and detail == "bounded":
            count = len(summary.connections)
            if count > FULL_CONNECTIONS:
                summary.issues.append(
                    Issue("too-many-connections", count, detail=cost_of(count), path=lone[0])
                )
            else:
                summary = None
        if summary is not None:
            from multitracer.alignment import align_single

            return Measurement.of(align_single(summary, files.settings))
    traces: list[Trace] = []
    issues: list[Issue] = []
    for done, path in enumerate(files.named + files.found):
        if progress:
            progress(done, total, path)
        try:
            asked = format_of(path, format) or declared_format(path, files.settings)
            trace = open_trace(path, asked, known, files.settings)
            traces += [trace, *trace.others]
        except MultiTracerError as error:
            if path in files.named:
                raise
            code = "skipped-file" if isinstance(error, UnknownFormat) else "unreadable-file"
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

    Returns
    -------
    Analysis
        A question that the traces cannot answer is in it as "inconclusive", with the reason.

    Raises
    ------
    UsageError
        An unknown name in `only`; paths beside a measurement that has been read.

    Examples
    --------
    >>> import multitracer as mt
    >>> mt.analyze("sample_traces/flow-control", only=["utilization"]).utilization.value > 0.9
    True
    """
    measurement = _measurement(subject, paths)
    return Analysis(measurement, answers(measurement, only, progress))


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
        A measurement is analysed first: the figure marks verdicts and resets. Several go into one figure by
        plots that compare (``compare``, ``cdf``, ``utilization``).
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
    """
    known = registry.plots()
    kind = registry.plot_name(kind)
    if kind not in known:
        raise UsageError(registry.no_plot(kind))
    from multitracer.plots import plot as drawing

    content, look = drawing.split_options(options)
    given = subject if isinstance(subject, Mapping) else {"": subject}
    analyses = {name: one if isinstance(one, Analysis) else analyze(one) for name, one in given.items()}
    subjects = [drawing.Subject(name, one.measurement, one.results) for name, one in analyses.items()]
    built = drawing.build(known[kind], subjects, content)
    if interactive:
        from multitracer.plots.bokeh import page

        if path is not None:
            raise UsageError("an interactive figure is shown, not saved: `multitracer report` writes a page")
        if look.inches or look.height or look.font_size or look.log:
            raise UsageError("an interactive figure takes neither size, nor font size, nor logarithmic axes")
        return page.of_measurement(look.dressed(built), subjects[0].measurement)
    figure = drawing.render(built, look)
    if path is not None:
        drawing.save(figure, os.fspath(path))
    return figure


def _without(path: str, message: str) -> str:
    return message.removeprefix(f"{path}: ")


def _nothing(paths: Iterable[str | os.PathLike[str]], issues: list[Issue]) -> str:
    where = ", ".join(os.fspath(path) for path in paths)
    if not issues:
        return f"{where}: no files here; name a directory with traces (captures, kernel logs, link logs)"
    looked = "; ".join(f"{os.path.basename(issue.path)}: {issue.detail}" for issue in issues[:3])
    more = f"; and {len(issues) - 3} more" if len(issues) > 3 else ""
    return f"{where}: no readable trace among {len(issues)} files ({looked}{more})"
