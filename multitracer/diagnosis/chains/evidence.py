"""What chains are made of: results of the analyzers, the map of packets, episodes of loss recovery."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from multitracer.diagnosis.chains.episodes import Episode, Episodes, episodes_of
from multitracer.layers import framemap
from multitracer.layers.link.path import LinkPath, link_path
from multitracer.layers.tcp.fates import LOST, fates_of
from multitracer.layers.tcp.flow_batch import batches
from multitracer.layers.tcp.losses import arrival_ns
from multitracer.layers.tcp.transit import Times, data_at, near_sender, valid_acks
from multitracer.model.analysis import Result
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.schema.chains import PACKET_SPANS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline


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
    def episodes(self) -> Episodes:
        """Loss recoveries of the senders of the data, in time order."""
        rows = self.m.table("retransmissions")
        rows = rows.where((rows["source"] == self.source) & (rows["duplicate"] > 0)).sorted_by("t_ns")
        timeouts = self.rows("timeouts")
        vain = timeouts is not None and bool(
            np.any(timeouts["verdict"] == timeouts.code("verdict", "spurious"))
        )
        data_dirs = {one.index: one.data_dir for one in self.m.connections}
        return episodes_of(rows, data_dirs, lambda conn: self.judged(conn, "spurious"), vain)

    def judged(self, conn: int, verdict: str) -> Array:
        """Packets that timeouts of a connection with this verdict retransmitted."""
        mine = self.timeouts_of(conn)
        if mine is None:
            return np.empty(0, dtype=np.int64)
        return np.asarray(mine["record"][mine["verdict"] == mine.code("verdict", verdict)])

    def timeouts_of(self, conn: int) -> Table | None:
        """Timeouts of a connection; None if there are none at all."""
        rows = self.rows("timeouts")
        return None if rows is None else rows.where(self._timeouts.rows(conn))

    def timeout_rows(self, episode: Episode) -> list[int]:
        """Rows, among all timeouts, of those that retransmitted something of a recovery; ascending."""
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
        """Places of timeouts by connection, then by the retransmitted packet."""
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
        sending = [one for one in self.m.connections if one.index in self.episodes.connections]
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
