"""Sentences on losses, retransmissions and recovery."""

from __future__ import annotations

from multitracer.diagnosis.field.facts import Flow
from multitracer.diagnosis.field.groups import Group
from multitracer.diagnosis.field.phrases import (
    from_ms,
    held,
    percent,
    percent_at_least,
    percent_at_most,
    were,
)
from multitracer.diagnosis.field.waits import recovery_s, window_full_in_recovery_s
from multitracer.diagnosis.findings.finding import joined
from multitracer.model.quantities import count, duration, rate
from multitracer.output.losses import may_be_again, needless_prefix, says_little

LEAST_ACKS = 3

LEAST_ACKS_SHARE = 0.01
"""Lost ACKs are reported from this number and share on: the next ACK compensates for most of them."""

ONE = 1.5
"""Segments that are repaired in an RTT of loss recovery, at most, where that takes one for each."""

REPAIRING = 0.25
"""So much of the time is recovery itself, where that takes an RTT for each segment, not a smaller window."""

MOST = 0.5
"""So much of recovery is that, at least, where slow start repaired more segments."""

OVERTAKEN = 3
"""So many reordered segments may be why more were retransmitted, if these were mostly needless."""

FEW = 3
"""From so many segments by fast retransmit on, the sentence states that one per RTT is slow."""

FILLED = 0.1
"""From this part of its time on, the sentence states that the receiver's window had no room in it."""

SILENT = 0.25
"""From this part of its time on, the sentence states that nothing was sent in it, where no timer shows."""


def losses(flows: tuple[Flow, ...], whose: str = "") -> str:
    """What was lost, as far as the captures prove it.

    ``1.4% of the segments were lost (40 of 2,803)`` by captures of both ends; ``at least`` where those that
    never passed are counted, ``at most`` where those that were retransmitted are; or that none was. `whose`
    follows the segments, where not all connections of the sentence are meant.
    """
    again = sum(flow.data_retransmissions for flow in flows)
    if any(flow.lost is None for flow in flows):
        return (
            f"{count(again, 'segment')} {were(again)} retransmitted" if again else "nothing was retransmitted"
        )
    lost, sent = sum(flow.lost or 0 for flow in flows), sum(flow.sent for flow in flows)
    of = f"of {'about ' if any(flow.divided for flow in flows) else ''}{sent:,}{_unacked(flows)}"
    needless = _needless(flows, again)
    if not lost:
        return f"{_no_loss(flows)}, {count(again, 'retransmission')}{needless}" if again else _no_loss(flows)
    if all(flow.certain_lost is not None for flow in flows):
        return f"{percent(lost / sent)} of the segments{whose} were lost ({lost:,} {of}){needless}"
    discarded = sum(flow.discarded for flow in flows)
    least = sum(flow.least_before for flow in flows) + discarded
    most = sum(flow.most_downstream for flow in flows) - discarded
    vague = says_little(sum(flow.needless for flow in flows), again)
    if not all(flow.complete for flow in flows) or (vague and not least):
        if not again:
            return "nothing was retransmitted"
        return f"{percent(again / sent)} of the segments{whose} were retransmitted ({again:,} {of}){needless}"
    if not least:
        which = f"({most:,} {of})"
        if not needless and all(flow.without_sack and not flow.timestamps for flow in flows):
            which = f"or only late ({most:,} {of}: neither SACK nor timestamps show which)"
        return f"at most {_beside_counts(most / sent)} of the segments{whose} were lost {which}{needless}"
    said = f"at least {percent_at_least(least / sent)} of the segments{whose} were lost"
    if not most:
        return f"{said} ({least:,} {of}){_discarded(discarded, least)}{needless}"
    if vague:
        return f"{said} before this capture ({least:,} {of}), an unknown number after it{needless}"
    return f"{said} before this capture ({least:,} {of}), at most {most:,} after it{needless}"


def _beside_counts(share: float) -> str:
    """An upper bound with the counts that it is made of, rounded as other shares are."""
    return percent(share) if share >= 0.0005 else percent_at_most(share)


def _no_loss(flows: tuple[Flow, ...]) -> str:
    """A capture that is complete, at the sender, proves that nothing was lost; others only saw no loss.

    Nor did they see that there was none where what came in order may be a retransmission.
    """
    if possible := sum(flow.possible for flow in flows):
        return may_be_again(possible)
    if refused := sum(flow.own_drops for flow in flows):
        return f"no loss seen except at least {count(refused, 'segment')} (by missing IP identifications)"
    sure = all(
        flow.certain_lost == 0
        or (flow.point == "snd" and not flow.guessed and flow.complete and _all_acknowledged(flow))
        for flow in flows
    )
    return "no loss" if sure else "no loss seen"


