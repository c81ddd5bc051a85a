"""Where everything stands: measured margins, heading, panels and legends, so that nothing is cut or overlaps.

Text does not grow with the paper: what it needs is measured, and the panels take the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multitracer.model.errors import UsageError
from multitracer.plots.drawable_text import drawable
from multitracer.plots.mpl import legend as legends
from multitracer.plots.mpl.axes import STROKE, STROKE_AIR, time_axis
from multitracer.plots.mpl.canvas import Canvas
from multitracer.plots.mpl.text import plain, text_width, wrapped
from multitracer.plots.panel import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

TITLE, FACTS = 14.0, 11.0  # points
EDGE, BETWEEN, GAP = 6.0, 10.0, 9.0  # points: at the paper's edges, between panels, before a legend
MOST_NOTES = 6
WIDE = 9.0  # inches at nominal type from which legends stand on the right
BESIDE = 0.34  # most of the width that legends on the right may take
LEAST = 34.0  # points of height that a panel needs
RATIO = 0.62  # height to width of a single panel whose figure has no stated height
MOST_COLUMNS = 4
SURELY = 0.8  # of the height of a legend as it is estimated, it takes more than this


@dataclass
class Margins:
    """Room around the panels, in points."""

    left: float
    right: float
    top: float
    bottom: float


def arrange(canvas: Canvas, height: float | None, *, fixed: bool) -> None:
    """Place heading, panels and legends.

    Parameters
    ----------
    canvas : Canvas
        With its panels drawn, not yet in their places.
    height : float or None
        Inches; None: as the content needs.
    fixed : bool
        Whether the height was stated by the user: then what does not fit is refused, else the figure grows.

    Raises
    ------
    UsageError
        If a stated height leaves no room for the panels.
    """
    size = legends.POINTS * canvas.scale
    for place in _places(canvas):
        for smaller in (1.0, 0.9, 0.8):
            if _attempt(canvas, place, smaller * size, height, grow=False):
                return
    last = "none" if canvas.appearance.legend == "none" else "below"
    if height is None or not fixed:
        _attempt(canvas, last, size, height, grow=True)
        return
    _attempt(canvas, last, 0.8 * size, height, grow=True)
    needed = float(canvas.mpl.get_size_inches()[1])
    raise UsageError(
        f"{height:g} inches leave no room for the panels: give at least {needed:.1f} inches, a smaller font, "
        "or leave the legend out"
    )


def _places(canvas: Canvas) -> tuple[str, ...]:
    width = float(canvas.mpl.get_size_inches()[0])
    wanted = canvas.appearance.legend
    if wanted == "auto":
        return ("right", "below") if width / canvas.scale >= WIDE else ("below",)
    return (wanted,)


def _attempt(canvas: Canvas, place: str, size: float, height: float | None, *, grow: bool) -> bool:
    """Lay all out with legends of a size in a place; False if it does not fit."""
    canvas.mpl.legends.clear()
    panels = canvas.figure.panels
    wide = float(canvas.mpl.get_size_inches()[0]) * 72.0
    blocks = [legends.rows(canvas.figure, [panel]) for panel in panels]
    edge = canvas.pt(EDGE)
    right = edge
    if place == "right":
        natural = max((legends.natural_width(block, size) for block in blocks if block), default=0.0)
        room = min(natural, BESIDE * wide)
        right += room + canvas.pt(GAP) if natural else 0.0
    margins = Margins(canvas.pt(60.0), right, _heading_height(canvas) + edge, canvas.pt(40.0))
    below: list[Legend] = []
    under = 0.0
    if place == "below":
        across = wide - 2 * edge
        dealt = _dealt(legends.rows(canvas.figure, panels), across, size)
        lowest = max((legends.height_of(one, across / len(dealt), size) for one in dealt), default=0.0)
        # Where there is no room by far, no legend is made to be measured.
        free = float("inf") if height is None else height * 72.0 - _taken(canvas, margins, SURELY * lowest)
        if not grow and free < _least(canvas):
            return False
        below = _below(canvas, dealt, across, size)
        under = max((_tall(canvas, one) for one in below), default=0.0)
        under += canvas.pt(GAP) if below else 0.0
    measured = 0
    while True:  # numbers at the axes depend on their length, and their width is a margin
        tall = _place_panels(canvas, margins, under, height, wide, grow=grow)
        if tall is None:
            return False
        _fit_axes(canvas)
        if measured == 2:
            break
        before, margins, measured = margins, _measured(canvas, margins, place, edge), measured + 1
        if margins == before:
            break
    _write_heading(canvas, margins, wide, tall)
    if place == "right":
        return _beside(canvas, blocks, margins, wide, tall, size)
    step = (wide - 2 * edge) / max(len(below), 1)
    for rank, one in enumerate(below):
        one.set_bbox_to_anchor(
            ((edge + rank * step) / wide, (under - canvas.pt(GAP) + edge) / tall), canvas.mpl.transFigure
        )
    return True


def _place_panels(
    canvas: Canvas, margins: Margins, under: float, height: float | None, wide: float, *, grow: bool
) -> float | None:
    """Give the panels what is left; the height of the figure in points, or None if it is too little."""
    panels = canvas.figure.panels
    total = sum(panel.height for panel in panels)
    across = wide - margins.left - margins.right
    if across < canvas.pt(2 * LEAST):
        raise UsageError(f"{wide / 72:g} inches are too narrow for this figure at this size of type")
    taken, least = _taken(canvas, margins, under), _least(canvas)
    if height is None:
        share = total / max(panel.height for panel in panels)
        free = max(across * RATIO * (0.55 + 0.45 * share), least)
    else:
        free = height * 72.0 - taken
        if free < least:
            if not grow:
                return None
            free = least
    tall = taken + free
    canvas.mpl.set_size_inches(wide / 72.0, tall / 72.0)
    upper = tall - margins.top
    for panel, axes in zip(panels, canvas.axes, strict=True):
        part = free * panel.height / total
        axes.set_position((margins.left / wide, (upper - part) / tall, across / wide, part / tall))
        upper -= part + canvas.pt(BETWEEN)
    return tall


def _taken(canvas: Canvas, margins: Margins, under: float) -> float:
    """Points of height that are not the panels'."""
    between = canvas.pt(BETWEEN) * (len(canvas.figure.panels) - 1)
    return margins.top + margins.bottom + under + between


