"""What a receiver's window did: its reader was slow, or stopped; or the window is small, or fills the link.

A window that is small and is emptied at once is in flight all of the time: data comes at one window per RTT.
If less arrives, the rest of the window was unread.
"""

from __future__ import annotations

from collections.abc import Sequence

from multitracer.diagnosis.field.carried import needed_s
from multitracer.diagnosis.field.facts import FILLED, FULL, Flow
from multitracer.diagnosis.field.waits import waits_s

STALLED, SLOW, SMALL, SMALL_STALLED = "stalled", "slow", "small", "small, stalled"

STALL_S = 0.2
"""A window that was closed for this long at once, and for most of the time that it took, is a reader that
stopped."""

CLOSED = 0.2
"""From this part of the time that the window took on, that it was closed shows a slow reader."""

FAR_BELOW = 10.0
"""The window allows so many times the goodput, if a slow reader is reported without a closed window."""

MORE = 1.5
EMPTIED = 0.7
"""A receiver's window fills a link that was full for nearly all of the time if it is so many times the BDP,
and this part of it is in flight on average."""

EMPTIED_AT_MOST = 0.85
"""The same where only an upper bound of the base RTT is known, and so of what is in flight."""

WHOLE = 0.5
"""From this part of the largest window on that one ACK answers, it answers all that was in flight."""

FEW_ACKS = 3.5
"""Segments that one ACK answers from which on the receiver withheld ACKs until its application had read: it
acknowledges at least each second full segment (RFC 9293, 3.8.6.3) unless that would shrink its window."""

MERGED_S = 2e-4
"""Segments that come closer than this may reach the receiver's TCP as one."""

BRIEF = 0.01
"""That a window was closed for less than this part of the time that it took shows nothing."""

PACE = 1.2
"""A rate of IP packets up to so many times the goodput is the pace of what limited the transfer all along."""

ACK_DELAY_MS = 500.0
"""The longest that a receiver may withhold an ACK (RFC 9293, 3.8.6.3)."""

STEADY = 0.5
"""The 95th percentile of a standing queue is above its median by less than this part of that."""

_MOSTLY = 0.5


def reader_of(flow: Flow) -> str | None:
    """What kept the window of one small: `STALLED`, `SLOW`, `SMALL`, or `SMALL_STALLED`.

    None if that does not show. A reader that stopped once, and emptied its window at once for the rest of the
    time, is not slow.
    """
    held_s = flow.limits_s.get("receiver_window", 0.0)
    if flow.closures is not None and flow.closures[0] and held_s > 0:
        _, longest_s, closed_s = flow.closures
        if longest_s >= max(STALL_S, _MOSTLY * held_s):
            return STALLED
        if closed_s >= CLOSED * held_s:
            once = longest_s >= max(STALL_S, _MOSTLY * closed_s)
            return SMALL_STALLED if once and (window_used(flow, closed_s) or 0.0) >= EMPTIED else SLOW
    used = window_used(flow)
    if used is None or held_s < _MOSTLY * (flow.seconds or 0.0):
        return None
    unsure = flow.rtt_ms is None and flow.base_at_most
    if used >= (EMPTIED_AT_MOST if unsure else EMPTIED):
        # The RTT is longer by the waits for the reader where it is these that ACKs waited for.
        read = acked_when_read(flow) and _used_at_best(flow) < EMPTIED
        return SLOW if read else SMALL
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


def window_used(flow: Flow, closed_s: float = 0.0) -> float | None:
    """Part of the largest window that was in flight on average: goodput times RTT; None if unknown.

    Where only the base RTT is known, at least so much was. Without `closed_s` in which it was closed.
    """
    rtt_ms = flow.base_rtt_ms if flow.rtt_ms is None else flow.rtt_ms
    open_s = _moving_s(flow) - closed_s
    if rtt_ms is None or not flow.max_window_bytes or open_s <= 0:
        return None
    return flow.unique_bytes / open_s * rtt_ms / 1e3 / flow.max_window_bytes


def _used_at_best(flow: Flow) -> float:
    """Part of the largest window that would be in flight on average with the base RTT throughout."""
    return _at_once_bytes(flow) / flow.max_window_bytes


def _at_once_bytes(flow: Flow) -> float:
    """What is in flight on average with the base RTT throughout."""
    return flow.unique_bytes / max(_moving_s(flow), 1e-9) * (flow.base_rtt_ms or 0.0) / 1e3


def _moving_s(flow: Flow) -> float:
    """Seconds with data in flight in which its path did not stall."""
    return flow.busy_s - flow.stalled_s


def window_fills_link(flow: Flow) -> bool:
    """Whether the receiver's window keeps the queue of a full link filled: more would only wait longer.

    The window is more than the path holds, and all of it is in flight: if the reader were slow, some of it
    would be unread. Or the RTT is longer than any receiver withholds an ACK: only a queue does that.
    """
    if _closed_for_long(flow) or flow.queue_ms is None or (flow.full_share or 0.0) < FULL:
        return False
    if _queued_on_the_way(flow):
        return True
    if flow.rate_bps is None or flow.base_rtt_ms is None or _busy(flow) < FILLED:
        return False
    if _acked_by_reads(flow):
        return False
    held = flow.max_window_bytes >= MORE * flow.rate_bps / 8 * flow.base_rtt_ms / 1e3
    return held and (window_used(flow) or 0.0) >= EMPTIED


