"""The sentence of each cause, with the numbers of the connections that it is told of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from multitracer.diagnosis.field.causes import SLOW_START
from multitracer.diagnosis.field.facts import FULL, Flow
from multitracer.diagnosis.field.groups import SELDOM, Group
from multitracer.diagnosis.field.receivers import SLOW, SMALL, STALLED, common_reader
from multitracer.diagnosis.field.turns import turn_words
from multitracer.diagnosis.findings.finding import joined
from multitracer.model.quantities import count, duration, rate
from multitracer.output.costs import SAID_S

LEAST_ACKS = 3
LEAST_ACKS_SHARE = 0.01
"""Of so many lost ACKs, and so much of all, on, they are said: the next ACK makes up for most of them."""

FEW = 3
"""From so many segments by fast retransmit on it is said that one an RTT is slow."""

VAGUE = 0.2
"""From this part of needless retransmissions on, no upper bound of what was lost is said."""

MOSTLY = 0.5
"""A receiver's window that was full for less of the time is not said to fill a link's queue."""

MOST_OF_ALL = 0.8
"""Connections that were there for less of the time of all are said to have been there for a part of it."""

ALIKE = 1.1
"""Rates that differ by no more are one."""


def text(group: Group, *, with_loss: bool) -> str:
    """The sentence of a cause.

    Parameters
    ----------
    group : Group
    with_loss : bool
        What was lost is said too, even if nothing was.
    """
    said = SENTENCES[group.kind](group)
    if with_loss and group.kind in _SAY_LOSS:
        said += f"; {losses(group.flows)}{_acks(group.flows)}{_recovery(group)}"
    return said


def _recovery(group: Group) -> str:
    """What of the time of a full link went to its losses: the cost of the sentence is theirs."""
    recovery_s = sum(flow.waits_s.get("loss_recovery", 0.0) for flow in group.flows)
    if group.kind not in ("bottleneck", "queue") or recovery_s < SAID_S:
        return ""
    return f"; loss recovery took {duration(recovery_s)}{', summed' if len(group.flows) > 1 else ''}"


def losses(flows: tuple[Flow, ...]) -> str:
    """What was lost, as far as the captures prove it.

    ``1.4% of the segments were lost (40 of 2,803)`` by captures of both ends; ``at least`` where those that
    never came by are counted, ``at most`` where those that were retransmitted are; or that none was.
    """
    again = sum(flow.retransmissions for flow in flows)
    if any(flow.lost is None for flow in flows):
        return (
            f"{count(again, 'segment')} {_were(again)} retransmitted"
            if again
            else "nothing was retransmitted"
        )
    lost, sent = sum(flow.lost or 0 for flow in flows), sum(flow.sent for flow in flows)
    needless = _needless(flows, again)
    if not lost:
        return f"{_no_loss(flows)}, {count(again, 'retransmission')}{needless}" if again else _no_loss(flows)
    if all(flow.certain_lost is not None for flow in flows):
        return f"{_percent(lost / sent)} of the segments were lost ({lost:,} of {sent:,}){needless}"
    least = sum((flow.upstream or 0) + (0 if flow.point == "snd" else flow.corrupted) for flow in flows)
    most = sum(flow.most_downstream for flow in flows)
    # What was needless may have been lost, too: the bound says little where much of it was.
    vague = sum(flow.needless for flow in flows) > VAGUE * again
    if not all(flow.complete for flow in flows) or (vague and not least):
        return (
            f"{_percent(again / sent)} of the segments were retransmitted ({again:,} of {sent:,}){needless}"
        )
    if not least:
        return f"at most {_percent(most / sent)} of the segments were lost ({most:,} of {sent:,}){needless}"
    said = f"at least {_percent(least / sent)} of the segments were lost"
    if not most:
        return f"{said} ({least:,} of {sent:,}){needless}"
    return f"{said} before this capture ({least:,} of {sent:,}), at most {most:,} after it{needless}"


def _no_loss(flows: tuple[Flow, ...]) -> str:
    """A capture that is complete, at the sender, proves that nothing was lost; others only saw no loss."""
    sure = all(
        flow.certain_lost == 0
        or (flow.point == "snd" and not flow.guessed and flow.complete and not flow.most_downstream)
        for flow in flows
    )
    return "no loss" if sure else "no loss seen"


def _needless(flows: tuple[Flow, ...], again: int) -> str:
    """``; 3 of 43 retransmissions were needless``: an earlier copy of the data had arrived."""
    needless = min(sum(flow.needless for flow in flows), again)
    if not needless:
        return ""
    if needless == again:
        return ", needless" if again == 1 else ", all of them needless"
    return f"; {needless:,} of {count(again, 'retransmission')} {_were(needless)} needless"


def _bottleneck(group: Group) -> str:
    if _known_share(group.flows) < SELDOM:
        return _crowd(group.flows) + _queue(group)
    return f"the link was full{_fullness(group)}{_filled_by(group)}{_queue(group)}"


def _filled_by(group: Group) -> str:
    """That the receiver's window keeps its queue filled, where it does."""
    if len(group.flows) > 1 or not group.flows[0].window_fills_link:
        return ""
    (flow,) = group.flows
    held_s = flow.limits_s.get("receiver_window", 0.0)
    if held_s < MOSTLY * (flow.seconds or 0.0):
        return ""
    return (
        f"; the receiver's window (at most {flow.max_window_bytes:,} bytes) was full for "
        f"{_of_time(held_s, flow.seconds or 0.0)}, and a larger one would only lengthen the queue"
    )


