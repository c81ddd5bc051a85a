"""The interactive renderer: a `Figure` drawn by Bokeh, the same as in print.

The layout works on its own in a notebook: linked zoom, hover, a legend that hides, an overview strip. On the
page of `multitracer report` a script of ours adds all data on zoom, keys, colours and the time of day.

No content of a trace reaches Bokeh as anything but text: titles and file names could hold TeX or HTML.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model.timeline import Timeline
from multitracer.plots import libraries
from multitracer.plots.bokeh.axes import clock_axis, draw_frame
from multitracer.plots.bokeh.facts import describer
from multitracer.plots.bokeh.fold import add_cuts, fold_axis, placed
from multitracer.plots.bokeh.glyphs import add_layer
from multitracer.plots.bokeh.layers import Describe, Layer, layers
from multitracer.plots.fold import Fold
from multitracer.plots.panel import Figure, Panel
from multitracer.plots.theme import THEMES, ThemeName

if TYPE_CHECKING:
    from bokeh.models import LayoutDOM, Range1d as BokehRange
    from bokeh.plotting import figure as BokehFigure

HEIGHT = 680  # pixels of all panels together
LEAST = 34  # pixels of a lane
OVERVIEW_HEIGHT = 56
LEGEND_LINE = 17
COLUMNS, ROWS = 700, 250  # grain of the first picture: two pixels of a wide screen
NOTHING = np.empty(0, dtype=np.int64)  # no row
FINE = 4  # times finer without a script that brings the rest


def draw(
    figure: Figure,
    *,
    describe: Describe | None = None,
    source_names: tuple[str, ...] = (),
    theme: ThemeName | None = None,
) -> LayoutDOM:
    """Draw a figure as a standalone Bokeh layout: show it in a notebook or save it.

    Parameters
    ----------
    figure : Figure
    describe : callable, optional
        More columns for the hover of each series.
    source_names : tuple of str
        Name of each source, for the hover.
    theme : {"light", "dark"}, optional
        The figure's own if not given.

    Returns
    -------
    bokeh.models.LayoutDOM
    """
    return compose(
        figure,
        layers(figure, describe),
        source_names=source_names,
        theme=theme or figure.theme,
        alone=True,
    )


def of_measurement(figure: Figure, measurement: Timeline) -> LayoutDOM:
    """`draw`, with the segments and frames of a measurement behind the points."""
    names = tuple(os.path.basename(source.path) for source in measurement.sources)
    return draw(figure, describe=describer(measurement), source_names=names)


def compose(
    figure: Figure,
    drawn: list[Layer],
    *,
    source_names: tuple[str, ...] = (),
    theme: ThemeName = "light",
    clock: bool = False,
    alone: bool = False,
    fold: Fold | None = None,
    apart: Collection[str] = (),
) -> LayoutDOM:
    """A layout of the given layers.

    Parameters
    ----------
    figure : Figure
    drawn : list of Layer
    source_names : tuple of str
        What the hover calls the captures and logs.
    theme : ThemeName
    clock : bool
        With a second time axis for the time of day, at first hidden unless the figure is absolute.
    alone : bool
        With a legend and more points; without, the page brings both.
    fold : Fold, optional
        Cuts that the page's script may make; a figure on its own has those of the figure.
    apart : collection of str
        ``id`` of the layers whose rows the page's script brings.
    """
    libraries.bokeh_models()
    from bokeh.layouts import column, gridplot
    from bokeh.models import Range1d

    window = figure.window
    low, high = whole(figure, drawn)
    if alone and (fold := figure.fold) is not None:
        drawn = [placed(one, fold) for one in drawn]
        low, high, *window = fold.place(np.array([low, high, *window])).tolist()
    width = window[1] - window[0]
    x_range: Any = Range1d(
        start=window[0],
        end=window[1],
        name="time",
        bounds=(low - 0.5 * width, high + 0.5 * width),
        min_interval=1e-6,
    )
    plots = []
    total = sum(panel.height for panel in figure.panels)
    for panel in figure.panels:
        height = round(HEIGHT * panel.height / total)
        if panel.lanes:
            height = max(height, LEAST * len(panel.lanes))
        last = panel is figure.panels[-1]
        plot = draw_frame(figure, panel, x_range, height + (48 if last else 0), THEMES[theme], last=last)
        limits = panel.limits(window)
        grain = FINE if alone else 1
        for one in drawn:
            if one.panel == panel.name or one.kind == "lines":
                seen = NOTHING if one.id in apart else one.seen(window, limits, COLUMNS * grain, ROWS * grain)
                add_layer(
                    plot,
                    one,
                    seen,
                    THEMES[theme],
                    _source(one, source_names),
                    alone=alone,
                    folded=fold is not None,
                )
        if fold is not None:
            named = panel is _main_panel(figure)
            add_cuts(plot, fold, THEMES[theme], named=named, visible=alone)
        if alone:
            plot.border_fill_color = THEMES[theme].ground
        plots.append(plot)
    if plots and (clock or figure.absolute):
        clock_axis(plots[-1], figure, x_range, THEMES[theme], alone=alone)
    if plots and fold is not None:
        fold_axis(plots[-1], fold, alone=alone)
    if alone:
        _legends(plots, figure, drawn)
    grid = gridplot(
        [[plot] for plot in plots],
        merge_tools=True,
        toolbar_location="above",
        toolbar_options={"logo": None},
        sizing_mode="stretch_width",
    )
    strip = _overview(figure, drawn, x_range, (low, high), theme, apart)
    return column(grid, strip, sizing_mode="stretch_width", name="layout")


def item(layout: LayoutDOM, target: str) -> dict[str, Any]:
    """What BokehJS embeds in an element of the page: as `bokeh.embed.json_item`, without its checks.

    Those look for what a person might have done wrong, and take as long as the rest.

    Parameters
    ----------
    layout : LayoutDOM
    target : str
        Id of the element.
    """
    from bokeh.core.serialization import Serializer
    from bokeh.document import Document

    document: dict[str, Any] = dict(Document(title="").to_json(deferred=False))
    document["roots"] = Serializer(deferred=False).encode([layout])
    return {"target_id": target, "root_id": layout.id, "doc": document, "version": document["version"]}


def whole(figure: Figure, drawn: list[Layer]) -> tuple[float, float]:
    """The time that the figure's window and all data span."""
    times = [edge for one in drawn for edge in _extent(one)]
    return min([figure.window[0], *times]), max([figure.window[1], *times])


