"""Sentences about a full link: by how many it is shared, at what rate, for how long, with which queue."""

from __future__ import annotations

from dataclasses import replace

from multitracer.diagnosis.field.carried import carried_bytes, carried_s
from multitracer.diagnosis.field.facts import Flow
from multitracer.diagnosis.field.groups import SELDOM, Group, span_of
from multitracer.diagnosis.field.phrases import from_ms, part_of_time, percent, whom
from multitracer.diagnosis.field.receivers import window_fills_link
from multitracer.model.quantities import count, rate
from multitracer.output.rtt import HOST_MS, OF_HOSTS

MOSTLY = 0.5
"""A receiver's window that was full for less of the time is not reported to fill a link's queue."""

MOST_OF_ALL = 0.8
"""Connections that were there for less of the time of all are reported as active for a part of it."""

WHOLE = 0.995
"""From this part of a time on it is reported as all of it."""

STANDING = "a standing queue (bufferbloat)"
"""A share that is worth a sentence."""

ALIKE = 1.1
"""Rates that differ by no more are one."""

OWN_PART = 0.1
"""From this part of the base RTT of a SYN on, the longer transmission time of a full segment is reported."""

APART_TIMES, APART_MS = 1.5, 5.0
"""Medians of a queue that differ by more are reported for each connection."""


def bottleneck(group: Group) -> str:
    """That a link was full, or that several kept its queue filled."""
    if _known_share(group.flows) < SELDOM:
        return _crowd(group.flows) + _queue(group, named=True)
    return f"{_link(group)}{fullness(group)}{_filled_by(group)}{_queue(group, named=True)}"


def _filled_by(group: Group) -> str:
    """That the receiver's window keeps its queue filled, where it does."""
    if len(group.flows) > 1 or not window_fills_link(group.flows[0]):
        return ""
    (flow,) = group.flows
    held_s = flow.limits_s.get("receiver_window", 0.0)
    if held_s < MOSTLY * (flow.seconds or 0.0):
        return ""
    return (
        f"; the receiver's window (at most {flow.max_window_bytes:,} bytes) limited what was in flight for "
        f"{part_of_time(held_s, flow.seconds or 0.0)}, and a larger one would only lengthen the queue"
    )


def _crowd(flows: tuple[Flow, ...]) -> str:
    """Connections whose windows together keep a queue filled: none of them shows the rate of the link."""
    if len(flows) == 1:
        return "the link was full, shared with others, and the window of this connection determines its share"
    together = f"{rate(together_bps(flows))} of payload in all"
    many = count(len(flows), "connection")
    return f"{many} kept a queue filled together, {together}: each window sets its share of the link"


def bufferbloat(group: Group) -> str:
    """The same of a link whose queue is the matter."""
    if _known_share(group.flows) < SELDOM:
        return f"{_crowd(group.flows)}, with {STANDING}{_queue(group)}"
    filled = _filled_by(group)
    return f"{_link(group)}{fullness(group)}, with {STANDING}{filled}{_queue(group)}"


def _link(group: Group) -> str:
    return f"the link{group.way} was full" if group.links == 1 else f"the links{group.way} were full"


def fullness(group: Group) -> str:
    """``: 11.6 Mbit/s, for 93% of the time with data in flight``, ``, shared by 5 connections``."""
    flows = group.flows
    sharing = max(flow.shared_with for flow in flows) + 1
    how = f", shared by {count(sharing, 'connection')}" if sharing > 1 else ""
    if 1 < sharing < len(flows):
        # They fill it by turns, or several links.
        one = "it" if group.links == 1 else "one"
        how = f" for {count(len(flows), 'connection')}, of which up to {sharing:,} share {one}"
    if group.main and 1 < sharing > len(flows) and group.limited:
        how += f" (the main limit of {group.limited:,} of them)"
    if len(flows) > 1:
        how = how or f" for {count(len(flows), 'connection')}"
        return f"{how}: {_rates(flows, group.links)}{_share_of_time(group)}"
    (only,) = flows
    if group.of > 1:
        how = f" for {whom(group)}{how}"
    about = "" if only.rate_exact else "about "
    said = how if only.rate_bps is None else f"{how}: {about}{rate(only.rate_bps)} of IP packets"
    if only.full_share is not None:
        when = "the time" if only.link_known else f"the time {_busy(flows)}"
        said += f"{',' if said else ''} for {_share(only, only.full_share)} of {when}"
    if only.rates_bps is not None:
        said += f", at a rate that changed, mostly {' and '.join(map(rate, only.rates_bps))} of IP packets"
    return said