def _crowd(flows: tuple[Flow, ...]) -> str:
    """Connections whose windows together keep a queue filled: none of them shows the rate of the link."""
    if len(flows) == 1:
        return "the link was full with others, and the window of this connection is its share of it"
    together = f"{rate(together_bps(flows))} of payload in all"
    many = count(len(flows), "connection")
    return f"{many} kept a queue filled together, {together}: the window of each is its share of the link"


def _bufferbloat(group: Group) -> str:
    if _known_share(group.flows) < SELDOM:
        return f"{_crowd(group.flows)}, with a standing queue (bufferbloat){_queue(group)}"
    filled = _filled_by(group)
    return f"the link was full{_fullness(group)}, with a standing queue (bufferbloat){filled}{_queue(group)}"


def _local_drop(group: Group) -> str:
    drops = sum(flow.own_drops for flow in group.flows)
    counted = any(flow.kernel_drops for flow in group.flows)
    # A retransmission that was dropped there in its turn leaves no trace in the capture behind it.
    dropped = (
        f"{count(drops, 'packet')} by the kernel's log" if counted else f"at least {count(drops, 'segment')}"
    )
    said = f"the sender's own queue dropped {dropped} (they never reached this capture)"
    full = any(flow.full_share is not None and flow.full_share >= FULL for flow in group.flows)
    return f"{said}; the link behind it was full{_fullness(group)}" if full else said


def _loss(group: Group) -> str:
    flows = group.flows
    said = losses(flows) + _acks(flows) + _recoveries(flows)
    said += f"; loss recovery, and the smaller congestion window behind it, held {_held(group)}"
    # RFC 6582 section 3.2, step 3: a partial ACK brings the next retransmission.
    one_a_round_trip = all(flow.without_sack for flow in flows) and sum(flow.fast for flow in flows) >= FEW
    return f"{said}; without SACK it repairs one loss per RTT" if one_a_round_trip else said


def _spurious(group: Group) -> str:
    again = sum(flow.retransmissions for flow in group.flows)
    recovery_s = sum(flow.waits_s.get("loss_recovery", 0.0) for flow in group.flows)
    small = ", and the smaller congestion window behind it," if group.seconds > 1.05 * recovery_s else ""
    return (
        f"{count(again, 'retransmission')}{_without_loss(group.flows, again)}"
        f"{_acks(group.flows)}{_recoveries(group.flows)}; "
        f"recovery{small} held {_held(group)}"
    )


