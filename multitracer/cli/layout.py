"""Texts and tables for people: laid out here for a file or a pipe, by rich for a terminal.

To load rich and to print with it takes a tenth of a short command. What is laid out here, printable ASCII
without styles, is what rich makes of it (`tests/test_layout.py`); how many columns another letter takes, rich
knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.padding import Padding as RichPadding
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

Overflow = Literal["fold", "ellipsis"]
Justify = Literal["default", "left", "right"]


class NotPlain(Exception):
    """Only rich can lay it out: other letters, markup, or no room."""


class Text:
    """A text with a style, as rich names it.

    Parameters
    ----------
    text : str
    style : str
    """

    def __init__(self, text: str = "", style: str = "") -> None:
        self.plain = text
        self._parts = [(text, style)]

    def append(self, text: str, style: str = "") -> None:
        """Add a text with a style of its own."""
        self.plain += text
        self._parts.append((text, style))

    def lines(self, width: int) -> list[str]:
        """The lines that it takes.

        Raises
        ------
        NotPlain
        """
        return wrapped(_plain(self.plain), width)

    def styled(self) -> RichText:
        """The same for rich."""
        from rich.text import Text as RichText

        first, *others = self._parts
        made = RichText(*first)
        for text, style in others:
            made.append(text, style or None)
        return made


class Indented:
    """A text behind so many blanks."""

    def __init__(self, text: Text, blanks: int) -> None:
        self._text = text
        self._blanks = blanks

    def lines(self, width: int) -> list[str]:
        """The lines that it takes.

        Raises
        ------
        NotPlain
        """
        room = min(len(self._text.plain), width - self._blanks)
        return [" " * self._blanks + line for line in wrapped(_plain(self._text.plain), room)]

    def styled(self) -> RichPadding:
        """The same for rich."""
        from rich.padding import Padding

        return Padding(self._text.styled(), (0, 0, 0, self._blanks), expand=False)


class Column:
    """A column of a table.

    Parameters
    ----------
    heading : str
    justify : {"left", "right"}
    no_wrap : bool
        Its cells are one line each.
    overflow : {"fold", "ellipsis"}
        How what has no room is broken, or cut.
    width : int, optional
        Letters, where they do not follow from the cells.
    """

    def __init__(
        self,
        heading: str = "",
        justify: Justify = "left",
        no_wrap: bool = False,
        overflow: Overflow = "fold",
        width: int | None = None,
    ) -> None:
        self.heading = heading
        self.justify = justify
        self.no_wrap = no_wrap
        self.overflow = overflow
        self.width = width
        self.max_width: int | None = None

    def laid_out(self, text: str, width: int) -> list[str]:
        """The lines of a cell."""
        return wrapped(text, width, self.justify, self.no_wrap, self.overflow)


class Table:
    """Rows of cells.

    Parameters
    ----------
    columns : sequence of Column
    gap : int
        Blanks between columns.
    headed : bool
        Whether headings are shown, above a line.
    """

    def __init__(self, columns: Sequence[Column], gap: int, headed: bool) -> None:
        self.columns = list(columns)
        self._gap = gap
        self._headed = headed
        self._rows: list[tuple[tuple[str | Text, ...], str]] = []
        self._sections: set[int] = set()

    @property
    def row_count(self) -> int:
        """Rows so far."""
        return len(self._rows)

    def add_row(self, *cells: str | Text, style: str = "") -> None:
        """Add a row; `style` is that of all of its cells."""
        self._rows.append((cells, style))

    def add_section(self) -> None:
        """What follows stands apart."""
        if self._rows:
            self._sections.add(len(self._rows) - 1)

    def lines(self, width: int) -> list[str]:
        """The lines that it takes.

        Raises
        ------
        NotPlain
        """
        rows = [[_cell(cell) for cell in cells] for cells, _ in self._rows]
        if any(len(row) != len(self.columns) for row in rows):
            raise NotPlain
        headings = [_cell(column.heading) for column in self.columns]
        # Between columns, a table with headings has a blank for the line that it does not show.
        divider = " " if self._headed else ""
        behind = [self._gap - len(divider)] * (len(self.columns) - 1) + [0]
        cells = [
            [len(heading)] * self._headed + [len(row[at]) for row in rows]
            for at, heading in enumerate(headings)
        ]
        widths = self._widths(cells, behind, width - len(divider) * (len(self.columns) - 1))
        made: list[str] = []
        if self._headed:
            made += self._row(headings, widths, behind, divider, last=True)
            made.append("\u2500" * (sum(widths) + len(divider) * (len(widths) - 1)))
        for number, row in enumerate(rows):
            made += self._row(row, widths, behind, divider)
            if self._headed and number in self._sections and number < len(rows) - 1:
                made.append("")
        return [line[:width] for line in made]

    def _row(
        self, row: Sequence[str], widths: list[int], behind: list[int], divider: str, last: bool = False
    ) -> Iterator[str]:
        """The lines of a row: cells begin together, or end together."""
        cells = [
            column.laid_out(text, width - more)
            for column, text, width, more in zip(self.columns, row, widths, behind, strict=True)
        ]
        height = max(map(len, cells))
        for lines in cells:
            lack = [""] * (height - len(lines))
            lines[:] = lack + lines if last else lines + lack
        for line in zip(*cells, strict=True):
            yield divider.join(text.ljust(width) for text, width in zip(line, widths, strict=True))

    def _widths(self, cells: list[list[int]], behind: list[int], room: int) -> list[int]:
        """How wide each column is, with the blanks behind it."""
        most = [self._width(*one, room) for one in zip(self.columns, cells, behind, strict=True)]
        widths = [width or 1 for width in most]
        if sum(widths) > room:
            may_break = [column.width is None and not column.no_wrap for column in self.columns]
            widths = _narrowed(widths, may_break, room)
            widths = [self._width(*one) for one in zip(self.columns, cells, behind, widths, strict=True)]
        if any(width - more < 1 for width, more in zip(widths, behind, strict=True)):
            raise NotPlain
        return widths

    @staticmethod
    def _width(column: Column, cells: list[int], behind: int, room: int) -> int:
        if column.width is not None:
            return min(column.width + behind, room)
        width = min(max(cells, default=room - behind) + behind, room)
        return width if column.max_width is None else min(width, column.max_width + behind)

    def styled(self) -> RichTable:
        """The same for rich."""
        from rich import box
        from rich.table import Table as RichTable

        if self._headed:
            made = RichTable(
                box=box.SIMPLE_HEAD,
                pad_edge=False,
                padding=(0, self._gap - 1, 0, 0),
                header_style="dim",
                show_edge=False,
            )
        else:
            made = RichTable.grid(padding=(0, self._gap, 0, 0))
        for column in self.columns:
            made.add_column(
                column.heading,
                justify=column.justify,
                no_wrap=column.no_wrap,
                overflow=column.overflow,
                width=column.width,
                max_width=column.max_width,
            )
        for number, (cells, style) in enumerate(self._rows):
            made.add_row(
                *[cell.styled() if isinstance(cell, Text) else cell for cell in cells],
                style=style or None,
                end_section=number in self._sections,
            )
        return made


def wrapped(
    text: str,
    width: int,
    justify: Justify = "default",
    no_wrap: bool = False,
    overflow: Overflow = "fold",
) -> list[str]:
    """The lines that a text of printable ASCII takes, as rich breaks them.

    Parameters
    ----------
    text : str
    width : int
    justify : {"default", "left", "right"}
    no_wrap : bool
    overflow : {"fold", "ellipsis"}

    Returns
    -------
    list of str

    Raises
    ------
    NotPlain
        There is no room.
    """
    if width < 1:
        raise NotPlain
    if len(text) <= width and justify != "right":
        return [text]
    lines = [text] if no_wrap else [_without_end(line, width) for line in _broken(text, width, overflow)]
    made = []
    for line in lines:
        line = line.rstrip() if justify == "right" else line
        if len(line) > width:
            line = f"{line[: width - 1]}\u2026" if overflow == "ellipsis" else line[:width]
        made.append(line.rjust(width) if justify == "right" else line)
    return made


def _broken(text: str, width: int, overflow: Overflow) -> list[str]:
    """A text in lines, each with the blanks at its end."""
    begins, column = [0], 0
    for word in re.finditer(r"\s*\S+\s*", text):
        start, length = word.start(), len(word[0].rstrip())
        if length <= width - column:
            column += len(word[0])
        elif length > width and overflow == "fold":
            begins += [start + at for at in range(0, len(word[0]), width) if start + at]
            column = (len(word[0]) - 1) % width + 1
        elif length > width or (column and start):
            begins += [start] if start else []
            column = len(word[0])
    return [text[a:b] for a, b in zip(begins, [*begins[1:], len(text)], strict=True)]


def _without_end(line: str, width: int) -> str:
    """A line without the blanks at its end that have no room."""
    blanks = len(line) - len(line.rstrip())
    return line[: len(line) - min(blanks, len(line) - width)] if len(line) > width else line


def _narrowed(widths: list[int], may_break: list[bool], room: int) -> list[int]:
    """Widths that fit: the widest that may break gives first, down to the next one."""
    while (excess := sum(widths) - room) > 0 and any(may_break):
        widest = max(width for width, may in zip(widths, may_break, strict=True) if may)
        next_one = max(
            width if may and width != widest else 0 for width, may in zip(widths, may_break, strict=True)
        )
        gives = [may and width == widest for width, may in zip(widths, may_break, strict=True)]
        if widest == next_one:
            break
        limit = min(excess, widest - next_one)
        widths = _reduced(widths, gives, [limit] * len(widths), excess)
    excess = sum(widths) - room
    return widths if excess <= 0 else _reduced(widths, [width > 0 for width in widths], widths, excess)


def _reduced(widths: list[int], gives: list[bool], limits: list[int], excess: int) -> list[int]:
    """Widths of which some give an equal part of the excess, as far as their limits go."""
    of, made = sum(gives), []
    for width, give, limit in zip(widths, gives, limits, strict=True):
        part = min(limit, round(excess / of)) if give else 0
        made.append(width - part)
        excess, of = excess - part, of - give
    return made


def _plain(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    raise NotPlain


def _cell(cell: str | Text) -> str:
    """The text of a cell; rich may see markup or an emoji in one that is no `Text`."""
    if isinstance(cell, Text):
        return _plain(cell.plain)
    if "[" in cell or any(word.count(":") > 1 for word in cell.split()):
        raise NotPlain
    return _plain(cell)
