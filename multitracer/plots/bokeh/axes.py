"""The frame around a panel of the page: axes with units, grid, tools."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from multitracer.plots.panel import Figure, Panel
from multitracer.plots.theme import Theme

if TYPE_CHECKING:
    from bokeh.models import Axis, Range1d
    from bokeh.plotting import figure as BokehFigure

TOOLS = "xpan,box_zoom,zoom_in,zoom_out,undo,redo,reset,save"


def draw_frame(
    figure: Figure, panel: Panel, x_range: Range1d, height: int, theme: Theme, *, last: bool
) -> BokehFigure:
    """An empty panel: axes with units, grid, tools.

    Parameters
    ----------
    figure : Figure
    panel : Panel
    x_range : Range1d
        Shared by all panels.
    height : int
        Pixels.
    theme : Theme
    last : bool
        The lowest panel, which has the labels of the time axis.
    """
    from bokeh.models import (
        FixedTicker,
        NumeralTickFormatter,
        PlainText,
        Range1d,
        WheelZoomTool,
    )
    from bokeh.models.annotations import BoxAnnotation
    from bokeh.plotting import figure as new_figure

    low, high = (len(panel.lanes) - 0.5, -0.5) if panel.lanes else panel.limits(figure.window)
    plot = new_figure(
        name=f"panel:{panel.name}",
        height=height,
        sizing_mode="stretch_width",
        x_range=x_range,
        y_range=Range1d(start=low, end=high),
        tools=TOOLS,
        active_drag="xpan",
        min_border_left=96,
        min_border_right=12,
        min_border_bottom=48 if last else 8,
        min_border_top=6,
    )
    # The bare wheel scrolls the page.
    wheel = WheelZoomTool(dimensions="width", modifiers={"ctrl": True})
    plot.add_tools(wheel)
    plot.toolbar.active_scroll = wheel
    plot.xaxis.axis_label = PlainText(text=str(figure.x)) if last else None
    plot.xaxis.visible = last
    plot.xaxis.formatter = NumeralTickFormatter(format="0,0.[000000]")
    if figure.x.words:
        plot.xaxis.ticker = FixedTicker(ticks=list(range(len(figure.x.words))))
        plot.xaxis.major_label_overrides = {
            at: PlainText(text=word[:24]) for at, word in enumerate(figure.x.words)
        }
    if panel.lanes:
        rows = list(range(len(panel.lanes)))
        plot.yaxis.ticker = FixedTicker(ticks=rows)
        plot.yaxis.major_label_overrides = {
            row: PlainText(text=lane[:16]) for row, lane in zip(rows, panel.lanes, strict=True)
        }
        plot.ygrid.visible = False
        plot.yaxis.major_tick_line_color = None
    else:
        plot.yaxis.axis_label = PlainText(text=_fitted(str(panel.y), height))
        plot.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    plot.yaxis.minor_tick_line_color = None
    _dress(plot, theme)
    plot.add_layout(
        BoxAnnotation(
            name="stretch",
            left=0,
            right=1,
            visible=False,
            fill_color=theme.looks["snd_ack"].color,
            fill_alpha=0.12,
            line_color=None,
            level="underlay",
        )
    )
    return plot


def _fitted(words: str, height: int) -> str:
    most = max(height // 7, 12)
    return words if len(words) <= most else words[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _dress(plot: BokehFigure, theme: Theme) -> None:
    plot.background_fill_color = theme.ground
    plot.border_fill_color = None  # a filled border leaves a line of the old ground when the theme changes
    plot.outline_line_color = None
    for axis in (plot.xaxis[0], plot.yaxis[0]):
        _dress_axis(axis, theme)
    plot.grid.grid_line_color = theme.grid


def _dress_axis(axis: Axis, theme: Theme) -> None:
    axis.axis_label_text_color = theme.ink
    axis.axis_label_text_font_style = "normal"
    axis.major_label_text_color = theme.ink
    axis.axis_line_color = theme.faint
    axis.major_tick_line_color = theme.faint
    axis.minor_tick_line_color = None


def clock_axis(plot: BokehFigure, figure: Figure, x_range: Range1d, theme: Theme, *, alone: bool) -> None:
    """A second time axis below a panel: the time of day in UTC.

    It has a range of its own in milliseconds, which a script keeps in step with the seconds.

    Parameters
    ----------
    plot : BokehFigure
        The panel.
    figure : Figure
    x_range : Range1d
        Of the seconds.
    theme : Theme
    alone : bool
        The figure is drawn alone: Bokeh's callbacks do what the page's script would.
    """
    from bokeh.models import CustomJS, DatetimeAxis, PlainText, Range1d

    t0_ms = figure.t0_ns / 1e6
    clock = Range1d(start=t0_ms + 1e3 * figure.window[0], end=t0_ms + 1e3 * figure.window[1])
    plot.extra_x_ranges = {"clock": clock}
    day = datetime.datetime.fromtimestamp(t0_ms / 1e3, datetime.UTC).date()
    axis = DatetimeAxis(
        x_range_name="clock",
        name="clock",
        axis_label=PlainText(text=f"Time of day (UTC, {day.isoformat()}) [h:min:s]"),
        visible=figure.absolute,
    )
    _dress_axis(axis, theme)
    plot.add_layout(axis, "below")
    plot.xaxis[0].visible = not figure.absolute
    if alone:
        # A page with a strict policy has no CustomJS: there, its own script does this.
        follow = CustomJS(
            args={"clock": clock, "t0": t0_ms},
            code="clock.setv({start: t0 + 1e3 * cb_obj.start, end: t0 + 1e3 * cb_obj.end})",
        )
        x_range.js_on_change("start", follow)
        x_range.js_on_change("end", follow)
