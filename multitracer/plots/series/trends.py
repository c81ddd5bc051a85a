"""Trend lines: the rate at which a sequence number grows, drawn and in words."""

from __future__ import annotations

import numpy as np

from multitracer.model.arrays.regression import FittedLine
from multitracer.model.quantities import rate
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Role, Series

ALIKE = 0.1
"""Slope of a line and mean rate of what it was fitted to differ by no more than this part."""


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
    """A rate in the words of the text: bit/s."""
    return rate(8 * bytes_per_second)


def is_straight(line: FittedLine, x: Floats, y: Floats) -> bool:
    """Whether a line shows the rate of what it was fitted to: elsewhere the rate changed, and no line fits.

    Parameters
    ----------
    line : FittedLine
    x, y : arrays of float64
        The places, in order of x.
    """
    mean = (float(y.max()) - float(y[0])) / (float(x[-1]) - float(x[0]))
    return abs(line.rate - mean) <= ALIKE * abs(mean)
