"""Headings, labelled lines and tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from multitracer.cli.terminal import Console
from multitracer.model.quantities import count


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
        Text of the left column.
    text : str
        Text of the right column.
    style : str
        Of the text, as rich names it.
    """
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=max(14, len(label)), no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(label, "cyan"), Text(text, style))
    console.print(grid)


def table(*headings: str) -> Table:
    """A table; # before a heading: a column of numbers; =: of names, which are not broken."""
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", show_edge=False
    )
    for heading in headings:
        table.add_column(
            heading.lstrip("#="),
            justify="right" if heading.startswith("#") else "left",
            no_wrap=heading.startswith(("#", "=")),
            overflow="fold",
        )
    return table


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
        What one of them is.
    """
    if len(rows) > shown:
        console.print(Text(f"... and {count(len(rows) - shown, f'more {what}')}; {console.rest}", "dim"))
