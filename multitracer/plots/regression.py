"""Trend lines: the rate at which a sequence number grows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multitracer.plots.panel import Floats, Role, Series


class Trend(NamedTuple):
    """A regression line: ``y = level + rate * (x - x0)``, fitted from `x0` to `x1`."""

    rate: float
    level: float
    x0: float
    x1: float

    def at(self, x: float) -> float:
        """Value of the line."""
        return self.level + self.rate * (x - self.x0)


def fit(x: Floats, y: Floats) -> Trend | None:
    """Least squares through points (Paper 4.5); None with fewer than 3 points or no extent in time."""
    if len(x) < 3 or x[-1] <= x[0]:
        return None
    # Centred, because the squares of absolute sequence numbers would eat the precision.
    centre, middle = float(x.mean()), float(y.mean())
    dx = x - centre
    rate = float(dx @ (y - middle)) / float(dx @ dx)
    start = float(x[0])
    return Trend(rate, middle + rate * (start - centre), start, float(x[-1]))


def line(
    name: str, trend: Trend, role: Role, *, label: str, group: str, until: float | None = None
) -> Series:
    """A trend as a series of two points, drawn on to `until` if given."""
    x = np.array([trend.x0, trend.x1 if until is None else until])
    y = np.array([trend.at(float(value)) for value in x])
    return Series(name, role, x, y, kind="line", label=label, group=group, in_limits=False)


def rate_words(bytes_per_second: float) -> str:
    """A rate in the words of a legend."""
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if abs(bytes_per_second) >= 100 * size:
            return f"{bytes_per_second / size:,.0f} {unit}"
        if abs(bytes_per_second) >= 10 * size:
            return f"{bytes_per_second / size:,.1f} {unit}"
    return f"{bytes_per_second:,.0f} B/s"
