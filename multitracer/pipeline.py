"""The walk of the data: files to traces to one timeline to results to a figure.

The command line, reports and notebooks call exactly these functions.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal

from multitracer import registry, remote
from multitracer.analysis import Analyzer, Result
from multitracer.discovery import discover
from multitracer.errors import (
    CorruptTrace,
    Issue,
    MultiTracerError,
    NothingToRead,
    UnknownFormat,
    UnreadableFile,
    UsageError,
)
from multitracer.measurement import Measurement
from multitracer.questions import Question
from multitracer.results import Analysis
from multitracer.trace import Trace

Progress = Callable[[int, int, str], None]
"""Called before each step: ``progress(done, total, what)``."""

Formats = str | Mapping[str, str] | None
"""One parser's name for all files, or names by file (path as given, or base name)."""

HEAD_BYTES = 65536

Detail = Literal["full", "summary", "auto"]

SUMMARY_BYTES = 64 << 20
"""A lone capture above this size is summarised where the caller leaves it open."""

_PROVIDERS = {
    "link_frames|link_events": "a link log",
    "link_frames|link_events|segments": "a link log, or a capture at the data sender",
    "segments": "a packet capture with TCP segments (pcap, pcapng)",
    "retransmissions": "a packet capture with retransmissions",
    "timeouts": "a packet capture",
    "tcp_states": "a kernel log of TCP state (tcp_probe, ss, siftr, iperf3)",
    "kernel_events": "a kernel event log (ftrace)",
    "link_frames": "a link log (rlpdump, GSMTAP)",
    "link_events": "a link log with signals (rlpdump)",
    "rlc_pdus": "a capture or log of RLC PDUs",
    "dccp_packets": "a capture of DCCP",
    "energy": "a simulation's trace with the energy of its nodes (ns-2)",
    "flow_totals": "totals of flows that a simulator counted (FlowMonitor)",
    "snd": "a capture next to the data sender",
    "rcv": "a capture next to the data receiver",
}


