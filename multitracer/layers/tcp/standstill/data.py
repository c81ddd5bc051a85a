"""Times without data that were no pause of the sender: the path was stalled before the capture."""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.flow_batch import Times
from multitracer.layers.tcp.standstill.period import (
    FACTOR,
    LEAST_NS,
    ORDER,
    TIMESTAMPS,
    Standstill,
    last_silence,
)
from multitracer.model.packet_size import FULL_BYTES
from multitracer.model.table import Table

_BURST = 16
"""So many segments after a pause are examined."""
_TICKS_NS = np.array([1_000, 1_000_000, 4_000_000, 10_000_000])
"""Ticks of the clocks of TSval that are in use (RFC 7323, section 5.4)."""
_OFF = -0.1, 0.5
"""A clock whose pace differs from a tick by a part that is not between these has another one.

Data never comes early, but later and later while a queue fills.
"""
_STAMPED = 0.8
"""Part of a time without data that the segment ending it must have waited, by its sender's clock."""
_LEAST_TICKS = 100
_ROUNDS = 2
"""A sender idle for so many RTTs after the ACK of all data waits for no ACK (with timestamps: one more)."""
_AT_ONCE = 3
"""So many segments come at once after that, as they had been delayed."""
_PSH = 0x08


def stamped_before(data: Table, base_ns: int) -> list[Standstill]:
    """Times without data that ended with a segment which its sender had stamped before or during them.

    A sender that waits stamps what it sends after that (RFC 7323, section 5.4: its TSval is its clock).

    Parameters
    ----------
    data : Table
        Of one connection at one capture, in time order.
    base_ns : int
        The smallest RTT from the capture to the receiver and back; 0 if it is unknown.

    Returns
    -------
    list of Standstill
        In time order.
    """
    t_ns = data["t_ns"]
    silent = np.diff(t_ns)
    least_ns = max(LEAST_NS, base_ns)
    if int(silent.max(initial=0)) <= least_ns:
        return []
    least_ns = max(least_ns, FACTOR * int(np.median(silent)))
    candidates = np.flatnonzero(silent > least_ns)
    late = _lateness_ns(t_ns, data["ts_val"]) if len(candidates) else None
    if late is None:
        return []
    waited_ns = late[candidates + 1] - late[candidates]
    whole = waited_ns >= _STAMPED * silent[candidates]
    # What a timer sent during the pause had waited since then: for so long at least nothing moved.
    begins_ns = np.where(whole, t_ns[candidates], t_ns[candidates + 1] - waited_ns)
    found = []
    again_ns = max(base_ns, FACTOR * int(np.median(silent)))
    for at, begin_ns, waited in zip(candidates.tolist(), begins_ns.tolist(), waited_ns.tolist(), strict=True):
        if waited <= least_ns:
            continue

        # What ends the next pause had waited since before the stall.
        def still(next_at: int, at: int = at) -> bool:
            return bool(late[next_at + 1] - late[at] >= _STAMPED * (t_ns[next_at + 1] - t_ns[at]))

        last = last_silence(silent, at, again_ns, still)
        end_ns, record = int(t_ns[last + 1]), int(data["record"][last + 1])
        silence_ns = end_ns - int(t_ns[at])
        found.append(Standstill(begin_ns, end_ns, record, True, silence_ns, TIMESTAMPS, last - at))
    return found


def interrupted(data: Table, acks: Table, round_ns: int) -> list[Standstill]:
    """Pauses of data without timestamps, of which more was to be sent, and then came at once.

    More was to be sent after a segment without PSH (RFC 9293, section 3.9.1.2), and the window had room for
    it; all before it was acknowledged. A timer would have retransmitted what had arrived; identifications
    in sequence show that nothing was lost. What comes at once may come out of order.

    Parameters
    ----------
    data, acks : Table
        Of one connection at one capture, in time order.
    round_ns : int
        The smallest RTT of the whole path, or an upper bound of it.

    Returns
    -------
    list of Standstill
        In time order.
    """
    t_ns, length = data["t_ns"], data["length"]
    silent = np.diff(t_ns)
    least_ns = max(LEAST_NS, _ROUNDS * round_ns, FACTOR * int(np.median(silent)) if len(silent) else 0)
    ends = np.maximum.accumulate(data["seq"] + length)
    unit = min(int(length.max()), FULL_BYTES)
    more = data["flags"][:-1] & _PSH == 0
    edges = np.maximum.accumulate(acks["ack"] + np.maximum(acks["window"], 0))
    found = []
    for at in np.flatnonzero(more & (silent > least_ns)).tolist():
        begin_ns, end_ns = int(t_ns[at]), int(t_ns[at + 1])
        last_ack = int(acks["t_ns"].searchsorted(begin_ns + round_ns)) - 1
        if last_ack < 0 or int(edges[last_ack]) - int(ends[at]) < 2 * unit:
            continue
        acked_ns = max(int(acks["t_ns"][last_ack]), begin_ns)
        known = int(acks["ack"][last_ack]) >= int(ends[at]) - unit and end_ns - acked_ns > least_ns
        if not known and end_ns - begin_ns <= (_ROUNDS + 1) * round_ns:
            continue
        # What comes after any other pause comes at once, too.
        if _goes_on(data, at, int(ends[at]), end_ns + max(round_ns, LEAST_NS), unit):
            record = int(data["record"][at + 1])
            found.append(Standstill(begin_ns, end_ns, record, True, end_ns - begin_ns, ORDER))
    return found


def _goes_on(data: Table, at: int, end: int, until_ns: int, unit: int) -> bool:
    """Whether the next segment by its identification is new data, and comes until a time with others.

    The first that comes may have overtaken it.
    """
    last = int(data["t_ns"].searchsorted(until_ns))
    rows = slice(at + 1, min(last, at + 1 + _BURST))
    packets = -(-int(data["length"][at]) // unit)
    since = (data["ip_id"][rows].astype(np.int64) - int(data["ip_id"][at]) - packets) % 2**16
    seq = data["seq"][rows]
    if len(seq) <= _AT_ONCE or since[0] >= _BURST or seq[0] < end:
        return False
    return bool(((since == 0) & (seq == end)).any())


def _lateness_ns(t_ns: Times, stamps: Times) -> Times | None:
    """How much later each segment came than its sender stamped it, but for a constant.

    None without timestamps, or if the tick of the sender's clock is not clear: by the right one, the least
    late segments of both halves are as late, but for what a queue grew by. (What waits at the end makes the
    pace of all too slow.)
    """
    if (stamps < 0).any():
        return None
    since = (stamps - stamps[0] + 2**31) % 2**32 - 2**31
    half = len(t_ns) // 2
    if not half or int(since[-1]) < _LEAST_TICKS:
        return None
    # One row for each tick.
    late = np.asarray(t_ns - t_ns[0] - since * _TICKS_NS[:, None], dtype=np.int64)
    first, second = late[:, :half].argmin(axis=1).tolist(), late[:, half:].argmin(axis=1).tolist()
    found, least = None, _OFF[1]
    for one, before, after in zip(late, first, second, strict=True):
        apart = int(one[half + after] - one[before])
        off = apart / max(int(t_ns[half + after] - t_ns[before]), 1)
        if off > _OFF[0] and abs(off) < least:
            found, least = one, abs(off)
    return found
