"""What a parser is: how a file of its format is recognised, and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from multitracer.model.frozen import frozen
from multitracer.model.trace import Layer, Trace


@frozen
class Parser:
    """One file format.

    Attributes
    ----------
    name : str
        Value of `--format`.
    title : str
        One line for `multitracer formats`.
    layer : {"tcp", "kernel", "link"}
    sniff : callable
        ``sniff(head: bytes) -> bool``: whether the first bytes of the (decompressed) file are of this format.
        Judges structure only, never raises.
    named : callable or None
        ``named(path)``: whether a file of this name may be of this format, where any table of numbers has its
        structure; None if content alone decides.
    parse : callable
        ``parse(path: str) -> Trace``. Raises `CorruptTrace` if nothing can be used, `UnreadableFile` on I/O
        errors.
    summarise : callable or None
        As `parse`, without tables and in memory that does not grow with the file; captures only.
    few : callable or None
        ``few(path, most)``: as `parse`, but raises `TooManyConnections`, as soon as it is known, where there
        are more connections than that; captures only.
    configured : callable or None
        ``configured(path, settings)``: as `parse`, with what ``[sources."FILE"]`` of measurement.toml states
        about the file (units, columns, direction); None if the format has nothing to set.
    whole_test : bool
        A file holds a test or connection of its own, so several in a directory are several measurements.
    beside : tuple of str
        Formats whose lines may be between its own, as one script writes both: such a file is read as each.
    merge_traces : callable or None
        ``merge_traces(traces, settings_of)`` takes all traces of a measurement and returns them with those of
        several files of one thing (the captures of both ends of a link) read as one; ``settings_of(path)`` as
        for `configured`.
    """

    name: str
    title: str
    layer: Layer
    sniff: Callable[[bytes], bool]
    parse: Callable[[str], Trace]
    summarise: Callable[[str], Trace] | None = None
    few: Callable[[str, int], Trace] | None = None
    configured: Callable[[str, Mapping[str, Any]], Trace] | None = None
    named: Callable[[str], bool] | None = None
    whole_test: bool = False
    beside: tuple[str, ...] = ()
    merge_traces: Callable[[list[Trace], Callable[[str], Mapping[str, Any]]], list[Trace]] | None = None

    def claims(self, path: str, head: bytes) -> bool:
        """Whether a file with these first bytes is of this format."""
        return (self.named is None or self.named(path)) and self.sniff(head)

    @property
    def page(self) -> str:
        """Where the format is described, in the documentation."""
        return f"docs/formats/{self.name}.md"

    def read(self, path: str, settings: Mapping[str, Any], most: int | None = None) -> Trace:
        """Parse a file with its settings, where the format takes any.

        Parameters
        ----------
        path : str
        settings : mapping of str to Any
            What measurement.toml states about the file.
        most : int, optional
            Connections that a capture may hold.

        Raises
        ------
        TooManyConnections
            There are more.
        """
        if most is not None and self.few is not None:
            return self.few(path, most)
        return self.parse(path) if self.configured is None else self.configured(path, settings)