def read(
    *paths: str | os.PathLike[str],
    format: Formats = None,
    progress: Progress | None = None,
    detail: Detail = "full",
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
    detail : {"full", "summary", "auto"}
        summary: a single capture is read without tables, in memory that does not grow with it; questions that
        need single segments then stay open. auto: so for a capture of more than `SUMMARY_BYTES`.

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
    if len(lone) == 1 and (detail == "summary" or (detail == "auto" and _is_large(lone[0]))):
        summary = _summarise(lone[0], format_of(lone[0], format), known)
        if summary is not None:
            from multitracer.alignment import alone

            return alone(summary, files.settings)
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
    if progress:
        progress(total - 1, total, "timeline")
    from multitracer.alignment import align

    traces = _together(traces, known, files.settings)
    measurement = align(traces, files.settings)
    measurement.issues.extend(issues)
    return measurement


def _together(
    traces: list[Trace], known: Mapping[str, registry.Parser], settings: Mapping[str, Any]
) -> list[Trace]:
    """The traces, of which several files may be of one thing."""
    names = [trace.source.format for trace in traces]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        together = known[name].together if name in known else None
        if together is not None:
            from multitracer.alignment import declared

            traces = together(traces, lambda path: declared.entry(settings, path))
    return traces


def open_trace(
    path: str | os.PathLike[str],
    format: str | None = None,
    parsers: Mapping[str, registry.Parser] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Trace:
    """Read one file.

    Parameters
    ----------
    path : str or path-like
    format : str, optional
        Name of the parser; without it, the content decides (its first 64 KiB, decompressed).
    parsers : mapping, optional
        The parsers to choose from; all that are registered by default.
    settings : mapping, optional
        Contents of measurement.toml, for formats that cannot say all themselves.

    Raises
    ------
    UnreadableFile, UnknownFormat, CorruptTrace, UsageError
    """
    from multitracer.alignment import declared

    path = os.fspath(path)
    known = registry.parsers() if parsers is None else parsers
    if os.path.isdir(path):
        raise UnreadableFile(f"{path}: is a directory; name a file in it")
    if format is not None and format not in known:
        raise UsageError(f"unknown format {format!r}; known are {', '.join(known)}")
    entry = declared.entry(settings or {}, path)
    if not remote.is_url(path):
        return _parser(path, format, known).read(path, entry)
    with remote.streamed(path) as local:
        trace = _parser(local, format, known).read(local, entry)
    for one in (trace, *trace.others):
        one.source.path = path
        one.issues = [replace(issue, path=path) for issue in one.issues]
    return trace


def _parser(path: str, format: str | None, known: Mapping[str, registry.Parser]) -> registry.Parser:
    """The parser that was asked for, or the one that the content asks for."""
    return recognise(path, known) if format is None else known[format]


def recognise(path: str, known: Mapping[str, registry.Parser]) -> registry.Parser:
    """The parser that the content asks for.

    Raises
    ------
    UnreadableFile, CorruptTrace, UnknownFormat
    """
    from multitracer import native

    head = native.head(path, HEAD_BYTES)
    if not head:
        raise CorruptTrace(f"{path}: the file is empty; was the capture ever written?")
    asked = list(known)
    if native.capture_format(head) is not None:
        asked = [name for name in known if name in registry.CAPTURES or name not in registry.PARSERS]
    claims = [known[name] for name in asked if known[name].claims(path, head)]
    if len(claims) != 1:
        native.forget(path)
    if not claims:
        raise UnknownFormat(
            f"{path}: not a trace of a known format (see `multitracer formats`); name one with --format"
        )
    if len(claims) > 1:
        names = " and ".join(parser.name for parser in claims)
        raise UnknownFormat(f"{path}: claimed by {names}; choose one with --format")
    return claims[0]


def _is_large(path: str) -> bool:
    try:
        return os.path.getsize(path) > SUMMARY_BYTES
    except OSError:
        return False


def _summarise(path: str, format: str | None, known: Mapping[str, registry.Parser]) -> Trace | None:
    """A trace without tables; None if its format has no such form."""
    parser = known.get(format) if format is not None else recognise(path, known)
    return None if parser is None or parser.summarise is None else parser.summarise(path)


def analyze(
    measurement: Measurement, only: Iterable[str] | None = None, progress: Progress | None = None
) -> Analysis:
    """Answer all questions, or some, about a measurement.

    Parameters
    ----------
    measurement : Measurement
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
        An unknown name in `only`.
    """
    known = registry.analyzers()
    wanted = [name for name in known if _arises(known, name, measurement)] if only is None else list(only)
    for name in wanted:
        if name not in known:
            raise UsageError(f"unknown analyzer {name!r}; known are {', '.join(known)}")
    order = _order(known, wanted)
    results: dict[str, Result] = {}
    for done, name in enumerate(order):
        if progress:
            progress(done, len(order), name)
        reason = _missing(registry.question(known, name), measurement, results)
        if reason is not None:
            results[name] = Result(name, inconclusive=f"needs {reason}")
        else:
            results[name] = _answer(known[name], measurement, results)
    return Analysis(measurement, {name: results[name] for name in known if name in wanted})


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
        plots that compare (``compare``, ``cdf``, ``figure-6``).
    kind : str
        Name of the plot.
    path : str or path-like, optional
        Where to save it; the ending (png, svg, pdf) decides on the format.
    interactive : bool
        A Bokeh layout to zoom into, point at and hide curves in, in the place of a picture: give it to
        `bokeh.io.show` after `bokeh.io.output_notebook`. `path` must be left out: the file to zoom into is
        what `multitracer report` writes.
    **options
        Fields of `multitracer.plots.plot.PlotOptions`: the time window, offsets, colours.

    Returns
    -------
    matplotlib.figure.Figure or bokeh.models.LayoutDOM
    """
    known = registry.plots()
    if kind not in known:
        raise UsageError(f"unknown plot {kind!r}; known are {', '.join(known)}")
    from multitracer.plots import plot as drawing

    given = subject if isinstance(subject, Mapping) else {"": subject}
    analyses = {name: one if isinstance(one, Analysis) else analyze(one) for name, one in given.items()}
    subjects = [drawing.Subject(name, one.measurement, one.results) for name, one in analyses.items()]
    built = drawing.build(known[kind], subjects, drawing.PlotOptions(**options))
    if interactive:
        from multitracer.plots import page

        if path is not None:
            raise UsageError("an interactive figure is shown, not saved: `multitracer report` writes a page")
        return page.of_measurement(built, subjects[0].measurement)
    figure = drawing.render(built)
    if path is not None:
        drawing.save(figure, os.fspath(path))
    return figure


def _answer(analyzer: Analyzer, measurement: Measurement, results: Mapping[str, Result]) -> Result:
    reason = _missing(analyzer, measurement, results)
    if reason is not None:
        return Result(analyzer.name, inconclusive=f"needs {reason}")
    try:
        return analyzer.run(measurement, results)
    except MultiTracerError as error:
        return Result(analyzer.name, inconclusive=str(error))
    except Exception as error:
        # A fault in a built-in analyzer must be seen; a plug-in's must not take the other answers with it.
        if analyzer.name in registry.ANALYZERS:
            raise
        warnings.warn(f"analyzer {analyzer.name!r} failed: {error!r}", stacklevel=3)
        return Result(analyzer.name, inconclusive=f"the analyzer failed: {error!r}")


def _arises(known: Mapping[str, Analyzer], name: str, measurement: Measurement) -> bool:
    """Whether a question is to be asked at all: one about a special kind of trace only where there is one."""
    question = registry.question(known, name)
    return not question.specific or _missing(question, measurement, {}) is None


def _missing(
    question: Question | Analyzer, measurement: Measurement, results: Mapping[str, Result]
) -> str | None:
    for need in question.needs:
        if need.startswith("result:"):
            name = need.removeprefix("result:")
            if name not in results:
                return f"the analyzer {name}, which does not exist"
            reason = results[name].inconclusive
            if reason is not None:
                return reason.removeprefix("needs ")
        elif need in ("snd", "rcv"):
            if getattr(measurement, need) is None:
                return _PROVIDERS[need]
        elif measurement.summarised and need in ("segments", "retransmissions", "timeouts"):
            return "single segments, which a summary does not keep (large capture): use --full"
        elif not measurement.rows(*need.split("|")):
            return _PROVIDERS.get(need, f"rows in the table {need}")
    if {"segments", "link_frames"} <= set(question.needs) and measurement.link_is_apart:
        return "a link log on the timeline of the captures: state its clock_offset_s in measurement.toml"
    return None


def _order(known: Mapping[str, Analyzer], wanted: list[str]) -> list[str]:
    """Names of the analyzers to run, what is needed first."""
    graph: dict[str, list[str]] = {}
    todo = list(wanted)
    while todo:
        name = todo.pop()
        if name in graph:
            continue
        question = registry.question(known, name)
        before = [need.removeprefix("result:") for need in question.needs if need.startswith("result:")]
        before += [use.removeprefix("result:") for use in question.uses]
        graph[name] = [other for other in before if other in known and other != name]
        todo += graph[name]
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise UsageError(f"analyzers need each other in a circle: {' -> '.join(error.args[1])}") from error


def format_of(path: str, formats: Formats) -> str | None:
    """The format that was asked for a file; None if none was."""
    if formats is None or isinstance(formats, str):
        return formats
    return formats.get(path, formats.get(os.path.basename(path)))


def declared_format(path: str, settings: Mapping[str, Any]) -> str | None:
    """The format that measurement.toml states for a file; None if it states none.

    Raises
    ------
    UsageError
    """
    from multitracer.alignment import declared

    found = declared.entry(settings, path).get("format")
    if found is not None and not isinstance(found, str):
        raise UsageError(f"measurement.toml: format of {path} must be the name of a format")
    return found


def check_formats(formats: Formats, paths: list[str], known: Mapping[str, registry.Parser]) -> None:
    """Refuse formats that do not exist and files that were not given.

    Raises
    ------
    UsageError
    """
    names = [formats] if isinstance(formats, str) else list((formats or {}).values())
    for name in names:
        if name not in known:
            raise UsageError(f"unknown format {name!r}; known are {', '.join(known)}")
    if isinstance(formats, Mapping):
        have = {*paths, *map(os.path.basename, paths)}
        for file in formats:
            if file not in have:
                raise UsageError(f"--format {file}=...: no file {file!r} among those given")


def _without(path: str, message: str) -> str:
    return message.removeprefix(f"{path}: ")


def _nothing(paths: Iterable[str | os.PathLike[str]], issues: list[Issue]) -> str:
    where = ", ".join(os.fspath(path) for path in paths)
    if not issues:
        return f"{where}: no files here; name a directory with traces (captures, kernel logs, link logs)"
    looked = "; ".join(f"{os.path.basename(issue.path)}: {issue.detail}" for issue in issues[:3])
    more = f"; and {len(issues) - 3} more" if len(issues) > 3 else ""
    return f"{where}: no readable trace among {len(issues)} files ({looked}{more})"