def _without_loss(flows: tuple[Flow, ...], again: int) -> str:
    """Why it is known, or is not, that what was retransmitted had not been lost."""
    needless = sum(min(flow.needless, flow.retransmissions) for flow in flows)
    if again and needless == again:
        # Duplicate ACKs asked for what had arrived by then, or was about to (RFC 5681 section 3.2).
        reordered = all(flow.fast == flow.retransmissions for flow in flows)
        return f", needless: the data had arrived{', reordered by the network' if reordered else ''}"
    if needless or any(flow.spurious or flow.unacked_timeouts for flow in flows):
        return " although no loss of data shows"
    return "; whether data had been lost does not show"


def _acks(flows: tuple[Flow, ...]) -> str:
    """``; 308 ACKs were lost before this capture and 935 reached it (by IP identifications)``."""
    known = [flow for flow in flows if flow.acks_lost is not None and flow.complete]
    lost, seen = sum(flow.acks_lost or 0 for flow in known), sum(flow.acks for flow in known)
    if lost < LEAST_ACKS or lost < LEAST_ACKS_SHARE * (lost + seen):
        return ""
    return f"; {lost:,} ACKs were lost before this capture and {seen:,} reached it (by IP identifications)"


def _recoveries(flows: tuple[Flow, ...]) -> str:
    """``; 2 timeouts (1 spurious), 37 segments by fast retransmit``."""
    # From a distance the cause of a retransmission is told where no timer is seen: the larger count has both.
    timeouts = sum(max(flow.timeouts, flow.rto) for flow in flows)
    spurious = sum(flow.spurious for flow in flows)
    # Of these the data had arrived, and every ACK of it was lost.
    unacked = sum(flow.unacked_timeouts for flow in flows)
    parts = [f"{spurious:,} spurious"] if 0 < spurious < timeouts else []
    every = "" if unacked == timeouts else f"{unacked:,} as "
    parts += [f"{every}every ACK of what had arrived was lost"] if unacked else []
    which = f" ({', '.join(parts)})" if parts else ""
    causes = [
        f"{count(timeouts, 'spurious timeout' if spurious == timeouts else 'timeout')}{which}"
        if timeouts
        else ""
    ]
    for name, words in (
        ("fast", "by fast retransmit"),
        ("slow_start", "in slow start"),
        ("tail_loss_probe", "as tail loss probe"),
    ):
        number = sum(getattr(flow, name) for flow in flows)
        causes.append(f"{count(number, 'segment')} {words}" if number else "")
    return f"; {joined(causes)}" if any(causes) else ""


def _receiver(group: Group) -> str:
    flows = group.flows
    zero = sum(flow.zero_windows for flow in flows) if _closures_matter(group) else 0
    probes = sum(flow.window_probes for flow in flows)
    kept_by = common_reader(flows)
    window = max(flow.max_window_bytes for flow in flows)
    rtt_ms = flows[0].rtt_ms if len(flows) == 1 else None
    most = f"at most {window:,} bytes" if window else ""
    if kept_by == SMALL and rtt_ms is not None and window:
        most += f" in each RTT of {_ms(rtt_ms)}"
    said = f"{_RECEIVERS[kept_by]} was {'closed or full' if zero else 'full'} for {_time(group)}{_of(group)}"
    parts = [most, _closed(flows, zero), count(probes, "window probe") if probes else ""]
    said = f"{said} ({', '.join(part for part in parts if part)})" if any(parts) else said
    if kept_by == SLOW and len(flows) == 1 and flows[0].goodput_bps is not None:
        said += f"; it took {rate(flows[0].goodput_bps)}"
    return said


_RECEIVERS = {
    None: "limited by the receiver: its window",
    SMALL: "limited by the receiver's small window: it",
    SLOW: "limited by the receiver, whose application read slowly: its window",
    STALLED: "limited by the receiver, whose application stopped reading: its window",
}

BRIEF = 0.01
"""That a window was closed for less than this part of the time that it took is not said."""


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


def _application(group: Group) -> str:
    said = f"limited by the application: it gave TCP nothing to send for {_time(group)}{_of(group)}"
    return said + (turn_words(group.flows[0]) if len(group.flows) == 1 else "")


