"""A folded time axis on the page: what is cut, and labels that stay true.

A figure on its own is folded once, by its columns. On the page of `multitracer report` all columns stay in
true time, and a script folds and unfolds them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.plots.bokeh.layers import Layer
from multitracer.plots.fold import Fold
from multitracer.plots.panel import duration_words
from multitracer.plots.theme import Theme

if TYPE_CHECKING:
    from bokeh.plotting import figure as BokehFigure

WORDS_PIXELS = 11


def placed(layer: Layer, fold: Fold) -> Layer:
    """A layer with its rows at their places on the axis; "t" and "t1" keep the true times."""
    columns = layer.columns | {"x": fold.place(layer.columns["x"]), "t": layer.columns["x"]}
    if "x1" in columns:
        columns |= {"x1": fold.place(layer.columns["x1"]), "t1": layer.columns["x1"]}
    return replace(layer, columns=columns)


def add_cuts(plot: BokehFigure, fold: Fold, theme: Theme, *, named: bool, visible: bool) -> None:
    """A hatched band over each cut; in one panel, how long it lasts.

    Parameters
    ----------
    plot : BokehFigure
        The panel.
    fold : Fold
    theme : Theme
    named : bool
        Show how long each cut lasts.
    visible : bool
        Shown at once, not only when the page folds time.
    """
    from bokeh.models import ColumnDataSource

    left, right = fold.place(fold.start), fold.place(fold.end)
    band = plot.vstrip(
        x0="left",
        x1="right",
        source=ColumnDataSource({"left": left, "right": right}),
        fill_color=theme.ground,
        line_color=theme.faint,
        line_dash="dotted",
        hatch_pattern="right_diagonal_line",
        hatch_color=theme.faint,
        hatch_alpha=0.5,
        hatch_scale=9,
        level="underlay",
    )
    band.name, band.visible = "cuts", visible
    if not named:
        return
    y_range: Any = plot.y_range
    middle = np.full(len(left), (y_range.start + y_range.end) / 2)
    words = plot.text(
        "x",
        "y",
        text="text",
        source=ColumnDataSource(
            {"x": (left + right) / 2, "y": middle, "text": [*map(duration_words, fold.lengths.tolist())]}
        ),
        angle=np.pi / 2,
        text_align="center",
        text_baseline="middle",
        text_color=theme.ink,
        text_font_size=f"{WORDS_PIXELS}px",
        level="annotation",
    )
    words.glyph.background_fill_color = theme.ground
    words.name, words.visible = "cut-words", visible


def fold_axis(plot: BokehFigure, fold: Fold, *, alone: bool) -> None:
    """Labels of true time below a panel: ticks that a script chooses, or where Bokeh puts them.

    Parameters
    ----------
    plot : BokehFigure
        The panel.
    fold : Fold
    alone : bool
        The figure is drawn alone, without the page's script.
    """
    from bokeh.models import CustomJSTickFormatter, FixedTicker, LinearAxis

    axis = plot.xaxis[0]
    if alone:
        edges = np.stack([fold.start, fold.end], axis=1).ravel()
        axis.formatter = CustomJSTickFormatter(
            args={"places": fold.place(edges).tolist(), "times": edges.tolist()}, code=_TRUE_TIME
        )
        return
    extra = LinearAxis(name="folded", visible=False)
    ticker: Any = FixedTicker(ticks=[])
    extra.ticker = ticker
    for name in (
        "axis_label",
        "axis_label_text_color",
        "axis_label_text_font_style",
        "major_label_text_color",
        "axis_line_color",
        "major_tick_line_color",
        "minor_tick_line_color",
    ):
        setattr(extra, name, getattr(axis, name))
    plot.add_layout(extra, "below")


# Left of the first cut both agree, after a cut the distance to its end; in a cut no time can be read.
_TRUE_TIME = """
let shift = 0;
for (let i = 0; i < places.length; i += 2) {
    if (tick > places[i] && tick < places[i + 1]) return "";
    if (tick >= places[i + 1]) shift = times[i + 1] - places[i + 1];
}
return (tick + shift).toLocaleString("en-US", {maximumFractionDigits: 6});
"""
