"""The smallest value of many stretches of one array."""

from __future__ import annotations

from multitracer.model.lazy import np
from multitracer.model.table import Array


def least_between(values: Array, begin: Array, end: Array, nothing: int) -> Array:
    """The smallest of ``values[begin:end]`` for each pair of bounds, in time n log n.

    Parameters
    ----------
    values : array of int64
    begin, end : array of int
        Bounds of each stretch, end exclusive, within 0 to ``len(values)``.
    nothing : int
        The answer for an empty stretch.

    Returns
    -------
    array of int64
        One value for each stretch.
    """
    found = np.full(len(begin), nothing, dtype=np.int64)
    filled = np.flatnonzero(end > begin)
    begin, end = begin[filled], end[filled]
    width = end - begin
    longest = int(width.max(initial=0))
    # The least of 2**level values from each place on: two of them cover a stretch up to twice as long.
    level, least = 0, np.asarray(values, dtype=np.int64)
    while 1 << level <= longest:
        mine = np.flatnonzero((width >= 1 << level) & (width < 2 << level))
        found[filled[mine]] = np.minimum(least[begin[mine]], least[end[mine] - (1 << level)])
        least = np.minimum(least[: -(1 << level)], least[1 << level :])
        level += 1
    return found