def _slow_start(group: Group) -> str:
    flows = group.flows
    handshake = sum(flow.limits_s.get("handshake", 0.0) for flow in flows)
    if handshake > group.seconds / 2:
        said = f"the handshake took {_of_time(handshake, group.total_s)}{_of(group)}"
        again = sum(flow.syn_timeouts for flow in flows)
        if not again:
            return said
        times = "once" if again == 1 else f"{again:,} times"
        return f"{said}: a SYN or SYN+ACK was lost or late {times}, and retransmitted after a timeout"
    longest_s = sum(flow.slow_start_s for flow in flows)
    group = replace(group, seconds=group.seconds - handshake)
    if longest_s and group.seconds > 2 * longest_s:
        # Where the sender's kernel was asked, a recording is there, or its counters.
        hint = "" if all(flow.kernel for flow in flows) else " (multitracer record at the sender shows it)"
        return (
            f"the congestion window limited {_held(group)}, and the capture shows no loss: slow start alone "
            f"takes {duration(longest_s)} at most; a sender's own queue that refuses segments, pacing, or "
            f"delayed ACKs do so without a loss{hint}"
        )
    # That it is below the BDP is known only where the rate of the path is.
    below = ", cwnd still below the BDP" if all(flow.rate_bps is not None for flow in flows) else ""
    said = f"the congestion window limited {_held(group)} without a loss: slow start{below}"
    return f"{said}; the handshake took {duration(handshake)}" if handshake >= 0.1 * group.seconds else said


def _standstill(group: Group) -> str:
    lengths_s = [length_s for flow in group.flows for length_s in flow.stalls_s]
    times = (
        ""
        if len(lengths_s) == 1
        else f", {len(lengths_s):,} times, at most {duration(max(lengths_s))} at once"
    )
    if all(flow.stalled_before for flow in group.flows):
        where = "the path before this capture, or the sender's host,"
        seen = "no data arrived, then data with timestamps from the start of the silence"
    else:
        where = "the path, or the receiver's host,"
        seen = "data was in flight and no ACK arrived; then that data was acknowledged"
    return f"{where} stalled for {duration(sum(lengths_s))}{times}{_of(group)}: {seen}"


def _unknown(group: Group) -> str:
    spent = f" for {_time(group)}" if group.total_s else ""
    return f"what limited {_whom(group)} is not known{spent}: {wanted(group.flows)}"


def wanted(flows: tuple[Flow, ...]) -> str:
    """What would make the unknown known."""
    if all(not flow.answered for flow in flows):
        return "only one direction was captured; capture both"
    if any(flow.point != "snd" for flow in flows):
        return "capture at the sender too"
    return "capture at the receiver too, and log the sender's TCP state (ss -tin, or multitracer record)"


SENTENCES: dict[str, Callable[[Group], str]] = {
    "bottleneck": _bottleneck,
    "queue": _bufferbloat,
    "local_drop": _local_drop,
    "loss": _loss,
    "spurious": _spurious,
    "idle_receiver_window": _receiver,
    "idle_application": _application,
    SLOW_START: _slow_start,
    "standstill": _standstill,
    "unknown": _unknown,
}
_SAY_LOSS = ("bottleneck", "queue", "idle_receiver_window", "idle_application")


def _fullness(group: Group) -> str:
    """``: 11.6 Mbit/s, for 93% of the time with data in flight``, ``, shared by 5 connections``."""
    flows = group.flows
    sharing = max(flow.shared_with for flow in flows) + 1
    how = f", shared by {count(sharing, 'connection')}" if sharing > 1 else ""
    if 1 < sharing < len(flows):
        # They fill it by turns, or several links.
        how = f" for {count(len(flows), 'connection')}, of which up to {sharing:,} share it"
    if group.main and 1 < sharing > len(flows):
        how += f" (the main limit of {len(flows):,} of them)"
    if len(flows) > 1:
        how = how or f" for {count(len(flows), 'connection')}"
        return f"{how}: {_rates(flows)}{_share_of_time(group)}"
    (only,) = flows
    about = "" if only.rate_exact else "about "
    said = how if only.rate_bps is None else f"{how}: {about}{rate(only.rate_bps)} of IP packets"
    if only.full_share is not None:
        when = "the time" if only.link_known else "the time with data in flight"
        said += f"{',' if said else ''} for {_percent(only.full_share)} of {when}"
    return said


