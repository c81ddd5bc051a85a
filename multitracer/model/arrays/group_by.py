"""Rows of a table by the values of a few columns, found by one sort: for questions about many groups."""

from __future__ import annotations

from multitracer.model.lazy import np
from multitracer.model.table import Array

_COUNTABLE = 2**62


class Grouped:
    """Row numbers by the values of integer columns.

    Parameters
    ----------
    *columns : array
        Of equal length.
    """

    def __init__(self, *columns: Array) -> None:
        self._low = [int(column.min()) if len(column) else 0 for column in columns]
        self._span = [
            int(column.max()) - low + 1 if len(column) else 1
            for column, low in zip(columns, self._low, strict=True)
        ]
        total = 1
        for span in self._span:
            total *= span
        if total >= _COUNTABLE:
            raise ValueError("values too far apart to be numbered through")
        key = self._key(*(column.astype(np.int64) for column in columns))
        self._order = np.argsort(key, kind="stable")
        self._keys, starts = np.unique(key[self._order], return_index=True)
        self._bounds = np.append(starts, len(key))

    def _key(self, *values: Array) -> Array:
        key = np.zeros_like(values[0])
        for value, low, span in zip(values, self._low, self._span, strict=True):
            key = key * span + (value - low)
        return key

    def rows(self, *values: int) -> Array:
        """Numbers of the rows that have these values, in their order."""
        key = 0
        for value, low, span in zip(values, self._low, self._span, strict=True):
            if not low <= value < low + span:
                return self._order[:0]
            key = key * span + (value - low)
        at = int(np.searchsorted(self._keys, key))
        if at == len(self._keys) or self._keys[at] != key:
            return self._order[:0]
        return self._order[self._bounds[at] : self._bounds[at + 1]]


def last_places(known: tuple[Array, Array], wanted: tuple[Array, Array]) -> Array:
    """The last place at which each of some pairs of whole numbers is found among known ones; -1: it is not.

    Parameters
    ----------
    known, wanted : two arrays of integers of equal length
        The first number of each pair, and the second.

    Returns
    -------
    array of int64
        As long as the arrays of `wanted`.
    """
    first, second = (column.astype(np.int64) for column in known)
    if not len(first):
        return np.full(len(wanted[0]), -1, dtype=np.int64)
    low, high = int(second.min()), int(second.max())
    span = high - low + 1
    keys = first * span + (second - low)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    there = (wanted[1] >= low) & (wanted[1] <= high)
    sought = wanted[0].astype(np.int64) * span + (np.where(there, wanted[1], low) - low)
    at = np.searchsorted(ordered, sought, side="right") - 1
    return np.where(there & (ordered[at] == sought), order[at], -1)


def summed_at(places: Array, values: Array, length: int) -> Array:
    """Sums of whole numbers by place, ten times as fast as ``np.add.at`` where types differ.

    Parameters
    ----------
    places : int array
        From 0 to `length` - 1.
    values : int array
        As long as `places`; sums are exact below 2**53.
    length : int

    Returns
    -------
    array of int64, shape (length,)
    """
    return np.bincount(places, values, minlength=length).astype(np.int64)