def _discarded(number: int, lost: int) -> str:
    """``; the receiver's host discarded 3 of these``: they had passed the capture there."""
    if not number:
        return ""
    which, they = ("it", "it") if number == lost == 1 else ("them", "they")
    if number < lost:
        which = f"{number:,} of these"
    return f"; the receiver's host discarded {which} after {they} had passed this capture"


def _unacked(flows: tuple[Flow, ...]) -> str:
    """``; 40 others were in flight when the capture ended``: nothing is known of them.

    What had no ACK when a RST ended its connection had arrived, or not.
    """
    number, at_reset = (sum(getattr(flow, name) for flow in flows) for name in ("in_flight", "at_reset"))
    said = f"; {count(number, 'other')} {were(number)} in flight when the capture ended" if number else ""
    if not at_reset:
        return said
    ended = "the connection was" if len(flows) == 1 else "their connections were"
    return f"{said}; {count(at_reset, 'other')} had no ACK when {ended} reset"


def _all_acknowledged(flow: Flow) -> bool:
    return flow.answered and not (flow.most_downstream or flow.in_flight or flow.at_reset)


def _needless(flows: tuple[Flow, ...], again: int) -> str:
    """``; 3 of 43 retransmissions were needless``: an earlier copy of the data had arrived.

    All of them show where they arrive; elsewhere those that an ACK reveals.
    """
    needless = min(sum(flow.needless for flow in flows), again)
    unseen = sum(flow.unseen_retransmissions for flow in flows)
    if not needless:
        return ""
    if needless == again and not unseen:
        all_of_them = ", needless" if again == 1 else ", all of them needless"
        return all_of_them + _reordered(flows, again)
    missing = any(flow.some_missing for flow in flows)
    seen = all(flow.point == "rcv" or flow.certain_lost is not None for flow in flows)
    certain = seen and not missing
    least = needless_prefix(certain=certain, divided=any(flow.divided for flow in flows))
    of = "at least " if missing else ""
    said = f"; {least}{needless:,} of {of}{count(again + unseen, 'retransmission')} {were(needless)} needless"
    return said + _reordered(flows, again)


def _reordered(flows: tuple[Flow, ...], again: int) -> str:
    """``; the network reordered 151 segments``, if that may be why many were retransmitted.

    Each that is overtaken by three opens a recovery (RFC 5681 section 3.2), which retransmits several.
    """
    number = sum(flow.reordered for flow in flows)
    mostly = number >= OVERTAKEN and 2 * sum(flow.needless for flow in flows) >= again
    many = again > 0 and (mostly or 2 * number >= again)
    return f"; the network reordered {count(number, 'segment')}" if many else ""


def loss(group: Group) -> str:
    """That losses, and what they did to the congestion window, took the time."""
    flows = group.flows
    said = losses(flows) + acks(flows)
    causes = by_cause(flows)
    if sum(flow.before_data_s for flow in flows) >= SILENT * group.seconds:
        first = f"the first flight was lost before this capture (by IP identifications){first_late(group)}"
        said = f"{said}; {first}{causes}" if any(flow.lost for flow in flows) else first
    else:
        said += causes
    return said + dropped_by(flows) + held_in_recovery(group)


def dropped_by(flows: tuple[Flow, ...]) -> str:
    """What dropped the packets, where their losses show it: a policer, a queue, or no queue."""
    return policed(flows) or _dropped_by_queue(flows)


def _dropped_by_queue(flows: tuple[Flow, ...]) -> str:
    """``; 29 of 30 losses occurred when the delay was close to its maximum (16.3 ms ...), ...``."""
    found = [flow.queue_at_losses for flow in flows if flow.queue_at_losses is not None]
    if len({one["dropped"] for one in found}) != 1 or found[0]["dropped"] is None:
        return ""
    dropped, of = found[0]["dropped"], sum(one["of"] for one in found)
    lost = sum(flow.lost or 0 for flow in flows)
    again, needless = (sum(getattr(flow, name) for flow in flows) for name in ("retransmissions", "needless"))
    # What was retransmitted needlessly had not been lost.
    if 2 * of < lost or says_little(needless, again):
        return ""
    number = sum(one["at_longest" if dropped else "empty"] for one in found)
    which = "all" if number == of else f"at least {number:,} of" if dropped else f"{number:,} of"
    came = f"{which} {of:,} losses {'with a known delay ' if of < lost else ''}occurred"
    if not dropped:
        return f"; {came} while packets were delayed far less than at other times, unlike at a full queue"
    longest = from_ms(max(one["dropping_ms"] for one in found))
    # Jitter is in that, too.
    return (
        f"; {came} when the delay was close to its maximum ({longest} above the minimum), as at a full queue"
    )


