"""Values of many groups in one column, group after group: each is judged by the values of its own group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import multitracer._core as _core
from multitracer.model.lazy import np

if TYPE_CHECKING:
    import numpy.typing as npt

    from multitracer.model.table import Array

    Ints = npt.NDArray[np.int64]
    Pair = tuple[Array, Array]


def highest(of: Array, values: Array) -> Ints:
    """For each row, the highest value of its group up to and with this row.

    Parameters
    ----------
    of : array of int, shape (n,)
        The group of each row, ascending.
    values : array of int, shape (n,)

    Returns
    -------
    array of int64, shape (n,)

    Raises
    ------
    ValueError
        Arrays of different lengths.
    """
    return _core.highest_in_group(whole(of), whole(values))


def advancing(of: Array, values: Array) -> npt.NDArray[np.bool_]:
    """The rows whose value is higher than all before in their group; see `highest`.

    Returns
    -------
    array of bool, shape (n,)

    Raises
    ------
    ValueError
        Arrays of different lengths.
    """
    return _core.advancing_in_group(whole(of), whole(values))


def places(known: Pair, wanted: Pair, *, right: bool) -> Ints:
    """Where each wanted value would be inserted among the known values of its own group.

    Parameters
    ----------
    known : two arrays of int, shape (n,)
        Group and value of each, ascending.
    wanted : two arrays of int, shape (k,)
        In any order; quickest in ascending order.
    right : bool
        After equal values instead of before them.

    Returns
    -------
    array of int64, shape (k,)
        Indices into `known`, from 0 to n.

    Raises
    ------
    ValueError
        Arrays of different lengths.
    """
    return _core.places_in_group(
        (whole(known[0]), whole(known[1])), (whole(wanted[0]), whole(wanted[1])), right
    )


def whole(values: Array) -> Ints:
    """A column as the core takes whole numbers; no copy where it is such already."""
    return np.ascontiguousarray(values, dtype=np.int64)
