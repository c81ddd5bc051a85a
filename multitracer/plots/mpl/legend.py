"""Legends: what a figure shows, each kind once, beside the panels or below them, and never cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from multitracer.plots.drawable_text import FONT
from multitracer.plots.mpl.canvas import Canvas
from multitracer.plots.mpl.text import text_width, wrapped
from multitracer.plots.panel import Figure, Marks, Panel, Pieces, Series, Spans
from multitracer.plots.theme import Look

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.legend import Legend

Entry = Series | Marks | Spans | Pieces
SOLID = 0.55  # least opacity of a bar in a lane
POINTS = 9.5
HANDLE, PAD, SPACING = 2.2, 0.8, 0.35  # of the size of type, as matplotlib counts
AIR = 0.8  # between blocks
LINE = 1.22  # height of a line, of the size of type


class Row(NamedTuple):
    """An entry of a legend, or a heading over entries (`entry` is None)."""

    entry: Entry | None
    words: str


def rows(figure: Figure, panels: Sequence[Panel]) -> list[list[Row]]:
    """The legend of some panels as blocks, each with its heading; what has been named is not named again."""
    # Shades that a lane panel explains need not be explained twice.
    explained = any(other.lanes for other in figure.panels)
    window = figure.window
    blocks: dict[str, list[Row]] = {}
    known: set[tuple[str, str, str]] = set()
    for panel in panels:
        entries: list[Entry] = [*panel.series, *panel.marks, *panel.pieces]
        entries += [spans for spans in panel.spans if spans.lane or not explained]
        for entry in entries:
            words = entry.words(window)
            if words and (key := (entry.group, entry.role, words)) not in known:
                known.add(key)
                blocks.setdefault(entry.group, []).append(Row(entry, words))
    return [([Row(None, group)] if group else []) + found for group, found in blocks.items()]


def natural_width(blocks: Sequence[Sequence[Row]], size: float) -> float:
    """Points that the widest entry takes in one line."""
    widest = max(
        (text_width(row.words, size, bold=row.entry is None) for b in blocks for row in b), default=0
    )
    return widest + (HANDLE + PAD) * size + 2


def column(canvas: Canvas, blocks: Sequence[Sequence[Row]], width: float, size: float) -> Legend | None:
    """A legend of blocks that is at most `width` points wide, not yet in its place; None without entries.

    Parameters
    ----------
    canvas : Canvas
    blocks : sequence of sequence of Row
        Entries of the legend, by group.
    width : float
        Of the column, in points.
    size : float
        Of the letters, in points.
    """
    from matplotlib.lines import Line2D

    from multitracer.plots.mpl.label import Key, Label

    if not blocks:
        return None
    handles: list[Artist] = []
    labels: list[str] = []
    headings: list[int] = []
    gaps: list[int] = []
    for block in blocks:
        if labels:  # air between blocks
            gaps.append(len(labels))
            handles.append(Line2D([], [], linestyle="none"))
            labels.append(" ")
        for row in block:
            if row.entry is None:
                headings.append(len(labels))
                handles.append(Line2D([], [], linestyle="none"))
            else:
                handles.append(_handle(row.entry, canvas.theme.looks[row.entry.role], canvas.scale))
            labels.append("\n".join(_lines(row, width, size)))
    legend = Key(
        canvas.mpl,
        handles,
        labels,
        loc="upper left",
        borderaxespad=0.0,
        borderpad=0.0,
        frameon=False,
        labelcolor=canvas.theme.ink,
        labelspacing=SPACING,
        handlelength=HANDLE,
        handletextpad=PAD,
        prop={"family": FONT, "size": size},
    )
    for index, text in enumerate(legend.get_texts()):
        text.__class__ = Label
        text.set_parse_math(False)
        text.set_linespacing(1.05)
        if index in gaps:
            text.set_fontsize(0.35 * size)
        if index in headings:
            text.set_fontweight("bold")
    canvas.mpl.legends.append(legend)
    legend.set_in_layout(False)
    return legend


def columns(blocks: Sequence[Sequence[Row]], count: int, width: float, size: float) -> list[list[list[Row]]]:
    """Blocks dealt into columns of about one height; a block that is split takes its heading along.

    Parameters
    ----------
    blocks : sequence of sequence of Row
        Entries of the legend, by group.
    count : int
        How many columns.
    width : float
        Of the column, in points.
    size : float
        Of the letters, in points.

    Returns
    -------
    list of list of list of Row
        By column, block and entry; `count` columns at most.
    """
    heights = [[len(_lines(row, width, size)) * LINE + SPACING for row in block] for block in blocks]
    total = sum(map(sum, heights)) + AIR * len(blocks)
    most = total / count
    # The lowest height at which no more columns are needed.
    while len(found := _dealt(blocks, heights, most)) > count:
        most += 0.25 * LINE
    return found


def _dealt(
    blocks: Sequence[Sequence[Row]], heights: Sequence[Sequence[float]], most: float
) -> list[list[list[Row]]]:
    """Columns no higher than `most` (in sizes of the letters), unless an entry alone is."""
    found: list[list[list[Row]]] = [[]]
    used, at = 0.0, -1
    for index, (block, tall) in enumerate(zip(blocks, heights, strict=True)):
        for position, row in enumerate(block):
            # No heading is alone at the foot of a column.
            needed = sum(tall[position : position + (2 if row.entry is None else 1)])
            needed += AIR if used and index != at else 0.0
            if used and used + needed > most:
                found.append([])
                used, at = 0.0, -1
                if row.entry is not None and block[0].entry is None:
                    found[-1].append([block[0]])
                    used, at = tall[0], index
            if index != at:
                used += AIR if used else 0.0
                found[-1].append([])
                at = index
            found[-1][-1].append(row)
            used += tall[position]
    return found


def height_of(blocks: Sequence[Sequence[Row]], width: float, size: float) -> float:
    """Points that a column takes, about.

    Parameters
    ----------
    blocks : sequence of sequence of Row
        Entries of the legend, by group.
    width : float
        Of the column, in points.
    size : float
        Of the letters, in points.
    """
    lines = [len(_lines(row, width, size)) * LINE + SPACING for block in blocks for row in block]
    return (sum(lines) + max(len(blocks) - 1, 0) * AIR) * size


def _lines(row: Row, width: float, size: float) -> list[str]:
    room = max(width - (HANDLE + PAD) * size - 2, 4 * size)
    return wrapped(row.words, room, size, bold=row.entry is None, most=9)


def broken(blocks: Sequence[Sequence[Row]], width: float, size: float) -> int:
    """How many lines of a column end within a word, or are more than an entry should take.

    Parameters
    ----------
    blocks : sequence of sequence of Row
        Entries of the legend, by group.
    width : float
        Of the column, in points.
    size : float
        Of the letters, in points.
    """
    lines = [(row, _lines(row, width, size)) for block in blocks for row in block]
    torn = sum(" ".join(found) != " ".join(row.words.split()) for row, found in lines)
    return torn + sum(len(found) > 3 for _, found in lines)


def _handle(entry: Entry, look: Look, scale: float) -> Artist:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if isinstance(entry, Spans):
        return Patch(facecolor=look.color, alpha=max(look.alpha, SOLID if entry.lane else 0.3))
    if isinstance(entry, Series) and entry.kind == "bars":
        return Patch(facecolor=look.color, alpha=look.alpha)
    if isinstance(entry, Marks):
        lined = entry.y is None
    else:
        lined = isinstance(entry, Pieces) or entry.kind != "points"
    width = max(look.width, 1.2 * scale)
    settings: dict[str, Any] = {"color": look.color, "alpha": look.alpha, "linewidth": width}
    if lined:
        return Line2D([], [], linestyle=look.dash, **settings)
    return Line2D([], [], linestyle="none", **symbol(look, at_least=4.0 * scale))


def symbol(look: Look, *, at_least: float = 0.0) -> dict[str, Any]:
    """Marker settings of a role."""
    return {
        "marker": look.symbol or "o",
        "markersize": max(look.size, at_least),
        "markerfacecolor": "none" if look.hollow else look.color,
        "markeredgecolor": look.color,
        "markeredgewidth": look.width if look.hollow or look.symbol in ("x", "+") else 0.0,
    }
