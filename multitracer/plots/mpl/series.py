"""Series, shades and lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.plots import decimate
from multitracer.plots.drawable_text import FONT, drawable
from multitracer.plots.mpl.canvas import Canvas
from multitracer.plots.mpl.legend import SOLID, symbol
from multitracer.plots.mpl.text import text_width
from multitracer.plots.panel import Panel, Series, Spans
from multitracer.plots.theme import Look, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RASTER = (
    4_000  # points from which a series becomes an image inside SVG and PDF: as shapes they choke the viewer
)
FINE = 2  # columns and rows per pixel: what a printer or a screen of twice the density would show


def draw_series(canvas: Canvas, panel: Panel, axes: Axes) -> None:
    """Every series with no more points than the panel can show.

    Parameters
    ----------
    canvas : Canvas
    panel : Panel
    axes : Axes
        Of the panel; drawn into.
    """
    width, height = canvas.pixels(axes)
    columns, rows = max(int(width * FINE), 1), max(int(height * FINE), 1)
    across, up = canvas.even(axes, np.array(canvas.window), np.array(axes.get_ylim()))
    window, limits = (float(across[0]), float(across[1])), (float(up[0]), float(up[1]))
    for rank, series in enumerate(panel.series):
        look = canvas.theme.looks[series.role]
        if series.kind == "bars":
            _columns(canvas, series, axes)
            continue
        x, y = canvas.x(series.x), series.y
        even_x, even_y = canvas.even(axes, x, y)
        finite = np.isfinite(even_x) & np.isfinite(even_y)
        x, y, even_x, even_y = x[finite], y[finite], even_x[finite], even_y[finite]
        if series.kind == "points":
            kept = decimate.points(even_x, even_y, window, limits, columns, rows)
        else:
            kept = decimate.line(even_x, even_y, window, columns)
        if not len(kept):
            continue
        settings = symbol(look) if series.kind == "points" else {}
        line = axes.plot(
            x[kept],
            y[kept],
            color=look.color,
            linestyle="none" if series.kind == "points" else look.dash,
            linewidth=look.width,
            alpha=look.alpha,
            drawstyle="steps-post" if series.kind == "steps" else "default",
            zorder=(4 if series.kind == "points" else 3) + 0.01 * rank,
            rasterized=len(kept) > RASTER,
            **settings,
        )[0]
        line.set_gid(drawable(series.name, 60))


def _columns(canvas: Canvas, series: Series, axes: Axes) -> None:
    """The bars of a histogram."""
    look = canvas.theme.looks[series.role]
    seen = series.inside(canvas.figure.window)
    bars = axes.bar(canvas.x(series.x[seen]), series.y[seen], series.width, color=look.color, zorder=3.0)
    for bar in bars:
        bar.set(alpha=look.alpha, gid=drawable(series.name, 60), linewidth=0)


def draw_shades(canvas: Canvas, panel: Panel, axes: Axes) -> None:
    """Spans below the curves, over the whole height.

    Parameters
    ----------
    canvas : Canvas
    panel : Panel
    axes : Axes
        Of the panel; drawn into.
    """
    for spans in panel.spans:
        _bars(canvas, spans, axes, *axes.get_ylim(), zorder=0.5)


def draw_lanes(canvas: Canvas, panel: Panel, axes: Axes) -> None:
    """Spans as bars in their rows, with their words inside where these fit.

    Parameters
    ----------
    canvas : Canvas
    panel : Panel
    axes : Axes
        Of the panel; drawn into.
    """
    for spans in panel.spans:
        if spans.lane not in panel.lanes:
            continue
        row = panel.lanes.index(spans.lane)
        _bars(canvas, spans, axes, row - 0.38, row + 0.38, zorder=3.0, solid=True)
        if not spans.texts:
            continue
        for start, end, words in zip(canvas.x(spans.start), canvas.x(spans.end), spans.texts, strict=True):
            left, right = max(start, canvas.window[0]), min(end, canvas.window[1])
            ends = canvas.to_pixels(axes, np.array([left, right]), np.ones(2))[0]
            if ends[1] - ends[0] < canvas.points(text_width(words, 8.5)) + 8:
                continue
            ink = _ink_on(canvas.theme, canvas.theme.looks[spans.role])
            text = axes.text((left + right) / 2, row, drawable(words, 30), ha="center", va="center")
            text.set(color=ink, fontsize=canvas.pt(8.5), fontfamily=FONT, parse_math=False, zorder=4.0)


def _bars(
    canvas: Canvas, spans: Spans, axes: Axes, low: float, high: float, *, zorder: float, solid: bool = False
) -> None:
    from matplotlib.collections import PolyCollection

    look = canvas.theme.looks[spans.role]
    seen = spans.inside(canvas.figure.window)
    if not seen.any():
        return
    left, right = canvas.x(spans.start[seen]), canvas.x(spans.end[seen])
    # At least a pixel wide, or the shortest ones vanish.
    width, _ = canvas.pixels(axes)
    right = np.maximum(right, left + (canvas.window[1] - canvas.window[0]) / max(width, 1.0))
    corners = np.stack(
        [
            np.c_[left, np.full_like(left, low)],
            np.c_[left, np.full_like(left, high)],
            np.c_[right, np.full_like(left, high)],
            np.c_[right, np.full_like(left, low)],
        ],
        axis=1,
    )
    alpha = max(look.alpha, SOLID) if solid else look.alpha
    bars = PolyCollection(list(corners), facecolors=look.color, edgecolors="none", alpha=alpha, zorder=zorder)
    bars.set_gid(drawable(spans.name, 60))
    axes.add_collection(bars, autolim=False)


def _ink_on(theme: Theme, look: Look) -> str:
    """Black or white, whichever is read better on a bar as it is blended with the ground."""
    alpha = max(look.alpha, SOLID)
    shares = (0.299, 0.587, 0.114)
    light = sum(
        share * (alpha * int(look.color[i : i + 2], 16) + (1 - alpha) * int(theme.ground[i : i + 2], 16))
        for share, i in zip(shares, (1, 3, 5), strict=True)
    )
    return "#000000" if light > 110 else "#ffffff"
