"""What chains are made of: results of the analyzers, the map of packets, episodes of loss recovery."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from multitracer.layers import framemap
from multitracer.layers.link.path import LinkPath, link_path
from multitracer.layers.tcp.fates import LOST, fates_of
from multitracer.layers.tcp.flow_batch import batches
from multitracer.layers.tcp.losses import arrival_ns
from multitracer.layers.tcp.transit import Times, data_at, near_sender, valid_acks
from multitracer.model.analysis import Result
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.schema.chains import PACKET_SPANS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

_SECOND_NS = 1_000_000_000


class Repeats:
    """Retransmissions of one connection in time order.

    There may be tens of thousands of recoveries of a few segments each: values out of Python's arrays take a
    tenth of the time that they take out of NumPy's arrays of that length.

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
    """One loss recovery of a sender: everything that it sent again until all was acknowledged.

    Attributes
    ----------
    conn : int
    of : Repeats
        Everything that the connection sent again.
    begin, end : int
        The rows of the episode.
    start_ns, end_ns : int
        The first and the last retransmission.
    copy_ns : int
        When the first byte sent again had last been sent before.
    first_record : int
        The packet that was sent again first.
    """

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

    def first(self, name: str) -> int:
        """A column of its first row."""
        return self.of.values(name)[self.begin]

    @property
    def causes(self) -> list[str]:
        """Why each of its segments was sent again."""
        return self.of.causes[self.begin : self.end]

    @property
    def duplicate(self) -> int:
        """Bytes sent again."""
        return sum(self.values("duplicate"))

    @property
    def cause(self) -> str:
        """Why the first segment was sent again."""
        return self.of.causes[self.begin]


