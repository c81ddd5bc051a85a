"""Distinct integers, and which are among others, in time that does not depend on what they are."""

from __future__ import annotations

from multitracer.model.lazy import np
from multitracer.model.table import Array


def sorted_unique(values: Array) -> Array:
    """Integers in order, each once.

    ``np.unique`` hashes them since NumPy 2.3: times or sequence numbers in equal steps all fall on few places
    of its table, and a million of them take from seconds to minutes.
    """
    ordered = np.sort(values, kind="stable")  # what is in order already costs next to nothing
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def among(values: Array, known: Array) -> Array:
    """Mask of the integers that are among those known.

    As ``np.isin``, which for numbers far apart loads NumPy's masked arrays: that takes longer than most
    questions about a small capture.
    """
    ordered = np.sort(known, kind="stable")
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[place] == values, dtype=np.bool_)


def sorted_union(first: Array, second: Array) -> Array:
    """Integers of either, in order, each once: ``np.union1d`` hashes them, too."""
    return sorted_unique(np.concatenate([first, second]))


def sorted_difference(first: Array, second: Array) -> Array:
    """Integers of the first that are not in the second, in order, each once: ``np.setdiff1d`` hashes them."""
    mine = sorted_unique(first)
    return mine[~among(mine, second)]
