"""Marks: the places that must be seen. Their symbols are all drawn; their words only where there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.plots.drawable_text import FONT, drawable
from multitracer.plots.mpl.canvas import Canvas
from multitracer.plots.mpl.label_placement import LabelPlacement
from multitracer.plots.mpl.legend import symbol
from multitracer.plots.mpl.text import text_width
from multitracer.plots.panel import Marks, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTER_POINTS = 8.0
LABELLED = 5_000  # marks of one kind from which letters could only hide each other


def draw_marks(canvas: Canvas, panel: Panel, axes: Axes) -> None:
    """All marks of a panel; vertical ones cross every panel of the figure.

    Parameters
    ----------
    canvas : Canvas
    panel : Panel
    axes : Axes
        Of the panel; drawn into.
    """
    placement = canvas.placements.get(id(panel)) or LabelPlacement(*canvas.pixels(axes))
    if any(marks.letter or marks.texts for marks in panel.marks):
        for series in panel.series:
            placement.block(*canvas.to_pixels(axes, canvas.x(series.x), series.y), data=True)
    for marks in panel.marks:
        if marks.y is not None:
            placement.block(*canvas.to_pixels(axes, canvas.x(marks.x), marks.y), data=False)
    for marks in panel.marks:
        if marks.y is None:
            _vertical(canvas, marks, axes, placement)
        else:
            _symbols(canvas, marks, axes)
            _letters(canvas, marks, axes, placement)


def _symbols(canvas: Canvas, marks: Marks, axes: Axes) -> None:
    look = canvas.theme.looks[marks.role]
    seen = np.flatnonzero(marks.inside(canvas.figure.window))
    if not len(seen) or marks.y is None:
        return
    line = axes.plot(
        canvas.x(marks.x[seen]),
        marks.y[seen],
        linestyle="none",
        zorder=5,
        rasterized=len(seen) > LABELLED,
        **symbol(look),
    )[0]
    line.set_gid(drawable(marks.name, 60))


def _letters(canvas: Canvas, marks: Marks, axes: Axes, placement: LabelPlacement) -> None:
    """The letter over each mark and the words beside it, as far as they find room."""
    from matplotlib.patheffects import withStroke

    seen = np.flatnonzero(marks.inside(canvas.figure.window))
    if marks.y is None or len(seen) > LABELLED or not (marks.letter or any(marks.texts)):
        return
    look = canvas.theme.looks[marks.role]
    halo = [withStroke(linewidth=canvas.pt(2.0), foreground=canvas.theme.ground)]
    x, y = canvas.to_pixels(axes, canvas.x(marks.x[seen]), marks.y[seen])
    tall = canvas.points(LETTER_POINTS)
    lift = canvas.points(look.size / canvas.scale / 2 + LETTER_POINTS / 2 + 1.5)
    for index, left, low in zip(seen.tolist(), x.tolist(), y.tolist(), strict=True):
        words = marks.texts[index] if marks.texts else ""
        full = drawable(" ".join(part for part in (marks.letter, words) if part), 24)
        letter = drawable(marks.letter, 2)
        # Over the mark, or under it if there are words; at last the letter alone, even over data.
        below = [(full, -lift, False)] if words else []
        tries = [(full, lift, False), *below, (letter, lift, False), (letter, lift, True)]
        for label, side, over_data in tries:
            wide = canvas.points(text_width(label, LETTER_POINTS, bold=True)) + 2
            if not label or not placement.take(left, low + side, wide, tall, over_data=over_data):
                continue
            text = axes.annotate(
                label,
                (float(canvas.x(marks.x[index : index + 1])[0]), float(marks.y[index])),
                xytext=(0, side * 72.0 / float(canvas.mpl.dpi)),
                textcoords="offset points",
                ha="center",
                va="center",
            )
            text.set(
                color=look.color,
                fontsize=canvas.pt(LETTER_POINTS),
                weight="bold",
                fontfamily=FONT,
                parse_math=False,
                path_effects=halo,
                zorder=6,
            )
            break


def _vertical(canvas: Canvas, marks: Marks, axes: Axes, placement: LabelPlacement) -> None:
    """Lines through all panels, named at the top of the one that holds them."""
    from matplotlib.patheffects import withStroke

    look = canvas.theme.looks[marks.role]
    seen = np.flatnonzero(marks.inside(canvas.figure.window))
    x = canvas.x(marks.x[seen])
    for one in canvas.axes:
        low, high = one.get_ylim()
        lines = one.vlines(x, low, high, colors=look.color, linestyles=look.dash, linewidths=look.width)
        lines.set(zorder=2.5, gid=drawable(marks.name, 60))
    if not marks.texts or len(seen) > LABELLED:
        return
    _, height = canvas.pixels(axes)
    tall = canvas.points(9.0)
    left, _ = canvas.to_pixels(axes, x, x)
    placement.rule(left)
    for index, place, at in zip(seen.tolist(), left.tolist(), x.tolist(), strict=True):
        words = drawable(marks.texts[index], 30)
        wide = canvas.points(text_width(words, 9.0)) + 2
        # Across data rather than across another line, which it would seem to name.
        over = [(rules, data) for rules in (False, True) for data in (False, True)]
        tries = [(toward, row, *one) for one in over for row in range(3) for toward in (1, -1)]
        for toward, row, rules, data in tries:
            middle = height - tall * (0.9 + 1.3 * row)
            beside = place + toward * (4 + wide / 2)
            if not placement.take(beside, middle, wide, tall, over_data=data, over_rules=rules):
                continue
            text = axes.annotate(
                words,
                (at, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(toward * 4 * 72.0 / float(canvas.mpl.dpi), -canvas.pt(9.0) * (0.9 + 1.3 * row)),
                textcoords="offset points",
                ha="left" if toward > 0 else "right",
                va="center",
            )
            text.set(color=look.color, fontsize=canvas.pt(9.0), fontfamily=FONT, parse_math=False, zorder=6)
            text.set_path_effects([withStroke(linewidth=canvas.pt(2.5), foreground=canvas.theme.ground)])
            break
