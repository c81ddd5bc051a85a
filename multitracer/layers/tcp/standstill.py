"""Times in which a path stood still, as one capture shows them: what was in flight waited, and then came."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.layers.tcp.bottleneck import STILL_NS
from multitracer.layers.tcp.flow_batch import Flags, Times
from multitracer.layers.tcp.transit import data_at, valid_acks
from multitracer.model.frozen import frozen
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

_FACTOR = 3
_SEGMENTS = (
    2  # a receiver acknowledges two segments at once (RFC 5681, section 4.2): it does not wait for more
)
_TICKS_NS = np.array([1_000, 1_000_000, 4_000_000, 10_000_000])
"""Ticks of the clocks of TSval that are in use (RFC 7323, section 5.4)."""
_OFF = 0.1
"""A clock whose pace differs from a tick by more than this part has another one."""
_STAMPED = 0.8
"""Part of a silence that what ends it must have waited, by the clock of its sender."""
_LEAST_TICKS = 100
_FIN, _SYN = 0x01, 0x02


@frozen
class Standstill:
    """A time in which nothing moved.

    Attributes
    ----------
    start_ns, end_ns : int
        As the capture has it: later than at the place where it happened, by the way from there.
    record : int
        The packet of the capture that ended it.
    before : bool
        Whether data had waited on its way to the capture; else data, or its ACK, behind it.
    """

    start_ns: int
    end_ns: int
    record: int
    before: bool

    @property
    def length_ns(self) -> int:
        """How long it lasted."""
        return self.end_ns - self.start_ns


def standstills(
    m: Timeline,
    connection: Connection,
    source: int,
    base_ns: int | None,
    needless: Sequence[int],
    *,
    point: str | None,
) -> list[Standstill]:
    """Times in which the path of a connection stood still; in order, none overlaps another.

    Each lasts for 200 ms and more, and for three times the base RTT and the usual distance of packets.

    Parameters
    ----------
    m : Timeline
        With segments.
    connection : Connection
    source : int
        The capture.
    base_ns : int or None
        The smallest RTT from the capture to the receiver and back; None if it was not measured.
    needless : sequence of int
        Packets of the capture that a timer retransmitted although nothing was lost.
    point : str or None
        Where the capture was taken: "snd", "mid" or "rcv"; None if that is unknown.

    Returns
    -------
    list of Standstill

    References
    ----------
    Gurtov and Ludwig, *Responding to spurious timeouts in TCP* (INFOCOM 2003): delay spikes.
    """
    if m.carrying(connection.index, connection.data_dir, source) < 3:
        return []
    data = data_at(m, connection, source)
    data = data.where(data["length"] > 0)
    found = []
    if point != "rcv" and base_ns:
        found += _behind(data, valid_acks(m, connection, source), base_ns, needless)
    if point != "snd":
        found += _before(data, base_ns or 0)
    found.sort(key=lambda one: (one.start_ns, -one.end_ns))
    apart: list[Standstill] = []
    for one in found:
        if not apart or one.start_ns >= apart[-1].end_ns:
            apart.append(one)
    return apart


def _behind(data: Table, acks: Table, base_ns: int, needless: Sequence[int]) -> list[Standstill]:
    """Silences of the ACKs that were no wait for a retransmission.

    Two segments and more had been in flight for longer than the base RTT, no ACK came, and the one that ended
    it came for what had been sent before: what was retransmitted in between counts from then on.
    """
    if len(acks) < 3:
        return []
    ack_ns, sent_at_ns = acks["t_ns"], data["t_ns"]
    gaps_ns = np.diff(ack_ns)
    least_ns = max(STILL_NS, _FACTOR * int(np.median(gaps_ns)), _FACTOR * base_ns)
    # A window that is closed holds nothing in flight that an ACK would be due for.
    candidates = np.flatnonzero((gaps_ns > least_ns) & (acks["window"][:-1] != 0))
    if not len(candidates):
        return []
    acked = np.maximum.accumulate(acks["ack"])
    ends = np.maximum.accumulate(data["seq"] + data["length"])
    never = np.iinfo(np.int64).max // 2
    again = _retransmissions(data, ends, needless)
    again_ns, again_from, again_to = again["t_ns"], again["seq"], again["seq"] + again["length"]
    found = []
    for at in candidates.tolist():
        start_ns, end_ns = int(ack_ns[at]), int(ack_ns[at + 1])
        if acks["flags"][at + 1] & (_FIN | _SYN):
            # Its host closed the connection: what it acknowledges may have arrived long before.
            continue
        if acked[at + 1] > acked[at]:
            first, last = int(acked[at]), int(acked[at + 1])
            sent_ns = again_ns[(again_from < last) & (again_to > first) & (again_ns <= end_ns)]
            # What was not acknowledged yet: the second segment of it had been in flight from then on.
            oldest = int(ends.searchsorted(first, side="right")) + _SEGMENTS - 1
            waiting_ns = int(sent_at_ns[oldest]) if oldest < len(data) else never
            start_ns = max(start_ns, waiting_ns + base_ns)
            start_ns = max(start_ns, int(sent_ns.max()) + base_ns) if len(sent_ns) else start_ns
        elif _answers(acks, at + 1) and _left(data, ends, start_ns) > acked[at + 1]:
            # A receiver answers at once what does not come in order (RFC 5681, section 4.2): the last segment
            # that can have arrived by then had been in flight since it was sent. (No RTT before may have met
            # so short a queue.)
            place = int(sent_at_ns.searchsorted(end_ns - base_ns // 2, side="right")) - 1
            start_ns = max(start_ns, int(sent_at_ns[place]) + base_ns) if place >= 0 else end_ns
        else:
            continue
        if end_ns - start_ns > least_ns:
            found.append(Standstill(start_ns, end_ns, int(acks["record"][at + 1]), False))
    return found


def _answers(acks: Table, row: int) -> bool:
    """Whether an ACK carries nothing: one of nothing new answers data out of order, if some is left."""
    return not acks["length"][row]


def _left(data: Table, ends: Times, t_ns: int) -> int:
    """Up to which byte data had been sent."""
    sent = int(np.searchsorted(data["t_ns"], t_ns, side="right"))
    return int(ends[sent - 1]) if sent else 0


def _retransmissions(data: Table, ends: Times, needless: Sequence[int]) -> Table:
    """Second copies, and what fills a gap: its first copy was lost before it came to this capture."""
    late = data["seq"] < np.concatenate([[0], ends[:-1]])
    again = data.where((data["duplicate"] > 0) | late)
    return again.where(~np.isin(again["record"], np.asarray(needless, dtype=np.int64)))


def _before(data: Table, base_ns: int) -> list[Standstill]:
    """Silences of the data that ended with a segment which its sender had stamped when they began.

    A sender that waits stamps what it sends afterwards (RFC 7323, section 5.4: its TSval is its clock).
    """
    t_ns = data["t_ns"]
    stamps = data["ts_val"]
    late = _lateness_ns(t_ns, stamps)
    if late is None:
        return []
    silent = np.diff(t_ns)
    least_ns = max(STILL_NS, _FACTOR * int(np.median(silent)), _FACTOR * base_ns)
    ended: Flags = (silent > least_ns) & (np.diff(late) >= _STAMPED * silent)
    return [
        Standstill(int(t_ns[at]), int(t_ns[at + 1]), int(data["record"][at + 1]), True)
        for at in np.flatnonzero(ended).tolist()
    ]


def _lateness_ns(t_ns: Times, stamps: Times) -> Times | None:
    """How much later each segment came than its sender stamped it, but for a constant.

    None without timestamps, or if the tick of the sender's clock is not clear.
    """
    if (stamps < 0).any():
        return None
    since = (stamps - stamps[0] + 2**31) % 2**32 - 2**31
    ticks, span_ns = int(since[-1]), int(t_ns[-1] - t_ns[0])
    if ticks < _LEAST_TICKS or span_ns <= 0:
        return None
    pace_ns = span_ns / ticks
    tick_ns = int(_TICKS_NS[np.argmin(np.abs(np.log(_TICKS_NS / pace_ns)))])
    if abs(pace_ns - tick_ns) > _OFF * tick_ns:
        return None
    return np.asarray(t_ns - t_ns[0] - since * tick_ns, dtype=np.int64)
