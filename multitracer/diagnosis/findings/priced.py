"""Sentences with their costs: every cost of every sentence is made here, by `multitracer.diagnosis.gain`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from multitracer.diagnosis.field.causes import OF_LOSS, causes, company
from multitracer.diagnosis.field.offered import SEEN_FULL, Offered, base_rtt_s, exceeds_full_link, offered
from multitracer.diagnosis.field.receivers import paced_by_reader
from multitracer.diagnosis.findings.finding import Finding
from multitracer.diagnosis.findings.whole import IDLE_WORDS, duplicates_s, idle_kind
from multitracer.diagnosis.gain import Claim, Cost, Loss, costs, loss_of_link, loss_of_path, opening_s
from multitracer.model.timeline import Timeline
from multitracer.output.digest import limit_s

Object = Mapping[str, Any]

_AWAY = ("link_reset", "call_dropped", "standstill")
_BURSTS = ("link_burst", "link_burst_harmless")
_OPENING = "idle_handshake_slow_start"
_APPLICATION = "idle_application"
_SLOWER = 0.85
"""Data that is written at so small a part of a link's rate would not have filled it."""

_OF_NO_LOSS = ("stalled_path", "handshake/slow_start", "receiver_window", "pacing")
"""Causes of idle phases that no loss leads to."""

_STALLED = idle_kind("stalled_path")
_SHARING = (*OF_LOSS, "idle_application")
_ATTEMPTS = "N2"
_APART = {
    "idle_application": ("idle_application", "host_writer"),
    "idle_receiver_window": ("idle_receiver_window",),
    "standstill": _AWAY,
}
"""Causes with a time of their own, even if too short for a sentence, and the sentences that have it."""


def along_the_link(
    found: Sequence[Finding], chains: Sequence[Object], utilization: Object, repeated: float
) -> tuple[list[Finding], Loss]:
    """Costs where a log of the link is there.

    Parameters
    ----------
    found : sequence of Finding
        With idle time and time of duplicates as their costs.
    chains : sequence of mapping
        As in the result of `chains`.
    utilization : mapping
        Result of `utilization`.
    repeated : float
        Share of the frames that the link retransmitted.

    Returns
    -------
    findings : list of Finding
        Those given, in their order, with costs and bounds in seconds.
    loss : Loss
    """
    span_s, idle_s = float(utilization["span_s"]), float(utilization["idle_s"])
    busy_s = max(float(utilization["available_s"]) - idle_s, 0.0)
    twice_s = busy_s * float(utilization["duplicate_share"])
    claims = [_claim(one, chains) for one in found]
    bursts_s = sum(claim.s for claim, one in zip(claims, found, strict=True) if one.kind in _BURSTS)
    repeats_s = min(max((busy_s - twice_s) * repeated, bursts_s), busy_s)
    loss = loss_of_link(span_s, idle_s, twice_s, float(utilization["reset_s"]), repeats_s)
    return _with(found, costs(loss, claims)), loss


def _claim(one: Finding, chains: Sequence[Object]) -> Claim:
    """Its idle time and duplicates, and how long the link itself was away or repeated a frame."""
    if one.kind not in (*_AWAY, *_BURSTS):
        return Claim(one.cost_s)
    mine = [chains[number - 1] for number in sorted(one.chains)]
    if one.kind in _AWAY:
        # A link that gives up after so many attempts would have continued to retransmit; one that left would
        # not.
        gave_up = [chain for chain in mine if _gave_up(chain)]
        away_s = sum(chain["held_s"] for chain in mine if chain not in gave_up)
        return Claim(one.cost_s + away_s, certain=not gave_up)
    return Claim(one.cost_s + sum(max(chain["held_s"] - chain["idle_s"], 0.0) for chain in mine))


def _gave_up(chain: Object) -> bool:
    causes = [str(event["cause"]) for event in chain["events"] if event["what"] == "reset"]
    return any(_ATTEMPTS in cause for cause in causes)


