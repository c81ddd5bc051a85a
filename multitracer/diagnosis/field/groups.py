"""Connections with the same cause, reported together: how many of each, and what weighs most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from multitracer.diagnosis.field.causes import FULL_LINK, RECOVERY, Cause, Company, causes, company
from multitracer.diagnosis.field.facts import Flow
from multitracer.diagnosis.field.links import Way, ends, links_of
from multitracer.diagnosis.field.receivers import window_fills_link
from multitracer.model.frozen import frozen
from multitracer.output.costs import SAID_S
from multitracer.output.digest import dominating

WORTH = 0.05
"""A cause is reported if it is this part of the time, weighted by data, or a connection's main one."""

UNKNOWN = 0.2
"""The same for time of which the cause is not known."""

BURSTS = 0.2
"""The same for a full link: what an application writes at once fills it for a moment."""

TRIFLE = 0.001
"""The main cause of connections with less of the data, and hardly any time, is left out besides others."""

SELDOM = 0.1
"""A link that was full for less of the time is not reported as full."""

PACED = 0.4
"""Where the receiver's window was the limit for more of the time, data that came at a constant rate came at
the rate of the receiver."""


@frozen
class Group:
    """What one cause did to the connections of a measurement.

    Attributes
    ----------
    kind : str
        As of `multitracer.diagnosis.field.causes.Cause`.
    weight : float
        Part of the time of all connections, each weighted by its data: 0 to 1.
    seconds : float
        Of its time, over the connections below.
    total_s : float
        How long these took, over all.
    cost_s : float
        Seconds in which the link would have taken more; no more than from the first to the last of them, and
        none if another connection at the same time lasted for longer than that.
    flows : tuple of Flow
        Those of which it is the main cause; if it is of none, those that it took the most time from. The one
        with most data first.
    main : bool
        Whether it is the main cause of these.
    of : int
        How many connections carried data.
    of_s : float
        From the first to the last of them.
    limited : int
        How many of all that share a link the rate of that link limited for most of their time; those of which
        another sentence names another main cause are none of them.
    way : str
        Which link it was, as `` from 10.0.0.1`` of the two of a path, or `` to 10.0.0.7`` of those to several
        hosts; empty where all data went over one.
    links : int
        How many they are: those to many hosts are reported together.
    """

    kind: str
    weight: float
    seconds: float
    total_s: float
    cost_s: float
    flows: tuple[Flow, ...]
    main: bool
    of: int
    of_s: float
    limited: int
    way: str = ""
    links: int = 1

    @property
    def span_s(self) -> float:
        """From the first to the last of its connections."""
        return span_of(self.flows)


def span_of(flows: Sequence[Flow]) -> float:
    """Seconds from the begin of the first connection to the end of the last."""
    return max(flow.end_s for flow in flows) - min(flow.start_s for flow in flows) if flows else 0.0


def _least(kind: str) -> float:
    """From which part of the time on a cause is reported that is no connection's main one."""
    return UNKNOWN if kind == "unknown" else BURSTS if kind in FULL_LINK else WORTH


def groups(flows: Sequence[Flow]) -> list[Group]:
    """Causes of all connections, the weightiest first.

    A connection counts by its data: an idle one that was kept open for hours shows little of what was slow.
    """
    together = company(flows)
    found = _one_name_a_link([(flow, causes(flow, together)) for flow in flows])
    ways = links_of(flows)
    weights = _weights(found, ways, lambda cause: cause.rank_s)
    parts = _weights(found, ways, lambda cause: cause.seconds)
    groups = []
    number, of_s = len(flows), span_of(flows)
    for (kind, way), weight in weights.items():
        mine_too = [(flow, mine) for flow, mine in found if way in (None, ways[flow.index])]
        limited = sum(_full_link_first(flow, mine) for flow, mine in mine_too)
        main = [flow for flow, mine in mine_too if mine[0].kind == kind]
        if not main and parts[kind, way] < _least(kind):
            continue
        chosen = main or [
            flow
            for flow, mine in mine_too
            if any(cause.kind == kind for cause in mine) and (kind not in FULL_LINK or _shows(flow, together))
        ]
        if not chosen:
            continue
        chosen = sorted(chosen, key=lambda flow: -flow.unique_bytes)
        indices = {flow.index for flow in chosen}
        mine = [
            cause
            for flow, causes_of in found
            if flow.index in indices
            for cause in causes_of
            if cause.kind == kind
        ]
        seconds = sum(cause.seconds for cause in mine)
        cost_s = min(sum(cause.cost_s for cause in mine), span_of(chosen))
        if _ended_before(chosen, flows, cost_s):
            cost_s = 0.0
        total_s = sum(flow.seconds or flow.end_s - flow.start_s for flow in chosen)
        if weight < TRIFLE and seconds < SAID_S and len(weights) > 1:
            continue
        groups.append(
            Group(
                kind,
                weight,
                seconds,
                total_s,
                cost_s,
                tuple(chosen),
                bool(main),
                number,
                of_s,
                limited,
                f" {way.words}" if way else "",
                len(set(map(ends, chosen))) if way and way.several else 1,
            )
        )
    return _ranked(sorted(groups, key=lambda group: -group.weight))