def _busy(flow: Flow) -> float:
    """Part of the time with data in flight in which the link was full, or that it needed for what was sent.

    Without the time in which the path stalled.
    """
    moving_s = _moving_s(flow)
    sent_s = needed_s(flow) * flow.sent / max(flow.sent - flow.retransmissions, 1)
    return max(flow.full_share or 0.0, sent_s / moving_s if moving_s > 0 else 0.0)


def paced_by_reader(flow: Flow) -> bool:
    """Whether data came at the rate at which the receiver's application read, which is no link's.

    What is in flight behind a link is all of the window; unread data is not in flight.
    """
    if flow.rate_bps is None or flow.goodput_bps is None or not _behind_its_window(flow):
        return False
    unread = flow.rtt_ms is not None and (window_used(flow) or 0.0) < EMPTIED
    return (
        unread or _acked_whole(flow) or acked_when_read(flow)
    ) and flow.rate_bps <= PACE * flow.goodput_bps


def waits(flow: Flow) -> dict[str, float]:
    """Seconds by what the sender waited for, without stalls of its path.

    The pace of a reader is no link's: what looks like a full link then is the time of the receiver's window.
    """
    spent = waits_s(flow)
    if spent and paced_by_reader(flow) and not window_fills_link(flow):
        spent["receiver_window"] += spent["bandwidth"]
        spent["bandwidth"] = 0.0
    return spent


def part_full(flow: Flow) -> float:
    """Part of the transfer in which the link was full, 0 to 1."""
    if flow.full_share is None or not flow.seconds or paced_by_reader(flow):
        return 0.0
    if _behind_its_window(flow):
        return flow.limits_s.get("bandwidth", 0.0) / flow.seconds
    return flow.full_share * flow.busy_s / flow.seconds


def full_beside_window_s(flow: Flow) -> float:
    """Seconds of the receiver window's time in which the link was full too: more would have queued in them.

    What a slow reader leaves unread is not in flight, and looks like a queue where no RTT shows the
    difference.
    """
    if flow.full_share is None or flow.link_known or paced_by_reader(flow) or _may_lie_unread(flow):
        return 0.0
    if _jitters(flow):
        return 0.0
    beside_s = flow.full_share * flow.busy_s - flow.limits_s.get("bandwidth", 0.0)
    return min(max(beside_s, 0.0), waits(flow).get("receiver_window", 0.0))


def _may_lie_unread(flow: Flow) -> bool:
    """Whether much of the window may have been data that the application had not read."""
    if _closed_for_long(flow) or reader_of(flow) not in (SMALL, None):
        return True
    # Without timestamps, at one pace, unread data and data in a hidden queue look the same.
    pace = flow.rate_bps is not None and flow.rate_bps <= PACE * (flow.goodput_bps or 0.0)
    if pace and flow.rtt_ms is None and (window_used(flow) or 0.0) < _MOSTLY:
        return True
    # One that grew beyond all that was sent was full only while it was small.
    grew = flow.max_window_bytes > flow.unique_bytes
    return not grew and _at_once_bytes(flow) * FAR_BELOW < flow.max_window_bytes


def _jitters(flow: Flow) -> bool:
    """Whether what seems a queue may be jitter: a link that a window always fills has a steady queue."""
    if flow.queue_ms is None or (flow.full_share or 0.0) >= FILLED:
        return False
    median_ms, p95_ms = flow.queue_ms
    always = flow.limits_s.get("receiver_window", 0.0) >= FILLED * flow.busy_s
    return always and p95_ms - median_ms > STEADY * median_ms


def _acked_whole(flow: Flow) -> bool:
    """Whether one ACK answers all that the window holds: it waited for the application to read.

    What a link delivers one by one is acknowledged every second segment (RFC 5681, section 4.2).
    """
    return flow.acks > 0 and flow.unique_bytes / flow.acks >= WHOLE * flow.max_window_bytes > 0


def _acked_by_reads(flow: Flow) -> bool:
    """Whether it shows in the ACKs that they waited for the application to read."""
    return _acked_whole(flow) or acked_when_read(flow)


def acked_when_read(flow: Flow) -> bool:
    """Whether ACKs waited for the application to read: they are few for segments that came one by one."""
    acks = flow.acks + (flow.acks_lost or 0)
    apart_s = flow.busy_s / max(flow.wire_segments, 1)
    return acks > 0 and flow.wire_segments >= FEW_ACKS * acks and apart_s >= MERGED_S


def _behind_its_window(flow: Flow) -> bool:
    """Whether the receiver's window limited it longer than the link, and does not keep that filled."""
    fills = window_fills_link(flow) or (not _closed_for_long(flow) and _queued_on_the_way(flow))
    return not fills and flow.limits_s.get("receiver_window", 0.0) > flow.limits_s.get("bandwidth", 0.0)


def _closed_for_long(flow: Flow) -> bool:
    """Whether its window was closed for a part of the time that counts, as far as is known."""
    if flow.closures is None:
        return flow.zero_windows > 0
    return flow.closures[2] > BRIEF * flow.limits_s.get("receiver_window", 0.0)


def _queued_on_the_way(flow: Flow) -> bool:
    """Whether the RTT is longer than any receiver withholds an ACK."""
    return flow.has_queue and flow.queue_ms is not None and flow.queue_ms[0] >= ACK_DELAY_MS
