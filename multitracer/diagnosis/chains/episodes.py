"""Episodes of loss recovery, held in columns: there may be tens of thousands, of a few segments each."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from multitracer.model.arrays.group_by import Grouped, last_places
from multitracer.model.arrays.unique import among, sorted_unique
from multitracer.model.table import Array, Table

_SECOND_NS = 1_000_000_000


class Repeats:
    """Retransmissions, connection by connection, those of each in time order.

    Values out of Python's arrays take a tenth of the time that they take out of NumPy's arrays of a few rows.

    Parameters
    ----------
    table : Table
        Rows of `retransmissions`.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._values: dict[str, array[int]] = {}

    def values(self, name: str) -> array[int]:
        """A column of whole numbers."""
        found = self._values.get(name)
        if found is None:
            found = self._values[name] = array("q", self.table[name].astype(np.int64).tobytes())
        return found

    @cached_property
    def sent_again(self) -> tuple[array[int], ...]:
        """What of each is in a chain: ``t_ns``, ``source``, ``record``, ``seq``, ``duplicate``."""
        return tuple(map(self.values, ("t_ns", "source", "record", "seq", "duplicate")))

    @cached_property
    def causes(self) -> list[str]:
        """Why each was sent."""
        words: list[str] = self.table.words("cause").tolist()
        return words


class Episode(NamedTuple):
    """One loss recovery of a sender: everything that it retransmitted until all was acknowledged.

    Attributes
    ----------
    place : int
        Its place among all.
    conn : int
    of : Repeats
        Everything that was retransmitted.
    begin, end : int
        The rows of the episode.
    start_ns, end_ns : int
        The first and the last retransmission.
    copy_ns : int
        When the first retransmitted byte had last been transmitted.
    first_record : int
        The packet that was retransmitted first.
    """

    place: int
    conn: int
    of: Repeats
    begin: int
    end: int
    start_ns: int
    end_ns: int
    copy_ns: int
    first_record: int

    def values(self, name: str) -> array[int]:
        """A column of its rows."""
        return self.of.values(name)[self.begin : self.end]

    @property
    def causes(self) -> list[str]:
        """Why each of its segments was retransmitted."""
        return self.of.causes[self.begin : self.end]

    @property
    def duplicate(self) -> int:
        """Bytes retransmitted."""
        return sum(self.values("duplicate"))

    @property
    def cause(self) -> str:
        """Why the first segment was retransmitted."""
        return self.of.causes[self.begin]


class Episodes(Sequence[Episode]):
    """All episodes in time order; one becomes an object when it is looked at.

    Parameters
    ----------
    of : Repeats
        What was retransmitted.
    bounds : array of int64
        The rows that begin an episode, and the number of rows.

    Attributes
    ----------
    begin, end, conn, start_ns, end_ns, copy_ns, first_record : array
        As in `Episode`.
    """

    def __init__(self, of: Repeats, bounds: Array) -> None:
        self.of = of
        t_ns = of.table["t_ns"]
        order = np.argsort(t_ns[bounds[:-1]], kind="stable")
        self.begin: Array = bounds[:-1][order]
        self.end: Array = bounds[1:][order]
        self.conn: Array = of.table["conn"][self.begin].astype(np.int64)
        self.start_ns: Array = t_ns[self.begin]
        self.end_ns: Array = t_ns[self.end - 1]
        self.copy_ns: Array = self.start_ns - np.maximum(of.table["since_sent_ns"][self.begin], 0)
        self.first_record: Array = of.table["record"][self.begin]
        self._columns = (
            *(self.conn, self.begin, self.end, self.start_ns, self.end_ns, self.copy_ns),
            self.first_record,
        )

    def __len__(self) -> int:
        return len(self.begin)

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...

    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        conn, *others = (int(column[index]) for column in self._columns)
        return Episode(index % len(self), conn, self.of, *others)

    def __iter__(self) -> Iterator[Episode]:
        columns = zip(*(column.tolist() for column in self._columns), strict=True)
        for place, (conn, *others) in enumerate(columns):
            yield Episode(place, conn, self.of, *others)

    def places(self, some: Sequence[Episode]) -> Array:
        """The places of some of them."""
        if some is self:
            return np.arange(len(self))
        return np.array([one.place for one in some], dtype=np.int64)

    def rows(self, places: Array) -> tuple[Array, Array]:
        """The rows of some episodes, one after the other, and the place among them of the episode of each."""
        begin, counts = self.begin[places], self.end[places] - self.begin[places]
        of = np.repeat(np.arange(len(places)), counts)
        first = np.cumsum(counts) - counts
        return np.arange(len(of)) + (begin - first)[of], of

    def having(self, conn: Array, record: Array) -> Array:
        """The places of the episodes in which packets of connections were retransmitted; -1: in none."""
        table = self.of.table
        row = last_places((table["conn"], table["record"]), (conn, record))
        _, of = self._all_rows
        return np.where(row >= 0, of[row], -1) if len(of) else row

    def begun_by(self, conn: Array, record: Array) -> Array:
        """The places of the episodes that packets of connections began; -1: none."""
        return last_places((self.conn, self.first_record), (conn, record))

    def before(self, conn: int, t_ns: int) -> int:
        """The place of the last episode of a connection that began by a time; -1 if none did."""
        starts, places = self._by_conn.get(conn, ([], []))
        at = bisect_right(starts, t_ns)
        return places[at - 1] if at else -1

    @cached_property
    def connections(self) -> frozenset[int]:
        """Those with an episode."""
        return frozenset(sorted_unique(self.conn).tolist())

    @cached_property
    def _all_rows(self) -> tuple[Array, Array]:
        """Every row of an episode, and the place of the episode of each row of the table."""
        rows, of = self.rows(np.arange(len(self)))
        back = np.empty_like(of)
        back[rows] = of
        return rows, back

    @cached_property
    def _by_conn(self) -> dict[int, tuple[list[int], list[int]]]:
        """When the episodes of each connection began, and their places."""
        found: dict[int, tuple[list[int], list[int]]] = {}
        for place, (conn, start) in enumerate(zip(self.conn.tolist(), self.start_ns.tolist(), strict=True)):
            starts, places = found.setdefault(conn, ([], []))
            starts.append(start)
            places.append(place)
        return found