def from_captures(
    m: Timeline,
    found: Sequence[Finding],
    entries: Sequence[Object],
    chains: Sequence[Object],
    utilization: Object | None,
) -> tuple[list[Finding], Loss]:
    """Costs by captures alone.

    Parameters
    ----------
    m : Timeline
    found : sequence of Finding
        With the time in which each limited the sender as its cost; of chains of their own, idle time and
        duplicates.
    entries : sequence of mapping
        All ``connections`` (docs/json.md), at least one with data.
    chains : sequence of mapping
        As in the result of `chains`.
    utilization : mapping or None
        Result of `utilization`, if captures show when the link was idle: the time that it took for bytes
        that it had carried before, and of the idle time what each cause had.

    Returns
    -------
    findings : list of Finding
        Those given, in their order, with costs and bounds in seconds.
    loss : Loss
    """
    path = offered(m, entries)
    largest = max(path.entries, key=lambda entry: int(entry["bytes"]["unique"]))
    rate_bps, seen_full = _rate(m, path)
    each_bytes = path.wire_bytes / len(path.entries)
    opening = opening_s(rate_bps, base_rtt_s(largest), each_bytes, path.packet_bytes)
    opening = max(opening - _unseen_s(largest), 0.0)
    late_s = _late_s(path)
    # The last ACK is awaited after all data: no cause of a sentence took that time.
    least_s = max(base_rtt_s(largest) - _unseen_s(largest), 0.0)
    last_s = max(least_s, _after_data_s(path))
    blamed = any(one.kind == _OPENING for one in found)
    # No transfer is shorter than its opening; where a sentence has a cost for that, it is part of the loss.
    outside_s = least_s if blamed else opening
    loss = loss_of_path(
        path.together_s, path.wire_bytes, rate_bps, seen_full=seen_full, opening_s=outside_s, late_s=late_s
    )
    behind_opening_s = math.inf
    if not seen_full and (rate_bps is None or _handshake_s(path)):
        behind_opening_s = max(path.together_s - opening, 0.0)
    opening = min(opening + late_s, loss.s)
    first = next((one for one in found if one.kind in OF_LOSS), None)
    twice_s = duplicates_s(utilization) if utilization is not None else 0.0
    idle = _idle(path, utilization)
    claims = []
    for one in found:
        took_s, most_s = (min(s, one.cost_s) for s in idle.get(one.kind, (one.cost_s, one.cost_s)))
        beyond_s = most_s - took_s
        if one.kind == "idle_application" and not seen_full:
            # Written at once, its data would not have waited for the ACKs between its pauses, either.
            beyond_s += max(loss.s - one.cost_s, 0.0)
        if one.kind == _OPENING:
            own_s = opening - last_s
            written = any(known.window_exactly == "at most " for known in path.flows)
            if written:
                # What of slow start was the application's does not show, nor whether that paused as long
                # without it; the handshake was not.
                own_s = min(own_s, _handshake_s(path))
            own_s = min(max(own_s, late_s), took_s)
            rest_s = took_s - own_s
            shared_s, open_s = (0.0, rest_s) if written else (rest_s, 0.0)
            claims.append(Claim(own_s, shared_s, open_s=open_s, beyond_s=beyond_s))
        elif one.kind == "standstill" and not one.chains:
            # While a path stalls behind it, a link continues with what waits for it.
            idle_s, most_s = (min(s, one.cost_s) for s in idle.get(_STALLED, (one.cost_s, one.cost_s)))
            idle_s = max(min(idle_s, one.cost_s), 0.0)
            open_s = sum(sum(known.silences_s) - sum(known.stalls_s) for known in path.flows)
            claims.append(Claim(idle_s, open_s=open_s + most_s - idle_s))
        elif one.chains and one.kind not in OF_LOSS:
            claims.append(_claim(one, chains))
        else:
            follows = one.kind in _SHARING and (one.kind != "bottleneck" or one.cost_s + twice_s > 0)
            own_s, apart = twice_s if one is first else 0.0, one.kind in _APART
            whole_s = math.inf
            if one.kind in OF_LOSS:
                whole_s = min(
                    _after_losses_s(path, utilization) + twice_s, max(_behind_writes_s(path) - least_s, 0.0)
                )
            certain = one.kind not in OF_LOSS or not _may_write_slowly(m, path, rate_bps)
            claims.append(
                Claim(own_s, took_s, follows, certain, beyond_s=beyond_s, apart=apart, most_s=whole_s)
            )
    unsaid = _unsaid(path, {one.kind for one in found})
    unblamed_s = last_s if blamed else max(opening, last_s)
    if rate_bps is None:
        # Of such a loss, `outside_s` is no part.
        unblamed_s = max(unblamed_s - outside_s, 0.0)
    outside = min(unblamed_s, loss.s), last_s - least_s
    uncapped = costs(loss, claims + unsaid, *outside)
    claims = [
        claim if one.kind == _OPENING else replace(claim, most_s=min(claim.most_s, behind_opening_s))
        for one, claim in zip(found, claims, strict=True)
    ]
    priced = costs(loss, claims + unsaid, *outside)
    loss = replace(loss, together_s=_together_s(loss, uncapped[: len(found)], priced[: len(found)]))
    if rate_bps is None and len(found) == 1:
        # No more is known of the only one than its bounds.
        priced = [Cost(one.high_s, one.low_s, one.high_s) for one in priced]
    within = [_within(cost, one.of_s) for cost, one in zip(priced, found, strict=False)]
    return _with(found, within), loss


