"""The console of rich, for texts that traces and file names brought along."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any, cast

from rich.console import Console as RichConsole

from multitracer.cli.visible import visible

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment


class _Trimmed:
    """A file or pipe that gets lines without the blanks that fill the cells of a table."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write what rich made of one print, which ends lines itself."""
        self._file.write(re.sub(r" +(?=\n)", "", text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


SHOWN = 12
"""Rows of a list that are printed unless all are wanted; the rest is counted, and the JSON has it."""

EVERY = 100_000
"""Rows of a list of which all are wanted."""


class Console(RichConsole):
    """A console of rich whose texts are made visible; the styles and movements are rich's own."""

    rows = SHOWN
    """Rows of a list that are printed."""
    rest = "--json has all"
    """Where the rest of them is."""

    def __init__(self, **settings: Any) -> None:
        # Brackets and colons are those of addresses.
        super().__init__(**{"markup": False, "emoji": False, "highlight": False, **settings})

    @property
    def file(self) -> IO[str]:
        """Where the output goes; what is no terminal gets no blanks at the ends of lines."""
        file = super().file
        return file if file.isatty() else cast("IO[str]", _Trimmed(file))

    @file.setter
    def file(self, file: IO[str]) -> None:
        RichConsole.file.fset(self, file)  # type: ignore[attr-defined]

    def on_broken_pipe(self) -> None:
        """The reader closed the output: as everywhere else, and not status 1, which is rich's own."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                clean: Any = segment._replace(text=visible(segment.text))
                yield clean
