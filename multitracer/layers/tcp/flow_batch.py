"""Segments of many flows in one table, so that one NumPy call answers a question for all of them.

Rows are sorted by flow, then by time. What holds within one flow only (the highest byte so far, the last ACK
before a time) is computed with `GroupedSearch`, whose keys keep the flows apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline
from multitracer.native import grouped

if TYPE_CHECKING:
    import numpy.typing as npt

Times: TypeAlias = "npt.NDArray[np.int64]"
Flags: TypeAlias = "npt.NDArray[np.bool_]"

_COUNTABLE = 2**62
_ROWS = 1 << 16
"""Segments in one batch: larger batches are no faster and take more memory."""


def batches(m: Timeline, connections: Sequence[Connection] | None = None) -> Iterator[list[Connection]]:
    """Connections in their order, in lists that have about `_ROWS` segments each.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Connection, optional
        All of the timeline by default.
    """
    rows = m.once("segments_by_connection", m.segments_by_connection)
    some: list[Connection] = []
    held = 0
    for one in m.connections if connections is None else connections:
        size = int(rows[one.index]) if one.index < len(rows) else 0
        if some and held + size > _ROWS:
            yield some
            some, held = [], 0
        some.append(one)
        held += size
    if some:
        yield some


def one_batch(m: Timeline, connections: Sequence[Connection]) -> bool:
    """Whether connections are all of the timeline, and one batch: what is found of it is small to keep."""
    return len(connections) == len(m.connections) and len(m.table("segments")) <= _ROWS


def place(m: Timeline, connection: Connection) -> int | None:
    """The number of a connection in the batch of all; None if they are several batches."""
    if not one_batch(m, m.connections):
        return None
    places: dict[int, int] = m.once("places", lambda: {one.index: at for at, one in enumerate(m.connections)})
    return places.get(connection.index)


class FlowBatch:
    """Rows of several flows.

    Parameters
    ----------
    rows : Table
        By flow, then by time.
    of : array
        Which flow each row is of, ascending.
    count : int
        How many flows there are; some may have no rows.
    """

    def __init__(self, rows: Table, of: Times, count: int) -> None:
        self.rows, self.of, self.count = rows, of, count

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Array:
        return self.rows[name]

    @cached_property
    def bounds(self) -> Times:
        """The first row of each flow, and after the last one the number of rows."""
        return np.searchsorted(self.of, np.arange(self.count + 1))

    @property
    def sizes(self) -> Times:
        """Rows of each flow."""
        return np.diff(self.bounds)

    def where(self, keep: Flags) -> FlowBatch:
        """Some of the rows, of the same flows; columns of adjacent ones are no copies."""
        rows = np.flatnonzero(keep)
        if len(rows) == len(keep):
            return self
        if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
            begin, end = int(rows[0]), int(rows[-1]) + 1
            return FlowBatch(self.rows.between(begin, end), self.of[begin:end], self.count)
        return FlowBatch(self.rows.where(rows), self.of[rows], self.count)

    def chosen(self, flows: Times) -> FlowBatch:
        """Some of the flows, ascending; they are numbered anew."""
        if len(flows) == self.count:
            return self
        place = np.full(self.count, -1, dtype=np.int64)
        place[flows] = np.arange(len(flows))
        rows = np.flatnonzero(place[self.of] >= 0)
        return FlowBatch(self.rows.where(rows), place[self.of[rows]], len(flows))

    def one(self, flow: int) -> Table:
        """The rows of one flow."""
        return self.rows.between(*self.bounds[flow : flow + 2].tolist())

    def counted(self, which: Flags) -> Times:
        """How many rows of each flow a mask picks."""
        return np.bincount(self.of[which], minlength=self.count)

    def summed(self, values: Array) -> Times:
        """Sum of the values of each flow's rows."""
        return _reduced(np.add, values.astype(np.int64, copy=False), self.bounds, 0)

    def largest(self, values: Array, otherwise: int) -> Times:
        """The largest value of each flow's rows."""
        return _reduced(np.maximum, values, self.bounds, otherwise)

    def smallest(self, values: Array, otherwise: int) -> Times:
        """The smallest value of each flow's rows."""
        return _reduced(np.minimum, values, self.bounds, otherwise)

    def first(self, values: Array, otherwise: int) -> Times:
        """The value of the first row of each flow."""
        there = self.sizes > 0
        found = np.full(self.count, otherwise, dtype=np.int64)
        found[there] = values[self.bounds[:-1][there]]
        return found

    def last(self, values: Array, otherwise: int) -> Times:
        """The value of the last row of each flow."""
        there = self.sizes > 0
        found = np.full(self.count, otherwise, dtype=np.int64)
        found[there] = values[self.bounds[1:][there] - 1]
        return found


