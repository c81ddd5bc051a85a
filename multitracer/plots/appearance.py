"""How a figure is drawn: its size, its type, its words and colours, apart from what it shows."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from multitracer.model.errors import UsageError
from multitracer.model.frozen import frozen
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Pieces, Role, Series, Spans

StyleName = Literal["screen", "paper", "slide"]
LegendPlace = Literal["auto", "right", "below", "none"]
LogAxes = Literal["", "x", "y", "xy"]
Entry = TypeVar("Entry", Series, Marks, Spans, Pieces)

WIDTHS = {"column": 3.4, "page": 7.0}
"""Inches of one column and of both columns of a printed page with two (IEEE, ACM, USENIX: 3.3 to 3.5, 7)."""
FONT = 10.0  # points of the numbers at the axes at which lines and symbols have their nominal size


class Style(NamedTuple):
    """What a style decides where nothing is stated, in inches and points; no height: as the content needs."""

    width: float
    height: float | None
    font_size: float
    heading: bool
    dpi: float


STYLES: dict[StyleName, Style] = {
    "screen": Style(16.0, 10.0, FONT, True, 100.0),
    "paper": Style(WIDTHS["column"], None, 7.0, False, 300.0),
    "slide": Style(13.333, 7.5, 15.0, True, 144.0),
}


@frozen
class Appearance:
    """What the user may set of the drawing; all of it is optional.

    Attributes
    ----------
    style : {"screen", "paper", "slide"} or None
        Defaults of the rest. None: paper if the width is a column or a page, else screen. `paper` has no
        title and takes the height that its content needs.
    width : float, "column" or "page", or None
        Inches, or the width of a column (3.4 inches) or of a page with two columns (7 inches).
    height : float or None
        Inches.
    font_size : float or None
        Points of the numbers at the axes; other words, lines and symbols grow and shrink with it.
    title : bool, str or None
        False leaves title, subtitle and notes out; words replace the title.
    legend : {"auto", "right", "below", "none"}
        Place of the legend; auto: to the right of wide figures, below narrow ones. A legend is never cut: it
        wraps, and takes room from the panels.
    names : mapping of str to str
        Words to draw in the place of others, such as names of hosts in the place of their addresses.
    log : {"", "x", "y", "xy"}
        Logarithmic axes.
    colors : mapping of str to str
        Colour of a role (`snd_data`, `goodput` ...), as ``#rrggbb`` or by its English name.
    dpi : float or None
        Pixels per inch of a PNG.

    Raises
    ------
    UsageError
        If a value is unusable.
    """

    style: StyleName | None = None
    width: float | str | None = None
    height: float | None = None
    font_size: float | None = None
    title: bool | str | None = None
    legend: LegendPlace = "auto"
    names: Mapping[str, str] = field(default_factory=dict)
    log: LogAxes = ""
    colors: Mapping[str, str] = field(default_factory=dict)
    dpi: float | None = None

    def __post_init__(self) -> None:
        if self.style is not None and self.style not in STYLES:
            raise UsageError(f"style: {self.style!r} is none of {', '.join(STYLES)}")
        if self.legend not in get_args(LegendPlace):
            raise UsageError(f"legend: {self.legend!r} is none of {', '.join(get_args(LegendPlace))}")
        if self.log not in get_args(LogAxes):
            raise UsageError(f"log: {self.log!r} is none of x, y, xy")
        if isinstance(self.width, str) and self.width not in WIDTHS:
            raise UsageError(f"width: {self.width!r} is neither inches nor one of {', '.join(WIDTHS)}")
        _within("width", self.inches, 1.0, 200.0)
        _within("height", self.height, 1.0, 200.0)
        _within("font size", self.font_size, 3.0, 100.0)
        _within("dpi", self.dpi, 10.0, 2400.0)
        for role in self.colors:
            if role not in get_args(Role):
                near = difflib.get_close_matches(role, get_args(Role), 3)
                meant = f"; did you mean {' or '.join(near)}?" if near else ""
                raise UsageError(f"color: no role {role!r}{meant}")

    @property
    def inches(self) -> float | None:
        """The width in inches; None if it is not stated."""
        return WIDTHS.get(self.width) if isinstance(self.width, str) else self.width

    @property
    def defaults(self) -> Style:
        """What holds where nothing is stated."""
        return STYLES[self.style or ("paper" if isinstance(self.width, str) else "screen")]

    def dressed(self, figure: Figure) -> Figure:
        """The figure with the names, the title and the logarithmic axes that are wanted.

        Raises
        ------
        UsageError
            If a logarithmic axis has no positive value, or is folded.
        """
        words = isinstance(self.title, str)
        if words:
            figure = replace(figure, title=str(self.title))
        if self.names:
            figure = renamed(figure, self.names)
        if not (self.defaults.heading if self.title is None else self.title):
            figure = replace(figure, title="", subtitle="", notes=())
        elif words and not self.defaults.heading:
            figure = replace(figure, subtitle="", notes=())
        if self.log:
            figure = _logarithmic(figure, self.log)
        return figure


def _within(name: str, value: float | None, least: float, most: float) -> None:
    if value is not None and not (math.isfinite(value) and least <= value <= most):
        raise UsageError(f"{name}: {value:g} is not between {least:g} and {most:g}")


def _logarithmic(figure: Figure, axes: str) -> Figure:
    if "x" in axes:
        if figure.fold is not None or figure.absolute or figure.x.words:
            raise UsageError("a logarithmic time axis can be neither folded, nor a time of day, nor words")
        figure = replace(figure, x_log=True)
    if "y" in axes:
        panels = (panel if panel.lanes else replace(panel, log=True) for panel in figure.panels)
        figure = replace(figure, panels=tuple(panels))
    return figure


def renamed(figure: Figure, names: Mapping[str, str]) -> Figure:
    """The figure with words replaced wherever they are whole words, the longest first."""
    known = {old: new for old, new in names.items() if old}
    if not known:
        return figure
    # An IPv6 address is in brackets in front of its port.
    parts = [rf"\[{re.escape(old)}\]|{re.escape(old)}" for old in sorted(known, key=len, reverse=True)]
    pattern = re.compile(rf"(?<![\w.:])(?:{'|'.join(parts)})(?!\w|[.:][\w]*[.:])", re.ASCII)

    def say(words: str) -> str:
        return pattern.sub(lambda found: known.get(found[0]) or known.get(found[0][1:-1], found[0]), words)

    return replace(
        figure,
        title=say(figure.title),
        subtitle=say(figure.subtitle),
        notes=tuple(map(say, figure.notes)),
        x=_axis(figure.x, say),
        panels=tuple(_panel(panel, say) for panel in figure.panels),
    )


def _axis(axis: Axis, say: Callable[[str], str]) -> Axis:
    return replace(axis, label=say(axis.label), words=tuple(map(say, axis.words)))


def _panel(panel: Panel, say: Callable[[str], str]) -> Panel:
    def entry(one: Entry) -> Entry:
        changes: dict[str, Any] = {"label": say(one.label), "group": say(one.group)}
        if not isinstance(one, Series):
            changes["texts"] = tuple(map(say, one.texts))
        if isinstance(one, Spans):
            changes["lane"] = say(one.lane)
        return replace(one, **changes)

    return replace(
        panel,
        y=_axis(panel.y, say),
        lanes=tuple(map(say, panel.lanes)),
        series=tuple(map(entry, panel.series)),
        marks=tuple(map(entry, panel.marks)),
        spans=tuple(map(entry, panel.spans)),
        pieces=tuple(map(entry, panel.pieces)),
    )
