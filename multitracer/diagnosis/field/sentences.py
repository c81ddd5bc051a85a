"""The sentence of each cause, with the numbers of the connections that it is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from multitracer.diagnosis.field.ack_queues import not_of_data
from multitracer.diagnosis.field.carried import room_s
from multitracer.diagnosis.field.causes import FULL_LINK, MARKED, SLOW_START
from multitracer.diagnosis.field.facts import FULL, MOSTLY_PACED, Flow
from multitracer.diagnosis.field.full_links import bottleneck, bufferbloat, fullness
from multitracer.diagnosis.field.groups import SELDOM, Group
from multitracer.diagnosis.field.lost import (
    acks,
    by_cause,
    dropped_by,
    first_late,
    held_in_recovery,
    loss,
    losses,
    marked,
    marks,
    one_a_round_trip,
    spurious,
)
from multitracer.diagnosis.field.phrases import from_ms, held, of_all, part_of_time, time_of, whom
from multitracer.diagnosis.field.receiver_words import receiver
from multitracer.diagnosis.field.receivers import BRIEF
from multitracer.diagnosis.field.turns import held_words, nagle_took_most, turn_words, turns_of_path
from multitracer.diagnosis.field.waits import recovery_s, waits_s
from multitracer.model.quantities import count, duration, rate
from multitracer.output.costs import SAID_S

TIMED = 0.5
"""From this part of the time that a queue held on, the waits for a timer after its refusals are reported."""
_FILLING = 0.5
"""Connections that filled the link behind the queue are reported from this part of the total time on."""
_BUFFER_BYTES = (8_000, 500_000)
"""What a send buffer that was set holds: a smaller one holds hardly any segment, a larger one limits few."""


def text(group: Group, *, with_loss: bool) -> str:
    """The sentence of a cause.

    Parameters
    ----------
    group : Group
    with_loss : bool
        Losses are reported, too, even if there were none.
    """
    said = SENTENCES[group.kind](group)
    if with_loss and group.kind in _SAY_LOSS:
        said += f"; {losses(group.flows, _whose(group))}{dropped_by(group.flows)}"
        said += f"{marks(group.flows)}{acks(group.flows)}"
        said += _recovery(group)
    return said


def _whose(group: Group) -> str:
    """`` of 10 of them``: more share the link than have it as their main cause."""
    fewer = len(group.flows) <= max(flow.shared_with for flow in group.flows)
    number = len(group.flows)
    return f" of {number:,} of them" if group.kind in FULL_LINK and number > 1 and fewer else ""


def _recovery(group: Group) -> str:
    """What of the time of a full link went to its losses: the cost of the sentence is theirs."""
    took_s = sum(map(recovery_s, group.flows))
    # A link that needed the time for what it carried was not left: what seemed so was lost behind it.
    left = sum(room_s(flow) for flow in group.flows) >= took_s
    # Where both captures show that nothing was lost, the path stalled.
    stalled = all(flow.certain_lost is not None and flow.lost == 0 for flow in group.flows)
    if group.kind not in FULL_LINK or took_s < SAID_S or not left or stalled:
        return ""
    summed = ", summed" if len(group.flows) > 1 else ""
    # What repaired nothing is no recovery of a loss.
    what = "loss recovery" if any(flow.lost for flow in group.flows) else "recovery"
    # Others fill a link that one leaves to them.
    if any(flow.shared or flow.link_known for flow in group.flows):
        return f"; {what} took {duration(took_s)} of their time{summed}"
    # The duration is in its cost, by another model.
    return f"; {what} left the link less than full{one_a_round_trip(group)}"


def _local_drop(group: Group) -> str:
    drops = sum(flow.own_drops for flow in group.flows)
    counted = any(flow.kernel_drops for flow in group.flows)
    # A retransmission that was dropped there as well leaves no trace in the capture behind it.
    dropped = (
        f"{count(drops, 'packet')} by the kernel's log" if counted else f"at least {count(drops, 'segment')}"
    )
    by_ids = not counted and any(flow.own_drops and flow.own_drops == flow.refused for flow in group.flows)
    how = "by gaps in the IP identifications; " if by_ids else ""
    said = f"the sender's own queue dropped {dropped} ({how}they never reached this capture)"
    # With nothing to recover from, what looks like recovery is the wait for the timer that tries again.
    waiting = [(flow, recovery_s(flow)) for flow in group.flows if flow.refused and not flow.retransmissions]
    timer_s = sum(seconds for _, seconds in waiting)
    timed = timer_s > TIMED * group.seconds
    if timed:
        held_flows = tuple(flow for flow, seconds in waiting if seconds > 0)
        timed_group = replace(group, flows=held_flows, seconds=min(timer_s, group.seconds))
        said += f"; its timer then sent one segment at a time, which limited {held(timed_group)}"
    filling = tuple(flow for flow in group.flows if flow.full_share is not None and flow.full_share >= FULL)
    filled_s, all_s = (sum(flow.seconds or 0.0 for flow in flows) for flows in (filling, group.flows))
    full = bool(filling) and filled_s >= _FILLING * all_s
    late = first_late(group)
    if full:
        return f"{said}; the link behind it was full{fullness(replace(group, flows=filling))}{late}"
    if timed:
        return said + late
    small_s = sum(
        waits_s(flow).get(name, 0.0)
        for flow in group.flows
        for name in ("congestion_window", "loss_recovery")
    )
    if small_s <= TIMED * group.seconds:
        # What the sender waited for may be unknown: the drops limited it nevertheless.
        return f"{said}; this limited {held(group)}{late}"
    group = replace(group, seconds=min(small_s, group.seconds))
    if any(flow.retransmissions for flow in group.flows):
        return f"{said}{by_cause(group.flows)}{held_in_recovery(group)}{late}"
    # A queue that drops is in front of a link that is full then: for how long, no RTT behind it shows.
    or_full = ", or the full link," if all(flow.rate_bps is None for flow in group.flows) else ""
    return f"{said}; the reduced congestion window after that{or_full} limited {held(group)}{late}"


def _application(group: Group) -> str:
    turns = turn_words(group.flows[0]) if len(group.flows) == 1 else ""
    # Away from the sender not all that Nagle's algorithm held shows: the rest looks like a pause.
    some_held = any(flow.nagle_s > 0 and flow.point != "snd" for flow in group.flows)
    time = f"{'at most ' if some_held else ''}{time_of(group)}"
    pace_bps = group.flows[0].writes_bps if len(group.flows) == 1 else None
    if pace_bps is not None and not turns:
        behind_s = group.flows[0].behind_s
        if behind_s >= BRIEF * group.seconds:
            kept = f"TCP was a write or more behind for at most {duration(behind_s)} of that, and caught up"
        elif group.flows[0].lost or group.flows[0].retransmissions:
            kept = "what was lost delayed no later write"
        else:
            kept = "TCP kept up with it"
        return (
            f"limited by the application: it wrote {rate(pace_bps)} by its own clock for {time_of(group)}"
            f"{of_all(group)}, and {kept}{_or_send_buffer(group.flows[0], pace_bps)}"
        )
    nagle = held_words(group.flows[0]) if turns else ""
    if nagle and nagle_took_most(group.flows[0]):
        return (
            f"limited by requests and responses of several writes each: {nagle}{turns}; TCP had nothing that "
            f"it might send for {time}{of_all(group)}"
        )
    nagle = f"; {nagle}" if nagle else ""
    if turns and turns_of_path(group.flows[0], group.seconds):
        return (
            f"limited by requests that wait for responses: TCP had nothing to send for {time}"
            f"{of_all(group)}, most of it RTTs of the path{turns}{nagle}"
        )
    given = "TCP had sent all data that the application had written"
    return f"limited by the application for {time}{of_all(group)}: {given}{turns}{nagle}"


def _or_send_buffer(flow: Flow, pace_bps: float) -> str:
    """That a full send buffer makes an application write at one rate, too: its size in each RTT."""
    buffer_bytes = pace_bps / 8 * (flow.base_rtt_ms or 0.0) / 1e3
    if not _BUFFER_BYTES[0] <= buffer_bytes <= _BUFFER_BYTES[1]:
        return ""
    return (
        f" (a send buffer, SO_SNDBUF, that holds about {round(buffer_bytes / 1e3):,} kB gives the same rate)"
    )


def _slow_start(group: Group) -> str:
    flows = group.flows
    handshake = sum(flow.limits_s.get("handshake", 0.0) for flow in flows)
    if handshake > group.seconds / 2:
        said = f"the handshake took {part_of_time(handshake, group.total_s)}{of_all(group)}{_since(group)}"
        rest = _window_too(flows, group.seconds - handshake)
        again = sum(flow.syn_timeouts for flow in flows)
        if not again:
            return said + rest
        times = "once" if again == 1 else f"{again:,} times"
        late = f"{times} a SYN or SYN+ACK was lost or late, or a full accept queue left the SYN unanswered"
        return f"{said}: {late}; it was retransmitted after a timeout{rest}"
    group = replace(group, seconds=group.seconds - handshake)
    paced_s = min(sum(flow.paced_s for flow in flows), group.seconds)
    if paced_s >= MOSTLY_PACED * group.seconds > 0:
        rest = _window_too(flows, group.seconds - paced_s) + _handshake_too(handshake, group)
        limited = f"which limited {held(replace(group, seconds=paced_s))}"
        if all(flow.point != "snd" for flow in flows):
            return (
                f"the sender paced its segments, or its application wrote no faster, {limited}: without a "
                "loss and with RTTs near their minimum, neither a link nor its congestion window was full"
                f"{_paced_at(flows)}{rest}"
            )
        return (
            f"the sender paced its segments, {limited}: no ACK released what it sent, so its congestion "
            f"window had room{rest}"
        )
    longest_s = sum(flow.slow_start_s for flow in flows)
    too_long = 0 < 2 * longest_s < group.seconds
    if any(flow.lost or flow.own_drops for flow in flows):
        before = f"{',' if too_long else ''} before the first loss showed"
    else:
        before = ", and the capture shows no loss" if too_long else " without a loss"
    said = f"the congestion window limited {held(group, _how_exactly(flows))}{before}: "
    why = _restarted(flows)
    if too_long:
        return said + (why or _late_acks(flows, longest_s) or _beside_slow_start(flows, longest_s))
    # That it is below the BDP is known only where the rate of a link that was full is.
    below = ", cwnd still below the BDP" if all(_showed_link(flow) for flow in flows) else ""
    why = why or f"{_growth(flows)}{below}"
    return said + why + _handshake_too(handshake, group)


def _growth(flows: Sequence[Flow]) -> str:
    """How the window grew: where ACKs made RTTs long, CUBIC leaves slow start without a loss (RFC 9406)."""
    late = any(not_of_data(flow) > 0.0 for flow in flows)
    return "slow start, or congestion avoidance once RTTs had grown (HyStart)" if late else "slow start"


def _late_acks(flows: Sequence[Flow], longest_s: float) -> str:
    """That a window grew slowly after slow start because ACKs made RTTs long."""
    if len(flows) != 1 or flows[0].median_ms is None or not_of_data(flows[0]) == 0.0:
        return ""
    return (
        f"slow start alone takes {duration(longest_s)} at most, and after it a window grows by about a "
        f"segment in each RTT, which ACKs that waited made {from_ms(flows[0].median_ms)} long (median)"
    )


def _paced_at(flows: Sequence[Flow]) -> str:
    goodput_bps = flows[0].goodput_bps
    return f"; {rate(goodput_bps)} of payload passed" if len(flows) == 1 and goodput_bps is not None else ""


def _beside_slow_start(flows: Sequence[Flow], longest_s: float) -> str:
    """What keeps a congestion window small without a loss, for longer than slow start takes."""
    # Where the sender's kernel was asked, a recording is there, or its counters.
    hint = "" if all(flow.kernel for flow in flows) else " (multitracer record at the sender shows it)"
    needless = sum(flow.needless for flow in flows)
    # Their data had arrived, perhaps after what had overtaken it.
    made = f"{count(needless, 'needless retransmission')} made the window smaller, as reordering does; "
    return (
        f"slow start alone takes {duration(longest_s)} at most; {made if needless else ''}idle times, after "
        "which the window is small again, a sender's own queue that refuses segments, pacing, delayed ACKs, "
        f"or a full link that does not show here do so without a loss{', too' if needless else ''}{hint}"
    )


def _restarted(flows: Sequence[Flow]) -> str:
    """That idle times made the window small again, if they did (RFC 5681 section 4.1)."""
    times = sum(flow.restarts for flow in flows)
    if not times:
        return ""
    of = sum(flow.idle_times for flow in flows)
    largest = max(flow.restart_bytes for flow in flows if flow.restarts)
    return (
        f"it restarted with {'at most ' if len(flows) > 1 else ''}{largest:,} bytes after "
        f"{times:,} of {count(of, 'idle time')} (slow start after idle)"
    )


def _how_exactly(flows: Sequence[Flow]) -> str:
    """``at most`` or ``about``, where that is so of one of them."""
    found = {flow.window_exactly for flow in flows}
    return next((words for words in ("at most ", "about ") if words in found), "")


def _showed_link(flow: Flow) -> bool:
    full_s = flow.limits_s.get("bandwidth", 0.0)
    return flow.rate_bps is not None and full_s >= SELDOM * (flow.seconds or 0.0)


def _handshake_too(handshake_s: float, group: Group) -> str:
    """How long the handshake took in addition to what a sentence is about: its cost has both."""
    if handshake_s < 0.1 * group.seconds:
        return ""
    return f"; the handshake took {duration(handshake_s)}{_since(group)}"


def _window_too(flows: tuple[Flow, ...], seconds: float) -> str:
    """How long the congestion window was the limit in addition to what a sentence is about; "" if hardly."""
    them = "the transfer" if len(flows) == 1 else "them"
    return f"; the congestion window limited {them} for {duration(seconds)}" if seconds >= SAID_S else ""


def _since(group: Group) -> str:
    """Away from the end that opened the connection, a SYN that was lost before this capture does not show."""
    return " from the first SYN seen" if any(flow.opener_away for flow in group.flows) else ""


def _standstill(group: Group) -> str:
    lengths_s = [length_s for flow in group.flows for length_s in flow.stalls_s]
    longer = sum(lengths_s) < _PROVEN * sum(silent_s for flow in group.flows for silent_s in flow.silences_s)
    longest = "" if longer else f", the longest for about {duration(max(lengths_s))}"
    times = "" if len(lengths_s) == 1 else f", {len(lengths_s):,} times{longest}"
    before = all(flow.stalled_before for flow in group.flows)
    # An ACK that was delayed, or in transit, may come in a stall behind this capture, or after it.
    least = "at least " if longer else "" if before else "about "
    passed = sum(flow.stalls_passed for flow in group.flows)
    if before:
        where = "the path before this capture, or the sender's host,"
        came = f"only {count(passed, 'segment')} of data" if passed else "no data"
        seen = f"{came} arrived, then data that had waited, by its timestamps"
        if any(flow.stalled_by_order for flow in group.flows):
            seen = "more data was to be sent (no PSH) and none arrived, then it did, in order"
    else:
        where = "the path, or the receiver's host,"
        came = f"only {count(passed, 'ACK')}" if passed else "no ACK"
        seen = f"data was in flight and {came} arrived; then that data was acknowledged"
    return f"{where} stalled for {least}{duration(sum(lengths_s))}{times}{of_all(group)}: {seen}"


def _unknown(group: Group) -> str:
    spent = f" for {time_of(group)}" if group.total_s else ""
    return f"what limited {whom(group)} is not known{spent}: {wanted(group.flows)}"


def wanted(flows: tuple[Flow, ...]) -> str:
    """What would make the unknown known."""
    if all(not flow.answered for flow in flows):
        return "only one direction was captured; capture both"
    if any(flow.point != "snd" for flow in flows):
        return "capture at the sender too"
    return "capture at the receiver too, and log the sender's TCP state (ss -tin, or multitracer record)"


SENTENCES: dict[str, Callable[[Group], str]] = {
    "bottleneck": bottleneck,
    "queue": bufferbloat,
    "local_drop": _local_drop,
    "loss": loss,
    "spurious": spurious,
    MARKED: marked,
    "idle_receiver_window": receiver,
    "idle_application": _application,
    SLOW_START: _slow_start,
    "standstill": _standstill,
    "unknown": _unknown,
}

_PROVEN = 0.9
"""Stalls of which less than this is proven are reported as lasting at least that."""

_SAY_LOSS = ("bottleneck", "queue", "idle_receiver_window", "idle_application")
