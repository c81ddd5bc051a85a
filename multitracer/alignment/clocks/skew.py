"""Skew: how the smallest delays move over time.

References
----------
Moon, Skelly, Towsley, "Estimation and Removal of Clock Skew", INFOCOM 1999; Theil and Sen for robust slopes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from multitracer.alignment.clocks.convex_hull import MAX_SKEW_PPM
from multitracer.alignment.clocks.points import Float
from multitracer.model.arrays.statistics import medians

CONFIDENCE = 5.0
"""Half width of the skew's interval in standard errors."""


def least_violation(
    width: Callable[[float], tuple[float, float]], low: float, high: float
) -> tuple[float, float]:
    """Slope with the smallest contradiction between the hulls (convex in the slope), and its size in ns.

    Parameters
    ----------
    width : callable
        The lowest and the highest offset, in ns, that a line of a slope may have; the lowest is above the
        highest where none may.
    low, high : float
        Where to search, in ns/s.

    Returns
    -------
    slope : float
        In ns/s.
    violation : float
        By how many ns the lowest offset is above the highest there; 0 if it is not.
    """
    for _ in range(100):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        bottom_a, top_a = width(a)
        bottom_b, top_b = width(b)
        if bottom_a - top_a <= bottom_b - top_b:
            high = b
        else:
            low = a
    slope = (low + high) / 2
    bottom, top = width(slope)
    return slope, max(bottom - top, 0.0)


def skew_interval(
    x_low: Float, y_low: Float, x_up: Float, y_up: Float, limit: float
) -> tuple[float, float, float, float]:
    """Interval, best value and error of the slope from how the smallest delays move over time, in ns/s.

    A skew tilts both envelopes alike; a queue that builds up tilts one, beyond what a clock can. A slope
    that does not differ from zero significantly is zero: clocks of one host have none, and jitter must not
    invent one. Where the directions disagree, both slopes stay possible.

    Parameters
    ----------
    x_low, y_low : float array
        Times in seconds and lower bounds of the offset in nanoseconds there.
    x_up, y_up : float array
        The same for upper bounds.
    limit : float
        The largest slope of either sign that a clock may have, in ns/s.

    Returns
    -------
    low, high, best, error : float
        In ns/s. Without a usable envelope all of ``[-limit, limit]``, with 0 as the best value.
    """
    found = [
        envelope
        for envelope in (_slope_of_envelope(x_low, y_low), _slope_of_envelope(x_up, -y_up, flip=True))
        if envelope is not None and abs(envelope[0]) <= limit
    ]
    if not found:
        return -limit, limit, 0.0, limit
    best, error = min(found, key=lambda item: item[1])
    low, high = best - CONFIDENCE * error, best + CONFIDENCE * error
    for slope, other in found:
        if slope - CONFIDENCE * other > high or slope + CONFIDENCE * other < low:
            low, high = min(low, slope), max(high, slope)
    if low <= 0 <= high:
        best = 0.0
    return max(low, -limit), min(high, limit), float(np.clip(best, -limit, limit)), error


def _slope_of_envelope(x: Float, y: Float, flip: bool = False) -> tuple[float, float] | None:
    """Slope of the maxima of y over stretches of x, and its standard error; None with too few points."""
    count = min(16, len(x) // 8)
    if count < 5 or np.ptp(x) <= 0:
        return None
    edges = np.linspace(x.min(), x.max(), count + 1)[1:-1]
    stretch = np.searchsorted(edges, x, side="right")
    order = np.lexsort((y, stretch))
    last = np.flatnonzero(np.append(np.diff(stretch[order]) != 0, True))
    top = order[last]
    if len(top) < 5:
        return None
    slope, error = slope_of_centre(x[top], y[top])
    return (-slope if flip else slope), error


def slope_of_centre(x: Float, y: Float) -> tuple[float, float]:
    """Slope of a line through points with outliers (Theil and Sen), and its standard error."""
    if len(x) > 200:  # pairs grow with the square: medians of 100 stretches instead
        groups = np.array_split(np.argsort(x, kind="stable"), 100)
        x, y = (np.array([medians(values[group]) for group in groups]) for values in (x, y))
    # Not by the spread: the mean of equal numbers may differ from them in its last digit.
    if len(x) < 3 or np.ptp(x) <= 0:
        return 0.0, MAX_SKEW_PPM * 1e3
    spread = float(np.sqrt(np.sum((x - x.mean()) ** 2)))
    i, j = np.triu_indices(len(x), 1)
    run = x[j] - x[i]
    apart = run != 0
    slope = float(medians((y[j] - y[i])[apart] / run[apart]))
    residual = y - slope * x
    sigma = max(1.4826 * float(medians(np.abs(residual - medians(residual)))), 500.0)
    return slope, 1.25 * sigma / spread
