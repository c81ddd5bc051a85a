"""A metric over a parameter, a curve for each value of a second one: medians, quartiles, numbers of runs.

The sources of such studies are parameter grids, as goodput over window and queue.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.model.frozen import frozen
from multitracer.plots import base
from multitracer.plots.figures.cdf import CURVES
from multitracer.plots.panel import Axis, Figure, Panel, Pieces, Series

_STEPS, _FAR = 12, 8.0
_UNITS = {
    "_j_per_mbit": "J/Mbit",
    "_bps": "bit/s",
    "_bytes": "bytes",
    "_packets": "packets",
    "_segments": "segments",
    "_ns": "ns",
    "_us": "us",
    "_ms": "ms",
    "_s": "s",
    "_j": "J",
}


@frozen
class Point:
    """The runs of one combination of parameters."""

    x: int | float | str | bool | None
    curve: str
    median: float
    q1: float
    q3: float
    n: int


def build_points(points: Sequence[Point], metric: str, x_name: str, curve_name: str) -> Figure:
    """Build the chart.

    Parameters
    ----------
    points : sequence of Point
    metric, x_name, curve_name : str
        Names of the columns; the last is empty for a study over one parameter.

    Raises
    ------
    UsageError
        Without points, or with more curves than can be distinguished.
    """
    if not points:
        raise base.nothing("chart", "no run has these parameters")
    curves = list(dict.fromkeys(point.curve for point in points))
    if len(curves) > len(CURVES):
        raise base.nothing(
            "chart", f"{len(curves)} values of {curve_name}, at most {len(CURVES)} curves can be drawn"
        )
    named = any(isinstance(point.x, str | bool) for point in points)
    shown, unit = _quantity(metric)
    x_shown, x_unit = _quantity(x_name)
    size = x_size = 1.0
    if x_name.endswith("_bps") and not named:
        x_unit, x_size = base.unit_of(max(abs(float(point.x or 0)) for point in points))
    words = named or _steps([float(point.x) for point in points if isinstance(point.x, int | float)])
    distinct = {_word(point.x): point.x for point in points}
    if not named:
        distinct = dict(sorted(distinct.items(), key=lambda one: float(one[1] or 0)))
    places = {name: float(at) for at, name in enumerate(distinct)}
    names = [_word(value, x_size) for value in distinct.values()]

    def place(point: Point) -> float:
        if words or not isinstance(point.x, int | float):
            return places[_word(point.x)]
        return float(point.x) / x_size

    if metric.endswith("_bps"):
        unit, size = base.unit_of(float(np.median([abs(point.median) for point in points])))
    curve_shown, heading = _quantity(curve_name)[0], str(Axis(*_quantity(curve_name)))
    series, ranges = [], []
    for rank, curve in enumerate(curves):
        mine = sorted((point for point in points if point.curve == curve), key=place)
        # Curves over words are next to each other, or their strokes would hide one another.
        aside = 0.06 * (rank - (len(curves) - 1) / 2) if words else 0.0
        x = np.array([place(point) + aside for point in mine])
        label = curve if curve_name else shown
        most, least = max(point.n for point in mine), min(point.n for point in mine)
        runs = f"n = {most:,}" if most == least else f"n = {least:,} to {most:,}"
        median = np.array([point.median for point in mine]) / size
        series.append(
            Series(
                f"curve {rank}",
                CURVES[rank],
                x,
                median,
                kind="line",
                label=f"{label} ({runs})",
                group=heading,
            )
        )
        # A curve may have a single point.
        series.append(Series(f"median {rank}", CURVES[rank], x, median))
        low = np.array([point.q1 for point in mine]) / size
        high = np.array([point.q3 for point in mine]) / size
        ranges.append(Pieces(f"quartiles {rank}", CURVES[rank], x, low, x, high))
    all_x = np.array(sorted({place(point) for point in points}))
    margin = 0.4 if words else 0.06 * float(np.ptp(all_x)) or max(0.5, 0.1 * abs(float(all_x[0])))
    title = f"{shown} over {x_shown}" + (f" and {curve_shown}" if curve_name else "")
    return Figure(
        "parameters",
        title,
        (Panel("metric", Axis(shown, unit), tuple(series), zero=True, pieces=tuple(ranges)),),
        (float(all_x[0]) - margin, float(all_x[-1]) + margin),
        subtitle="medians; bars from the first to the third quartile",
        x=Axis(x_shown, x_unit, tuple(names) if words else ()),
    )


def _steps(values: list[float]) -> bool:
    """Whether few values reach over so many sizes (2, 8, 32, 64 ...) that they are best set side by side."""
    few = sorted(set(values))
    return 2 < len(few) <= _STEPS and few[0] > 0 and few[-1] / few[0] >= _FAR


def _quantity(column: str) -> tuple[str, str]:
    """What a column holds, and its unit by the end of its name: `throughput_bps`, `flow.0.rcvbuf_bytes`."""
    for end, unit in _UNITS.items():
        if column.endswith(end) and column != end:
            return column.removesuffix(end).replace("_", " "), unit
    return column.replace("_", " "), ""


def _word(value: object, size: float = 1.0) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value / size:,.6g}"
    return str(value)
