"""Sentences about queues that no cause has: of data, of ACKs, and of traffic that no capture has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from multitracer.diagnosis.field.ack_queues import ack_queue
from multitracer.diagnosis.field.causes import FULL_LINK
from multitracer.diagnosis.field.facts import FULL, Flow
from multitracer.diagnosis.field.full_links import STANDING, queue_words
from multitracer.diagnosis.field.groups import Group
from multitracer.diagnosis.field.phrases import from_ms
from multitracer.diagnosis.field.receivers import paced_by_reader
from multitracer.diagnosis.findings.finding import Finding


def queues(flows: Sequence[Flow], found: Sequence[Group], said: Sequence[str]) -> list[Finding]:
    """What waited in queues, where no sentence on a cause has it.

    Parameters
    ----------
    flows : sequence of Flow
        All that carried data.
    found : sequence of Group
        Their causes.
    said : sequence of str
        The sentences on these.

    Returns
    -------
    list of Finding
        Without costs.
    """
    sentences = _standing(flows, found), ack_queue(flows, said), _other_traffic(flows)
    return [one for one in sentences if one is not None]


def _standing(flows: Sequence[Flow], found: Sequence[Group]) -> Finding | None:
    """The queue of a connection that no other sentence reports: whatever limited it, its data waited."""
    of_full_links = [one for group in found if group.kind in FULL_LINK for one in group.flows]
    said = {one.index for one in of_full_links}
    # Others between the same hosts showed the queue that they share with it.
    shared = {(one.sender, one.receiver) for one in of_full_links if one.shared}
    left = [
        one
        for one in flows
        if one.has_queue
        and (one.full_share or 0.0) >= FULL
        and not paced_by_reader(one)
        and one.index not in said
        and not (one.shared and (one.sender, one.receiver) in shared)
    ]
    if not left or any(group.kind == "queue" for group in found):
        return None
    largest = max(left, key=lambda one: one.unique_bytes)
    # What an application that pauses writes at once waits for its own end: that is no standing queue.
    paused = largest.limits_s.get("application", 0.0) > largest.busy_s
    what = "a queue filled by bursts of the application" if paused else STANDING
    where = f" of connection {largest.index}" if len(flows) > 1 else ""
    return Finding(f"{what}{where}{queue_words(largest)}", 0.0, "queue")


OTHERS_MS, OTHERS_TIMES = 10.0, 0.5
"""A queue of this much, and of this much for each millisecond of the base RTT, is there most of the time."""

DATA_SHARE = 0.6
"""From this part of what queues added to the RTT on, it was data that waited."""

OTHERS_MOST = {
    "bandwidth": 0.4,
    "receiver_window": 0.3,
    "application": 0.3,
    "loss_recovery": 0.3,
    "unknown": 0.2,
}
"""From these shares of its time on, a connection, or what it waited for, explains its queue itself."""


OTHERS_RTTS = 20
"""A transfer of fewer RTTs hardly shows whether it would have filled the link by itself."""

OTHERS_PART = 0.05
"""Another connection that brought this part of its bytes while it was there may have filled it."""


def _transfer_s(flow: Flow) -> float:
    """Seconds of the transfer without its handshake, in which no data can wait."""
    return (flow.seconds or 0.0) - flow.limits_s.get("handshake", 0.0)


def _beside_others(flow: Flow, flows: Sequence[Flow]) -> bool:
    """Whether another connection to the same host, or from it, brought data at the same time."""
    return any(
        other.index != flow.index
        and (other.receiver == flow.receiver or other.sender == flow.sender)
        and other.unique_bytes >= OTHERS_PART * flow.unique_bytes
        and other.start_s < flow.end_s
        and flow.start_s < other.end_s
        for other in flows
    )


def _other_traffic(flows: Sequence[Flow]) -> Finding | None:
    """That data waited in a queue which the connection itself did not fill, of the one with most data.

    What fills it is in no connection that was compared with it: the capture does not have it, or has it in
    the other direction, or in other protocols.
    """
    found = [
        (one, one.queue_ms[0])
        for one in flows
        if one.queue_ms is not None
        and one.queue_ms[0] >= max(OTHERS_MS, OTHERS_TIMES * (one.base_rtt_ms or math.inf))
        and one.data_share is not None
        and one.data_share >= DATA_SHARE
        and not (one.shared or one.link_known or one.stalls_s or _beside_others(one, flows))
        and _transfer_s(one) >= OTHERS_RTTS * (one.rtt_ms or math.inf) / 1e3
        and all(one.limits_s.get(name, 0.0) < most * _transfer_s(one) for name, most in OTHERS_MOST.items())
    ]
    if not found:
        return None
    largest, queue_ms = max(found, key=lambda one: one[0].unique_bytes)
    whose = f"the data of connection {largest.index}" if len(flows) > 1 else "its data"
    text = (
        f"{whose} waited in a queue for most of the time ({from_ms(queue_ms)}, median), and did not fill the "
        "link itself: other traffic shares it"
    )
    return Finding(text, 0.0, "other_traffic")
