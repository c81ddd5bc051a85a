"""Trend lines: the rate at which a sequence number grows, drawn and in words."""

from __future__ import annotations

import numpy as np

from multitracer.model.arrays.regression import FittedLine
from multitracer.plots.panel import Role, Series


def series(
    name: str, line: FittedLine, role: Role, *, label: str, group: str, until: float | None = None
) -> Series:
    """A regression line as a series of two points, drawn on to `until` if given.

    Parameters
    ----------
    name : str
    line : FittedLine
        Times in seconds; level and rate in the panel's unit.
    role : Role
        Which look it has.
    label : str
        For the legend.
    group : str
        Of the legend.
    until : float, optional
        Seconds.
    """
    x = np.array([line.start, line.end if until is None else until])
    y = line.level + line.rate * (x - line.start)
    return Series(name, role, x, y, kind="line", label=label, group=group, in_limits=False)


def rate_words(bytes_per_second: float) -> str:
    """A rate in the words of a legend."""
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if abs(bytes_per_second) >= 100 * size:
            return f"{bytes_per_second / size:,.0f} {unit}"
        if abs(bytes_per_second) >= 10 * size:
            return f"{bytes_per_second / size:,.1f} {unit}"
    return f"{bytes_per_second:,.0f} B/s"
