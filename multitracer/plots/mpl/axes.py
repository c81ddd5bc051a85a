"""Axes, ticks, titles and legends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from multitracer.plots.drawable_text import FONT, drawable
from multitracer.plots.fold import Fold
from multitracer.plots.mpl.canvas import BOTTOM, LINE, Canvas
from multitracer.plots.mpl.fold import folded_ticks
from multitracer.plots.panel import Marks, Panel, Pieces, Series, Spans
from multitracer.plots.theme import Look

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Entry = Series | Marks | Spans | Pieces
SOLID = 0.55  # least opacity of a bar in a lane
WHOLE = ("bytes", "packets", "measurements")  # units that no tick divides
_ROUND = (1, 2, 2.5, 5, 10)
CLOCK_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


def dress_panel(canvas: Canvas, panel: Panel, axes: Axes) -> None:
    """Limits, ticks, grid and labels of one panel.

    Parameters
    ----------
    canvas : Canvas
    panel : Panel
    axes : Axes
        Of the panel; drawn into.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    theme = canvas.theme
    axes.set_facecolor(theme.ground)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.faint)
    last = canvas.is_last(panel)
    axes.tick_params(
        colors=theme.faint, labelcolor=theme.ink, labelsize=10, labelfontfamily=FONT, labelbottom=last
    )
    axes.grid(True, color=theme.grid, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlim(*canvas.window)
    if panel.lanes:
        axes.set_ylim(len(panel.lanes) - 0.5, -0.5)
        names = [drawable(lane, 15) for lane in panel.lanes]
        size = 10.0 if max(map(len, names)) <= 12 else 8.5  # or they leave the paper
        axes.set_yticks(range(len(panel.lanes)), names, fontsize=size)
        for text in axes.get_yticklabels():
            text.set_parse_math(False)
        axes.tick_params(axis="y", length=0)
        axes.grid(False, axis="y")
    else:
        axes.set_ylim(*panel.limits(canvas.figure.window))
        whole = panel.y.unit in WHOLE
        axes.yaxis.set_major_locator(MaxNLocator(nbins="auto", steps=_ROUND, integer=whole))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(value, 9):,.10g}"))
        _text(axes.set_ylabel(drawable(str(panel.y), 60), color=theme.ink, fontsize=11))
    if last:
        _time_axis(canvas, axes)


def _time_axis(canvas: Canvas, axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

    if canvas.figure.fold is not None:
        _folded_axis(canvas, axes, canvas.figure.fold)
        return
    label = drawable(str(canvas.figure.x), 80)
    if words := canvas.figure.x.words:
        axes.set_xticks(range(len(words)), [drawable(word, 24) for word in words])
        for text in axes.get_xticklabels():
            text.set_parse_math(False)
    elif canvas.figure.absolute:
        span = canvas.window[1] - canvas.window[0]
        step = next((s for s in CLOCK_STEPS if span / s <= 12), None)
        if step is not None and span > 3:
            axes.xaxis.set_major_locator(MultipleLocator(step))
            decimals = 0
        else:
            axes.xaxis.set_major_locator(MaxNLocator(nbins=8))
            decimals = 3
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: clock(value, decimals)))
        label = day_label(canvas)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=14, steps=_ROUND))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(value, 9):,.12g}"))
    _text(axes.set_xlabel(label, color=canvas.theme.ink, fontsize=11))


def _folded_axis(canvas: Canvas, axes: Axes, fold: Fold) -> None:
    import numpy as np
    from matplotlib.ticker import FixedFormatter, FixedLocator

    ticks = folded_ticks(canvas, fold, CLOCK_STEPS)
    if canvas.figure.absolute:
        decimals = 0 if all(abs(one - round(one)) < 1e-6 for one in (t + canvas.shift for t in ticks)) else 3
        words = [clock(one + canvas.shift, decimals) for one in ticks]
        label = day_label(canvas)
    else:
        words = [f"{round(one, 9) + 0.0:,.12g}" for one in ticks]
        label = drawable(str(canvas.figure.x), 80)
    axes.xaxis.set_major_locator(FixedLocator(canvas.x(np.array(ticks)).tolist()))
    axes.xaxis.set_major_formatter(FixedFormatter(words))
    _text(axes.set_xlabel(label, color=canvas.theme.ink, fontsize=11))


def day_label(canvas: Canvas) -> str:
    """The label of an absolute time axis."""
    day = f", {canvas.day.isoformat()}" if canvas.day is not None else ""
    return f"Time of day (UTC{day}) [h:min:s]"