def _share(flow: Flow, full: float) -> str:
    """``94%``, or ``88% to 94%``: what was dropped in front of the link never took its time.

    A rate that leaves far more room than that is none that the link had all the time; one that leaves far
    less is that of bursts, whose bytes lie outside the time with a queue. The other bound is what it needed
    for all that may have crossed it.
    """
    least, most = (min(took_s / flow.busy_s, 1.0) if flow.busy_s > 0 else 0.0 for took_s in carried_s(flow))
    if not ONE_RATE * full <= least <= full / ONE_RATE:
        return f"{_least(full, (flow,))}{percent(full)}"
    low, high = min(least, full), full
    away_s = sum(flow.limits_s.get(name, 0.0) for name in ("application", "unknown"))
    if away_s < NOTED * flow.busy_s:
        # For longer than it needed for all that it may have carried, no link is full.
        high = max(most, low) if flow.rate_exact else max(most, full)
    return f"{percent(low)} to {percent(high)}" if high - low > APART else percent(min(full, high))


ONE_RATE = 0.8
"""What a link of one rate carried takes at least this part of the time for which it was full."""

APART = 0.01
"""Shares of time that differ by no more are one."""


def _least(full: float, flows: tuple[Flow, ...]) -> str:
    """``at least``, where the payload alone needs more of the time than a queue was seen to stand."""
    rates = [flow.rate_bps for flow in flows if flow.rate_bps is not None]
    busy_s = flows[0].busy_s if len(flows) == 1 else span_of(flows)
    if len(rates) < len(flows) or rates[0] <= 0 or busy_s <= 0 or max(rates) > ALIKE * min(rates):
        return ""
    needed_s = 8.0 * sum(flow.unique_bytes for flow in flows) / max(rates)
    return "at least " if needed_s > full * busy_s and full < WHOLE else ""


def _rates(flows: tuple[Flow, ...], links: int) -> str:
    """The rate of the link as its connections show it; where one shows none, what they brought in all."""
    rates = sorted(flow.rate_bps for flow in flows if flow.rate_bps is not None)
    one_link = all(flow.link_known for flow in flows) or not any(flow.shared for flow in flows)
    if len(rates) < len(flows) or not (one_link or links > 1):
        return f"together {rate(together_bps(flows))} of payload on average"
    if rates[-1] <= ALIKE * rates[0]:
        return f"{rate(rates[len(rates) // 2])} of IP packets"
    return f"{rate(rates[0])} to {rate(rates[-1])} of IP packets"


def _share_of_time(group: Group) -> str:
    """In how much of the time of all with data in flight it was full; nothing where it is unknown for some.

    Of connections that ended long before another, or began long after it, how long they were active is
    reported, too: the utilization is that of all the time.
    """
    flows = group.flows
    if any(flow.full_share is None for flow in flows):
        return ""
    # What they brought together is known for all of the time.
    always = all((flow.seconds or 0.0) >= MOST_OF_ALL * group.of_s for flow in flows)
    when = "the time" if always else "their time"
    if not all(flow.link_known for flow in flows):
        when = f"their time {_busy(flows)}"
    part = group.span_s < MOST_OF_ALL * group.of_s
    there = f", which was {part_of_time(group.span_s, group.of_s)}" if part else ""
    known, needed = _known_share(flows), _needed_share(group)
    # A rate that leaves far more room is none that the link had all the time.
    share = min(known, needed) if needed >= ONE_RATE * known else known
    return f", for {_least(share, flows)}{percent(share)} of {when}{there}"