def policed(flows: tuple[Flow, ...]) -> str:
    """That the losses look like those of a policer, of the connection that lost most to it."""
    found = [(flow, flow.policer) for flow in flows if flow.policer is not None]
    if not found:
        return ""
    flow, policer = max(found, key=lambda one: int(one[1]["losses"]))
    of = f" of connection {flow.index}" if len(flows) > 1 else ""
    about = "at least" if policer["rate_at_least"] else "about"
    return (
        f"; this fits a policer: {policer['losses']:,} of {policer['of']:,} losses{of} occurred when a "
        f"token bucket of {about} {rate(policer['rate_bps'])} and about {policer['burst_bytes']:,} bytes was "
        "empty, and no queue added to the RTT"
    )


def held_in_recovery(group: Group) -> str:
    """``; loss recovery, and the reduced congestion window after it, limited the transfer for 1.3 of 2.0 s``.

    Away from the sender nothing distinguishes a small window from a sender that paces itself slower.

    With what else limited it then: the receiver's window, an idle time, one segment in each RTT.
    """
    flows = group.flows
    most = "at most " if any(flow.recovery_at_most for flow in flows) else ""
    away = any(flow.point != "snd" and not flow.kernel for flow in flows)
    window = f"the reduced congestion window {'or slower pacing ' if away else ''}after it"
    said = f"; loss recovery, and {window}, limited {held(group, most)}"
    # What the link was full in is no recovery's.
    filled_s = sum(min(window_full_in_recovery_s(flow), recovery_s(flow)) for flow in flows)
    if filled_s >= FILLED * group.seconds:
        said += f"; during recovery the receiver's window was full, too, for at least {duration(filled_s)}"
    silent_s = sum(min(flow.silent_s, recovery_s(flow)) for flow in flows)
    if silent_s >= SILENT * group.seconds and not any(flow.rto for flow in flows):
        said += (
            f"; no data passed for {duration(silent_s)} of that: a timer, or a path that stalled before this "
            "capture"
        )
    if 2 * sum(flow.link_hidden for flow in flows) > len(flows):
        said += "; whether the link was full does not show here without timestamps"
    repairing = sum(map(recovery_s, flows)) >= REPAIRING * group.seconds
    return said + one_a_round_trip(group) if repairing else said


def one_a_round_trip(group: Group) -> str:
    """``; without SACK it retransmits one segment per RTT``; empty where it hardly had to.

    A partial ACK brings the next retransmission (RFC 6582 section 3.2, step 3). Slow start after a timeout
    repairs several segments in an RTT: it may repair more in less time.
    """
    flows = group.flows
    fast, slow_start = (sum(getattr(flow, name) for flow in flows) for name in ("fast", "slow_start"))
    # Where the ACKs of needless copies let it send more (RFC 5681 section 3.2, step 3), it is not so slow.
    # The queue drains meanwhile: an RTT is as short as any.
    took_s = sum(flow.fast * (flow.base_rtt_ms or flow.rtt_ms or 0.0) / 1e3 for flow in flows)
    slow = (
        all(flow.without_sack for flow in flows)
        and fast >= FEW
        and (fast >= slow_start or took_s >= MOST * sum(map(recovery_s, flows)))
        and took_s <= ONE * group.seconds
    )
    return "; without SACK it retransmits one segment per RTT" if slow else ""


def first_late(group: Group) -> str:
    """``; its first data passed 2.05 s after the handshake``, where everything sent earlier was lost."""
    late = [flow.before_data_s for flow in group.flows if flow.before_data_s > 0]
    if not late:
        return ""
    some = "one connection" if len(late) == 1 else count(len(late), "connection")
    of = "its" if len(group.flows) == 1 else f"of {some} the"
    upto = "up to " if len(late) > 1 else ""
    return f"; {of} first data passed {upto}{duration(max(late))} after the handshake"


def spurious(group: Group) -> str:
    """The same of retransmissions for which no loss shows."""
    again = sum(flow.data_retransmissions for flow in group.flows)
    repaired_s = sum(map(recovery_s, group.flows))
    small = ", and the reduced congestion window after it," if group.seconds > 1.05 * repaired_s else ""
    return (
        f"{count(again, 'retransmission')}{_without_loss(group.flows, again)}"
        f"{acks(group.flows)}{by_cause(group.flows)}; "
        f"recovery{small} limited {held(group)}"
    )


