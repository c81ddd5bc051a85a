"""What the TCP sender was waiting for at any time, as its own capture shows it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from multitracer.layers.tcp.flow_batch import (
    Flags,
    FlowBatch,
    Times,
    highest,
    one_batch,
    payload,
    valid_acks,
)
from multitracer.layers.tcp.transit import spans_of
from multitracer.model.arrays.intervals import Intervals
from multitracer.model.frozen import frozen
from multitracer.model.schema.tcp import CAUSES
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline
from multitracer.native import loss_recovery

_PROBES = tuple(CAUSES.index(word) for word in ("tail_loss_probe", "unneeded_probe"))
ACK_CLOCK_NS = 10_000_000  # a segment that an ACK releases leaves within this


@frozen
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
        For each row of `acks`: the right edge of the window advertised so far; -1 while the scale is unknown.
    repeats_ns : array
        Times of all retransmissions but tail loss probes: these alone reduce no window (RFC 8985, 7.4).
    recoveries : Intervals
        Loss recovery: from the first retransmission until the ACK of all that was transmitted before it (RFC
        6582).
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
        """The recovery in progress at a time; None if there is none."""
        row = int(np.searchsorted(self.recoveries[:, 0], t_ns, side="right")) - 1
        if row < 0 or t_ns >= self.recoveries[row, 1]:
            return None
        return int(self.recoveries[row, 0]), int(self.recoveries[row, 1])

    def repeats_at(self, t_ns: int) -> bool:
        """Whether what was sent at a time was a retransmission, and no tail loss probe."""
        row = int(np.searchsorted(self.repeats_ns, t_ns))
        return row < len(self.repeats_ns) and int(self.repeats_ns[row]) == t_ns

    def only_probed(self, recovery: tuple[int, int]) -> bool:
        """Whether a recovery has but tail loss probes: nothing was found lost (RFC 8985, 7.4)."""
        first, last = np.searchsorted(self.repeats_ns, recovery)
        return bool(first == last)

    @cached_property
    def flights(self) -> Times:
        """For each row of `data`: bytes in flight once it was sent."""
        row = np.searchsorted(self.acks["t_ns"], self.data["t_ns"], side="right") - 1
        una = self.acked[np.maximum(row, 0)] if len(self.acked) else np.zeros(len(row), dtype=np.int64)
        return self.highest - np.where(row >= 0, una, self.data["seq"][0])

    def had_room(self, t_ns: int, length: int) -> bool:
        """Whether the congestion window had room for a segment at a time.

        Since it was last reduced, it has been as large as the largest flight (RFC 5681): a smaller one does
        not fill it.
        """
        done = self.recoveries[self.recoveries[:, 1] <= t_ns]
        since = int(np.searchsorted(self.data["t_ns"], int(done[-1, 1]) if len(done) else 0))
        until = int(np.searchsorted(self.data["t_ns"], t_ns, side="right"))
        largest = int(self.flights[since:until].max(initial=0))
        return self.snd_nxt(t_ns) - self.snd_una(t_ns) + length <= largest

    def last_retransmission(self, t_ns: int) -> int | None:
        """Time of the last retransmission up to a time."""
        row = int(np.searchsorted(self.repeats_ns, t_ns, side="right")) - 1
        return int(self.repeats_ns[row]) if row >= 0 else None


@frozen
class SenderStates:
    """Senders of many connections, each as `SenderState` has it; columns are those of all, one by one.

    Attributes
    ----------
    connections : list of Connection
        Those that sent data.
    spans : Intervals
        A row for each.
    data, acks : FlowBatch
    highest, acked, edges : array
    recoveries : Intervals
    recovery_of : array
        Of which connection each recovery is.
    """

    connections: list[Connection]
    spans: Intervals
    data: FlowBatch
    acks: FlowBatch
    highest: Times
    acked: Times
    edges: Times
    recoveries: Intervals
    recovery_of: Times

    @cached_property
    def _repeats(self) -> Flags:
        """Segments with duplicate bytes, except those that asked for an answer."""
        return np.asarray(
            (self.data["duplicate"] > 0) & ~np.isin(self.data["cause"], _PROBES), dtype=np.bool_
        )

    def one(self, at: int) -> SenderState:
        """One of them."""
        sent, received = slice(*self.data.bounds[at : at + 2]), slice(*self.acks.bounds[at : at + 2])
        data = self.data.one(at)
        return SenderState(
            self.connections[at],
            (int(self.spans[at, 0]), int(self.spans[at, 1])),
            data,
            self.acks.one(at),
            self.highest[sent],
            self.acked[received],
            self.edges[received],
            repeats_ns=data["t_ns"][self._repeats[sent]],
            recoveries=self.recoveries[slice(*self.recovery_of.searchsorted([at, at + 1]).tolist())],
        )


def sender_state(m: Timeline, connection: Connection) -> SenderState | None:
    """The state of one connection's sender; None without its capture, or if it sent no data."""
    found = sender_states(m, [connection])
    return found.one(0) if found is not None else None


def sender_states(
    m: Timeline, connections: Sequence[Connection], *, answered: bool = False
) -> SenderStates | None:
    """The states of all senders that sent data, or were also answered; None if there are none.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Connection
    answered : bool
        Only those of which the capture has acknowledgments.
    """
    if m.snd is None:
        return None
    if one_batch(m, connections):  # several questions ask for it
        every = m.once("sender_states", lambda: _states(m, connections, answered=False))
        if every is None or not answered or (every.acks.sizes > 0).all():
            return every
    return _states(m, connections, answered=answered)


def _states(m: Timeline, connections: Sequence[Connection], *, answered: bool) -> SenderStates | None:
    spans, carrying = spans_of(m, connections)
    data, acks = payload(m, connections, m.snd), valid_acks(m, connections, m.snd)
    chosen = np.flatnonzero(carrying & (acks.sizes > 0) if answered else carrying)
    if not len(chosen):
        return None
    data, acks = data.chosen(chosen), acks.chosen(chosen)
    reached, acked = highest(data.of, data["seq"] + data["length"]), highest(acks.of, acks["ack"])
    offered = np.where(acks["window"] >= 0, acks["ack"] + acks["window"], -1)
    sending = [connections[at] for at in chosen.tolist()]
    recoveries, recovery_of = _recoveries(data, reached, acks, acked)
    return SenderStates(
        sending,
        spans[chosen],
        data,
        acks,
        reached,
        acked,
        edges=highest(acks.of, offered),
        recoveries=recoveries,
        recovery_of=recovery_of,
    )


def _recoveries(data: FlowBatch, reached: Times, acks: FlowBatch, acked: Times) -> tuple[Intervals, Times]:
    """Recoveries of each connection that sent something again, and of which connection each is."""
    again = np.flatnonzero(data["duplicate"] > 0)
    of, begin_ns, end_ns = loss_recovery.recoveries(
        (data.of[again], data["t_ns"][again], reached[again]), (acks.of, acks["t_ns"], acked)
    )
    return np.column_stack([begin_ns, end_ns]), of
