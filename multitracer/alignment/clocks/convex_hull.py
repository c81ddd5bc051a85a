"""Convex hulls and the polygon of lines between them.

References
----------
Jabbarifar et al., "LIANA: Live Incremental Time Synchronization"; Andrew's monotone chain;
Sutherland and Hodgman's clipping.
"""

from __future__ import annotations

import numpy as np

from multitracer.alignment.clocks.points import Float, Points
from multitracer.model.arrays.statistics import medians
from multitracer.model.arrays.unique import sorted_union

MAX_SKEW_PPM = 500.0
"""Limit of what a computer's clock may drift: the kernel's frequency correction ends there too (adjtimex)."""


def upper_hull(x: Float, y: Float) -> tuple[Float, Float]:
    """Vertices of the upper convex hull, left to right (Andrew's monotone chain)."""
    if len(x) > 4096:  # points below the hull of block maxima cannot be vertices
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        starts = np.arange(0, len(x), 64)
        tops = np.maximum.reduceat(y, starts)
        picked = np.flatnonzero(y == np.repeat(tops, np.diff(np.append(starts, len(x)))))
        picked = sorted_union(picked, np.array([0, len(x) - 1]))
        rough = _chain(x[picked], y[picked])
        keep = y >= np.interp(x, *rough) - 1e-6
        x, y = x[keep], y[keep]
    return _chain(x, y)


def lower_hull(x: Float, y: Float) -> tuple[Float, Float]:
    """Vertices of the lower convex hull, left to right."""
    xs, ys = upper_hull(x, -y)
    return xs, -ys


def _chain(x: Float, y: Float) -> tuple[Float, Float]:
    order = np.lexsort((y, x))
    hull: list[tuple[float, float]] = []
    for px, py in zip(x[order].tolist(), y[order].tolist(), strict=True):
        while hull and hull[-1][0] == px:
            hull.pop()
        while len(hull) > 1:
            (ax, ay), (bx, by) = hull[-2], hull[-1]
            if (by - ay) * (px - ax) > (py - ay) * (bx - ax):
                break
            hull.pop()
        hull.append((px, py))
    return np.array([p[0] for p in hull]), np.array([p[1] for p in hull])


def feasible(
    hull_low: tuple[Float, Float], hull_up: tuple[Float, Float], slope_low: float, slope_high: float
) -> Float:
    """Vertices (offset, slope) of the polygon of lines between the hulls; empty if no line is.

    Parameters
    ----------
    hull_low, hull_up : tuple of float array
        Points (x, y) that a line must not pass below, and those that it must not pass above.
    slope_low, slope_high : float
        Slopes that are considered.

    Returns
    -------
    float array, shape (vertices, 2)
    """
    values = np.concatenate([hull_low[1], hull_up[1]])
    reach = max(abs(slope_low), abs(slope_high)) * float(
        np.abs(np.concatenate([hull_low[0], hull_up[0]])).max()
    )
    bottom, top = float(values.min()) - reach - 1.0, float(values.max()) + reach + 1.0
    polygon = [(bottom, slope_low), (top, slope_low), (top, slope_high), (bottom, slope_high)]
    for sign, (xs, ys) in ((1.0, hull_low), (-1.0, hull_up)):
        for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
            polygon = _clip(polygon, x, y, sign)
            if not polygon:
                return np.empty((0, 2))
    return np.array(polygon)


def _clip(polygon: list[tuple[float, float]], x: float, y: float, sign: float) -> list[tuple[float, float]]:
    """Keep the part of a polygon where ``sign * (offset + slope * x - y) >= 0`` (Sutherland and Hodgman)."""
    kept: list[tuple[float, float]] = []
    side = [sign * (o + s * x - y) for o, s in polygon]
    for i, (here, value) in enumerate(zip(polygon, side, strict=True)):
        last, last_value = polygon[i - 1], side[i - 1]
        if (value >= 0) != (last_value >= 0):
            part = last_value / (last_value - value)
            kept.append((last[0] + part * (here[0] - last[0]), last[1] + part * (here[1] - last[1])))
        if value >= 0:
            kept.append(here)
    return kept


def possible(lower: Points, upper: Points) -> bool:
    """Whether one line with a plausible skew satisfies all points."""
    if not len(lower) or not len(upper):
        return True
    base = int(medians(np.concatenate([lower.value_ns, upper.value_ns])))
    origin = int(min(lower.t_ns.min(), upper.t_ns.min()))
    hull_low = upper_hull((lower.t_ns - origin) / 1e9, (lower.value_ns - base).astype(np.float64))
    hull_up = lower_hull((upper.t_ns - origin) / 1e9, (upper.value_ns - base).astype(np.float64))
    limit = MAX_SKEW_PPM * 1e3
    return len(feasible(hull_low, hull_up, -limit, limit)) > 0
