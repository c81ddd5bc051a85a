"""What the TCP sender was waiting for at any time, as its own capture shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multitracer.intervals import Intervals, intervals
from multitracer.measurement import Connection, Measurement
from multitracer.table import Table
from multitracer.transfer.transit import Times, data_at, data_span, valid_acks

ACK_CLOCK_NS = 10_000_000  # a segment that an ACK releases leaves within this


@dataclass(frozen=True)
class SenderState:
    """One connection at its sender.

    Attributes
    ----------
    connection : Connection
    span : tuple of int
        First data segment, last ACK.
    data : Table
        Segments with payload, in time order.
    acks : Table
        Undamaged segments of the other side with an ACK, in time order.
    highest : array
        For each row of `data`: the highest byte sent so far, plus one (SND.NXT).
    acked : array
        For each row of `acks`: the highest cumulative ACK so far (SND.UNA).
    edges : array
        For each row of `acks`: the right edge of the window offered so far; -1 while the scale is unknown.
    repeats_ns : array
        Times of all retransmissions.
    recoveries : Intervals
        Loss recovery: from the first retransmission until the ACK of all that was sent before it (RFC 6582).
    """

    connection: Connection
    span: tuple[int, int]
    data: Table
    acks: Table
    highest: Times
    acked: Times
    edges: Times
    repeats_ns: Times
    recoveries: Intervals

    def next_data(self, t_ns: int) -> int | None:
        """Row of the first data segment sent after a time; None if none was, within the transfer."""
        row = int(np.searchsorted(self.data["t_ns"], t_ns, side="right"))
        return row if row < len(self.data) and self.data["t_ns"][row] <= self.span[1] else None

    def snd_nxt(self, t_ns: int) -> int:
        """Next byte to be sent, just after a time."""
        row = int(np.searchsorted(self.data["t_ns"], t_ns, side="right")) - 1
        return int(self.highest[row]) if row >= 0 else int(self.data["seq"][0])

    def snd_una(self, t_ns: int) -> int:
        """Oldest byte not acknowledged, just after a time."""
        row = int(np.searchsorted(self.acks["t_ns"], t_ns, side="right")) - 1
        return int(self.acked[row]) if row >= 0 else int(self.data["seq"][0])

    def right_edge(self, t_ns: int) -> int | None:
        """End of the window that the receiver had offered by a time; None if the scale is unknown.

        Includes the window of the SYN: it is the first segment with an ACK.
        """
        row = int(np.searchsorted(self.acks["t_ns"], t_ns, side="right")) - 1
        return int(self.edges[row]) if row >= 0 and self.edges[row] >= 0 else None

    def ack_before(self, t_ns: int) -> int | None:
        """Time since the last ACK arrived; None if none did."""
        row = int(np.searchsorted(self.acks["t_ns"], t_ns, side="right")) - 1
        return t_ns - int(self.acks["t_ns"][row]) if row >= 0 else None

    def recovering(self, t_ns: int) -> tuple[int, int] | None:
        """The recovery that is under way at a time; None if there is none."""
        row = int(np.searchsorted(self.recoveries[:, 0], t_ns, side="right")) - 1
        if row < 0 or t_ns >= self.recoveries[row, 1]:
            return None
        return int(self.recoveries[row, 0]), int(self.recoveries[row, 1])

    def last_retransmission(self, t_ns: int) -> int | None:
        """Time of the last retransmission up to a time."""
        row = int(np.searchsorted(self.repeats_ns, t_ns, side="right")) - 1
        return int(self.repeats_ns[row]) if row >= 0 else None


def sender_state(m: Measurement, connection: Connection) -> SenderState | None:
    """The state of one connection's sender; None without its capture, or if it sent no data."""
    span = data_span(m, connection)
    if span is None or m.snd is None:
        return None
    data = data_at(m, connection, m.snd)
    data = data.where(data["length"] > 0)
    acks = valid_acks(m, connection, m.snd)
    highest = np.maximum.accumulate(data["seq"] + data["length"])
    acked = np.maximum.accumulate(acks["ack"])
    offered = np.where(acks["window"] >= 0, acks["ack"] + acks["window"], -1)
    return SenderState(
        connection,
        span,
        data,
        acks,
        highest,
        acked,
        edges=np.maximum.accumulate(offered),
        repeats_ns=data["t_ns"][data["duplicate"] > 0],
        recoveries=_recoveries(data, highest, acks["t_ns"], acked),
    )


def _recoveries(data: Table, highest: Times, ack_ns: Times, acked: Times) -> Intervals:
    again = np.flatnonzero(data["duplicate"] > 0)
    found = []
    forever = int(np.iinfo(np.int64).max)
    position = 0
    while position < len(again):
        row = int(again[position])
        start = int(data["t_ns"][row])
        # All that was sent before: the segment itself was, so its own end is part of it.
        covered = int(np.searchsorted(acked, highest[row]))
        end = max(int(ack_ns[covered]), start + 1) if covered < len(acked) else forever
        found.append((start, end))
        if end == forever:
            break
        position = int(np.searchsorted(data["t_ns"][again], end, side="right"))
    return intervals(found)