def episodes_of(
    rows: Table, data_dirs: Mapping[int, int], needless: Callable[[int], Array], some_needless: bool
) -> Episodes:
    """The episodes of the senders of the data.

    Parameters
    ----------
    rows : Table
        What they retransmitted, rows of `retransmissions` with duplicate bytes, in time order.
    data_dirs : mapping of int to int
        The direction of the data by connection; others have none.
    needless : callable
        ``needless(conn)``: packets of a connection that were sent by needless timers.
    some_needless : bool
        Whether there are any such packets.
    """
    grouped = Grouped(rows["conn"], rows["dir"])
    conns = [conn for conn in sorted_unique(rows["conn"]).tolist() if conn in data_dirs]
    mine = [grouped.rows(conn, data_dirs[conn]) for conn in conns]
    of = Repeats(rows.where(np.concatenate(mine) if mine else np.empty(0, dtype=np.int64)))
    begins = _begins(of.table)
    if some_needless:
        at = 0
        for conn, picked in zip(conns, mine, strict=True):
            vain, end = needless(conn), at + len(picked)
            if len(vain):
                group = together(Repeats(of.table.between(at, end)), vain)
                begins[at:end] = np.diff(group, prepend=0) > 0
            at = end
    return Episodes(of, np.append(np.flatnonzero(begins), len(begins)))


def _begins(table: Table) -> Array:
    """Which rows begin an episode, where no timer fired needlessly; see `together`."""
    length = len(table)
    begins = np.ones(length, dtype=np.bool_)
    if length < 2:
        return begins
    conn, episode, t_ns, seq = (table[name] for name in ("conn", "episode", "t_ns", "seq"))
    cause = table["cause"]
    same = conn[1:] == conn[:-1]
    within = same & (episode[1:] != 0) & (episode[1:] == episode[:-1])
    soon = t_ns[1:] - t_ns[:-1] <= np.maximum(table["rto_ns"][1:], _SECOND_NS)
    goes_on = same & (episode[1:] == 0) & soon
    goes_on &= (cause[1:] == table.code("cause", "unknown")) | (episode[:-1] == 0)
    begins[1:] = ~(within | goes_on)
    # A timer that fires for another segment than the one before in the same recovery.
    fired = np.flatnonzero((episode != 0) & (cause == table.code("cause", "timeout")))
    recovery = np.cumsum(np.append(True, ~within))[fired]
    again = (recovery[1:] == recovery[:-1]) & (seq[fired[:-1]] >= 0) & (seq[fired[1:]] != seq[fired[:-1]])
    begins[fired[1:][again]] = True
    return begins


def together(repeats: Repeats, needless: Array) -> Array:
    """A number for each retransmission of a connection: the same for those that belong together.

    A recovery is one; but where timers fire needlessly in it, they and the slow-start retransmissions after
    them have another cause than what precedes and follows, and each segment whose timer fired is one: a timer
    that backs off fires repeatedly for the same segment (RFC 6298 section 5.5). What was retransmitted
    outside of a recovery (probes, and what no rule explains) is an episode of its own, or joins what was
    retransmitted no longer than a timeout before: probes with probes, the unexplained with all.
    """
    if not len(needless):
        return np.cumsum(_begins(repeats.table))
    group = np.zeros(len(repeats.table), dtype=np.int64)
    number = 0
    episodes, causes = repeats.values("episode"), repeats.causes
    t_ns, rto_ns = repeats.values("t_ns"), repeats.values("rto_ns")
    spurious = among(repeats.table["record"], needless).tolist()
    in_vain = False  # the group before is one of needless timers
    expired = -1  # the segment whose timer fired last
    starts = repeats.values("seq")
    for row, episode in enumerate(episodes):
        soon = row > 0 and t_ns[row] - t_ns[row - 1] <= max(rto_ns[row], _SECOND_NS)
        if episode:
            goes_on = row > 0 and episode == episodes[row - 1]
            goes_on = goes_on and (in_vain if spurious[row] else not (in_vain and causes[row] == "fast"))
            if causes[row] == "timeout":
                goes_on = goes_on and (expired < 0 or starts[row] == expired)
        else:
            goes_on = soon and (causes[row] == "unknown" or not episodes[row - 1])
        if not goes_on:
            number += 1
            in_vain, expired = spurious[row], -1
        if episode and causes[row] == "timeout":
            expired = starts[row]
        group[row] = number
    return group
