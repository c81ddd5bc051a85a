"""The paper of a matplotlib drawing: figure, axes, sizes of type, and coordinates in pixels."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.plots import libraries
from multitracer.plots.appearance import FONT, Appearance
from multitracer.plots.fold import Floats
from multitracer.plots.mpl.label_placement import LabelPlacement
from multitracer.plots.panel import Figure, Panel
from multitracer.plots.theme import THEMES, Look, Theme, ThemeName

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Canvas:
    """A matplotlib figure with one axes per panel.

    Attributes
    ----------
    mpl : matplotlib.figure.Figure
    axes : list of matplotlib.axes.Axes
        From the top; they share the time axis.
    window : tuple of float
        Times shown, in the coordinates of the axes.
    scale : float
        Size of type, lines and symbols against their nominal ones.
    shift : float
        Seconds from midnight to the zero of the time axis if it is absolute, else 0.
    day : datetime.date or None
        Day of the time axis if it is absolute.
    placements : dict of int to LabelPlacement
        What words have taken, for panels in which several kinds of words share the room.
    """

    def __init__(
        self,
        figure: Figure,
        size: tuple[float, float],
        dpi: float,
        theme: ThemeName,
        appearance: Appearance | None = None,
    ) -> None:
        libraries.matplotlib_figure()
        from matplotlib.figure import Figure as MplFigure

        from multitracer.plots.mpl.agg import Canvas as Agg

        appearance = appearance or Appearance()
        self.figure = figure
        self.appearance = appearance
        self.scale = (appearance.font_size or appearance.defaults.font_size) / FONT
        self.theme = _scaled(THEMES[theme], self.scale, appearance)
        self.mpl = MplFigure(figsize=size, dpi=dpi, facecolor=self.theme.ground)
        self._agg: Any = Agg(self.mpl)
        self.shift, self.day = _midnight(figure)
        low, high = self.x(np.array(figure.shown())).tolist()
        self.window: tuple[float, float] = (low, high)
        self.placements: dict[int, LabelPlacement] = {}
        self.axes: list[Axes] = []
        count = max(len(figure.panels), 1)
        for row in range(len(figure.panels)):  # mpl/layout.py moves them
            box = (0.2, 0.2 + 0.7 * (count - 1 - row) / count, 0.7, 0.6 / count)
            self.axes.append(self.mpl.add_axes(box, sharex=self.axes[0] if self.axes else None))

    def renderer(self) -> Any:
        """What measures words and axes."""
        return self._agg.get_renderer()

    def pt(self, points: float) -> float:
        """A nominal size of type or line in the points of this figure."""
        return points * self.scale

    def x(self, seconds: Floats) -> Floats:
        """Seconds from the first TCP event in the coordinates of the time axis."""
        if self.figure.fold is not None:
            seconds = self.figure.fold.place(seconds)
        return seconds + self.shift if self.shift else seconds

    def pixels(self, axes: Axes) -> tuple[float, float]:
        """Width and height of an axes in pixels."""
        box = axes.get_position()
        width, height = self.mpl.get_size_inches() * self.mpl.dpi
        return float(box.width * width), float(box.height * height)

    def even(self, axes: Axes, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Coordinates in which a step is as long everywhere: logarithms of those on logarithmic axes.

        Parameters
        ----------
        axes : Axes
            Whose scales count.
        x, y : float array
            Coordinates of the data.

        Returns
        -------
        x, y : float array
            As long as those given.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return (
                np.log10(x) if axes.get_xscale() == "log" else np.asarray(x),
                np.log10(y) if axes.get_yscale() == "log" else np.asarray(y),
            )

    def to_pixels(self, axes: Axes, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Data coordinates as pixels from the lower left corner of the axes.

        Parameters
        ----------
        axes : Axes
        x : float array
            Seconds as the axis has them.
        y : float array
            In the unit of the panel.

        Returns
        -------
        x, y : float array
            As long as those given.
        """
        width, height = self.pixels(axes)
        x, y = self.even(axes, x, y)
        ends = self.even(axes, np.array(self.window), np.array(axes.get_ylim()))
        (left, right), (low, high) = ends[0].tolist(), ends[1].tolist()
        return (x - left) / (right - left) * width, (y - low) / (high - low) * height

    def points(self, points: float) -> float:
        """A length in nominal points as pixels."""
        return self.pt(points) * float(self.mpl.dpi) / 72.0

    def is_last(self, panel: Panel) -> bool:
        """Whether the panel carries the time axis."""
        return panel is self.figure.panels[-1]


def _scaled(theme: Theme, scale: float, appearance: Appearance) -> Theme:
    """The theme with symbols and lines in proportion to the type, and in the colours that were asked for."""
    from matplotlib.colors import is_color_like, to_hex

    from multitracer.model.errors import UsageError

    def look(role: str, known: Look) -> Look:
        color = appearance.colors.get(role, known.color)
        if not is_color_like(color):
            raise UsageError(f"color: {color!r} is no colour; write #rrggbb or an English name")
        # Points of a cloud must shrink faster than type, or they run into each other.
        size = known.size * min(scale, scale**1.5)
        return replace(known, color=to_hex(color), size=size, width=known.width * scale)

    if scale == 1.0 and not appearance.colors:
        return theme
    return replace(theme, looks={role: look(role, known) for role, known in theme.looks.items()})


def _midnight(figure: Figure) -> tuple[float, datetime.date | None]:
    """Seconds from midnight (UTC) to the zero of the time axis, and the day; 0 and None on relative axes."""
    if not figure.absolute:
        return 0.0, None
    days, rest_ns = divmod(figure.t0_ns, 86_400 * 10**9)
    try:
        day = datetime.date(1970, 1, 1) + datetime.timedelta(days=days)
    except OverflowError:
        return rest_ns / 1e9, None
    return rest_ns / 1e9, day
