"""Why a transfer took the time that it took: its seconds by the kind of the sentence that reports them.

The shares of `multitracer.diagnosis.field.facts.LIMITS` show what the sender waited for. What it waited for
in the network has one name, by what the network did: a drop in the sender's own queue, a full link, a queue,
or a loss on the path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from multitracer.diagnosis.field.carried import needed_s
from multitracer.diagnosis.field.facts import FULL, Flow
from multitracer.diagnosis.field.receivers import full_beside_window_s, waits, window_fills_link
from multitracer.model.frozen import frozen

LOSS_SHARE = 0.001
"""From this share of segments lost on, a full link is named before its queue."""

MOSTLY_FULL = 0.7
"""A link is the cause from this part of the time on, where losses took the rest."""

CARRIED = 0.8
"""It is the cause, too, where it needed this part of the time for the payload alone."""

ROOM = 0.25
"""A link that had room for no more than this part of the time for which it was full is the cause still."""

QUEUED_MS = 2.0
"""Hosts alone add less to the RTT."""

OWN = 0.25
"""Losses are those of the sender's own queue if it dropped this part of them."""

FEW_NEEDLESS = 2
"""From so many timeouts and fast retransmissions on, though nothing was lost, a small window is theirs."""

SLOW_START = "idle_handshake_slow_start"

MARKED = "congestion_marks"

FULL_LINK = ("bottleneck", "queue")
"""Causes that are a full link."""

RECOVERY = ("loss", "spurious")
OF_LOSS = (*RECOVERY, MARKED, "local_drop", *FULL_LINK)
"""Causes that are recovery itself, and all whose sentences report losses."""


@frozen
class Cause:
    """A part of the time of a transfer, with its name.

    Attributes
    ----------
    kind : str
        Of the sentence: a key of `multitracer.diagnosis.findings.rules.RULES`.
    seconds : float
    cost_s : float
        Of them, those in which the link would have taken more: a full link costs none, recovery does.
    at_most_s : float
        Seconds that count in the order of causes, at the most.
    """

    kind: str
    seconds: float
    cost_s: float = 0.0
    at_most_s: float = math.inf

    @property
    def rank_s(self) -> float:
        """Seconds by which causes are put in order."""
        return min(self.seconds, self.at_most_s)


@frozen
class Company:
    """What connections that queue at the same place show together.

    Attributes
    ----------
    full : bool
        One of them was seen to fill it: then a small congestion window is a share of the link.
    queued : frozenset of int
        Connections of one path that all waited in a queue: what is in flight is more than the path holds,
        so that it is full, however small the window of each.
    droppers : frozenset of str
        Hosts that dropped segments of one of them in their own queue.
    """

    full: bool = False
    queued: frozenset[int] = frozenset()
    droppers: frozenset[str] = frozenset()


NO_COMPANY = Company()


def causes(flow: Flow, company: Company = NO_COMPANY) -> list[Cause]:
    """The time of a transfer by cause, the longest first; the seconds add up to the transfer's.

    Parameters
    ----------
    flow : Flow
    company : Company
        Of those that it shares a queue with, if it does.
    """
    if not flow.limits_s:
        return [Cause("unknown", flow.end_s - flow.start_s)]
    spent = waits(flow)
    stalled_s = flow.stalled_s
    if window_fills_link(flow):
        spent["bandwidth"] += spent["receiver_window"]
        spent["receiver_window"] = 0.0
    crowded = (company.full and flow.shared) or flow.index in company.queued
    if crowded and not flow.link_had_room:
        spent["bandwidth"] += spent["congestion_window"]
        spent["congestion_window"] = 0.0
    if flow.own_drops:
        # The queue in front of the capture overflowed: what comes out of it comes at the rate of its link.
        spent["bandwidth"] += spent["unknown"]
        spent["unknown"] = 0.0
    held_s = spent["receiver_window"]
    candidates = [
        Cause("idle_application", spent["application"], spent["application"]),
        Cause("idle_receiver_window", held_s, max(held_s - full_beside_window_s(flow), 0.0)),
        Cause("unknown", spent["unknown"]),
        *_network(flow, spent, company, stalled_s),
    ]
    found = sorted((cause for cause in candidates if cause.seconds > 0), key=lambda cause: -cause.rank_s)
    return found or [Cause("unknown", 0.0)]


