"""How equal values are: deviation, Jain's index, and smoothing as TCP's timer does it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from multitracer.model.lazy import np
from multitracer.model.table import Array

_BLOCK = 64


def jain(values: Sequence[float]) -> float | None:
    """Jain's fairness index: 1 if all are equal, 1/n if one has all; None for fewer than two values.

    Reference: R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984.
    """
    squares = sum(value * value for value in values)
    if len(values) < 2 or not squares:
        return None
    return round(sum(values) ** 2 / (len(values) * squares), 6)


def standard_deviation(values: Sequence[float]) -> float | None:
    """Standard deviation of a sample (n - 1); None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return round(math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)), 3)


def smoothed(values: Array, gain: float, start: float | Array) -> Array:
    """``y[n] = (1 - gain) y[n-1] + gain x[n]``, beginning at `start`, along the last axis.

    In blocks short enough that the powers of ``1 - gain`` stay far from the limits of a float.

    Parameters
    ----------
    values : array
        ``(..., n)``; smoothed along the last axis.
    gain : float
        Weight of a new value, above 0 and at most 1 (1/8 for SRTT, RFC 6298 section 2).
    start : float | Array
        The value before the first, ``(...)``.

    Returns
    -------
    array
        Of the shape of `values`.

    Examples
    --------
    >>> import numpy as np
    >>> smoothed(np.array([8.0, 16.0]), 0.25, 4.0).tolist()
    [5.0, 7.75]
    """
    keep = 1 - gain
    powers = keep ** np.arange(1, _BLOCK + 1)
    found = np.empty(values.shape, dtype=np.float64)
    last = np.asarray(start)
    for at in range(0, values.shape[-1], _BLOCK):
        part = values[..., at : at + _BLOCK]
        scale = powers[: part.shape[-1]]
        found[..., at : at + _BLOCK] = scale * (last[..., None] + np.cumsum(gain * part / scale, axis=-1))
        last = found[..., at + part.shape[-1] - 1]
    return found


def quantiles(values: Array, shares: Sequence[float]) -> Array:
    """Quantiles along the last axis, as `np.quantile` has them.

    That loads NumPy's masked arrays, which takes longer than most questions about a small capture.

    Parameters
    ----------
    values : array
        ``(..., n)``, n at least 1, without NaN.
    shares : sequence of float
        From 0 to 1.

    Returns
    -------
    array
        ``(..., len(shares))``.

    Examples
    --------
    >>> import numpy as np
    >>> quantiles(np.array([4, 1, 3, 2]), (0.0, 0.5, 0.9)).tolist()
    [1.0, 2.5, 3.7]
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    last = ordered.shape[-1] - 1
    place = last * np.asarray(shares)
    below = np.floor(place).astype(np.int64)
    part = place - below
    first, second = ordered[..., below], ordered[..., np.minimum(below + 1, last)]
    apart = second - first
    # From the nearer end: so the middle of two equal values is that value.
    return np.asarray(np.where(part < 0.5, first + apart * part, second - apart * (1 - part)))


def medians(values: Array) -> Array:
    """The median along the last axis, as `np.median` has it; see `quantiles`."""
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    size = ordered.shape[-1]
    middle = ordered[..., (size - 1) // 2 : size // 2 + 1]
    return np.asarray(middle.mean(axis=-1))
