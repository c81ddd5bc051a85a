"""What the pages about many measurements share: their frame, and tables that can be sorted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from multitracer.report.document import asset as report_asset, policy
from multitracer.report.markup import Markup, raw, tag
from multitracer.report.sortable import headings_row

Chapter = tuple[str, str, Markup]
"""Anchor, heading, content."""

Cell = str | Markup | tuple[float | None, str]
"""Text, markup as it is, or a number (None where it is unknown) with its words."""


def page(title: str, lead: str, chapters: Iterable[Chapter], footer: str) -> str:
    """A page as text; chapters without content are left out.

    Parameters
    ----------
    title, lead, footer : str
        Plain text.
    chapters : iterable of (str, str, Markup)
        Anchor, heading and content of each.
    """
    import multitracer

    script = report_asset("tables.js") + _asset("index.js")
    shown = [chapter for chapter in chapters if chapter[2]]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy([script])),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content=f"MultiTracer {multitracer.__version__}"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · MultiTracer"),
        raw("style", report_asset("page.css") + _asset("index.css")),
    ]
    theme = tag("button", "Light / dark", type="button", id="theme", title="Change between light and dark")
    links = [tag("a", words, href=f"#{name}") for name, words, _ in shown]
    body = [
        tag(
            "header",
            tag("h1", title),
            tag("p", lead, class_="lead"),
            tag("nav", links, theme, aria_label="Chapters"),
        ),
        tag(
            "main",
            [
                tag("section", tag("h2", words), content, id=name, class_="block")
                for name, words, content in shown
            ],
        ),
        tag("footer", f"MultiTracer {multitracer.__version__}. {footer}"),
        raw("script", script),
    ]
    whole = tag("html", tag("head", head), tag("body", body), lang="en")
    return f"<!doctype html>\n{whole}\n"


@cache
def _asset(name: str) -> str:
    return (files("multitracer.batch") / "assets" / name).read_text(encoding="utf-8")


def table(
    label: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], id_: str | None = None
) -> Markup:
    """A table that a click on a heading sorts.

    Parameters
    ----------
    label : str
        What a screen reader calls it.
    headings : sequence of str
        Of the columns.
    rows : iterable of sequence
        Cells: markup as it is; (value, words) as a number, its value None where it is unknown; text.
    id_ : str, optional
        Name of the element, for scripts and links.
    """
    found = [tuple(row) for row in rows]
    numbers = {at for row in found for at, cell in enumerate(row) if isinstance(cell, tuple)}
    head = headings_row(headings, numbers)
    body = [tag("tr", [_cell(cell) for cell in row]) for row in found]
    content = tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_="sortable", id=id_)
    return tag("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)


def _cell(cell: Any) -> Markup:
    if isinstance(cell, tuple):
        value, words = cell
        # Not a number: sorted last, whichever way.
        return tag("td", words, data_value="NaN" if value is None else value, class_="number")
    long = not isinstance(cell, Markup) and len(cell) > 40
    return tag("td", cell, class_="long" if long else None)
