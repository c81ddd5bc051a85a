"""Where text for people goes, of which traces and file names brought parts along."""

from __future__ import annotations

import os
import sys
from typing import IO, TYPE_CHECKING

from multitracer.cli.layout import Indented, NotPlain, Table, Text

if TYPE_CHECKING:
    from multitracer.cli.styled import StyledConsole

SHOWN = 12
"""Rows of a list that are printed unless all are wanted; the rest is counted, and the JSON has it."""

EVERY = 100_000
"""Rows of a list of which all are wanted."""

_STYLED = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables of the environment by which rich takes what is no terminal for one."""

_NARROW = 20
"""Columns below which rich decides what fits."""


class Console:
    """Standard output, or another file; a terminal by rich, with styles.

    Parameters
    ----------
    file : file, optional
    width : int, optional
        Columns; by default those of the terminal, or 80.
    """

    rows = SHOWN
    """Rows of a list that are printed."""
    rest = "--json has all"
    """Where the rest of them is."""

    def __init__(self, file: IO[str] | None = None, width: int | None = None) -> None:
        self._file = file
        self._width = width
        self._styled: StyledConsole | None = None
        self._plain = os.name == "posix" and not any(name in os.environ for name in _STYLED)

    @property
    def width(self) -> int:
        """Columns."""
        return self._columns() if self._is_plain() else self.styled.width

    @property
    def styled(self) -> StyledConsole:
        """The console of rich."""
        if self._styled is None:
            from multitracer.cli.styled import StyledConsole

            self._styled = StyledConsole(file=self._file, width=self._width)
        return self._styled

    def print(self, what: Text | Indented | Table | None = None, *, soft_wrap: bool = False) -> None:
        """Print it, or an empty line.

        Parameters
        ----------
        what : Text, Indented or Table, optional
        soft_wrap : bool
            A text is one line, however long.
        """
        file, width = self._file or sys.stdout, self._columns()
        if self._is_plain() and width >= _NARROW:
            try:
                lines = [""] if what is None else what.lines(sys.maxsize if soft_wrap else width)
            except NotPlain:
                pass
            else:
                file.write("".join(f"{line.rstrip(' ')}\n" for line in lines))
                file.flush()
                return
        if what is None:
            self.styled.print()
        else:
            self.styled.print(what.styled(), highlight=False, soft_wrap=soft_wrap)

    def _is_plain(self) -> bool:
        """Whether nothing but the text is shown."""
        try:
            return self._plain and not (self._file or sys.stdout).isatty()
        except ValueError:  # closed
            return True

    def _columns(self) -> int:
        """As rich finds them."""
        if self._width is not None:
            return self._width
        columns = os.environ.get("COLUMNS", "")
        if columns.isdigit():
            return int(columns)
        for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
            try:
                return os.get_terminal_size(stream.fileno()).columns or 80  # type: ignore[union-attr]
            except (AttributeError, ValueError, OSError):
                continue
        return 80
