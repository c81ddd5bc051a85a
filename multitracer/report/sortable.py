"""Tables that can be sorted: cells, rows, and their markup."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from multitracer.model.frozen import frozen
from multitracer.report.markup import Markup, tag
from multitracer.report.page_text import duration

MOST_ROWS = 500
"""Rows of one table that the page holds; the note below it names the place of the rest."""


@frozen
class Number:
    """A cell that is sorted by its value, not by its words."""

    value: float | None
    words: str


Cell = str | Number


@frozen
class Row:
    """Cells, and the stretch of time that the row is about."""

    cells: Sequence[Cell]
    stretch: tuple[float, float] | None = None


def headings_row(headings: Sequence[str], numbers: Container[int]) -> list[Markup]:
    """Headings that sort a table; those of numbers are over them, on the right."""
    return [
        tag(
            "th",
            tag("button", heading, type="button"),
            scope="col",
            class_="number" if at in numbers else None,
        )
        for at, heading in enumerate(headings)
    ]


def sortable(name: str, title: str, headings: Sequence[str], rows: Iterable[Row], note: str = "") -> Markup:
    """A table with its heading; empty markup if there are no rows.

    Parameters
    ----------
    name : str
        Its identifier in the page.
    title : str
        Of the chapter.
    headings : sequence of str
        Of the columns.
    rows : iterable of Row
        The first of them are shown, as many as the page bears.
    note : str
        A sentence below the heading; none if empty.
    """
    found = list(rows)
    if not found:
        return Markup("")
    shown = found[:MOST_ROWS]
    head = headings_row(
        headings, {at for row in shown for at, cell in enumerate(row.cells) if isinstance(cell, Number)}
    )
    notes = [note] if note else []
    if len(found) > len(shown):
        notes.append(f"The first {len(shown):,} of {len(found):,} rows; multitracer analyze --json has all.")
    return tag(
        "section",
        tag("h3", title, " ", tag("small", f"{len(found):,}")),
        tag(
            "div",
            tag("table", tag("thead", tag("tr", head)), tag("tbody", map(_row, shown)), class_="sortable"),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label=title,
        ),
        [tag("p", words, class_="note") for words in notes],
        id=name,
    )


def _row(row: Row) -> Markup:
    cells = [_cell(cell) for cell in row.cells]
    if row.stretch is None:
        return tag("tr", cells)
    start, end = row.stretch
    go = tag("button", _words(row.cells[0]), type="button", class_="go", title="Show in the figure")
    first = row.cells[0]
    value = first.value if isinstance(first, Number) else None
    cells[0] = tag("td", go, data_value=value, class_="number" if isinstance(first, Number) else None)
    return tag("tr", cells, data_from=start, data_to=max(end, start))


def _cell(cell: Cell) -> Markup:
    if isinstance(cell, Number):
        return tag("td", cell.words, data_value="" if cell.value is None else cell.value, class_="number")
    # A long sentence wants a wide column, also on a phone.
    return tag("td", cell, class_="long" if len(cell) > 40 else None)


def _words(cell: Cell) -> str:
    return cell.words if isinstance(cell, Number) else cell


def whole(value: int | None) -> Number:
    """A count."""
    return Number(value, "" if value is None else f"{value:,}")


def at(seconds: float | None) -> Number:
    """A time."""
    return Number(seconds, "" if seconds is None else f"{seconds:,.3f} s")


def span(seconds: float | None) -> Number:
    """A time span."""
    return Number(seconds, "" if seconds is None else duration(seconds))