def _busy(flows: tuple[Flow, ...]) -> str:
    """``with data in flight``, or ``to send``: data may be in flight while the application writes nothing."""
    written_s = sum(flow.limits_s.get("application", 0.0) for flow in flows)
    noted = written_s >= NOTED * sum(flow.seconds or 0.0 for flow in flows) > 0
    return f"{'with data to send' if noted else 'with data in flight'}{_without_unknown(flows)}"


def _without_unknown(flows: tuple[Flow, ...]) -> str:
    """``, except the time of unknown limit``: data may be in flight then, too, and no share has that time."""
    unknown_s = sum(flow.limits_s.get("unknown", 0.0) for flow in flows)
    noted = unknown_s >= NOTED * sum(flow.busy_s for flow in flows) > 0
    return ", except the time of unknown limit" if noted else ""


NOTED = 0.05
"""From this part of the time on, the sentence states that unknown time, or the application's, is left out."""


def _known_share(flows: tuple[Flow, ...]) -> float:
    """Part of their time with data in flight in which the link was full, where it is known; 1 if none."""
    known = [flow for flow in flows if flow.full_share is not None]
    busy_s = sum(flow.busy_s for flow in known)
    return sum((flow.full_share or 0.0) * flow.busy_s for flow in known) / busy_s if busy_s else 1.0


def _needed_share(group: Group) -> float:
    """What the link needed for all that its connections brought, as a part of their time; 1 if not known.

    It was full for no longer, however steady their sum: short gaps of one are not seen in it.
    """
    flows = group.flows
    rates = [flow.rate_bps for flow in flows if flow.rate_bps is not None]
    alone = len(flows) == max(flow.shared_with for flow in flows) + 1 and group.links == 1
    if not alone or len(rates) < len(flows) or not all(flow.link_known for flow in flows):
        return 1.0
    opened_s = min(flow.start_s + flow.limits_s.get("handshake", 0.0) for flow in flows)
    last_s = max(flow.start_s + (flow.seconds or 0.0) + flow.until_data_s for flow in flows)
    if last_s <= opened_s:
        return 1.0
    return min(8.0 * sum(map(carried_bytes, flows)) / max(rates) / (last_s - opened_s), 1.0)


def together_bps(flows: tuple[Flow, ...]) -> float | None:
    """Payload of connections, each byte once, over the time from the first to the last of them."""
    span_s = span_of(flows)
    return 8.0 * sum(flow.unique_bytes for flow in flows) / span_s if span_s > 0 else None


def _queue(group: Group, *, named: bool = False) -> str:
    """What the queue added: of several connections of two hosts, to the RTT that most of their data had.

    A long one is called a standing queue, if it is to be `named`. A connection that was opened during the
    queue has never seen the base RTT of the path; another has.
    """
    queued = [flow for flow in group.flows if flow.queue_ms is not None and flow.base_rtt_ms is not None]
    if not queued:
        before = all(flow.queues_before for flow in group.flows)
        where = "packets waited for it in the sender's own queue, before this capture"
        return f"; {where}: no RTT here shows for how long" if before else ""
    ends = queued[0].sender, queued[0].receiver
    alike = [flow for flow in queued if (flow.sender, flow.receiver) == ends]
    base_ms = min(flow.base_rtt_ms or 0.0 for flow in alike)
    at_most = all(flow.base_at_most for flow in alike if flow.base_rtt_ms == base_ms)
    alike = [replace(_above(flow, base_ms), base_at_most=at_most) for flow in alike]
    usual = _usual(alike)
    if usual.queue_ms is None or usual.queue_ms[1] < 1.0:
        return ""
    # Jitter and delayed ACKs are a part of delays that are short compared with the path's.
    what = "the queue" if usual.hardly_jitters else "queue and jitter"
    what = STANDING if named and usual.has_queue else what
    return f"; {what}{queue_words(usual, by_connection=_by_connection(alike))}"


