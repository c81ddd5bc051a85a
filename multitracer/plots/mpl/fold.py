"""The breaks of a folded time axis, and its labels: true times on both sides of every cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.plots.drawable_text import FONT, drawable
from multitracer.plots.fold import Fold
from multitracer.plots.mpl.canvas import Canvas
from multitracer.plots.panel import Panel, duration_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORDS_POINTS = 8.5


def fold_steps(span: float, most: int) -> float:
    """The smallest round step (1, 2 or 5 times a power of ten) that divides a span into so many at most."""
    least = span / max(most, 1)
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least * (1 - 1e-9)))


def folded_ticks(canvas: Canvas, fold: Fold, clock_steps: tuple[int, ...]) -> list[float]:
    """Times that the axis labels, in seconds from the first TCP event.

    Parameters
    ----------
    canvas : Canvas
    fold : Fold
    clock_steps : tuple of int
        Steps in seconds that suit a time of day.

    Returns
    -------
    list of float
        Ascending.
    """
    span = canvas.window[1] - canvas.window[0]
    width = float(canvas.mpl.get_size_inches()[0]) / canvas.scale
    most = max(int(width * (0.55 if canvas.figure.absolute else 0.9)), 3)
    step = fold_steps(span, most)
    if canvas.figure.absolute and step >= 1:
        step = next((float(one) for one in clock_steps if one >= step), step)
    return fold.ticks(canvas.figure.window, step, canvas.shift)


def draw_breaks(canvas: Canvas, panel: Panel, axes: Axes, fold: Fold) -> None:
    """A hatched band for each cut; in the tallest panel, how long it lasts.

    Parameters
    ----------
    canvas : Canvas
    panel : Panel
    axes : Axes
        Of the panel; drawn into.
    fold : Fold
    """
    from matplotlib.patheffects import withStroke

    theme = canvas.theme
    named = panel is max(canvas.figure.panels, key=lambda one: one.height)
    width, height = canvas.pixels(axes)
    per_second = width / (canvas.window[1] - canvas.window[0])
    tall = canvas.points(WORDS_POINTS)
    for start, end in fold.inside(canvas.figure.window):
        left, right = canvas.x(np.array([start, end])).tolist()
        band = axes.axvspan(left, right, facecolor=theme.ground, edgecolor=theme.faint, hatch="////")
        band.set(linewidth=0.0, alpha=0.45, zorder=2.2, gid="fold")
        for edge in (left, right):
            axes.axvline(edge, color=theme.faint, linewidth=canvas.pt(0.9), linestyle=(0, (2, 2)), zorder=2.3)
        words = duration_words(end - start)
        if not named or (right - left) * per_second < tall or height < 0.7 * tall * len(words):
            continue
        text = axes.text((left + right) / 2, 0.5, drawable(words, 20), transform=axes.get_xaxis_transform())
        text.set(
            rotation=90,
            ha="center",
            va="center",
            color=theme.ink,
            fontsize=canvas.pt(WORDS_POINTS),
            fontfamily=FONT,
            parse_math=False,
            path_effects=[withStroke(linewidth=canvas.pt(4.0), foreground=theme.ground)],
            zorder=6.4,
            gid="fold-words",
        )
