"""Whether packets were lost while a queue was longest, or while hardly any packet waited in it.

A queue of a limited length drops what does not fit: all it drops comes when it is longest. A radio link, a
bad cable or a policer drops packets whatever the queue length. How long it was shows the RTT of the segments
around each loss, or before a capture how late they arrived, by their timestamps. A sender's window is
largest, too, just before it loses a packet, but not the same each time.

References
----------
Liu and Crovella: Using Loss Pairs to Discover Network Properties, IMW 2001. RFC 7323 section 5.4 (the clock
of timestamps).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from multitracer.layers.tcp.loss_times import lost_before, lost_behind, needless
from multitracer.layers.tcp.transit import Times, data_at
from multitracer.model.arrays.statistics import quantiles
from multitracer.model.arrays.unique import among
from multitracer.model.frozen import frozen
from multitracer.model.schema.tcp import ARRIVALS_ARE
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

LEAST = 3
"""Of fewer losses nothing is concluded."""

_MOST_ROWS = 400_000

_LONGEST = 0.98
"""The quantile that counts as the longest."""

_FULL, _EMPTY = 0.8, 0.25
"""A queue of this part of the longest is about as long; of this part, hardly any packet waits."""

_MOST, _OTHERS = 0.8, 0.15
"""So many of the losses have to be at the longest queue; at most so many where the others had none."""

_MOSTLY_EMPTY = 0.7

_CHANCE = 1e-4
"""Were losses independent of the queue, so many would fall into its longest times with this probability."""

_LEAST_NS = 5_000_000
"""Jitter and hosts add less than that to an RTT; a queue that drops holds some packets."""

_LEAST_PACKETS = 3

_FILLED = 5
"""So many segments have to have waited about as long as the longest."""

_NEAR_NS = 20_000_000

_TICKS_NS = (1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000)
_TICK_OFF = 1.3
"""Clocks of timestamps (RFC 7323 section 5.4), and by how much a queue that grows may hide which it is."""

_SKEW = 1e-4
"""By so much two clocks differ, at the most."""


@frozen
class QueueAtLosses:
    """How long a queue was when packets were lost.

    Attributes
    ----------
    longest_ns : int
        Queueing delay that hardly any packet exceeded.
    dropping_ns : int or None
        The usual one at the losses at about the longest; None without any.
    of, at_longest, empty : int
        Losses at which the queue is known; of these, those at about the longest, and with hardly any.
    dropped : bool or None
        True if they look like those of a full queue, which come at its longest; False if most came without
        one; None if neither is sure.
    """

    longest_ns: int
    dropping_ns: int | None
    of: int
    at_longest: int
    empty: int
    dropped: bool | None


@frozen
class Delays:
    """Delays of segments that arrived.

    Attributes
    ----------
    t_ns : array
        When they passed the capture, ascending.
    queue_ns : array
        By how much each was later than the soonest.
    """

    t_ns: Times
    queue_ns: Times

    @property
    def longest_ns(self) -> float:
        """What hardly any of them exceeded."""
        return float(quantiles(self.queue_ns, (_LONGEST,))[0])

    def without(self, stalls_ns: Sequence[tuple[int, int]], base_ns: int, *, before: bool) -> Delays:
        """Those that no stall of the path lengthened.

        Parameters
        ----------
        stalls_ns : sequence of (int, int)
            First and last time of each.
        base_ns : int
            Base RTT: what a segment takes without a queue, at most.
        before : bool
            Whether a segment was delayed before it passed the capture, instead of behind it.
        """
        from_ns = self.t_ns - self.queue_ns - base_ns if before else self.t_ns
        until_ns = self.t_ns if before else self.t_ns + self.queue_ns + base_ns
        kept = np.ones(len(self.t_ns), dtype=bool)
        for start_ns, end_ns in stalls_ns:
            kept &= (until_ns < start_ns) | (from_ns > end_ns)
        return Delays(self.t_ns[kept], self.queue_ns[kept])


def queue_at_losses(
    m: Timeline,
    connection: Connection,
    source: int,
    *,
    before: bool,
    base_ns: int,
    rate_bps: float | None,
    stalls_ns: Sequence[tuple[int, int]] = (),
) -> QueueAtLosses | None:
    """How long the queue was when packets of a connection were lost; None where that does not show.

    Parameters
    ----------
    m : Timeline
        With segments.
    connection : Connection
    source : int
        The capture.
    before : bool
        Whether the losses are those before the capture, instead of those after it.
    base_ns : int
        Base RTT: a segment that passed within it of a loss met the same queue.
    rate_bps : float or None
        Of the link, if it shows.
    stalls_ns : sequence of (int, int)
        First and last time of each stall of the path, as the capture has it: segments that waited for its end
        show nothing of a queue.
    """
    data = data_at(m, connection, source)
    data = data.where(data["length"] > 0)
    if not LEAST < len(data) <= _MOST_ROWS:
        return None
    since_ns = None
    if before:
        arrivals = _arrivals(m, connection, source)
        since_ns, lost_ns = lost_before(data, arrivals)
        # What the network overtook was late for that.
        late = arrivals["record"][arrivals["verdict"] == ARRIVALS_ARE.index("reordered")]
        delays = by_timestamps(data.where(~among(data["record"], late)))
    else:
        lost_ns = np.sort(lost_behind(data, needless(m, connection, source, data))[1])
        delays = by_acks(data, data_at(m, connection, source, reverse=True))
    delays = None if delays is None else delays.without(stalls_ns, base_ns, before=before)
    least_ns = max(_LEAST_NS, _LEAST_PACKETS * 8e9 * float(data["ip_length"].max()) / (rate_bps or np.inf))
    return compared(delays, lost_ns, max(base_ns, _NEAR_NS), least_ns, since_ns)


def _arrivals(m: Timeline, connection: Connection, source: int) -> Table:
    rows = m.table("arrivals")
    mine = (rows["conn"] == connection.index) & (rows["source"] == source)
    return rows.where(mine & (rows["dir"] == connection.data_dir))


def compared(
    delays: Delays | None,
    lost_ns: Times,
    near_ns: float,
    least_ns: float = _LEAST_NS,
    since_ns: Times | None = None,
) -> QueueAtLosses | None:
    """How long the queue was at each loss, against the longest.

    Parameters
    ----------
    delays : Delays or None
    lost_ns : array
        When packets were lost, ascending.
    near_ns : float
        Only segments that passed this soon before or after a loss show its queue.
    least_ns : float
        A shorter queue is none.
    since_ns : array, optional
        Where the losses are known to be between two segments that passed, when the first of these did, and
        `lost_ns` when the second did. Further apart than `near_ns`, both have to have met the same queue.
    """
    if delays is None or len(lost_ns) < LEAST or len(delays.t_ns) < 2:
        return None
    longest = delays.longest_ns
    # A queue that drops has been filled: a few that waited so long may be ACKs that were withheld.
    if longest < least_ns or np.count_nonzero(delays.queue_ns >= _FULL * longest) < _FILLED:
        return None
    after = np.searchsorted(delays.t_ns, lost_ns)
    beside = np.fmax(_queue(delays, after - 1, lost_ns, near_ns), _queue(delays, after, lost_ns, near_ns))
    if since_ns is not None:
        first = _queue(delays, np.searchsorted(delays.t_ns, since_ns), since_ns, near_ns)
        apart = lost_ns - since_ns > near_ns
        marks = [_EMPTY * longest, _FULL * longest]
        alike = np.digitize(first, marks) == np.digitize(beside, marks)
        beside = np.where(apart & ~alike, np.nan, beside)
    beside = beside[~np.isnan(beside)]
    of = len(beside)
    if of < LEAST or 2 * of < len(lost_ns):
        return None
    full = beside[beside >= _FULL * longest]
    at_longest = len(full)
    dropping = round(float(quantiles(full, (0.5,))[0])) if at_longest else None
    empty = int(np.count_nonzero(beside <= _EMPTY * longest))
    usual = float(np.mean(delays.queue_ns >= _FULL * longest))
    dropped = None
    if at_longest >= _MOST * of and usual**at_longest < _CHANCE:
        dropped = True
    elif empty >= _MOSTLY_EMPTY * of and at_longest <= _OTHERS * of:
        dropped = False
    return QueueAtLosses(round(longest), dropping, of, at_longest, empty, dropped)


def _queue(
    delays: Delays, at: npt.NDArray[np.intp], lost_ns: Times, near_ns: float
) -> npt.NDArray[np.float64]:
    """The queue that a segment met; NaN if there is none, or not near enough."""
    place = np.clip(at, 0, len(delays.t_ns) - 1)
    near = (at == place) & (np.abs(delays.t_ns[place] - lost_ns) <= near_ns)
    return np.where(near, delays.queue_ns[place], np.nan)


def by_acks(data: Table, acks: Table) -> Delays | None:
    """Queueing delays by the ACK, or SACK block, that first ended with each segment; None without any.

    A cumulative ACK that a retransmission released shows when that arrived, not the segment with which it
    ends: it is left out (Karn; RFC 6298 section 3).

    Parameters
    ----------
    data, acks : Table
        Rows of `segments` with payload, and of the other direction, in time order.
    """
    reached = np.maximum(acks["ack"], acks["sack_high"])
    highest = np.maximum.accumulate(reached)
    selected = acks["sack_high"] > acks["ack"]
    shows = (np.diff(highest, prepend=highest[:1]) > 0) & (selected | (acks["rtt_ns"] >= 0))
    new = np.flatnonzero(shows)
    # Of copies it does not show which one arrived.
    order = np.argsort(data["seq"] + data["length"], kind="stable")
    ends = (data["seq"] + data["length"])[order]
    again = np.concatenate([[False], ends[1:] == ends[:-1], [False]])
    alone = ~(again[1:] | again[:-1])
    once, ends = order[alone], ends[alone]
    if not len(once) or not len(new):
        return None
    place = np.minimum(np.searchsorted(ends, reached[new]), len(ends) - 1)
    sent_ns, acked_ns = data["t_ns"][once[place]], acks["t_ns"][new]
    fits = (ends[place] == reached[new]) & (acked_ns > sent_ns)
    if not fits.any():
        return None
    order = np.argsort(sent_ns[fits], kind="stable")
    sent_ns, rtt_ns = sent_ns[fits][order], (acked_ns - sent_ns)[fits][order]
    return Delays(sent_ns, rtt_ns - rtt_ns.min())


def by_timestamps(data: Table) -> Delays | None:
    """Queueing delays before a capture, by the sender's clock; None without one that is fine enough.

    Parameters
    ----------
    data : Table
        Rows of `segments` with payload, in time order.
    """
    stamped = data.where(data["ts_val"] >= 0)
    if len(stamped) < 2:
        return None
    t_ns, ticks = stamped["t_ns"], stamped["ts_val"] - stamped["ts_val"][0]
    span_ns = float(t_ns[-1] - t_ns[0])
    if ticks[-1] <= 0 or span_ns <= 0:
        return None
    each_ns = span_ns / float(ticks[-1])
    tick_ns = min(_TICKS_NS, key=lambda known: abs(np.log(known / each_ns)))
    if not 1 / _TICK_OFF < each_ns / tick_ns < _TICK_OFF:
        return None
    late_ns = t_ns - t_ns[0] - ticks * tick_ns
    delays = Delays(t_ns, late_ns - late_ns.min())
    longest = delays.longest_ns
    return delays if max(tick_ns, _SKEW * span_ns) <= _EMPTY * longest else None