def single_flow(rows: Table) -> FlowBatch:
    """A batch of one flow, from its rows in the order of time."""
    return FlowBatch(rows, np.zeros(len(rows), dtype=np.int64), 1)


def flows(
    m: Timeline,
    connections: Sequence[Connection],
    source: int | Times | None,
    reverse: bool = False,
) -> FlowBatch:
    """One direction of each connection at one capture.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Connection
    source : int, array of int64, or None
        Index of the capture, for all or one for each connection; None gives flows without rows.
    reverse : bool
        The direction opposite to the data.
    """
    conn, direction = _ways(connections, reverse)
    rows, of = m.flows(conn, direction, -1 if source is None else source)
    return FlowBatch(rows, of, len(conn))


def flow_bounds(
    m: Timeline,
    connections: Sequence[Connection],
    source: int | Times | None,
    reverse: bool = False,
) -> tuple[Times, Times]:
    """The rows of one direction of each connection at one capture, in `Timeline.segments_by_flow`.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Connection
    source : int, array of int64, or None
        Index of the capture, for all or one for each connection; None gives flows without rows.
    reverse : bool
        The direction opposite to the data.

    Returns
    -------
    begin, end : array of int64
        The first row of each flow, and the one after its last.
    """
    return m.flow_bounds(*_ways(connections, reverse), -1 if source is None else source)


def both_bounds(
    m: Timeline, connections: Sequence[Connection], source: int | Times | None
) -> tuple[tuple[Times, Times], tuple[Times, Times]]:
    """`flow_bounds` of the data of each connection, and of the ACKs for it.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Connection
    source : int, array of int64, or None
        As for `flow_bounds`.

    Returns
    -------
    data, acks : two arrays of int64
    """
    return flow_bounds(m, connections, source), flow_bounds(m, connections, source, reverse=True)


def _ways(connections: Sequence[Connection], reverse: bool) -> tuple[Times, Times]:
    """Index and direction of each connection."""
    conn = np.array([one.index for one in connections], dtype=np.int64)
    direction = np.array([one.data_dir for one in connections], dtype=np.int64)
    return conn, 1 - direction if reverse else direction


class GroupedSearch:
    """Binary search within each of many flows by one call, and keys to sort (flow, value) pairs by.

    A (flow, value) pair becomes one int64 key; keys are ordered by flow, then by value.

    Parameters
    ----------
    count : int
        Number of flows.
    *known : array of int64
        The values to search among: byte numbers or times in ns. Keys of these are exact. A value that is not
        among them may share its key with others between the same two known values (or beyond the ends), so
        compare it with known values only.
    """

    def __init__(self, count: int, *known: Times) -> None:
        self._count = count
        self._known = [part for part in known if len(part)]

    @cached_property
    def low(self) -> int:
        """One less than the least known value."""
        return min((int(part.min()) for part in self._known), default=0) - 1

    @cached_property
    def high(self) -> int:
        """One more than the largest known value."""
        return max((int(part.max()) for part in self._known), default=0) + 1

    @cached_property
    def _values(self) -> Times | None:
        """Values too far apart to be numbered through: ranks stand for them, odd ones for those known."""
        apart = (self.high - self.low + 1) * max(self._count, 1) >= _COUNTABLE
        return sorted_unique(np.concatenate(self._known)) if self._known and apart else None

    @cached_property
    def _span(self) -> int:
        return self.high - self.low + 1 if self._values is None else 2 * len(self._values) + 2

    def at(self, of: Times, number: Times) -> Times:
        """Keys of (flow, value) pairs.

        Parameters
        ----------
        of : array of int64, shape (n,)
            Flow of each value, from 0 to `count` - 1.
        number : array of int64, shape (n,)
            Values; those outside of `low` to `high` are clipped to these.
        """
        if self._values is None:
            inside = np.minimum(np.maximum(number, self.low), self.high) - self.low
        else:
            left = np.searchsorted(self._values, number)
            same = self._values[np.minimum(left, len(self._values) - 1)] == number
            inside = 2 * left + same
        return np.asarray(of * self._span + inside, dtype=np.int64)

    def search(
        self, within: tuple[Times, Times], wanted: tuple[Times, Times], *, right: bool = False
    ) -> Times:
        """Insertion index of each wanted value among the values of its own flow.

        Parameters
        ----------
        within : (flow, value) arrays
            Known values, sorted by flow, then ascending.
        wanted : (flow, value) arrays
        right : bool
            After equal values instead of before them, as ``side="right"`` of `np.searchsorted`.

        Returns
        -------
        array of int64
            Indices into `within`, of the length of `wanted`.
        """
        return grouped.places(within, wanted, right=right)


