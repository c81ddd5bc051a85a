"""One file to its trace: the parser that was asked for, or the one that the content asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from multitracer import registry
from multitracer.model.errors import CorruptTrace, UnknownFormat, UnreadableFile, UsageError
from multitracer.model.parser import Parser
from multitracer.model.trace import Trace
from multitracer.reading import remote

Formats = str | Mapping[str, str] | None
"""One parser's name for all files, or names by file (path as given, or base name)."""

HEAD_BYTES = 65536


def open_trace(
    path: str | os.PathLike[str],
    format: str | None = None,
    parsers: Mapping[str, Parser] | None = None,
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
    from multitracer.model import declared

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


def _parser(path: str, format: str | None, known: Mapping[str, Parser]) -> Parser:
    """The parser that was asked for, or the one that the content asks for."""
    return recognise(path, known) if format is None else known[format]


def recognise(path: str, known: Mapping[str, Parser]) -> Parser:
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
    kind = native.capture_format(head)
    if kind is not None:
        # These two leave to others what those read: where one of the two claims a capture, no other does.
        plain = kind in known and known[kind].claims(path, head)
        captures = {kind} if plain else registry.CAPTURES
        asked = [name for name in known if name in captures or name not in registry.PARSERS]
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
