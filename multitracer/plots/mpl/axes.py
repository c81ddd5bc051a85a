"""Axes: limits, numbers, words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from multitracer.plots.drawable_text import FONT, drawable
from multitracer.plots.fold import Fold
from multitracer.plots.mpl.canvas import Canvas
from multitracer.plots.mpl.fold import folded_ticks
from multitracer.plots.mpl.text import plain, text_width
from multitracer.plots.panel import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis as MplAxis

WHOLE = ("bytes", "packets", "measurements")  # units that no tick divides
NUMBERS, LABEL = 10.0, 11.0  # points
STROKE, STROKE_AIR = 3.5, 3.5  # points: length of a tick, and its distance from its number
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

    from multitracer.plots.mpl.rules import rule

    theme = canvas.theme
    axes.set_facecolor(theme.ground)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.faint)
        spine.set_linewidth(canvas.pt(0.8))
    last = canvas.is_last(panel)
    axes.tick_params(which="both", width=canvas.pt(0.8), length=canvas.pt(STROKE), pad=canvas.pt(STROKE_AIR))
    axes.tick_params(
        colors=theme.faint,
        labelcolor=theme.ink,
        labelsize=canvas.pt(NUMBERS),
        labelfontfamily=FONT,
        labelbottom=last,
    )
    if last or canvas.figure.x_log:
        axes.grid(True, color=theme.grid, linewidth=canvas.pt(0.7))
    else:
        axes.grid(True, color=theme.grid, linewidth=canvas.pt(0.7), axis="y")
        widths = canvas.pt(0.7), canvas.pt(0.8)
        rule(axes, grid=theme.grid, stroke=theme.faint, widths=widths, length=canvas.pt(STROKE))
    axes.set_axisbelow(True)
    if canvas.figure.x_log:
        axes.set_xscale("log")
    axes.set_xlim(*canvas.window)
    if panel.lanes:
        axes.set_ylim(len(panel.lanes) - 0.5, -0.5)
        names = [drawable(lane, 24) for lane in panel.lanes]
        axes.set_yticks(range(len(panel.lanes)), names, fontsize=canvas.pt(NUMBERS))
        for text in axes.get_yticklabels():
            text.set_parse_math(False)
        axes.tick_params(axis="y", length=0)
        axes.grid(False, axis="y")
    else:
        limits = panel.limits(canvas.figure.window)
        if panel.log:
            axes.set_yscale("log")
            _logarithmic(axes.yaxis, limits)
        else:
            whole = panel.y.unit in WHOLE
            axes.yaxis.set_major_locator(MaxNLocator(nbins="auto", steps=_ROUND, integer=whole))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(float(value), 9):,.10g}"))
        axes.set_ylim(*limits)
        label = axes.set_ylabel(drawable(str(panel.y), 60), color=theme.ink, fontsize=canvas.pt(LABEL))
        plain(label)
    if last:
        time_axis(canvas, axes)


def _logarithmic(axis: MplAxis, limits: tuple[float, float]) -> None:
    """Powers of ten, or 1, 2 and 5 times them where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    decades = math.log10(limits[1] / limits[0])
    subs = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
    axis.set_major_locator(
        MaxNLocator(6, steps=_ROUND) if decades < 0.7 else LogLocator(subs=subs, numticks=12)
    )
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(float(value), 9):,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def _most(canvas: Canvas, axes: Axes, words: str) -> int:
    """How many numbers of a width find room along the time axis."""
    width = canvas.pixels(axes)[0] * 72.0 / float(canvas.mpl.dpi)
    return max(int(width / (text_width(words, canvas.pt(NUMBERS)) + canvas.pt(1.6 * NUMBERS))), 2)


def time_axis(canvas: Canvas, axes: Axes) -> None:
    """Numbers and words along the time axis, as many as its length has room for."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

    if canvas.figure.fold is not None:
        _folded_axis(canvas, axes, canvas.figure.fold)
        return
    label = drawable(str(canvas.figure.x), 80)
    if words := canvas.figure.x.words:
        _categories(canvas, axes, [drawable(word, 24) for word in words])
    elif canvas.figure.x_log:
        _logarithmic(axes.xaxis, canvas.window)
    elif canvas.figure.absolute:
        span = canvas.window[1] - canvas.window[0]
        most = min(_most(canvas, axes, "00:00:00"), 12)
        step = next((s for s in CLOCK_STEPS if span / s <= most), None)
        if step is not None and span > 3:
            axes.xaxis.set_major_locator(MultipleLocator(step))
            decimals = 0
        else:
            axes.xaxis.set_major_locator(MaxNLocator(nbins=min(_most(canvas, axes, "00:00:00.000"), 8)))
            decimals = 3
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: clock(value, decimals)))
        label = day_label(canvas)
    else:
        widest = max((f"{end:,.4g}" for end in canvas.window), key=len)
        axes.xaxis.set_major_locator(MaxNLocator(min(_most(canvas, axes, widest), 14), steps=_ROUND))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(float(value), 9):,.12g}"))
    plain(axes.set_xlabel(label, color=canvas.theme.ink, fontsize=canvas.pt(LABEL)))


def _categories(canvas: Canvas, axes: Axes, words: list[str]) -> None:
    """Words at 0, 1, 2 ...; turned where they would touch each other."""
    slot = canvas.points(NUMBERS)
    if len(words) > 1:
        slot = canvas.pixels(axes)[0] / (canvas.window[1] - canvas.window[0])
    widest = max(text_width(word, canvas.pt(NUMBERS)) for word in words) * float(canvas.mpl.dpi) / 72.0
    axes.set_xticks(range(len(words)), words)
    for text in axes.get_xticklabels():
        text.set_parse_math(False)
        if len(words) > 1 and widest > 0.9 * slot:
            text.set(rotation=30, ha="right", rotation_mode="anchor")


def _folded_axis(canvas: Canvas, axes: Axes, fold: Fold) -> None:
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
    plain(axes.set_xlabel(label, color=canvas.theme.ink, fontsize=canvas.pt(LABEL)))


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
