"""Headings, labelled lines and tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from multitracer.cli.layout import Column, Table, Text
from multitracer.cli.terminal import Console

GAP = 2
"""Blanks between columns."""


def heading(console: Console, text: str) -> None:
    """What a part is about."""
    console.print()
    console.print(Text(text, "bold"))


def line(console: Console, label: str, text: str, style: str = "") -> None:
    """A label and its text, which is indented where it wraps.

    Parameters
    ----------
    console : Console
    label : str
        What stands in the left column.
    text : str
        What stands in the right one.
    style : str
        Of the text, as rich names it.
    """
    console.print(beside(Text(label, "cyan"), Text(text, style), max(14, len(label)), 2))


def beside(label: Text, text: Text, width: int, gap: int) -> Table:
    """A paragraph beside its label.

    Parameters
    ----------
    label, text : Text
    width : int
        Of the label.
    gap : int
        Blanks between them.
    """
    grid = Table([Column(no_wrap=True, overflow="ellipsis", width=width), Column()], gap, headed=False)
    grid.add_row(label, text)
    return grid


def table(*headings: str) -> Table:
    """A table; # before a heading: a column of numbers; =: of names, which are not broken."""
    columns = [
        Column(
            heading.lstrip("#="),
            justify="right" if heading.startswith("#") else "left",
            no_wrap=heading.startswith(("#", "=")),
        )
        for heading in headings
    ]
    return Table(columns, GAP, headed=True)


def more(console: Console, rows: Sequence[Any], shown: int, what: str) -> None:
    """How many of a list were left out.

    Parameters
    ----------
    console : Console
    rows : sequence of Any
        All of the list.
    shown : int
        How many of them were printed.
    what : str
        What they are, in the plural.
    """
    if len(rows) > shown:
        console.print(Text(f"... and {len(rows) - shown:,} more {what}; {console.rest}", "dim"))
