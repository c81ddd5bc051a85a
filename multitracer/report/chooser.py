"""The list from which the reader chooses a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitracer.output.digest import dominating
from multitracer.report.markup import Markup, tag
from multitracer.report.page_text import rate, spelled
from multitracer.report.sortable import Number, headings_row, whole
from multitracer.report.tables import data_ends

if TYPE_CHECKING:
    from multitracer.report.view import View

HEADINGS = (
    "connection", "from → to", "main cause", "bytes", "retransmissions", "timeouts", "goodput", "limited by",
)  # fmt: skip


def chooser(views: list[View], left_out: int) -> Markup | None:
    """A folded list with a search; None where there is nothing to choose.

    Parameters
    ----------
    views : list of View
        That of all connections first.
    left_out : int
        Connections that are not on the page.
    """
    if len(views) < 2:
        return None
    rows = [_row(view) for view in views[1:]]
    many = len(views) - 1 + left_out
    all_ = tag("button", f"All {many:,} together", type="button", data_view="all", aria_pressed="true")
    note = (
        f"The {len(rows):,} with the most retransmissions, timeouts and data; {left_out:,} more are in the "
        "files: multitracer report PATH --conn N -o FILE writes one."
        if left_out
        else ""
    )
    return tag(
        "details",
        tag("summary", "Connection: ", tag("b", f"all {many:,} together", id="chosen")),
        tag(
            "div",
            tag(
                "input",
                type="search",
                id="search",
                placeholder="Address, port, cause, limit …",
                aria_label="Search connections",
                autocomplete="off",
                spellcheck="false",
            ),
            all_,
            tag("output", "", id="matching"),
            class_="find",
        ),
        tag(
            "div",
            tag(
                "table",
                tag("thead", tag("tr", headings_row(HEADINGS, {0, 3, 4, 5, 6}))),
                tag("tbody", rows),
                class_="sortable",
            ),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Connections",
        ),
        tag("p", note, class_="note") if note else None,
        id="chooser",
    )


def _row(view: View) -> Markup:
    one = view.contract["connections"][0]
    go = tag("button", f"{one['index']:,}", type="button", class_="go", title="Show this connection alone")
    numbers = (
        whole(one["bytes"]["unique"]),
        whole(one["retransmissions"]["total"]),
        whole(one["timeouts"]["total"]),
        Number(one["goodput_bps"], rate(one["goodput_bps"])),
    )
    return tag(
        "tr",
        tag("td", go, data_value=one["index"], class_="number"),
        tag("td", data_ends(one)),
        tag("td", view.headline),
        [
            tag("td", cell.words, data_value="" if cell.value is None else cell.value, class_="number")
            for cell in numbers
        ],
        tag("td", spelled(dominating(one))),
        data_view=view.key,
    )
