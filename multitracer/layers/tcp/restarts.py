"""Idle times after which a sender began again with a small congestion window: slow start after idle.

A congestion window that was not used for a timeout may be too large for the path: the sender reduces it to
the restart window, which is no more than the initial one. Linux halves it for each timeout of the idle time
(``net.ipv4.tcp_slow_start_after_idle``).

References
----------
RFC 5681 section 4.1; RFC 6928 (initial window of ten segments).
"""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.transit import payload_at
from multitracer.model.frozen import frozen
from multitracer.model.packet_size import INITIAL_SEGMENTS
from multitracer.model.timeline import Connection, Timeline

_IDLE_NS = 200_000_000
"""No timer is shorter (Linux)."""

_SLACK = 1
"""The first flight holds no more than an initial window, and a segment."""

_SMALLER = 0.6
"""It holds no more than this part of the largest flight before."""

_FLIGHT = 0.8
"""What passes within this part of the base RTT was in flight at once: no ACK released any of it."""


@frozen
class Restarts:
    """Idle times of one connection after which more was to be sent than the first flight held.

    Attributes
    ----------
    idle_times : int
        How many they are.
    restarts : int
        After how many of them the sender began again with a small window.
    flight_bytes : int
        What it sent at once then, at the median.
    before_bytes : int
        The most that it had sent at once before, at the median.
    """

    idle_times: int
    restarts: int
    flight_bytes: int
    before_bytes: int


def restarts(m: Timeline, connection: Connection, source: int, base_ns: int, unit: int) -> Restarts | None:
    """Idle times after which the sender began again with a small congestion window.

    Parameters
    ----------
    m : Timeline
        With segments.
    connection : Connection
    source : int
        The capture: anywhere on the path.
    base_ns : int
        The smallest RTT of the whole path, or an upper bound of it.
    unit : int
        The MSS, in bytes.

    Returns
    -------
    Restarts or None
        None where no idle time shows it: none was as long as a timer, or what followed fitted into a flight.
    """
    rows = payload_at(m, connection, source)
    if len(rows) < 2 * INITIAL_SEGMENTS or base_ns <= 0:
        return None
    ends = rows["seq"] + rows["length"]
    new = ends > np.maximum.accumulate(np.append(0, ends[:-1]))
    t_ns, length = rows["t_ns"][new], rows["length"][new].astype(np.int64)
    begin = np.append(0, np.flatnonzero(np.diff(t_ns) > max(_IDLE_NS, 2 * base_ns)) + 1)
    if len(begin) < 2:
        return None
    sent = np.append(0, np.cumsum(length))
    at_once_ns = round(_FLIGHT * base_ns)
    # What passes from each segment on within a flight.
    flight = sent[t_ns.searchsorted(t_ns + at_once_ns, side="right")] - sent[:-1]
    end = np.append(begin[1:], len(t_ns))
    most = np.maximum.reduceat(flight, begin)
    # Before each idle time, since the last one that was followed by as much.
    before, first = most[:-1], flight[begin[1:]]
    whole = sent[end[1:]] - sent[begin[1:]]
    continued = (whole > first + unit) & (before > (INITIAL_SEGMENTS + _SLACK) * unit)
    if not continued.any():
        return None
    small = continued & (first <= (INITIAL_SEGMENTS + _SLACK) * unit) & (first <= _SMALLER * before)
    # The restart window is the initial one: a smaller flight is that of a window which losses had made small.
    small &= first >= min(int(flight[0]), INITIAL_SEGMENTS * unit) - _SLACK * unit
    # It grew from there: what an application wrote in small parts did not.
    small &= most[1:] > first
    if not small.any():
        return Restarts(int(continued.sum()), 0, 0, 0)
    middle = int(small.sum()) // 2
    flight_bytes, before_bytes = (int(np.sort(of[small])[middle]) for of in (first, before))
    return Restarts(int(continued.sum()), int(small.sum()), flight_bytes, before_bytes)