def clock(seconds: float, decimals: int) -> str:
    """Seconds since midnight as h:min:s; days beyond the first wrap."""
    units = round(seconds * 10**decimals)
    rest, fraction = divmod(units, 10**decimals)
    hours, rest = divmod(rest % 86_400, 3600)
    tail = f".{fraction:0{decimals}d}" if decimals else ""
    return f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}{tail}"


def dress_figure(canvas: Canvas) -> None:
    """Title, facts and notes over the panels."""
    figure, theme, mpl = canvas.figure, canvas.theme, canvas.mpl
    width, height = (float(inches) for inches in mpl.get_size_inches())
    left = canvas.axes[0].get_position().x0 if canvas.axes else 0.05
    letters = int((width - left * width - 0.2) / 0.105)
    top = min(0.32, BOTTOM / 2)
    _text(
        mpl.text(
            left,
            1 - top / height,
            drawable(figure.title, letters),
            color=theme.ink,
            fontsize=14,
            weight="bold",
        )
    )
    small = int((width - left * width - 0.2) / 0.08)
    lines = [figure.subtitle] if figure.subtitle else []
    for row, words in enumerate([*lines, *canvas.notes]):
        place = 1 - (top + 0.24 + LINE * row) / height
        noted = row >= len(lines)
        color = theme.faint if noted else theme.ink
        style = "italic" if noted else "normal"
        _text(mpl.text(left, place, drawable(words, small), color=color, fontsize=11, style=style))


def legend(canvas: Canvas, panel: Panel, axes: Axes) -> None:
    """What the panel shows, to its right: groups in bold, each entry with the look of its role.

    Parameters
    ----------
    canvas : Canvas
    panel : Panel
    axes : Axes
        Of the panel; drawn into.
    """
    from matplotlib.lines import Line2D

    theme = canvas.theme
    handles: list[Artist] = []
    labels: list[str] = []
    headings: list[int] = []
    for group, entries in _groups(canvas, panel).items():
        if labels:  # a line of air between groups
            handles.append(Line2D([], [], linestyle="none"))
            labels.append("")
        if group:
            headings.append(len(labels))
            handles.append(Line2D([], [], linestyle="none"))
            labels.append(drawable(group, canvas.legend_letters))
        for entry, words in entries:
            handles.append(_handle(entry, theme.looks[entry.role]))
            labels.append(drawable(words, canvas.legend_letters))
    if not handles:
        return
    place = axes.get_position()
    box = axes.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(place.x1 + 0.01, min(place.y1, canvas.legend_top)),
        bbox_transform=canvas.mpl.transFigure,
        borderaxespad=0.0,
        borderpad=0.0,
        frameon=False,
        labelcolor=theme.ink,
        labelspacing=0.35,
        handlelength=2.2,
        prop={"family": FONT, "size": 9.5},
    )
    for row, text in enumerate(box.get_texts()):
        text.set_parse_math(False)
        if row in headings:
            text.set_fontweight("bold")
    height = float(canvas.mpl.get_size_inches()[1] * canvas.mpl.dpi)
    canvas.legend_top = float(box.get_window_extent().y0) / height - 0.02


def _groups(canvas: Canvas, panel: Panel) -> dict[str, list[tuple[Entry, str]]]:
    """Entries that the window shows, with their words, by group."""
    # Shades that a lane panel explains need not be explained twice.
    explained = any(other.lanes for other in canvas.figure.panels)
    entries: list[Entry] = [*panel.series, *panel.marks, *panel.pieces]
    entries += [spans for spans in panel.spans if spans.lane or not explained]
    found: dict[str, list[tuple[Entry, str]]] = {}
    for entry in entries:
        words = entry.words(canvas.figure.window)
        if words:
            found.setdefault(entry.group, []).append((entry, words))
    return found


def _handle(entry: Entry, look: Look) -> Artist:
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
    settings: dict[str, Any] = {"color": look.color, "alpha": look.alpha, "linewidth": max(look.width, 1.2)}
    if lined:
        return Line2D([], [], linestyle=look.dash, **settings)
    return Line2D([], [], linestyle="none", **symbol(look, at_least=4.0))


def symbol(look: Look, *, at_least: float = 0.0) -> dict[str, Any]:
    """Marker settings of a role."""
    return {
        "marker": look.symbol or "o",
        "markersize": max(look.size, at_least),
        "markerfacecolor": "none" if look.hollow else look.color,
        "markeredgecolor": look.color,
        "markeredgewidth": look.width if look.hollow or look.symbol in ("x", "+") else 0.0,
    }


def _text(text: Any) -> None:
    """No word from a trace is ever read as mathematics."""
    text.set_parse_math(False)
    text.set_fontfamily(FONT)