def _together_s(loss: Loss, uncapped: Sequence[Cost], priced: Sequence[Cost]) -> float | None:
    """What all sentences cost together at most, whose own bounds leave the opening to another sentence."""
    together_s = min(sum(cost.high_s for cost in uncapped), loss.high_s)
    more = len(priced) > 1 and together_s > sum(cost.high_s for cost in priced)
    return together_s if more else None


def _within(cost: Cost, most_s: float) -> Cost:
    """No more than all connections took that it is about: others ended no sooner without its cause."""
    return Cost(min(cost.s, most_s), min(cost.low_s, most_s), min(cost.high_s, most_s))


def _unsaid(path: Offered, said: Set[str]) -> list[Claim]:
    """Claims of causes that took too little time for a sentence: no other cause may claim that time."""
    shares = dict.fromkeys((kind for kind, names in _APART.items() if not said & set(names)), 0.0)
    whole = sum(flow.unique_bytes for flow in path.flows) or 1
    together = company(path.flows)
    for flow in path.flows:
        mine = causes(flow, together)
        total_s = sum(cause.seconds for cause in mine) or 1.0
        for cause in mine:
            if cause.kind in shares:
                shares[cause.kind] += cause.cost_s / total_s * flow.unique_bytes / whole
    return [Claim(share * path.together_s) for share in shares.values() if share > 0]


def _with(found: Sequence[Finding], priced: Sequence[Cost]) -> list[Finding]:
    return [
        replace(one, cost_s=cost.s, bounds_s=(cost.low_s, cost.high_s))
        for one, cost in zip(found, priced, strict=True)
    ]


def _unseen_s(entry: Object) -> float:
    """What of a transfer is over before its first packet passes, or begins after its last ACK."""
    half = (entry.get("rtt") or {}).get("toward_sender") or {}
    return float(half.get("min_ms") or 0.0) / 1e3


def _idle(path: Offered, utilization: Object | None) -> dict[str, tuple[float, float]]:
    """For how long the link of the only connection was idle by each cause, and at most: it cost no more.

    A handshake, and the wait for a response, are over before the first data, with which the time of the link
    begins.
    """
    by_cause = _idle_by_cause(path, utilization)
    if utilization is None or by_cause is None:
        return {}
    known_s = sum(by_cause.values())
    unknown_s = float(utilization["idle_s"]) - known_s
    open_s = float(utilization["idle_high"]) * float(utilization["span_s"]) - known_s
    before = {_OPENING: _handshake_s(path), _APPLICATION: _asked_s(path)}
    found = {}
    for cause in IDLE_WORDS:
        kind = idle_kind(cause)
        mine_s = by_cause.get(cause, 0.0) + before.get(kind, 0.0)
        # A stall is long: none is too short to distinguish.
        others_s = 0.0 if kind == _STALLED and mine_s else max(unknown_s, 0.0)
        found[kind] = mine_s + others_s, mine_s + max(open_s, others_s, 0.0)
    return found


def _idle_by_cause(path: Offered, utilization: Object | None) -> dict[str, float] | None:
    """Seconds for which the link of the only connection was idle; None of several, or if not known."""
    if utilization is None or len(path.entries) != 1:
        return None
    return {one["cause"]: float(one["s"]) for one in utilization.get("causes", ()) if one["kind"] == "idle"}


