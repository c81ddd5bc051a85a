"""How long the link of a connection took for what it carried, by the rate that it showed."""

from __future__ import annotations

import math

from multitracer.diagnosis.field.facts import Flow
from multitracer.model.packet_size import LEAST_HEADERS_BYTES, TIMESTAMPS_BYTES


def needed_s(flow: Flow) -> float:
    """Seconds that a link of the rate seen needs for the payload; 0 where no rate is known."""
    return 8.0 * flow.unique_bytes / flow.rate_bps if flow.rate_bps else 0.0


def carried_s(flow: Flow) -> tuple[float, float]:
    """Seconds that the link took for what it surely carried, with headers, and for what it may have carried.

    What was lost away from the capture may have been lost before the link, or after it; what came when the
    queue was longest, where that explains most of the losses, never crossed it. 0 where no rate of its own is
    known.
    """
    first = flow.sent - flow.retransmissions
    if flow.shared or flow.link_known or flow.rates_bps or not flow.rate_bps or first <= 0:
        return 0.0, 0.0
    lost = flow.upstream or 0 if flow.point == "rcv" else flow.lost or 0
    queue = flow.queue_at_losses or {}
    dropped = min(lost, queue.get("at_longest", 0)) if queue.get("dropped") else 0
    each_bytes = carried_bytes(flow) / flow.sent
    least_s, most_s = (8.0 * (flow.sent - none) * each_bytes / flow.rate_bps for none in (lost, dropped))
    return least_s, most_s


def carried_bytes(flow: Flow) -> float:
    """Bytes of the IP packets of all its segments, as they were sent, retransmissions included."""
    headers_bytes = LEAST_HEADERS_BYTES + (TIMESTAMPS_BYTES if flow.timestamps else 0)
    first = max(flow.sent - flow.retransmissions, 1)
    return flow.sent * (flow.unique_bytes / first + headers_bytes)


def room_s(flow: Flow) -> float:
    """Seconds of the transfer that neither the link nor a stalled path certainly took.

    Without limit where no rate is known, and where others took a part of the link.
    """
    if flow.shared or flow.link_known or not flow.rate_bps or flow.seconds is None:
        return math.inf
    carried_s = 8.0 * (flow.unique_bytes + LEAST_HEADERS_BYTES * flow.sent) / flow.rate_bps
    opening_s = flow.limits_s.get("handshake", 0.0)
    return max(flow.seconds - opening_s - carried_s - flow.stalled_s, 0.0)
