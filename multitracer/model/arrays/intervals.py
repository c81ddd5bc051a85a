"""Arithmetic on sets of intervals of time (or of bytes), on arrays.

An interval set is an ``int64`` array of shape ``(n, 2)``: half-open intervals ``[start, end)`` in ascending
order that neither overlap nor touch. Every function returns such a set, and every function takes any array of
that shape: intervals in any order, overlapping, empty or reversed (the last two contain nothing).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Intervals: TypeAlias = "npt.NDArray[np.int64]"


def intervals(pairs: Iterable[tuple[int, int]] | npt.NDArray[np.integer] = ()) -> Intervals:
    """An interval set from pairs in any order; what overlaps or touches becomes one."""
    return _joined(_rows(pairs))


def union(*sets: Intervals) -> Intervals:
    """What is in any of the sets."""
    return _joined(np.concatenate([_rows(one) for one in sets] or [_rows(())]))


def intersect(a: Intervals, b: Intervals) -> Intervals:
    """What is in both sets."""
    a, b = intervals(a), intervals(b)
    if len(a) == 1:
        a, b = b, a
    if len(b) != 1:
        return _in_both(np.concatenate([a, b]))
    within = np.column_stack([np.maximum(a[:, 0], b[0, 0]), np.minimum(a[:, 1], b[0, 1])])
    return within[within[:, 1] > within[:, 0]]


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """What is in `a` and not in `b`."""
    a, b = intervals(a), intervals(b)
    if not len(a) or not len(b):
        return a
    low, high = min(a[0, 0], b[0, 0]), max(a[-1, 1], b[-1, 1])
    gaps = np.column_stack([np.append(low, b[:, 1]), np.append(b[:, 0], high)])
    return intersect(a, gaps)


def total(a: Intervals) -> int:
    """Summed length."""
    a = intervals(a)
    return int((a[:, 1] - a[:, 0]).sum())


def overlap(rows: Intervals, a: Intervals) -> npt.NDArray[np.int64]:
    """For each row (kept as given, rows may overlap each other): the length of it that is in set `a`."""
    rows = _rows(rows)
    return np.where(rows[:, 1] > rows[:, 0], measure(rows[:, 1], a) - measure(rows[:, 0], a), 0)


def measure(points: npt.NDArray[np.int64], a: Intervals) -> npt.NDArray[np.int64]:
    """For each point: the length of set `a` below it."""
    a = intervals(a)
    points = np.asarray(points, dtype=np.int64)
    if not len(a):
        return np.zeros(points.shape, dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(a[:, 1] - a[:, 0])])
    index = np.searchsorted(a[:, 0], points, side="right")
    last = np.maximum(index - 1, 0)
    over = np.maximum(points - a[last, 1], 0)  # beyond the end of the last interval that began
    inside = points - a[last, 0] - over
    return np.where(index > 0, before[last] + inside, 0).astype(np.int64)


def contains(a: Intervals, points: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """For each point: whether it is in set `a` (starts are, ends are not)."""
    a = intervals(a)
    points = np.asarray(points, dtype=np.int64)
    if not len(a):
        return np.zeros(points.shape, dtype=np.bool_)
    index = np.searchsorted(a[:, 0], points, side="right") - 1
    return np.asarray((index >= 0) & (points < a[np.maximum(index, 0), 1]), dtype=np.bool_)


def longer_than(a: Intervals, length: int) -> Intervals:
    """Those intervals of the set that are longer than `length`."""
    a = intervals(a)
    return a[a[:, 1] - a[:, 0] > length]


def _rows(pairs: Iterable[tuple[int, int]] | npt.NDArray[np.integer]) -> Intervals:
    if not isinstance(pairs, np.ndarray):
        pairs = np.array(list(pairs), dtype=np.int64)
    return pairs.astype(np.int64, copy=False).reshape(-1, 2)


def covered(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> Intervals:
    """An interval set from starts and ends of intervals in any order, as `intervals` of their pairs.

    Parameters
    ----------
    starts, ends : array of int64, shape (n,)
    """
    if not len(starts):
        return np.empty((0, 2), dtype=np.int64)
    if np.any(starts[1:] < starts[:-1]):
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    # What is empty or reversed ends where it begins, at the latest, and so joins nothing.
    reached = np.maximum.accumulate(ends)
    apart = np.flatnonzero(starts[1:] > reached[:-1])
    found = np.column_stack([starts[np.append(0, apart + 1)], reached[np.append(apart, len(ends) - 1)]])
    return found[found[:, 1] > found[:, 0]]


def _joined(rows: Intervals) -> Intervals:
    """What any of the rows covers."""
    starts, ends = rows[:, 0], rows[:, 1]
    if np.all(ends > starts) and np.all(starts[1:] > ends[:-1]):
        return rows  # a set already
    return covered(starts, ends)


def _in_both(rows: Intervals) -> Intervals:
    """What two of the rows cover, which are those of two sets: a sweep over all ends."""
    if not len(rows):
        return np.empty((0, 2), dtype=np.int64)
    points = np.concatenate([rows[:, 0], rows[:, 1]])
    order = np.argsort(points, kind="stable")  # mostly in order already, which costs little
    points = points[order]
    depth = np.cumsum(np.where(order < len(rows), 1, -1))
    last = np.append(points[1:] != points[:-1], True)
    points, inside = points[last], depth[last] >= 2
    edges = np.diff(inside.astype(np.int8), prepend=np.int8(0))
    return np.column_stack([points[edges == 1], points[edges == -1]])