class Evidence:
    """Everything that the rules look at.

    Parameters
    ----------
    m : Timeline
    results : mapping of str to Result
        Those of other analyzers; each may be missing.
    """

    def __init__(self, m: Timeline, results: Mapping[str, Result]) -> None:
        self.m = m
        self._results = results
        self._acks: dict[int, tuple[Table, Times] | None] = {}
        self.source = near_sender(m)

    def rows(self, analyzer: str, table: str | None = None) -> Table | None:
        """A table of another analyzer; None if it has no answer or no rows."""
        found = self._results.get(analyzer)
        rows = found.tables.get(table or analyzer) if found is not None else None
        return rows if rows is not None and len(rows) else None

    @cached_property
    def path(self) -> LinkPath | None:
        """The link in the direction of the data."""
        return link_path(self.m)

    @cached_property
    def byte_ns(self) -> float:
        """Time that the link, while it was not idle, took for a byte of TCP data; 0 if unknown."""
        found = self._results.get("utilization")
        if found is None or found.inconclusive is not None or not found.summary["sent_bytes"]:
            return 0.0
        utilization = found.summary
        busy_s = utilization.get("available_s", utilization["span_s"]) - utilization["idle_s"]
        return float(max(busy_s, 0.0) * 1e9 / utilization["sent_bytes"])

    @cached_property
    def spans(self) -> Table:
        """Segments and what the link did with them (`PACKET_SPANS`); empty without a map."""
        if self.path is None:  # to load the map takes longer than all the rest of a small capture
            return Table.empty(PACKET_SPANS)
        return framemap.of(self.m).spans

    @cached_property
    def episodes(self) -> list[Episode]:
        """Loss recoveries of the senders of the data, in time order."""
        rows = self.m.table("retransmissions")
        rows = rows.where((rows["source"] == self.source) & (rows["duplicate"] > 0)).sorted_by("t_ns")
        found: list[Episode] = []
        grouped = Grouped(rows["conn"], rows["dir"])
        for conn in sorted_unique(rows["conn"]).tolist():
            connection = self._connection(conn)
            if connection is None:
                continue
            mine = Repeats(rows.where(grouped.rows(conn, connection.data_dir)))
            group = _together(mine, self.judged(conn, "spurious"))
            bounds = np.flatnonzero(np.diff(group, prepend=-1, append=-1)).tolist()
            found += _episodes(conn, mine, bounds)
        return sorted(found, key=lambda one: one.start_ns)

    @cached_property
    def episodes_by(self) -> dict[int, list[Episode]]:
        """The same by connection."""
        found: dict[int, list[Episode]] = {}
        for episode in self.episodes:
            found.setdefault(episode.conn, []).append(episode)
        return found

    @cached_property
    def begun_by(self) -> dict[tuple[int, int], Episode]:
        """The same by connection and the packet that was sent again first."""
        return {(one.conn, one.first_record): one for one in self.episodes}

    def judged(self, conn: int, verdict: str) -> Array:
        """Packets by which timeouts of a connection with this verdict sent again."""
        mine = self.timeouts_of(conn)
        if mine is None:
            return np.empty(0, dtype=np.int64)
        return np.asarray(mine["record"][mine["verdict"] == mine.code("verdict", verdict)])

    def timeouts_of(self, conn: int) -> Table | None:
        """Timeouts of a connection; None if there are none at all."""
        rows = self.rows("timeouts")
        return None if rows is None else rows.where(self._timeouts.rows(conn))

    def timeout_rows(self, episode: Episode) -> list[int]:
        """Rows, among all timeouts, of those by which something of a recovery was sent again; ascending."""
        known = self._timeout_of.get(episode.conn)
        if known is None:
            return []
        return sorted([known[record] for record in episode.values("record") if record in known])

    @cached_property
    def timeout_values(self) -> dict[str, list[Any]]:
        """Columns of all timeouts as lists, as for `Repeats`; verdicts as words. Empty if there are none."""
        rows = self.rows("timeouts")
        if rows is None:
            return {}
        found = {name: rows[name].tolist() for name in rows}
        return {**found, "verdict": rows.words("verdict").tolist()}

    @cached_property
    def _timeout_of(self) -> dict[int, dict[int, int]]:
        """Places of timeouts by connection, then by the packet sent again."""
        rows = self.rows("timeouts")
        found: dict[int, dict[int, int]] = {}
        if rows is not None:
            for place, (conn, record) in enumerate(
                zip(rows["conn"].tolist(), rows["record"].tolist(), strict=True)
            ):
                found.setdefault(conn, {})[record] = place
        return found

    @cached_property
    def _timeouts(self) -> Grouped:
        rows = self.rows("timeouts")
        return Grouped(rows["conn"] if rows is not None else np.empty(0, dtype=np.int64))

    def lost(self, conn: int) -> Table | None:
        """Data segments that passed the sender's capture and never the receiver's, in time order.

        None without both captures, or if the connection sent nothing again.
        """
        return self._lost.get(conn)

    @cached_property
    def _lost(self) -> dict[int, Table]:
        """Of the connections that sent something again."""
        found = {}
        sending = [one for one in self.m.connections if one.index in self.episodes_by]
        for some in batches(self.m, sending):
            for known in fates_of(self.m, some):
                fate, _, certain, _ = known.known.of_segments()
                lost = known.sent.where((fate == LOST) & certain)
                found.update({some[at].index: lost.one(row) for row, at in enumerate(known.places.tolist())})
        return found

    def acks(self, conn: int) -> tuple[Table, Times] | None:
        """ACKs for a connection's data as they left the receiver, and when each came; -1: never.

        None without both captures.
        """
        if conn not in self._acks:
            connection, m = self._connection(conn), self.m
            self._acks[conn] = None
            if connection is not None and m.snd is not None and m.rcv is not None:
                sent = data_at(m, connection, m.rcv, reverse=True)
                sent = sent.where(sent["ack"] > 0)
                self._acks[conn] = sent, arrival_ns(sent, valid_acks(m, connection, m.snd))
        return self._acks[conn]

    def _connection(self, conn: int) -> Connection | None:
        return self._connections.get(conn)

    @cached_property
    def _connections(self) -> dict[int, Connection]:
        return {one.index: one for one in self.m.connections}

    def frames_of(self, span: int) -> str:
        """Lines of the link log that carried a packet: first to last."""
        return framemap.of(self.m).lines_of(span)


def _episodes(conn: int, of: Repeats, bounds: Sequence[int]) -> Iterator[Episode]:
    """Those of a connection, between the rows that begin one and behind the last."""
    t_ns, since_ns, record = (of.values(name) for name in ("t_ns", "since_sent_ns", "record"))
    for begin, end in pairwise(bounds):
        start = t_ns[begin]
        copy = start - max(since_ns[begin], 0)
        yield Episode(conn, of, begin, end, start, t_ns[end - 1], copy, record[begin])


def _together(repeats: Repeats, needless: Array) -> Array:
    """A number for each retransmission of a connection: the same for those that belong together.

    A recovery is one; but where timers fire needlessly in it, they and the refill behind them have another
    cause than what was before and comes after, and each segment whose timer fired is one: a timer that backs
    off fires for the same segment again (RFC 6298 section 5.5). What was sent again outside of a recovery
    (probes, and what no rule explains) stands alone, or with what was sent again no longer than a timeout
    before: probes with probes, the unexplained with all.
    """
    group = np.zeros(len(repeats.table), dtype=np.int64)
    number = 0
    episodes, causes = repeats.values("episode"), repeats.causes
    t_ns, rto_ns = repeats.values("t_ns"), repeats.values("rto_ns")
    spurious = np.isin(repeats.table["record"], needless).tolist()
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
