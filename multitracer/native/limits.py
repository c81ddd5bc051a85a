"""What held senders back: in each pause between two data segments, one limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import multitracer._core as _core
from multitracer.native import sender
from multitracer.native.flow_rows import bounds
from multitracer.native.grouped import whole

if TYPE_CHECKING:
    from multitracer.model.table import Array, Table
    from multitracer.native.flow_rows import Bounds


class Flows(NamedTuple):
    """The transfers of connections.

    Attributes
    ----------
    data, acks : two arrays of int64, shape (n,)
        The flow of the data of each connection, and that of the ACKs for it: its first row, and the one
        behind its last.
    until_ns : array of int64, shape (n,)
        When each transfer was over.
    """

    data: Bounds
    acks: Bounds
    until_ns: Array


class Phases(NamedTuple):
    """Pauses in a row with the same limit, connection after connection.

    Attributes
    ----------
    of : array of int64
        The connection of each, from 0.
    t_ns, end_ns : array of int64
        When it begins and ends.
    limit : array of int8
        Index into `multitracer.model.schema.results.LIMITS`.
    outstanding, room : array of int64
        Bytes in flight, and those that the advertised window still allows (-1 while that is unknown), as the
        first pause ends.
    record : array of int64
        The segment that ends the first pause; 0 without.
    """

    of: Array
    t_ns: Array
    end_ns: Array
    limit: Array
    outstanding: Array
    room: Array
    record: Array


class Held(NamedTuple):
    """What held each sender back, in short.

    Attributes
    ----------
    phases : array of int64, shape (n,)
        How many each has: none without data or without ACKs.
    length_ns : array of int64, shape (n,)
        The sum of their lengths.
    window_known : array of bool, shape (n,)
        Whether any window is known that was offered to it.
    longest : Phases
        Of each the longest, the longest first.
    """

    phases: Array
    length_ns: Array
    window_known: Array
    longest: Phases


def longest(segments: Table, flows: Flows, most: int) -> Held:
    """The longest phases of each connection, and what all together are.

    Parameters
    ----------
    segments : Table
        All segments, flow after flow, each in order of time.
    flows : Flows
    most : int
        Phases of each connection.

    Returns
    -------
    Held

    Raises
    ------
    ValueError
        Bounds of different lengths, or rows that there are not.
    """
    count, length_ns, known, found = _core.limits_longest(sender.columns(segments), *_checked(flows), most)
    return Held(count, length_ns, known, Phases(*found))


def phases(segments: Table, flows: Flows) -> Phases:
    """All phases of all connections, as ``rust/core/src/segments/limits.rs`` finds them.

    Raises
    ------
    ValueError
        Bounds of different lengths, or rows that there are not.
    """
    return Phases(*_core.limit_phases(sender.columns(segments), *_checked(flows)))


def _checked(flows: Flows) -> tuple[_core._Bounds, _core._Bounds, _core._Ints]:
    return bounds(flows.data), bounds(flows.acks), whole(flows.until_ns)