def _extent(layer: Layer) -> tuple[float, float]:
    x = layer.columns["x"]
    return float(x[0]), float(layer.columns.get("x1", x).max())


def _source(layer: Layer, names: tuple[str, ...]) -> str:
    return names[layer.source] if 0 <= layer.source < len(names) else ""


def _overview(
    figure: Figure,
    drawn: list[Layer],
    x_range: BokehRange,
    times: tuple[float, float],
    theme: ThemeName,
    apart: Collection[str],
) -> BokehFigure:
    """All of the time in a narrow strip, with the present window to drag."""
    from bokeh.models import ColumnDataSource, Range1d, RangeTool, Scatter
    from bokeh.plotting import figure as new_figure

    main = _main_panel(figure)
    low, high = main.limits(whole(figure, drawn) if figure.fold is None else figure.window)
    strip = new_figure(
        name="overview",
        height=OVERVIEW_HEIGHT,
        sizing_mode="stretch_width",
        tools="",
        toolbar_location=None,
        x_range=Range1d(start=times[0], end=times[1]),
        y_range=Range1d(start=low, end=high),
        min_border_left=96,
        min_border_right=12,
        background_fill_color=THEMES[theme].ground,
        border_fill_color=None,
        outline_line_color=THEMES[theme].faint,
    )
    strip.axis.visible = False
    strip.grid.visible = False
    # A plot without a renderer warns.
    strip.add_glyph(ColumnDataSource({"x": [times[0]], "y": [low]}), Scatter(x="x", y="y", size=0))
    for one in drawn:
        if one.panel == main.name and one.kind == "points":
            seen = one.seen(times, (low, high), COLUMNS, OVERVIEW_HEIGHT // 2)
            seen = NOTHING if one.id in apart else seen
            x, y = one.columns["x"][seen], one.columns["y"][seen]
            strip.add_glyph(
                ColumnDataSource({"x": x, "y": y}),
                Scatter(
                    x="x", y="y", size=2, line_color=None, fill_color=THEMES[theme].looks[one.role].color
                ),
                name=one.id,
            )
    tool = RangeTool(x_range=x_range)
    tool.overlay.fill_color = THEMES[theme].looks["snd_ack"].color
    tool.overlay.fill_alpha = 0.16
    strip.add_tools(tool)
    return strip


def _main_panel(figure: Figure) -> Panel:
    """The panel of the strip: the tallest."""
    return max(figure.panels, key=lambda panel: panel.height)


def _legends(plots: list[BokehFigure], figure: Figure, drawn: list[Layer]) -> None:
    """To the right of each panel, a legend that hides what is clicked."""
    from bokeh.models.annotations import Legend, LegendItem

    for plot, panel in zip(plots, figure.panels, strict=True):
        items: list[LegendItem] = []
        for one in drawn:
            if one.panel != panel.name or one.kind == "shades":
                continue
            shown: list[Any] = [r for r in plot.renderers if r.name == one.id]
            items.append(LegendItem(label={"value": one.label}, renderers=shown))
        legend = Legend(
            items=items,
            click_policy="hide",
            label_text_font_size="10px",
            label_height=12,
            glyph_height=12,
            spacing=0,
            # What does not fit below each other goes beside it.
            ncols=max(1, math.ceil(len(items) * LEGEND_LINE / max(int(plot.height or HEIGHT), LEGEND_LINE))),
        )
        legend.background_fill_color = None
        legend.border_line_color = None
        legend.label_text_color = plot.yaxis[0].major_label_text_color
        plot.add_layout(legend, "right")
