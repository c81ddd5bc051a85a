"""What the sender of a connection waited for, where a stalled path is no wait of its own."""

from __future__ import annotations

from multitracer.diagnosis.field.carried import room_s
from multitracer.diagnosis.field.facts import FILLED, FULL, IN_A_STANDSTILL, NAGLE, OPENING, Flow
from multitracer.model.idle import LAST_ACK_NAME
from multitracer.model.packet_size import LEAST_HEADERS_BYTES

MOSTLY_STALLED = 0.5
"""A congestion window that was small for this part of a stall on was what the sender seemed to wait for."""

UNKNOWING = ("unknown", "loss_recovery", "congestion_window")
"""What a sender seems to wait for while no ACK shows that the link continues."""

BURSTS = 0.125
"""A shorter queue than this part of the base RTT is one of bursts, unless the link was full half the time."""

WAITED_FOR = 2
"""A segment that waits for so many others met a queue; for fewer, these came with it, or it is jitter."""


def waits_s(flow: Flow) -> dict[str, float]:
    """Seconds by what the sender waited for, without those in which its path was stalled.

    `LAST_ACK_NAME` is among them: nothing was left to send, and no window held it back. So is `NAGLE`: the
    application had written, and TCP did not send yet. The shares of limits have no place for these: the
    sender waited for ACKs, or for its timer, and neither is the limit of a path on which nothing moves.
    """
    if not flow.limits_s:
        return {}
    spent = dict(flow.limits_s)
    # All data was sent: no window held anything back.
    spent[LAST_ACK_NAME] = min(flow.after_data_s, spent["congestion_window"])
    spent["congestion_window"] -= spent[LAST_ACK_NAME]
    # After the last data the queue of a full link drains at its rate: the rest is an RTT without it.
    if (flow.full_share or 0.0) >= FILLED and flow.base_rtt_ms is not None:
        drains_s = max(spent[LAST_ACK_NAME] - flow.base_rtt_ms / 1e3, 0.0)
        spent[LAST_ACK_NAME] -= drains_s
        spent["bandwidth"] += drains_s
    # What a path kept waiting once the receiver's window was full began after slow start.
    behind = spent["receiver_window"] > spent["bandwidth"]
    opening_s = min(flow.before_loss_s, flow.slow_start_s) if behind else 0.0
    spent[OPENING] = min(opening_s, spent["congestion_window"])
    spent["congestion_window"] -= spent[OPENING]
    spent[NAGLE] = min(flow.nagle_s, spent["application"])
    spent["application"] -= spent[NAGLE]
    if not (flow.retransmissions or flow.lost or flow.before_data_s or flow.refused or flow.possible):
        # Data out of order, of which nothing was retransmitted: how the sender reacted is unknown.
        spent["unknown"] += spent["loss_recovery"]
        spent["loss_recovery"] = 0.0
    left_s = flow.stalled_s
    # A window that was small before the first loss for longer than slow start was so in the stall.
    longer_s = min(flow.before_loss_s - flow.slow_start_s, spent["congestion_window"], left_s)
    if longer_s >= MOSTLY_STALLED * left_s > 0.0:
        spent["congestion_window"] -= longer_s
        left_s -= longer_s
    # A link that continued meanwhile was what took that time, whatever its sender could make of it.
    went_on_s = min(flow.carried_on_s, sum(flow.stalls_s))
    for name in UNKNOWING:
        # Before the first loss it was the window that left the link idle.
        before_s = flow.before_loss_s if name == "congestion_window" else 0.0
        taken_s = min(max(spent[name] - before_s, 0.0), went_on_s)
        spent[name] -= taken_s
        spent["bandwidth"] += taken_s
        went_on_s -= taken_s
    for name in IN_A_STANDSTILL:
        taken_s = min(spent[name], left_s)
        spent[name] -= taken_s
        left_s -= taken_s
    spent["congestion_window"] += spent.pop(OPENING)
    # What a link of a known rate needed leaves no more time to a window that did not fill it. Without a queue
    # it was that window which left the link idle in each RTT.
    if flow.rate_exact and _queued(flow):
        full_s = max(spent["congestion_window"] - room_s(flow), 0.0)
        spent["congestion_window"] -= full_s
        spent["bandwidth"] += full_s
    return spent


def _queued(flow: Flow) -> bool:
    """Whether most segments waited for others, or the link had hardly any time without them."""
    if not flow.rate_bps or room_s(flow) <= (1.0 - FILLED) * (flow.seconds or 0.0):
        return True
    if flow.queue_ms is None:
        return False
    packet_bytes = flow.unique_bytes / max(flow.sent - flow.retransmissions, 1) + LEAST_HEADERS_BYTES
    # Bursts of a window smaller than the BDP wait for each other, too, while the link is idle in each RTT.
    bursts_ms = 0.0 if (flow.full_share or 0.0) >= FULL else BURSTS * (flow.base_rtt_ms or 0.0)
    return flow.queue_ms[0] >= max(WAITED_FOR * 8e3 * packet_bytes / flow.rate_bps, bursts_ms)


def recovery_s(flow: Flow) -> float:
    """Seconds in which it waited for loss recovery."""
    return waits_s(flow).get("loss_recovery", 0.0)


def window_full_in_recovery_s(flow: Flow) -> float:
    """Seconds of loss recovery without room in the receiver's window; 0 if a stall may be among them."""
    in_stall = bool(flow.stalls_s) and flow.window_in_recovery_s > recovery_s(flow)
    return 0.0 if in_stall else flow.window_in_recovery_s
