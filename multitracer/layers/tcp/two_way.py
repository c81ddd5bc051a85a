"""Data and the ACKs for it, of many connections at once.

One NumPy call serves a batch of connections instead of one: with 10,000 connections, calls for each alone
take seconds. Rows are grouped by connection, and values are compared within a connection by `GroupedSearch`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.layers.tcp.flow_batch import GroupedSearch, Times, batches, both_bounds, flows, valid_acks
from multitracer.layers.tcp.transit import near_sender
from multitracer.model.frozen import frozen
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline
from multitracer.native.echoes import Echoes, echoes


@frozen
class TwoWay:
    """Data and ACKs of a batch of connections, each from the capture nearest to its data sender.

    Attributes
    ----------
    connections : list of Connection
    sources : list of int
        Index of that capture, for each connection.
    data, acks : Table
        Rows of ``segments``: those of the data direction, and the undamaged ACKs for it. Sorted by
        connection, then by time.
    data_of, acks_of : array of int64
        For each row, the position of its connection in `connections`.
    line : GroupedSearch
        Over the first bytes and ends of the data, and the acknowledgment numbers.
    """

    connections: list[Connection]
    sources: list[int]
    data: Table
    data_of: Times
    acks: Table
    acks_of: Times
    line: GroupedSearch

    def __len__(self) -> int:
        return len(self.connections)

    def counted(self, of: Times) -> Times:
        """Rows of each connection."""
        return np.bincount(of, minlength=len(self))


def two_way_batches(m: Timeline) -> Iterator[TwoWay]:
    """Batches of all connections that are in a capture (see `standing_for_sender`)."""
    standing = {one.index: standing_for_sender(m, one) for one in m.connections}
    for some in batches(m, [one for one in m.connections if standing[one.index] is not None]):
        sources = [source for one in some if (source := standing[one.index]) is not None]
        at = np.array(sources, dtype=np.int64)
        data, acks = flows(m, some, at), valid_acks(m, some, at)
        line = GroupedSearch(len(some), data["seq"], data["seq"] + data["length"], acks["ack"])
        yield TwoWay(some, sources, data.rows, data.of, acks.rows, acks.of, line)


def stamp_echoes(m: Timeline, both: TwoWay) -> Echoes:
    """RTTs by timestamps: of ACKs that advance, rows of `TwoWay.acks`."""
    sources = np.array(both.sources, dtype=np.int64)
    data, acks = both_bounds(m, both.connections, sources)
    return echoes(m.segments_by_flow, data, acks)


def standing_for_sender(m: Timeline, connection: Connection) -> int | None:
    """Index of the capture to judge a connection's data sender by.

    That next to the sender if it has the connection, else the first that has it; None without any.
    """
    near = near_sender(m)
    if near is not None and near in connection.summaries:
        return near
    return min(connection.summaries, default=near)


def quantiles(values: Array, of: Times, count: int, shares: tuple[float, ...]) -> Array:
    """Quantiles of the values of each group, as `np.percentile` has them; one row for each group with values.

    Parameters
    ----------
    values : array
    of : array
        Which group, ascending.
    count : int
        How many groups there are.
    shares : tuple of float

    Returns
    -------
    float array, shape (groups with values, shares)
    """
    ordered = values[np.lexsort((values, of))].astype(np.float64)
    sizes = np.bincount(of, minlength=count)
    begin = (np.cumsum(sizes) - sizes)[sizes > 0]
    place = (sizes[sizes > 0] - 1)[:, None] * np.array(shares)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, (sizes[sizes > 0] - 1)[:, None])
    part = place - below
    first, second = ordered[begin[:, None] + below], ordered[begin[:, None] + above]
    apart = second - first
    # From the nearer end: so the middle of two equal values is that value.
    return np.asarray(np.where(part < 0.5, first + apart * part, second - apart * (1 - part)))
