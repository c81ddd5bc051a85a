"""Bokeh glyphs for layers, with their hover text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from multitracer.plots.bokeh.facts import WORDS, plain
from multitracer.plots.bokeh.layers import Array, Layer
from multitracer.plots.theme import Look, Theme

if TYPE_CHECKING:
    from bokeh.models import ColumnDataSource
    from bokeh.plotting import figure as BokehFigure

MARKERS = {
    "o": "circle",
    "D": "diamond",
    "s": "square",
    "^": "triangle",
    "v": "inverted_triangle",
    "P": "plus",
    "X": "asterisk",
    "x": "x",
}
PIXELS = 4 / 3  # per point
SOLID = 0.62  # least opacity of a bar in a lane
CARDS: dict[str, Literal["above", "below", "right"]] = {
    "marks": "above",
    "points": "below",
    "steps": "right",
    "line": "right",
}
"""Where the card of a kind stands: those of a mark and of its segment must not cover each other."""
TEXTS = 150  # rows from which words beside the marks could only hide each other


def add_layer(
    plot: BokehFigure,
    layer: Layer,
    seen: Array,
    theme: Theme,
    source_name: str,
    *,
    alone: bool,
    folded: bool = False,
) -> None:
    """Draw a layer's rows, with their hover: times from the columns "t" and "t1" where time may be folded.

    Parameters
    ----------
    plot : BokehFigure
        The panel.
    layer : Layer
    seen : array
        Rows of the layer that are drawn.
    theme : Theme
    source_name : str
        Name of Bokeh's data source, by which the page finds it.
    alone : bool
        The figure is drawn alone, without the page's script.
    folded : bool
        Time is folded.
    """
    from bokeh.models import ColumnDataSource, HoverTool

    look = theme.looks[layer.role]
    data: dict[str, Any] = {
        name: np.asarray(column[seen], dtype=np.float64) for name, column in layer.columns.items()
    }
    if layer.words:
        data["words"] = [layer.words[row] for row in seen.tolist()]
    source = ColumnDataSource(data, name=f"data:{layer.id}")
    renderer = _glyph(plot, layer, look, source)
    renderer.name = layer.id
    if layer.kind != "shades":
        hover = HoverTool(
            renderers=[renderer],
            tooltips=_tooltips(layer, source_name, "t" if folded else "x"),
            visible=False,
            # Clouds overlap: one card of a layer is read, a stack runs off the screen; a click shows more.
            limit=1,
            attachment=CARDS.get(layer.kind, "left"),
        )
        plot.add_tools(hover)
    if layer.texts and len(layer.texts) <= TEXTS:
        _texts(plot, layer, look, theme, alone=alone)


def _glyph(plot: BokehFigure, layer: Layer, look: Look, source: ColumnDataSource) -> Any:
    """Draw the rows of a source; nothing on the page selects or mutes, so that one glyph is enough."""
    level = "underlay" if layer.kind == "shades" else "overlay" if layer.kind == "marks" else "glyph"
    return plot.add_glyph(source, _shape(layer, look), level=level)


def _shape(layer: Layer, look: Look) -> Any:
    from bokeh.models import glyphs

    line: dict[str, Any] = {
        "line_color": look.color,
        "line_alpha": look.alpha,
        "line_width": look.width * PIXELS,
        "line_dash": look.dash,
    }
    fill: dict[str, Any] = {"fill_color": look.color, "fill_alpha": look.alpha}
    if layer.kind in ("points", "marks"):
        thin = look.symbol in ("x", "X", "+")
        return glyphs.Scatter(
            x="x",
            y="y",
            marker=MARKERS.get(look.symbol, "circle"),
            size=max(look.size, 2.4) * PIXELS + (1.5 if look.symbol == "D" else 0),
            fill_color=None if look.hollow else look.color,
            fill_alpha=look.alpha,
            line_color=look.color if look.hollow or thin else None,
            line_alpha=look.alpha,
            line_width=look.width * PIXELS,
        )
    if layer.kind == "steps":
        return glyphs.Step(x="x", y="y", mode="after", **line)
    if layer.kind == "line":
        return glyphs.Line(x="x", y="y", **line)
    if layer.kind == "bars":
        outline: dict[str, Any] = {"line_color": look.color, "line_alpha": look.alpha, "line_width": 0}
        return glyphs.VBar(x="x", top="y", width="width", **fill, **outline)
    if layer.kind == "lines":
        return glyphs.VSpan(x="x", **line)
    if layer.kind == "shades":
        return glyphs.VStrip(x0="x", x1="x1", line_color=None, **fill)
    if layer.kind == "bands":
        # The outline keeps the shortest from vanishing.
        solid = max(look.alpha, SOLID)
        return glyphs.Quad(
            left="x",
            right="x1",
            bottom="y",
            top="y1",
            fill_color=look.color,
            fill_alpha=solid,
            line_color=look.color,
            line_alpha=solid,
            line_width=1,
        )
    return glyphs.Segment(x0="x", y0="y", x1="x1", y1="y1", **line)


def _tooltips(layer: Layer, source_name: str, time: str) -> list[tuple[str, str]]:
    """Lines of the hover. Only `words` comes from a trace, as a column: Bokeh escapes columns."""
    lines = [("", plain(layer.label))]
    if layer.words:
        lines.append(("", "@words"))
    if layer.kind in ("bands", "pieces"):
        lines.append(("from", f"@{time}{{0.000000}} s"))
        lines.append(("to", f"@{time}1{{0.000000}} s"))
    else:
        lines.append(("at", f"@{time}{{0.000000}} s"))
    if "y" in layer.columns and layer.kind not in ("bands", "pieces"):
        lines.append(("value", "@y{0,0.[000]}"))
    for name, line in WORDS.items():
        if name in layer.columns:
            lines.append(line)
    if "record" in layer.columns:
        where = f" of {plain(source_name)}" if source_name else ""
        lines.append(("record", f"@record{{0,0}}{where}"))
    return lines


def _texts(plot: BokehFigure, layer: Layer, look: Look, theme: Theme, *, alone: bool) -> None:
    """Words beside marks; on the page a script places them so that none overlaps another."""
    from bokeh.models import ColumnDataSource
    from bokeh.models.glyphs import Text

    if layer.kind == "lines" and plot.name == "panel:lanes":
        return
    first = layer.kind == "lines"
    if first and layer.panel != str(plot.name).removeprefix("panel:"):
        return
    top: Any = plot.y_range
    y = np.full(layer.count, top.end) if first else layer.columns["y"]
    shown = [text[:32] for text in layer.texts]
    columns: dict[str, Any] = {"x": layer.columns["x"], "y": y, "text": shown, "all": shown}
    align, dx = ("left", 5) if first else ("center", 0)
    columns |= {"align": [align] * layer.count, "dx": [dx] * layer.count}
    source = ColumnDataSource(columns, name=f"text:{layer.id}")
    shape: Any = Text(
        x="x",
        y="y",
        text="text",
        text_color=look.color,
        text_font_size="11px",
        text_font_style="bold",
        text_align={"field": "align"},
        text_baseline="top" if first else "bottom",
        x_offset={"field": "dx"},
        y_offset=4 if first else -5,
    )
    words = plot.add_glyph(source, shape, level="annotation")
    words.name = f"text:{layer.id}"
    words.visible = alone or first or layer.count <= TEXTS // 3