def _network(flow: Flow, spent: dict[str, float], company: Company, stalled_s: float) -> list[Cause]:
    """What the network did, by name; the handshake goes with slow start."""
    still = Cause("standstill", stalled_s, stalled_s)
    full, window, recovery = (spent[name] for name in ("bandwidth", "congestion_window", "loss_recovery"))
    lost = flow.lost if flow.lost is not None else flow.retransmissions
    # Of a first flight that never passed, only its loss is known; nor of what only a timer may have repaired.
    lost = max(lost, int(flow.before_data_s > 0), int(flow.possible > 0 and recovery > 0))
    # Needless retransmissions make the window as small, where it was so for longer than slow start takes.
    needless = flow.fast + flow.rto >= FEW_NEEDLESS and 0 < 2 * flow.slow_start_s < window
    # What was before the first loss showed, no loss had made small. Slow start is over when it fills a link:
    # one that was seen full was so before the loss, and had room after it instead.
    before_s = flow.before_loss_s if flow.rate_bps is None else min(flow.before_loss_s, flow.slow_start_s)
    # After a first flight that was lost, nothing is.
    before_s = 0.0 if flow.before_data_s > 0 else before_s
    # Nor what the sender paced itself for.
    marked = flow.reductions > lost
    if marked:
        # Marks are no losses: what was before the first of them was slow start, at the most.
        before_s = min(before_s, flow.slow_start_s)
    reduced = max(window - max(before_s, flow.paced_s), 0.0) if lost or needless or marked else 0.0
    opening = spent["handshake"] + window - reduced
    # A queue that refused segments once halved the window: that shows only where nothing else kept it small.
    once = flow.own_drops == flow.refused == 1 and window <= 2 * flow.slow_start_s
    if (flow.own_drops >= max(OWN * lost, 1) and not once) or flow.sender in company.droppers:
        opening, reduced = spent["handshake"], window
        # Where the link behind it was full for most of the time, a larger window would have brought no more.
        filled = full >= MOSTLY_FULL * (full + reduced + recovery)
        found = [Cause("local_drop", full + reduced + recovery, recovery + (0.0 if filled else reduced))]
    elif (
        flow.in_a_full_link
        or full >= (MOSTLY_FULL if lost or stalled_s else FULL) * (full + window + recovery + stalled_s)
        or _carried_s(flow) >= CARRIED * (flow.seconds or 0.0) > 0.0
    ):
        # Losses of a full link are its congestion signal. While others fill it, a timer of one costs it
        # nothing.
        named = "queue" if flow.has_queue and lost < LOSS_SHARE * flow.sent else "bottleneck"
        room = 1.0 - (flow.full_share or 0.0) if flow.in_a_full_link else 1.0
        found = [Cause(named, full + reduced + recovery, recovery * room)]
    else:
        held = reduced + recovery
        # A link that had room for so long is not what made the transfer slow, though it was full for longer.
        # It counts for no more, and of equal causes the first of the list stays first.
        room_s = max(held if lost else 0.0, stalled_s)
        at_most_s = room_s if ROOM * full < room_s else math.inf
        found = [
            Cause(MARKED if marked else "loss" if lost else "spurious", held, held),
            Cause("bottleneck", full, at_most_s=at_most_s),
        ]
    return [still, *found, Cause(SLOW_START, opening, opening)]


def _carried_s(flow: Flow) -> float:
    """Seconds that a link needed for the payload, if its rate showed for most of them; 0 if it is shared."""
    seen = flow.rate_exact or (flow.full_share or 0.0) >= FULL
    return 0.0 if not seen or flow.shared or flow.link_known else needed_s(flow)


def company(flows: Sequence[Flow]) -> Company:
    """What those that share a queue show together."""
    full = any(causes(flow)[0].kind in (*FULL_LINK, "local_drop") for flow in flows if flow.shared)
    droppers = frozenset(
        flow.sender
        for flow in flows
        if flow.own_drops >= max(OWN * (flow.lost or flow.retransmissions), 1 + (flow.refused == 1))
    )
    return Company(full, _queued(flows), droppers)


def _queued(flows: Sequence[Flow]) -> frozenset[int]:
    """Connections whose RTT was three times the smallest of all between their hosts, if they are several."""
    paths: dict[tuple[str, str], list[tuple[Flow, float, float]]] = {}
    for flow in flows:
        rtt_ms = flow.rtt_ms
        if rtt_ms is not None and flow.base_rtt_ms is not None:
            paths.setdefault((flow.sender, flow.receiver), []).append((flow, flow.base_rtt_ms, rtt_ms))
    found: set[int] = set()
    for mine in paths.values():
        least_ms = min(base_ms for _, base_ms, _ in mine)
        waited = [one.index for one, _, rtt_ms in mine if rtt_ms - least_ms >= max(2 * least_ms, QUEUED_MS)]
        if len(waited) > 1:
            found |= set(waited)
    return frozenset(found)