def highest(of: Times, values: Times) -> Times:
    """For each row, the highest value of its flow up to and with this row; rows are sorted by flow."""
    return grouped.highest(of, values)


def advancing(of: Times, values: Times) -> Flags:
    """Mask of the rows whose value is higher than all before in their flow; rows are sorted by flow."""
    return grouped.advancing(of, values)


def covered(rows: FlowBatch) -> Times:
    """How many bytes the segments of each flow cover, each once."""
    start, end = rows["seq"], rows["seq"] + rows["length"]
    line = GroupedSearch(rows.count, start, end)
    order = np.argsort(line.at(rows.of, start), kind="stable")
    of, start, end = rows.of[order], start[order], end[order]
    reached = highest(of, end)
    # What the segments before reach to, where they are of the same flow.
    before = np.where(np.diff(of, prepend=-1) > 0, start, np.append(0, reached[:-1])[: len(of)])
    found = np.zeros(rows.count, dtype=np.int64)
    np.add.at(found, of, np.maximum(end - np.maximum(start, before), 0))
    return found


def damaged(rows: FlowBatch) -> Flags:
    """Segments that TCP discards for their checksum, e.g. after a failed header decompressor (RFC 1144).

    Between hosts that leave checksums to hardware (or compute none, over virtual links) most are "bad": then
    none is damaged.
    """
    bad = np.asarray(rows["checksum"] == rows.rows.code("checksum", "bad"), dtype=np.bool_)
    if bad.any():
        bad &= (2 * rows.counted(bad) <= rows.sizes)[rows.of]
    return bad


def valid_acks(
    m: Timeline, connections: Sequence[Connection], source: int | Times | None, reverse: bool = False
) -> FlowBatch:
    """ACKs for the data direction of each connection (or the other), without those damaged in transit.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Connection
    source : int, array of int64, or None
        Index of the capture, for all or one for each connection; None gives flows without rows.
    reverse : bool
        The direction opposite to the data.

    Returns
    -------
    FlowBatch
        Rows of `segments`, connection by connection, in time order in each.
    """

    def found() -> FlowBatch:
        rows = flows(m, connections, source, not reverse)
        return rows.where((rows["ack"] > 0) & ~damaged(rows))

    return _kept(m, connections, source, f"valid acks {source} {reverse}", found)


def payload(
    m: Timeline, connections: Sequence[Connection], source: int | Times | None, reverse: bool = False
) -> FlowBatch:
    """Segments with payload of the data direction of each connection, or of the other.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Connection
    source : int, array of int64, or None
        Index of the capture, for all or one for each connection; None gives flows without rows.
    reverse : bool
        The direction opposite to the data.

    Returns
    -------
    FlowBatch
        Rows of `segments`, connection by connection, in time order in each.
    """

    def found() -> FlowBatch:
        rows = flows(m, connections, source, reverse)
        return rows.where(rows["length"] > 0)

    return _kept(m, connections, source, f"payload {source} {reverse}", found)


def _kept(
    m: Timeline,
    connections: Sequence[Connection],
    source: int | Times | None,
    name: str,
    found: Callable[[], FlowBatch],
) -> FlowBatch:
    """Rows of all connections at one capture, if they are few, are found once for all questions."""
    every = isinstance(source, int) and one_batch(m, connections)
    return m.once(name, found) if every else found()


def _reduced(function: np.ufunc, values: Array, bounds: Times, otherwise: int) -> Times:
    there = bounds[1:] > bounds[:-1]
    found = np.full(len(bounds) - 1, otherwise, dtype=np.int64)
    if there.any():
        found[there] = function.reduceat(values, bounds[:-1][there])
    return found
