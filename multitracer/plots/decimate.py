"""Fewer points, same picture: at most a few points per pixel column, extremes and marks kept.

A line drawn through the first, lowest, highest and last point of every pixel column covers the same pixels as
one through all points (M4, Jugel et al., VLDB 2014). A cloud of points needs one point per pixel that is hit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from multitracer.plots.fold import Floats

Indices = npt.NDArray[np.intp]


def line(x: Floats, y: Floats, window: tuple[float, float], columns: int) -> Indices:
    """Points that draw the same line or steps inside the window.

    Parameters
    ----------
    x : array, in ascending order
    y : array
    window : tuple of float
        Range of x that is drawn.
    columns : int
        Pixels across the window.

    Returns
    -------
    array of int
        Ascending indices: first, lowest, highest and last point of each column, and the neighbours just
        outside the window, towards which a line leaves it.
    """
    first = int(np.searchsorted(x, window[0], side="left"))
    last = int(np.searchsorted(x, window[1], side="right"))
    outside = [edge for edge in (first - 1, last) if 0 <= edge < len(x)]
    inside = np.arange(first, last, dtype=np.intp)
    if len(inside) > 4 * columns:
        column = _bins(x[first:last], window, columns)
        starts = np.flatnonzero(np.r_[True, column[1:] != column[:-1]])
        ends = np.r_[starts[1:], len(column)] - 1
        # An order by (column, y) puts the lowest of a column at its start and the highest at its end.
        order = np.lexsort((y[first:last], column))
        inside = np.concatenate((starts, ends, order[starts], order[ends])) + first
    return np.unique(np.concatenate((inside, np.array(outside, dtype=np.intp)))).astype(np.intp)


def points(
    x: Floats,
    y: Floats,
    window: tuple[float, float],
    limits: tuple[float, float],
    columns: int,
    rows: int,
) -> Indices:
    """Points that hit the same pixels inside the window; their order in `x` does not matter.

    Parameters
    ----------
    x, y : arrays
    window, limits : tuples of float
        Ranges of x and y that are drawn; what is outside is left out.
    columns, rows : int
        Pixels across and up.

    Returns
    -------
    array of int
        Ascending indices: the first point of each pixel, and the lowest and highest of each pixel column.
    """
    visible = np.flatnonzero((x >= window[0]) & (x <= window[1]) & (y >= limits[0]) & (y <= limits[1]))
    if len(visible) <= 4 * columns:
        return visible
    column = _bins(x[visible], window, columns)
    row = _bins(y[visible], limits, rows)
    _, first_of_cell = np.unique(column * rows + row, return_index=True)
    order = np.lexsort((y[visible], column))
    sorted_columns = column[order]
    starts = np.flatnonzero(np.r_[True, sorted_columns[1:] != sorted_columns[:-1]])
    ends = np.r_[starts[1:], len(order)] - 1
    kept: Indices = visible[np.unique(np.concatenate((first_of_cell, order[starts], order[ends])))]
    return kept


def _bins(values: Floats, limits: tuple[float, float], count: int) -> npt.NDArray[np.int64]:
    width = limits[1] - limits[0]
    scaled = (values - limits[0]) * (count / width) if width > 0 else np.zeros(len(values))
    return np.clip(np.nan_to_num(scaled, nan=0.0, posinf=count, neginf=0.0), 0, count - 1).astype(np.int64)