def _ranked(groups: list[Group]) -> list[Group]:
    """With recovery first, where it cost more time than a link was full for that limited but half of all.

    The amount of data shows little of it: a connection that waited for a timer delivered no more than others.
    """
    first = groups[0] if groups else None
    if first is None or first.of < 2 or first.kind not in FULL_LINK:
        return groups
    if 2 * (first.limited or len(first.flows)) > first.of:
        return groups
    full_s = min(sum(flow.limits_s.get("bandwidth", 0.0) for flow in first.flows), first.span_s)
    lost = next((group for group in groups if group.kind in RECOVERY and group.cost_s > full_s), first)
    return [lost, *(group for group in groups if group is not lost)]


def _full_link_first(flow: Flow, mine: Sequence[Cause]) -> bool:
    """Whether the rate of a link that it shares limited a connection most, and is its main cause."""
    return flow.shared and mine[0].kind in FULL_LINK and dominating({"limits": flow.limits_s}) == "bandwidth"


def _weights(
    found: Sequence[tuple[Flow, list[Cause]]],
    ways: Mapping[int, Way | None],
    counted_s: Callable[[Cause], float],
) -> dict[tuple[str, Way | None], float]:
    """Part of the time that each kind of cause took, by the seconds of it that count, weighted with data.

    Full links are kept apart by the way that the data went.
    """
    whole = sum(flow.unique_bytes for flow, _ in found) or 1
    weights: dict[tuple[str, Way | None], float] = {}
    for flow, mine in found:
        total_s = sum(cause.seconds for cause in mine)
        for cause in mine:
            part = counted_s(cause) / total_s if total_s else 1.0 / len(mine)
            key = cause.kind, ways[flow.index] if cause.kind in FULL_LINK else None
            weights[key] = weights.get(key, 0.0) + part * flow.unique_bytes / whole
    return weights


def _ended_before(chosen: Sequence[Flow], flows: Sequence[Flow], cost_s: float) -> bool:
    """Whether another at the same time ended so much later that they did not delay it."""
    last, ended_s = max(flows, key=lambda flow: flow.end_s), max(flow.end_s for flow in chosen)
    return last.start_s < ended_s and ended_s + cost_s < last.end_s


def _shows(flow: Flow, together: Company) -> bool:
    """Whether a full link that is not the main cause was seen, by this connection or concurrent ones."""
    if flow.shared or flow.index in together.queued or not flow.rate_exact:
        return True
    if flow.full_share is not None and flow.full_share < SELDOM:
        return False
    if window_fills_link(flow):
        return True
    return flow.limits_s.get("receiver_window", 0.0) <= PACED * (flow.seconds or 0.0)


def _one_name_a_link(found: list[tuple[Flow, list[Cause]]]) -> list[tuple[Flow, list[Cause]]]:
    """With one name for the link that several share: that of those with most data.

    What it added to the RTT differs from one to the other, by when they were there: it is one queue.
    """
    weights = dict.fromkeys(FULL_LINK, 0)
    for flow, mine in found:
        if flow.shared and mine[0].kind in FULL_LINK:
            weights[mine[0].kind] += flow.unique_bytes
    if not all(weights.values()):
        return found
    name = max(weights, key=lambda kind: weights[kind])
    return [
        (flow, [replace(one, kind=name) if flow.shared and one.kind in FULL_LINK else one for one in mine])
        for flow, mine in found
    ]
