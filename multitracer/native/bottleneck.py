"""The bottleneck of a transfer by what passed it: its rate, and when it was busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import multitracer._core as _core
from multitracer.model.lazy import np
from multitracer.native.grouped import whole

if TYPE_CHECKING:
    from multitracer.model.table import Array


def rates(in_ns: Array, out_ns: Array, size: Array, smallest_ns: int, still_ns: int) -> tuple[float, float]:
    """Bytes per second that come out while others wait, and of trains; 0 if too little is known.

    Parameters
    ----------
    in_ns, out_ns : array of int64, shape (n,)
        When each packet was handed over, and when it came out.
    size : array of int64, shape (n,)
        Its bytes.
    smallest_ns : int
        The smallest delay of all.
    still_ns : int
        A path that delivers nothing for longer may be stalled: that is no time of the link.

    Returns
    -------
    rate, peak : float
        How each is found: ``rust/core/src/segments/bottleneck.rs``.

    Raises
    ------
    ValueError
        Arrays of different lengths.
    """
    return _core.bottleneck_rates(whole(in_ns), whole(out_ns), whole(size), smallest_ns, still_ns)


def served(in_ns: Array, size: Array, rate: float) -> Array:
    """When each packet would be out of a queue that is served at a constant rate.

    Parameters
    ----------
    in_ns : array of int64, shape (n,)
        When each was handed over, ascending.
    size : array, shape (n,)
        Bytes.
    rate : float
        Bytes a second.

    Returns
    -------
    array of int64, shape (n,)

    Raises
    ------
    ValueError
        Arrays of different lengths.
    """
    return _core.bottleneck_served(whole(in_ns), np.ascontiguousarray(size, dtype=np.float64), rate)


def busy(in_ns: Array, out_ns: Array, rest_ns: int) -> Array:
    """Times in which a bottleneck was busy.

    Parameters
    ----------
    in_ns, out_ns : array of int64, shape (n,)
        When each packet was handed over, ascending, and when it came out.
    rest_ns : int
        Of the time of each, what was spent elsewhere.

    Returns
    -------
    array of int64, shape (k, 2)
        An interval set (`multitracer.model.arrays.intervals`).

    Raises
    ------
    ValueError
        Arrays of different lengths.
    """
    return _core.bottleneck_busy(whole(in_ns), whole(out_ns), rest_ns).reshape(-1, 2)
