"""ACKs that waited in a queue of their own direction (RFC 3449, section 2: asymmetric paths)."""

from __future__ import annotations

from collections.abc import Sequence

from multitracer.diagnosis.field.facts import FULL, Flow
from multitracer.diagnosis.field.lost import acks
from multitracer.diagnosis.field.phrases import from_ms, percent
from multitracer.diagnosis.findings.finding import Finding

NOT_OF_DATA = 0.2
"""Below this part of what queues added to the RTT, the data's own link is not what made it long."""


def not_of_data(flow: Flow) -> float:
    """Part of what queues added to the RTT that no data waited, where RTTs are several times the base RTT.

    Parameters
    ----------
    flow : Flow

    Returns
    -------
    float
        0 if data waited, or nothing shows it.
    """
    if flow.data_share is None or flow.data_share >= NOT_OF_DATA or not flow.has_queue:
        return 0.0
    return 1.0 - flow.data_share


ACKS_SHARE = 0.4
"""From this part of what queues added to the RTT on, that ACKs waited is a sentence."""

ACKS_MS, ACKS_TIMES = 5.0, 0.25
"""The same of this much in all, and of this much for each millisecond of the base RTT."""


def ack_queue(flows: Sequence[Flow], said: Sequence[str]) -> Finding | None:
    """That ACKs waited in a queue in their own direction, of the connection with most data where they did.

    The link of the data is another: however long ACKs wait, it need not be full. What data did not wait is
    theirs, or the sender's.

    Parameters
    ----------
    flows : sequence of Flow
        All that carried data.
    said : sequence of str
        The sentences on their causes.

    Returns
    -------
    Finding or None
    """
    waited = [
        (one, one.queue_ms[0])
        for one in flows
        if one.queue_ms is not None
        and max(one.acks_share or 0.0, not_of_data(one)) >= ACKS_SHARE
        and one.queue_ms[0] >= max(ACKS_MS, ACKS_TIMES * (one.base_rtt_ms or 0.0))
    ]
    if not waited:
        return None
    largest, queue_ms = max(waited, key=lambda one: one[0].unique_bytes)
    whose = f"the ACKs of connection {largest.index}" if len(flows) > 1 else "ACKs"
    lost = acks((largest,))
    lost = "" if any(lost in one for one in said) else lost
    filled = _filled_by(largest, flows)
    # Where delays jitter, and nothing shows that a queue of that direction was full, it may be jitter.
    in_queue = bool(filled or acks((largest,))) or largest.hardly_jitters
    waited_where = "waited in a queue" if in_queue else "were delayed, by a queue or by jitter,"
    what = "queues" if in_queue else "queues and jitter"
    of_what = f"of what {what} added to the RTT ({from_ms(queue_ms)}, median)"
    acks_share = largest.acks_share or 0.0
    if acks_share >= ACKS_SHARE:
        share = percent(acks_share)
        text = f"{whose} {waited_where} in their own direction: by their timestamps, about {share} {of_what}"
    else:
        share = percent(not_of_data(largest))
        text = (
            f"{whose} {waited_where} in their own direction behind this capture, or the sender of the "
            f"data waited itself: by timestamps, data waited for none of about {share} {of_what}"
        )
    return Finding(f"{text}{filled}{lost}", 0.0, "ack_queue")


FILLS = 0.5
"""A connection in the direction of the ACKs whose own queue is this part of what they waited fills it."""


def _filled_by(flow: Flow, flows: Sequence[Flow]) -> str:
    """Whose data filled the queue that the ACKs of a connection met."""
    others = [
        one
        for one in flows
        if (one.sender, one.receiver) == (flow.receiver, flow.sender)
        and one.start_s < flow.end_s
        and flow.start_s < one.end_s
        and (one.full_share or 0.0) >= FULL
        and one.queue_ms is not None
        and flow.queue_ms is not None
        and one.queue_ms[0] >= FILLS * flow.queue_ms[0]
    ]
    if not others:
        return ""
    largest = max(others, key=lambda one: one.unique_bytes)
    return f"; the data of connection {largest.index} filled the link in that direction"