def _after_losses_s(path: Offered, utilization: Object | None) -> float:
    """For how long the link of the only connection was idle at most, by losses and what followed from them.

    Without limit where its idle time has no causes.
    """
    idle = _idle_by_cause(path, utilization)
    if utilization is None or not idle:
        return math.inf
    others_s = sum(idle.get(cause, 0.0) for cause in _OF_NO_LOSS)
    return max(float(utilization["idle_high"]) * float(utilization["span_s"]) - others_s, 0.0)


def _behind_writes_s(path: Offered) -> float:
    """How much longer the only connection took than its application, which writes by its own clock.

    Without limit where it has no clock.
    """
    (flow, *others) = path.flows
    if others or not flow.writes_bps:
        return math.inf
    written_s = 8.0 * flow.unique_bytes / flow.writes_bps
    return max(path.together_s - _handshake_s(path) - written_s, 0.0)


def _may_write_slowly(m: Timeline, path: Offered, rate_bps: float | None) -> bool:
    """Whether the only connection began more slowly than its link, before any window held it.

    Its application may write by a clock that does not show later, as TCP never caught up with it. Without
    losses, it may have written the last of its data no sooner.
    """
    if rate_bps is None or len(path.entries) != 1 or m.summarised:
        return False
    from multitracer.layers.tcp.first_writes import first_writes_bps

    (entry,) = path.entries
    base_ns = round(base_rtt_s(entry) * 1e9)
    pace_bps = first_writes_bps(m, m.connection(entry["index"]), entry["source"], base_ns)
    return pace_bps is not None and pace_bps < _SLOWER * rate_bps * path.payload_share


def _after_data_s(path: Offered) -> float:
    """How long the only connection waited for its last ACK."""
    return sum(flow.after_data_s for flow in path.flows) if len(path.entries) == 1 else 0.0


def _late_s(path: Offered) -> float:
    """By how much timeouts of SYNs or SYN+ACKs delayed all connections together: the link had no data."""
    late = {
        entry["index"]: max(limit_s(entry, "handshake") - base_rtt_s(entry), 0.0)
        for entry in path.entries
        if entry.get("syn_timeouts")
    }
    return path.together_s - path.without_s(late) if late else 0.0


def _asked_s(path: Offered) -> float:
    """How long the first response took of the only connection that has one: its request is no data of it."""
    (entry,) = path.entries
    limits, data_s = entry.get("limits"), entry.get("data_s")
    if not limits or data_s is None or entry.get("unfinished"):
        return 0.0
    others = ("handshake", "loss_recovery_before_data")
    before_s = float(limits["seconds"]) - float(data_s) - sum(limit_s(entry, name) for name in others)
    return min(max(before_s, 0.0), limit_s(entry, "application"))


def _handshake_s(path: Offered) -> float:
    return sum(flow.limits_s.get("handshake", 0.0) for flow in path.flows)


def _rate(m: Timeline, path: Offered) -> tuple[float | None, bool]:
    """Bits a second that the bottleneck carries while something waits, and whether it was seen full."""
    whole = sum(entry["bytes"]["unique"] for entry in path.entries) or 1
    full = sum(
        float((entry.get("limits") or {}).get("bandwidth") or 0.0) * entry["bytes"]["unique"]
        for entry in path.entries
    )
    seen_full = full >= SEEN_FULL * whole
    flow, *others = path.flows
    if not others and flow.rates_bps and flow.full_share:
        # What a link of changing rates carried in the time in which it was full.
        return 8.0 * path.wire_bytes / (flow.full_share * flow.busy_s), True
    shown = [one for one in path.flows if one.rate_bps and not paced_by_reader(one)]
    rates = [path.rate_bps] if path.rate_bps else [one.rate_bps for one in shown if one.rate_bps]
    # At which data came again and again while the link was full is its rate: compressed ACKs show others.
    exact = seen_full and any(one.rate_exact for one in shown)
    if not m.summarised and not exact:
        from multitracer.layers.tcp.bottleneck import bottleneck

        found = bottleneck(m)
        # Packets that had passed it before they were captured come out at the rate of the next link.
        full_bps = max(rates, default=None) if seen_full else None
        if found is not None and not exceeds_full_link(8 * found.rate, full_bps):
            rates.append(8 * found.rate)
    return max(rates, default=None), seen_full and bool(shown)
