"""The paper of a matplotlib drawing: figure, axes in fixed places, and coordinates in pixels."""

from __future__ import annotations

import datetime
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from multitracer.plots.fold import Floats
from multitracer.plots.panel import Figure, Panel
from multitracer.plots.theme import THEMES, ThemeName

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Margins in inches: fixed, because text does not grow with the paper.
LEFT, RIGHT, TOP, BOTTOM, BETWEEN = 0.95, 3.1, 0.48, 0.62, 0.14
LINE = 0.21  # each line under the title
DIGIT, BESIDE = 0.089, 0.36  # a digit beside the axis; the axis' own words, and the space between
MOST_NOTES = 6


class Canvas:
    """A matplotlib figure with one axes per panel, legends to the right of them.

    Attributes
    ----------
    mpl : matplotlib.figure.Figure
    axes : list of matplotlib.axes.Axes
        From the top; they share the time axis.
    window : tuple of float
        Times shown, in the coordinates of the axes.
    notes : list of str
        Lines of notes under the subtitle.
    shift : float
        Seconds from midnight to the zero of the time axis if it is absolute, else 0.
    day : datetime.date or None
        Day of the time axis if it is absolute.
    legend_top : float
        Fraction of the height below which the next legend may begin.
    """

    def __init__(self, figure: Figure, size: tuple[float, float], dpi: float, theme: ThemeName) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as MplFigure

        self.figure = figure
        self.theme = THEMES[theme]
        self.mpl = MplFigure(figsize=size, dpi=dpi, facecolor=self.theme.ground)
        FigureCanvasAgg(self.mpl)
        self.shift, self.day = _midnight(figure)
        low, high = self.x(np.array(figure.window)).tolist()
        self.window: tuple[float, float] = (low, high)
        self.left = max(LEFT, BESIDE + DIGIT * _digits(figure))
        self.notes = _wrapped(figure.notes, int((0.95 * size[0] - self.left) / 0.076))
        self.axes = self._place(size)
        self.legend_top = 1.0  # how far down the legends of the panels above reach

    def _place(self, size: tuple[float, float]) -> list[Axes]:
        width, height = size
        left, right = min(self.left, 0.2 * width), min(RIGHT, 0.35 * width)
        lines = bool(self.figure.subtitle) + len(self.notes)
        top, bottom = min(TOP + LINE * lines, 0.25 * height), min(BOTTOM, 0.15 * height)
        panels = self.figure.panels
        between = min(BETWEEN, 0.1 * height / max(len(panels), 1))
        free = height - top - bottom - between * (len(panels) - 1)
        total = sum(panel.height for panel in panels)
        found: list[Axes] = []
        upper = height - top
        for panel in panels:
            tall = free * panel.height / total
            box = (left / width, (upper - tall) / height, (width - left - right) / width, tall / height)
            found.append(self.mpl.add_axes(box, sharex=found[0] if found else None))
            upper -= tall + between
        return found

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

    def to_pixels(self, axes: Axes, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Data coordinates as pixels from the lower left corner of the axes.

        Parameters
        ----------
        axes : Axes
        x : float array
            Seconds as the axis has them.
        y : float array
            In the unit of the panel.
        """
        width, height = self.pixels(axes)
        low, high = axes.get_ylim()
        across = (np.asarray(x) - self.window[0]) / (self.window[1] - self.window[0])
        return across * width, (np.asarray(y) - low) / (high - low) * height

    def points(self, points: float) -> float:
        """A length in points as pixels."""
        return points * float(self.mpl.dpi) / 72.0

    @property
    def legend_letters(self) -> int:
        """How many letters fit beside a panel."""
        width = float(self.mpl.get_size_inches()[0])
        return max(int((min(RIGHT, 0.35 * width) - 0.5) / 0.073), 8)

    def is_last(self, panel: Panel) -> bool:
        """Whether the panel carries the time axis."""
        return panel is self.figure.panels[-1]


def _digits(figure: Figure) -> float:
    """How wide the numbers beside the axes become, in digits; a comma is half as wide as one."""
    ends = (
        f"{round(end):,}"
        for panel in figure.panels
        if not panel.lanes
        for end in panel.limits(figure.window)
        if np.isfinite(end)
    )
    return max((len(words) - 0.5 * words.count(",") for words in ends), default=0.0)


def _wrapped(notes: tuple[str, ...], letters: int) -> list[str]:
    """Notes as a few lines: short ones share a line, long ones are wrapped."""
    lines: list[str] = []
    for note in notes:
        if lines and len(lines[-1]) + 2 + len(note) <= letters:
            lines[-1] += "; " + note
        else:
            lines += textwrap.wrap(note, max(letters, 20), max_lines=3) or [""]
    return lines[:MOST_NOTES]


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