def _without_loss(flows: tuple[Flow, ...], again: int) -> str:
    """Why it is known, or is not, that what was retransmitted had not been lost."""
    needless = sum(min(flow.needless, flow.data_retransmissions) for flow in flows)
    if again and needless == again:
        if reordering := _reordered(flows, again):
            return f", needless: the originals arrived, too{reordering}"
        # Duplicate ACKs asked for what had arrived by then, or was about to (RFC 5681 section 3.2).
        reordered = all(flow.fast == flow.retransmissions for flow in flows)
        return f", needless: the data had arrived{', reordered by the network' if reordered else ''}"
    if needless or any(flow.spurious or flow.unacked_timeouts for flow in flows):
        return " although no loss of data shows"
    return "; whether data had been lost does not show"


def marked(group: Group) -> str:
    """That routers marked packets, and what that did to the congestion window, took the time."""
    flows = group.flows
    return f"{_reduced(flows)}; the reduced congestion window limited {held(group)}; {losses(flows)}"


def marks(flows: tuple[Flow, ...]) -> str:
    """``; a router marked packets instead of dropping them (ECN), ...``; empty where none did."""
    return f"; {_reduced(flows)}" if any(flow.reductions for flow in flows) else ""


def _reduced(flows: tuple[Flow, ...]) -> str:
    """That a router marked packets, and that the sender took each mark for a loss (RFC 3168 section 6.1)."""
    times = sum(flow.reductions for flow in flows)
    said = "a router marked packets instead of dropping them (ECN)"
    return (
        f"{said}, and the sender reduced its congestion window {'once' if times == 1 else f'{times:,} times'}"
    )


def acks(flows: tuple[Flow, ...]) -> str:
    """``; at least 308 ACKs were lost before this capture and 935 reached it (by IP identifications)``."""
    known = [flow for flow in flows if flow.acks_lost is not None and flow.complete]
    lost, seen = sum(flow.acks_lost or 0 for flow in known), sum(flow.acks for flow in known)
    if lost < LEAST_ACKS or lost < LEAST_ACKS_SHARE * (lost + seen):
        return ""
    reached = f"{seen:,} reached it (by IP identifications)"
    return f"; at least {lost:,} ACKs were lost before this capture and {reached}"


def by_cause(flows: tuple[Flow, ...]) -> str:
    """``; 2 timeouts (1 spurious), 37 segments by fast retransmit``; elsewhere ``by inference``."""
    # Away from the sender the cause of a retransmission is shown where no timer is seen: the larger count has
    # both.
    timeouts = sum(max(flow.timeouts, flow.rto) - flow.syns_again for flow in flows)
    spurious = sum(flow.spurious for flow in flows)
    # Of these the segment that the timer was for had arrived, and every ACK of it was lost; what was sent
    # after it may have been lost nevertheless.
    unacked = sum(flow.unacked_timeouts for flow in flows)
    parts = [f"{spurious:,} spurious"] if 0 < spurious < timeouts else []
    every = "" if unacked == timeouts else f"before at least {unacked:,} of them "
    parts += [f"{every}the segment had arrived, and every ACK of it was lost"] if unacked else []
    which = f" ({', '.join(parts)})" if parts else ""
    causes = [
        f"{count(timeouts, 'spurious timeout' if spurious == timeouts else 'timeout')}{which}"
        if timeouts
        else ""
    ]
    for name, words, undecided, other in (
        ("fast", "by fast retransmit", "fast_or_slow_start", "in slow start"),
        ("slow_start", "in slow start", "", ""),
        ("tail_loss_probe", "as tail loss probe", "probe_or_timeout", "by a timeout"),
    ):
        number = sum(getattr(flow, name) for flow in flows)
        open_number = sum(getattr(flow, undecided) for flow in flows) if undecided else 0
        which = "all" if open_number == number else f"{open_number:,} of them"
        either = f" ({which} perhaps {other})" if open_number else ""
        causes.append(f"{count(number, 'segment')} {words}{either}" if number else "")
    # Away from the sender each count may be larger or smaller: a timer shows by what it sent alone.
    there = all(flow.point == "snd" and not flow.guessed for flow in flows)
    inferred = "" if there else "by inference "
    # Those that were lost before the capture as well do not show.
    seen = "of the retransmissions seen, " if any(flow.some_missing for flow in flows) else ""
    return f"; {seen}{inferred}{joined(causes)}" if any(causes) else ""