def _least(canvas: Canvas) -> float:
    """Points that the panels need: lanes have room for their words, others for their curves."""
    panels = canvas.figure.panels
    total = sum(panel.height for panel in panels)
    return max(
        canvas.pt(13.0 * len(panel.lanes) if panel.lanes else LEAST) * total / panel.height
        for panel in panels
    )


def _measured(canvas: Canvas, margins: Margins, place: str, edge: float) -> Margins:
    """Margins that numbers and words at the axes need.

    What `Axes.get_tightbbox` would find, which asks each axis for its ticks, and those for their words, a
    dozen times.
    """
    if not canvas.axes:
        return Margins(edge, margins.right if place == "right" else edge, margins.top, edge)
    renderer = canvas.renderer()
    per_pixel = 72.0 / float(canvas.mpl.dpi)
    left = max(map(_left_of, [canvas] * len(canvas.axes), canvas.figure.panels, canvas.axes))
    box, below = canvas.axes[-1].get_window_extent(), canvas.axes[-1].xaxis.get_tightbbox(renderer)
    right = bottom = 0.0
    if below is not None:
        left = max(left, box.x0 - below.x0)
        right, bottom = max(below.x1 - box.x1, 0.0), max(box.y0 - below.y0, 0.0)
    return Margins(
        left * per_pixel + edge,
        margins.right if place == "right" and margins.right > 2 * edge else right * per_pixel + edge,
        margins.top,
        bottom * per_pixel + edge,
    )


def _left_of(canvas: Canvas, panel: Panel, axes: Axes) -> float:
    """Pixels that strokes, numbers and words take beside a y axis."""
    axis, renderer = axes.yaxis, canvas.renderer()
    places = axis.get_majorticklocs()
    low, high = sorted(axis.get_view_interval())
    air = 1e-10 * (high - low)
    numbers = axis.get_major_formatter().format_ticks(list(places))
    font = axis.get_major_ticks(1)[0].label1.get_fontproperties()
    wide = [
        renderer.get_text_width_height_descent(one, font, False)[0]
        for one, place in zip(numbers, places, strict=True)
        if one and low - air <= place <= high + air
    ]
    taken = canvas.points(0.0 if panel.lanes else STROKE)
    if wide:
        taken += canvas.points(STROKE_AIR) + max(wide)
    if axis.label.get_text():
        taken += axis.labelpad * float(canvas.mpl.dpi) / 72.0 + axis.label.get_window_extent(renderer).width
    return float(taken)


def _fit_axes(canvas: Canvas) -> None:
    """Numbers along the time axis as its length allows; words beside the y axes in lines, or smaller."""
    if canvas.axes:
        time_axis(canvas, canvas.axes[-1])
    size = canvas.pt(FACTS)
    for panel, axes in zip(canvas.figure.panels, canvas.axes, strict=True):
        if panel.lanes:
            continue
        room = canvas.pixels(axes)[1] * 72.0 / float(canvas.mpl.dpi) + canvas.pt(BETWEEN)
        words = drawable(str(panel.y), 60)
        for smaller in (1.0, 0.85, 0.7, 0.6):
            lines = wrapped(words, room, size * smaller, most=3)
            if len(lines) <= 2 and " ".join(lines) == words:  # neither cut nor broken within a word
                break
        axes.yaxis.label.set(text="\n".join(lines), fontsize=size * smaller, multialignment="center")


