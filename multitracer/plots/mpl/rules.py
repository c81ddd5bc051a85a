"""The time axis in panels that show no numbers of it; loaded with matplotlib.

All panels share the time axis, and only the last one names its ticks. In the others, matplotlib makes five
artists for each tick; here two lines have a stroke for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, MarkerStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ABOVE_SHADES = 0.55  # the order in which matplotlib draws a grid, and shades below it


class Grid(Line2D):
    """A line across the panel at each tick of its time axis."""

    def draw(self, renderer: Any) -> None:
        """Where the ticks are now."""
        x = _ticks(self.axes)
        self.set_data(np.repeat(x, 3), np.tile([0.0, 1.0, np.nan], len(x)))
        super().draw(renderer)


class Strokes(Line2D):
    """A stroke under the panel at each tick of its time axis."""

    def draw(self, renderer: Any) -> None:
        """Where the ticks are now."""
        x = _ticks(self.axes)
        self.set_data(x, np.zeros(len(x)))
        super().draw(renderer)


def rule(axes: Axes, *, grid: str, stroke: str, widths: tuple[float, float], length: float) -> None:
    """Give a panel the grid and the strokes of the time axis, in the place of matplotlib's own.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Of the panel; its time axis has no minor ticks.
    grid, stroke : str
        Their colours.
    widths : (float, float)
        Theirs, in points.
    length : float
        Of a stroke, in points.
    """
    axes.grid(False, axis="x")
    axes.tick_params(axis="x", which="both", bottom=False, top=False, labelbottom=False, labeltop=False)
    lines = Grid([], [], color=grid, linewidth=widths[0], zorder=ABOVE_SHADES)
    lines.set_transform(axes.get_xaxis_transform("grid"))
    marks = Strokes(
        [], [], linestyle="none", marker=MarkerStyle(TICKDOWN), color=stroke, zorder=2.01, clip_on=False
    )
    marks.set(markersize=length, markeredgewidth=widths[1], transform=axes.get_xaxis_transform("tick1"))
    for one in (lines, marks):
        one.set_in_layout(False)
        axes.add_artist(one)


def _ticks(axes: Any) -> Any:
    """Places of the ticks that the panel shows."""
    places = np.asarray(axes.xaxis.get_majorticklocs(), dtype=float)
    low, high = sorted(axes.xaxis.get_view_interval())
    air = 1e-10 * (high - low)
    return places[(places >= low - air) & (places <= high + air)]
