"""What kept a receiver's window small: its reader was slow, or stopped; or the window is small.

A window that is small and is emptied at once is in flight all of the time: data comes at one window per RTT.
If less comes, the rest of the window lay unread.
"""

from __future__ import annotations

from collections.abc import Sequence

from multitracer.diagnosis.field.facts import EMPTIED, Flow

STALLED, SLOW, SMALL = "stalled", "slow", "small"

STALL_S = 0.2
"""A window that was closed for this long at once, and for most of the time that it took, is a reader that
stopped."""

CLOSED = 0.2
"""From this part of the time that the window took on, that it was closed shows a slow reader."""

FAR_BELOW = 10.0
"""The window allows so many times the goodput, if a reader that is slow is told without a closed window."""

_MOSTLY = 0.5


def reader_of(flow: Flow) -> str | None:
    """What kept the window of one small: `STALLED`, `SLOW`, `SMALL`; None if that does not show."""
    held_s = flow.limits_s.get("receiver_window", 0.0)
    if flow.closures is not None and flow.closures[0] and held_s > 0:
        _, longest_s, closed_s = flow.closures
        if longest_s >= max(STALL_S, _MOSTLY * held_s):
            return STALLED
        if closed_s >= CLOSED * held_s:
            return SLOW
    used = flow.window_used
    if used is None or held_s < _MOSTLY * (flow.seconds or 0.0):
        return None
    if used >= EMPTIED:
        return SMALL
    return SLOW if used < _MOSTLY and _only_reader(flow) else None


def _only_reader(flow: Flow) -> bool:
    """Whether nothing else can have kept a window from being in flight.

    Neither a timer nor a stall of the path, and goodput far below what the window allows in a base RTT. Where
    only that RTT is known, a queue that does not show may hold the rest.
    """
    if flow.rtt_ms is None or not flow.base_rtt_ms or flow.timeouts or flow.rto or flow.stalls_s:
        return False
    allowed_bps = 8e3 * flow.max_window_bytes / flow.base_rtt_ms
    return flow.goodput_bps is not None and allowed_bps >= FAR_BELOW * flow.goodput_bps


def common_reader(flows: Sequence[Flow]) -> str | None:
    """What kept the windows of several small, if it is the same for all."""
    found = {reader_of(flow) for flow in flows}
    return found.pop() if len(found) == 1 else None
