"""Data and its ACKs of all connections at once: for questions about each of very many.

What is asked of one connection after the other costs some calls of NumPy for each; of 10,000 connections,
seconds. Here each call is for all of them: rows are grouped by connection, and a value of a row is compared
within its connection only, as `key` sets connections apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from multitracer.measurement import Connection, Measurement
from multitracer.table import Array, Table
from multitracer.transfer.transit import Flags, Times, near_sender

_COUNTABLE = 2**62


@dataclass(frozen=True)
class Sides:
    """Both directions of some connections, each at the capture that stands for its sender.

    Attributes
    ----------
    connections : list of Connection
    sources : list of int
        By connection.
    data, acks : Table
        Segments of the data direction, and valid ACKs for it; by connection, then by time.
    data_of, acks_of : array
        By row: which of the connections.
    low, span : int
        The smallest number in `key`, and how many come into question.
    """

    connections: list[Connection]
    sources: list[int]
    data: Table
    data_of: Times
    acks: Table
    acks_of: Times
    low: int
    span: int

    def __len__(self) -> int:
        return len(self.connections)

    def key(self, of: Times, number: Times) -> Times:
        """Bytes of a stream, numbered through all connections: in the order of connections."""
        return np.asarray(of * self.span + (number - self.low), dtype=np.int64)

    def counted(self, of: Times) -> Times:
        """Rows of each connection."""
        return np.bincount(of, minlength=len(self))

    def highest(self, of: Times, number: Times) -> Times:
        """For each row, the highest number of its connection so far."""
        return np.maximum.accumulate(self.key(of, number)) - of * self.span + self.low

    def advancing(self, of: Times, number: Times) -> Flags:
        """ACKs, in time order of each connection, that are higher than all before."""
        highest = np.maximum.accumulate(self.key(of, number))
        return np.asarray(np.diff(highest, prepend=np.int64(-1)) > 0, dtype=np.bool_)


def sides(m: Measurement) -> Iterator[Sides]:
    """All connections, together as far as their bytes can be numbered through."""
    chosen = [(one, source) for one in m.connections if (source := standing_for_sender(m, one)) is not None]
    if not chosen:
        return
    segments = m.table("segments")
    count = 1 + max(one.index for one, _ in chosen)
    want, direction, place = (np.full(count, -1, dtype=np.int64) for _ in range(3))
    for at, (one, source) in enumerate(chosen):
        want[one.index], direction[one.index], place[one.index] = source, one.data_dir, at
    conn = segments["conn"].astype(np.int64)
    mine = np.flatnonzero((conn >= 0) & (conn < count))
    mine = mine[segments["source"][mine] == want[conn[mine]]]
    mine = mine[np.lexsort((segments["t_ns"][mine], place[conn[mine]]))]
    of = place[conn[mine]]
    forward = segments["dir"][mine] == direction[conn[mine]]
    valid = ~forward & (segments["ack"][mine] > 0)
    valid &= ~_damaged(segments["checksum"][mine] == segments.code("checksum", "bad"), of, ~forward)
    data, acks = segments.where(mine[forward]), segments.where(mine[valid])
    data_of, acks_of = of[forward], of[valid]
    ends = data["seq"] + data["length"]
    numbers = [part for part in (data["seq"], ends, acks["ack"]) if len(part)]
    low = min((int(part.min()) for part in numbers), default=0) - 1
    span = max((int(part.max()) for part in numbers), default=0) - low + 2
    step = max(1, min(_COUNTABLE // span, len(chosen)))
    for start in range(0, len(chosen), step):
        some = chosen[start : start + step]
        rows, others = (
            slice(*np.searchsorted(part, [start, start + len(some)]).tolist()) for part in (data_of, acks_of)
        )
        yield Sides(
            [one for one, _ in some],
            [source for _, source in some],
            data.where(np.arange(len(data))[rows]) if step < len(chosen) else data,
            data_of[rows] - start,
            acks.where(np.arange(len(acks))[others]) if step < len(chosen) else acks,
            acks_of[others] - start,
            low,
            span,
        )


def standing_for_sender(m: Measurement, connection: Connection) -> int | None:
    """The capture that stands for a connection's sender: the one next to it, else the first that has it."""
    near = near_sender(m)
    if near is not None and near in connection.summaries:
        return near
    return min(connection.summaries, default=near)


def _damaged(bad: Flags, of: Times, back: Flags) -> Flags:
    """As `transit.damaged`, for the way back of each connection: where most are bad, none is."""
    count = int(of[-1]) + 1 if len(of) else 0
    worst = np.bincount(of[bad & back], minlength=count)
    trusted = 2 * worst <= np.bincount(of[back], minlength=count)
    return bad & trusted[of]


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
