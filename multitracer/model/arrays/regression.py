"""Straight lines through time and sequence number."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

LEAST_POINTS = 3


class FittedLine(NamedTuple):
    """``y = level + rate * (x - start)``, fitted to `points` points from `start` to `end`."""

    rate: float
    level: float
    start: float
    end: float
    points: int


def fit(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> FittedLine | None:
    """Least squares through points (Paper 4.5); None with fewer than 3 points or no extent in time.

    Parameters
    ----------
    x : array
        Times in seconds, ascending. The fit is centred before anything is squared.
    y : array
        Bytes.
    """
    if len(x) < LEAST_POINTS or x[-1] <= x[0]:
        return None
    middle = float(np.mean(y))
    dx = x - x[0]
    centre = float(np.mean(dx))
    dx = dx - centre
    rate = float(dx @ (y - middle)) / float(dx @ dx)
    return FittedLine(rate, middle - rate * centre, float(x[0]), float(x[-1]), len(x))
