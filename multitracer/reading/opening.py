"""One file to its trace: the parser that was asked for, or the one that the content asks for."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from multitracer import registry
from multitracer.model.errors import (
    CorruptTrace,
    Issue,
    UnknownFormat,
    UnmappedTable,
    UnreadableFile,
    UsageError,
)
from multitracer.model.parser import Parser
from multitracer.model.trace import Trace
from multitracer.reading import foreign, remote

Formats = str | Mapping[str, str] | None
"""One parser's name for all files, or names by file (path as given, or base name)."""

HEAD_BYTES = 65536


def open_trace(
    path: str | os.PathLike[str],
    format: str | None = None,
    parsers: Mapping[str, Parser] | None = None,
    settings: Mapping[str, Any] | None = None,
    most: int | None = None,
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
        Contents of measurement.toml, for formats that do not contain everything.
    most : int, optional
        Connections that a capture may hold.

    Raises
    ------
    UnreadableFile, UnknownFormat, CorruptTrace, UsageError
    TooManyConnections
        There are more than `most`.
    """
    from multitracer.model import declared

    path = os.fspath(path)
    known = registry.parsers() if parsers is None else parsers
    if os.path.isdir(path):
        raise UnreadableFile(f"{path}: is a directory; name a file in it")
    if format is not None and format not in known:
        raise UsageError(f"unknown format {format!r}; known are {', '.join(known)}")
    entry = declared.entry(settings or {}, path)
    if not remote.is_url(path):
        return _read(_parsers(path, format, known), path, entry, most)
    with remote.streamed(path) as local:
        trace = _read(_parsers(local, format, known), local, entry, most)
    for one in (trace, *trace.others):
        one.source.path = path
        one.issues = [replace(issue, path=path) for issue in one.issues]
    return trace


def _parsers(path: str, format: str | None, known: Mapping[str, Parser]) -> list[Parser]:
    """The parser that was asked for, or those that the content asks for."""
    return claimants(path, known) if format is None else [known[format]]


def _read(parsers: list[Parser], path: str, entry: Mapping[str, Any], most: int | None) -> Trace:
    """The trace of a file; of one in several formats the first, with what the others make of it."""
    trace, *others = [parser.read(path, entry, most) for parser in parsers]
    if others:
        traces = [trace, *others]
        records = [one.source.records for one in traces]
        for one, own in zip(traces, records, strict=True):
            one.issues = _without(one.issues, sum(records) - own)
        trace.others = [*trace.others, *others]
    return trace


def _without(issues: list[Issue], foreign: int) -> list[Issue]:
    """Issues of a trace without lines that could not be read as they are of the file's other format."""
    kept = []
    for issue in issues:
        if issue.code in ("unparsed-line", "bad-number") and foreign:
            left = issue.count - foreign
            foreign = max(-left, 0)
            if left <= 0:
                continue
            issue = replace(issue, count=left)
        kept.append(issue)
    return kept


def recognise(path: str, known: Mapping[str, Parser]) -> Parser:
    """The parser that the content asks for; of several the first.

    Raises
    ------
    UnreadableFile, CorruptTrace, UnknownFormat
    """
    return claimants(path, known)[0]


_SCRIPT = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:#!\s*/\S+|(?:#[^\n]*\n|\s)*(?:(?:import|from) \w[\w.]*(?: import| as|,|\s*\n)"
    rb"|def \w+\(|\x22\x22\x22|#include\s*[<\x22]|package require|set ns \[new Simulator))"
)


def is_script(head: bytes) -> bool:
    """Whether a file is a program (Python, shell, C++, Tcl), which may quote lines of logs."""
    return _SCRIPT.match(head) is not None


def claimants(path: str, known: Mapping[str, Parser]) -> list[Parser]:
    """The parsers that the content asks for: one, or several whose lines may be in one file.

    Raises
    ------
    UnreadableFile, CorruptTrace, UnknownFormat
    UnmappedTable
        A table that a column map would make readable.
    """
    from multitracer import native

    head = native.head(path, HEAD_BYTES)
    if not head:
        raise CorruptTrace(f"{path}: the file is empty; was the capture ever written?")
    asked = list(known)
    kind = native.capture_format(head)
    if kind is not None:
        # These two leave to others what those read: where one of the two claims a capture, no other does.
        plain = kind in known and known[kind].claims(path, head)
        captures = {kind} if plain else registry.CAPTURES
        asked = [name for name in known if name in captures or name not in registry.PARSERS]
    if is_script(head):
        asked = []  # a script may hold lines of logs
    if isinstance(known, registry.Parsers):
        asked = [name for name in asked if registry.may_claim(name, head)]
    claims = [known[name] for name in asked if known[name].claims(path, head)]
    if len(claims) != 1:
        native.forget(path)
    if not claims:
        if (found := foreign.named(path, head)) is not None:
            raise UnknownFormat(f"{path}: {found}")
        if foreign.is_table(path, head):
            raise UnmappedTable(
                f"{path}: a table whose columns are not known; `multitracer info --map "
                f"{shlex.quote(path)}` prints a first map of them for measurement.toml"
            )
        raise UnknownFormat(
            f"{path}: not a trace of a known format (see `multitracer formats`); name one with --format"
        )
    first = claims[0]
    if len(claims) > 1 and not all(other.name in first.beside for other in claims[1:]):
        names = " and ".join(parser.name for parser in claims)
        raise UnknownFormat(f"{path}: recognised as {names}; choose one with --format")
    return claims


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
    from multitracer.model import declared

    found = declared.entry(settings, path).get("format")
    if found is not None and not isinstance(found, str):
        raise UsageError(f"measurement.toml: format of {path} must be the name of a format")
    return found


def check_formats(formats: Formats, paths: list[str], known: Mapping[str, Parser]) -> None:
    """Refuse formats that do not exist and files that were not given.

    Parameters
    ----------
    formats : Formats
        One for all files, or by file: its path or its name.
    paths : list of str
        Files to be read.
    known : mapping of str to Parser
        Parsers by name.

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
