"""The sentence on a receiver's window: who kept it small, when it was closed, what else filled its time."""

from __future__ import annotations

from collections.abc import Sequence

from multitracer.diagnosis.field.facts import Flow
from multitracer.diagnosis.field.groups import Group
from multitracer.diagnosis.field.phrases import from_ms, of_all, time_of
from multitracer.diagnosis.field.receivers import (
    BRIEF,
    SLOW,
    SMALL,
    SMALL_STALLED,
    STALLED,
    acked_when_read,
    common_reader,
    full_beside_window_s,
    window_used,
)
from multitracer.diagnosis.field.waits import recovery_s, window_full_in_recovery_s
from multitracer.model.packet_size import LARGEST_UNSCALED, PACKET_BYTES
from multitracer.model.quantities import count, duration, rate


def receiver(group: Group) -> str:
    """The sentence on a receiver's window, and on what kept it small."""
    flows = group.flows
    zero = sum(flow.zero_windows for flow in flows) if _closures_matter(group) else 0
    probes = sum(flow.window_probes for flow in flows)
    kept_by = common_reader(flows)
    window = max(flow.max_window_bytes for flow in flows)
    rtt_ms = flows[0].rtt_ms if len(flows) == 1 else None
    most = f"at most {window:,} bytes" if window else ""
    if all(_grew(flow, kept_by) for flow in flows):
        most = f"while smaller than its largest of {window:,} bytes"
    if kept_by in (SMALL, SMALL_STALLED) and rtt_ms is not None and window:
        most += f" in each RTT of {from_ms(rtt_ms)}{_unscaled(flows[0])}"
    # It was full for less: that a sender waits for some more segments of room is inferred.
    # Where ACKs waited until the application had read, the RTT has these waits in it.
    either = kept_by == SMALL and any(acked_when_read(flow) for flow in flows)
    said = (
        f"{_EITHER if either else _RECEIVERS[kept_by]} for {_roughly(flows)}{time_of(group)}{of_all(group)}"
    )
    parts = [most, _closed(flows, zero), count(probes, "window probe") if probes else ""]
    of_window = "window: " if kept_by in (SLOW, SMALL_STALLED) else ""
    said = f"{said} ({of_window}{', '.join(part for part in parts if part)})" if any(parts) else said
    said += ": its application stopped reading" if kept_by == STALLED else ""
    said += _full_beside(group) + _full_in_recovery(group)
    paced_s = sum(flow.window_paced_s for flow in flows)
    if paced_s >= PACED * group.seconds:
        said += (
            f"; in {duration(paced_s)} of it the window had room, and the sender waited for more of it or "
            "paced its segments"
        )
    if kept_by == SLOW and len(flows) == 1 and flows[0].goodput_bps is not None:
        said += f"; on average it read at most {rate(flows[0].goodput_bps)}"
    return said


def _roughly(flows: Sequence[Flow]) -> str:
    """``about``, where the congestion window took over at times that do not show away from the sender."""
    away = [flow for flow in flows if flow.point != "snd" and not flow.kernel]
    window_s, other_s = (
        sum(flow.limits_s.get(name, 0.0) for flow in away)
        for name in ("receiver_window", "congestion_window")
    )
    return "about " if other_s >= ROUGHLY * window_s > 0 else ""


ROUGHLY = 0.25
"""From this part of the receiver window's time on, that of the congestion window makes it rough."""


def _unscaled(flow: Flow) -> str:
    """Why the window is no larger, if that is the handshake's doing (RFC 7323 section 2.2)."""
    largest = LARGEST_UNSCALED - PACKET_BYTES < flow.max_window_bytes <= LARGEST_UNSCALED
    reason = _UNSCALED.get(flow.window_scaling or "") if largest else None
    return f": more needs window scaling, which {reason}" if reason else ""


_UNSCALED = {
    "not_offered": "the SYN did not offer when it passed this capture",
    "refused": "the SYN+ACK did not accept",
}


def _grew(flow: Flow, kept_by: str | None) -> bool:
    """Whether only a smaller window was full than the largest, which held all, or far more than needed."""
    used = window_used(flow)
    timed = flow.timeouts or flow.rto
    far_beyond = kept_by is None and used is not None and used < USED and not timed
    return flow.max_window_bytes > flow.unique_bytes or far_beyond


USED = 0.1
"""A window of which less was in flight on average was full while smaller, unless reading was slow."""


def _full_beside(group: Group) -> str:
    """For how long the link was full in addition to the window, and at what rate, where one shows it."""
    full_s = sum(full_beside_window_s(flow) for flow in group.flows)
    if full_s < (BESIDE if all(flow.rate_bps for flow in group.flows) else MOSTLY_BESIDE) * group.seconds:
        return ""
    known = group.flows[0].rate_bps if len(group.flows) == 1 else None
    about = "" if group.flows[0].rate_exact else "about "
    at = f" ({about}{rate(known)} of IP packets)" if known is not None else ""
    return (
        f"; for about {duration(full_s)} of that the link was full, too{at}: "
        "a larger window would only have lengthened its queue"
    )


def _full_in_recovery(group: Group) -> str:
    """For how long the window was also full during loss recovery, if that is a large part.

    The sentence on loss recovery itself has the rest.
    """
    full_s = sum(max(window_full_in_recovery_s(flow) - recovery_s(flow), 0.0) for flow in group.flows)
    if full_s < IN_RECOVERY * group.seconds:
        return ""
    return f"; during loss recovery it was full for at least {duration(full_s)} more"


IN_RECOVERY = 0.05
"""From this part of a receiver window's time on, the sentence states for how long it was full in recovery."""

BESIDE, MOSTLY_BESIDE = 0.25, 0.5
"""From these parts of a receiver window's time on, a full link is stated, too (second: of unknown rate)."""

PACED = 0.05
"""From this part of the time of a receiver's window on, the sentence states that it had room."""

_RECEIVERS = {
    None: "limited by the receiver's window",
    SMALL: "limited by the receiver's small window",
    SLOW: "limited by the receiver, whose application read slowly,",
    STALLED: "limited by the receiver's window",
    SMALL_STALLED: "limited by the receiver, with a small window and an application that stopped once,",
}


_EITHER = "limited by the receiver, with a small window or an application that read slowly,"
"""Its ACKs answer many segments each: unread data and data in transit look alike."""


def _closures_matter(group: Group) -> bool:
    """Whether the windows were closed for a part of that time that counts, as far as is known."""
    closures = [flow.closures for flow in group.flows]
    if any(one is None for one in closures):
        return True
    return sum(one[2] for one in closures if one is not None) >= BRIEF * group.seconds


def _closed(flows: tuple[Flow, ...], zero_windows: int) -> str:
    """``closed 3 times, for up to 1.41 s``."""
    if not zero_windows:
        return ""
    closures = [flow.closures for flow in flows if flow.closures is not None]
    if len(closures) < len(flows) or not any(number for number, _, _ in closures):
        return count(zero_windows, "zero window")
    times, longest = sum(number for number, _, _ in closures), max(length for _, length, _ in closures)
    if times == 1:
        return f"closed once, for {duration(longest)}"
    return f"closed {times:,} times, for up to {duration(longest)}"