def _above(flow: Flow, base_ms: float) -> Flow:
    """What its queue added to another base RTT of the same path."""
    above = (flow.base_rtt_ms or 0.0) - base_ms
    median, p95 = flow.queue_ms or (0.0, 0.0)
    full_ms = None if flow.full_base_ms is None else flow.full_base_ms - above
    return replace(flow, queue_ms=(median + above, p95 + above), base_rtt_ms=base_ms, full_base_ms=full_ms)


def _by_connection(flows: list[Flow]) -> tuple[float, float, float] | None:
    """Least and largest median of what the queue added to connections, and the largest 95th percentile.

    None where the medians are about the same.
    """
    medians, tails = zip(*(flow.queue_ms or (0.0, 0.0) for flow in flows), strict=True)
    least_ms, most_ms = min(medians), max(medians)
    apart = most_ms > max(APART_TIMES * least_ms, least_ms + APART_MS)
    return (least_ms, most_ms, max(tails)) if apart else None


def _usual(flows: list[Flow]) -> Flow:
    """The one with the median RTT, by data."""
    ordered = sorted(flows, key=lambda flow: (flow.base_rtt_ms or 0.0) + (flow.queue_ms or (0.0, 0.0))[0])
    half = sum(flow.unique_bytes for flow in ordered) / 2
    below = 0
    for flow in ordered:
        below += flow.unique_bytes
        if below >= half:
            break
    return flow


def queue_words(
    flow: Flow, *, stood: bool = False, by_connection: tuple[float, float, float] | None = None
) -> str:
    """`` added 37 ms (median; 95th percentile 41 ms) to a base RTT of 1.2 ms``.

    Of several: ``median; of single connections 21 to 87 ms; 95th percentile up to 90 ms``.

    Parameters
    ----------
    flow : Flow
        With a queue.
    stood : bool
        Whether the path stalled, or the link was away: the percentile may be that of packets that waited for
        the end of that, so that only the median is given.
    by_connection : tuple of float, optional
        Milliseconds: least and largest median of several, and the largest 95th percentile.
    """
    median, p95 = flow.queue_ms or (0.0, 0.0)
    apart, up_to = "", ""
    if by_connection is not None:
        least_ms, most_ms, p95 = by_connection
        apart, up_to = f"; of single connections {from_ms(least_ms)} to {from_ms(most_ms)}", "up to "
    tail = apart + ("" if stood or flow.stalls_s else f"; 95th percentile {up_to}{from_ms(p95)}")
    when = f"; {flow.seldom_timed}" if flow.seldom_timed else ""
    # The base RTT may be too large, and what ACKs and echoes measure is the last packet of several.
    about = "about " if flow.base_at_most else ""
    added = f" added {about}{from_ms(median)} (median{tail}{when})"
    return f"{added} to a base RTT of {_base_words(flow)}"


def _base_words(flow: Flow) -> str:
    """``at most 40 ms``; ``833 ms (full segment; 463 ms for a SYN)`` where its own transmission is much.

    It and the queueing delay are the median RTT.
    """
    base_ms = flow.base_rtt_ms or 0.0
    full_ms = base_ms if flow.full_base_ms is None else flow.full_base_ms
    if full_ms < HOST_MS and flow.point != "snd":
        return OF_HOSTS
    noted = full_ms > (1 + OWN_PART) * base_ms
    of = f" (full segment; {from_ms(base_ms)} for a SYN)" if noted else ""
    return f"{'at most ' if flow.base_at_most else ''}{from_ms(full_ms)}{of}"