def _heading_lines(canvas: Canvas) -> tuple[list[str], list[str], list[str]]:
    """Title, facts and notes, as lines."""
    figure = canvas.figure
    room = float(canvas.mpl.get_size_inches()[0]) * 72.0 - 2 * canvas.pt(EDGE)
    title = (
        wrapped(drawable(figure.title, 200), room, canvas.pt(TITLE), bold=True, most=2)
        if figure.title
        else []
    )
    facts = wrapped(figure.subtitle, room, canvas.pt(FACTS)) if figure.subtitle else []
    return title, facts, _notes(figure.notes, room, canvas.pt(FACTS))


def _notes(notes: Sequence[str], room: float, size: float) -> list[str]:
    """Notes as a few lines: short ones share a line, long ones are wrapped."""
    lines: list[str] = []
    for note in notes:
        joined = wrapped(f"{lines[-1]}; {note}", room, size, most=2) if lines else []
        if len(joined) == 1:
            lines[-1] = joined[0]
        else:
            lines += wrapped(note, room, size)
    return lines[:MOST_NOTES]


def _heading_height(canvas: Canvas) -> float:
    title, facts, notes = _heading_lines(canvas)
    return canvas.pt(1.45 * TITLE * len(title) + 1.38 * FACTS * (len(facts) + len(notes))) + canvas.pt(
        6.0 if title or facts or notes else 2.0
    )


def _write_heading(canvas: Canvas, margins: Margins, wide: float, tall: float) -> None:
    """Title, facts and notes over the panels; they begin above the axis, or at the edge if they are long."""
    for old in list(canvas.mpl.texts):
        old.remove()
    title, facts, notes = _heading_lines(canvas)
    widths = [text_width(line, canvas.pt(TITLE), bold=True) for line in title]
    widths += [text_width(line, canvas.pt(FACTS)) for line in (*facts, *notes)]
    edge = canvas.pt(EDGE)
    left = margins.left if margins.left + max(widths, default=0.0) <= wide - edge else edge
    down = tall - edge
    theme = canvas.theme
    for lines, size, kind in ((title, TITLE, "title"), (facts, FACTS, "facts"), (notes, FACTS, "notes")):
        for line in lines:
            down -= canvas.pt(size * (1.45 if kind == "title" else 1.38))
            text = canvas.mpl.text(left / wide, (down + 0.35 * canvas.pt(size)) / tall, line)
            text.set(
                color=theme.faint if kind == "notes" else theme.ink,
                fontsize=canvas.pt(size),
                weight="bold" if kind == "title" else "normal",
                style="italic" if kind == "notes" else "normal",
            )
            plain(text)


def _tall(canvas: Canvas, one: Legend) -> float:
    """Height of a legend in points."""
    box = one.get_window_extent(canvas.renderer())
    return float(box.height) * 72.0 / float(canvas.mpl.dpi)


def _dealt(
    blocks: Sequence[Sequence[legends.Row]], room: float, size: float
) -> list[list[list[legends.Row]]]:
    """What legends across the figure hold: in as many columns as make them lowest, no word torn apart."""
    if not blocks:
        return []

    def cost(count: int) -> tuple[int, float, int]:
        wide = room / count
        dealt = legends.columns(blocks, count, wide, size)
        torn = sum(legends.broken(one, wide, size) for one in dealt)
        return torn, round(max(legends.height_of(one, wide, size) for one in dealt) / size), count

    best = min(range(1, MOST_COLUMNS + 1), key=cost)
    return legends.columns(blocks, best, room / best, size)


def _below(
    canvas: Canvas, dealt: Sequence[Sequence[Sequence[legends.Row]]], room: float, size: float
) -> list[Legend]:
    """Legends in columns across the figure, not yet in their places."""
    found = [legends.column(canvas, one, room / len(dealt), size) for one in dealt]
    return [one for one in found if one is not None]


def _beside(
    canvas: Canvas,
    blocks: Sequence[Sequence[Sequence[legends.Row]]],
    margins: Margins,
    wide: float,
    tall: float,
    size: float,
) -> bool:
    """Legends to the right, each beside its panel or as near as the others leave it; False if too many."""
    edge = canvas.pt(EDGE)
    at = wide - margins.right + canvas.pt(GAP)
    found: list[tuple[Legend, float, float]] = []
    for axes, block in zip(canvas.axes, blocks, strict=True):
        one = legends.column(canvas, block, wide - edge - at, size)
        if one is not None:
            found.append((one, _tall(canvas, one), axes.get_position().y1 * tall))
    tops: list[float] = []
    upper = tall
    for _, high, wanted in found:
        tops.append(min(wanted, upper))
        upper = tops[-1] - high - canvas.pt(GAP)
    # From the foot up: one that would leave the paper pushes those above it.
    foot = edge
    for index in reversed(range(len(found))):
        tops[index] = max(tops[index], foot + found[index][1])
        foot = tops[index] + canvas.pt(GAP)
    if tops and tops[0] > tall - margins.top + 1.0:
        return False
    for (one, _, _), top in zip(found, tops, strict=True):
        one.set_bbox_to_anchor((at / wide, top / tall), canvas.mpl.transFigure)
    return True