def _rates(flows: tuple[Flow, ...]) -> str:
    """The rate of the link as its connections show it; where one shows none, what they brought in all."""
    rates = sorted(flow.rate_bps for flow in flows if flow.rate_bps is not None)
    one_link = all(flow.link_known for flow in flows) or not any(flow.shared for flow in flows)
    if len(rates) < len(flows) or not one_link:
        return f"{rate(together_bps(flows))} of payload in all"
    if rates[-1] <= ALIKE * rates[0]:
        return f"{rate(rates[len(rates) // 2])} of IP packets"
    return f"{rate(rates[0])} to {rate(rates[-1])} of IP packets"


def _share_of_time(group: Group) -> str:
    """In how much of the time of all with data in flight it was full; nothing where some do not tell.

    Of connections that ended long before another, or began long after it, how long they were there is said,
    too: the utilization is that of all the time.
    """
    flows = group.flows
    if any(flow.full_share is None for flow in flows):
        return ""
    # What they brought together is known for all of the time.
    when = "the time" if all(flow.link_known for flow in flows) else "their time with data in flight"
    there = f" ({_of_time(group.span_s, group.of_s)})" if group.span_s < MOST_OF_ALL * group.of_s else ""
    return f", for {_percent(_known_share(flows))} of {when}{there}"


def _known_share(flows: tuple[Flow, ...]) -> float:
    """Part of their time with data in flight in which the link was full, of those that tell; 1 if none."""
    known = [flow for flow in flows if flow.full_share is not None]
    busy_s = sum(flow.busy_s for flow in known)
    return sum((flow.full_share or 0.0) * flow.busy_s for flow in known) / busy_s if busy_s else 1.0


def together_bps(flows: tuple[Flow, ...]) -> float | None:
    """Payload of connections, each byte once, over the time from the first to the last of them."""
    span_s = max(flow.end_s for flow in flows) - min(flow.start_s for flow in flows)
    return 8.0 * sum(flow.unique_bytes for flow in flows) / span_s if span_s > 0 else None


def _queue(group: Group) -> str:
    """What the queue added, of the connection with most data that tells it."""
    queued = [flow for flow in group.flows if flow.queue_ms is not None and flow.base_rtt_ms is not None]
    if not queued or queued[0].queue_ms is None or queued[0].queue_ms[1] < 1.0:
        return ""
    return f"; the queue{queue_words(queued[0])}"


def queue_words(flow: Flow) -> str:
    """`` added 37 ms (median; 95th percentile 41 ms) to a base RTT of 1.2 ms``."""
    median, p95 = flow.queue_ms or (0.0, 0.0)
    return (
        f" added {_ms(median)} (median; 95th percentile {_ms(p95)}) to a base RTT of "
        f"{_ms(flow.base_rtt_ms or 0.0)}"
    )


def _held(group: Group) -> str:
    summed = f"{', summed' if len(group.flows) > 1 else ''}"
    return f"{_whom(group)} for {_time(group)}{summed}"


def _whom(group: Group) -> str:
    if group.of == 1:
        return "the transfer"
    return _numbered(group.flows[0]) if len(group.flows) == 1 else count(len(group.flows), "connection")


def _numbered(flow: Flow) -> str:
    """A single connection by its number, by which it can be looked up."""
    return f"connection {flow.index}"


def _of(group: Group) -> str:
    if group.of == 1:
        return ""
    number = len(group.flows)
    if number == 1:
        return f" on {_numbered(group.flows[0])} of {group.of:,}"
    which = f"all {number:,} connections" if number == group.of else f"{number:,} connections of {group.of:,}"
    return f", the sum over {which}"


def _time(group: Group) -> str:
    """``12.5 of 20.0 s``."""
    return _of_time(group.seconds, group.total_s)


def _of_time(part_s: float, whole_s: float) -> str:
    if whole_s >= 1:
        return f"{part_s:,.1f} of {whole_s:,.1f} s"
    return f"{duration(part_s)} of {duration(whole_s)}"


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def _ms(milliseconds: float) -> str:
    return duration(milliseconds / 1e3)


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
