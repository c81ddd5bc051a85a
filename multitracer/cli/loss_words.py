"""Losses, retransmissions and timeouts of the JSON objects in words, for people."""

from __future__ import annotations

from collections.abc import Iterable

from multitracer.cli.words import Object, count
from multitracer.diagnosis.field.entries import flow
from multitracer.diagnosis.field.phrases import percent_at_most
from multitracer.model.quantities import OR_ELSE, RETRANSMISSION_WORDS
from multitracer.output.losses import (
    loss_bounds,
    may_be_again,
    needless_prefix,
    possibly_again,
    says_little,
    some_missing,
    syns_again,
)
from multitracer.output.observed import known_point
from multitracer.output.used import is_logged


def causes(counts: Object, *, seen: bool = True, syns: int = 0) -> str:
    """Retransmissions by cause; away from the sender, where no timer is seen, each cause is inferred.

    There, what was lost again before the capture is not seen either.

    Parameters
    ----------
    counts : mapping
        ``retransmissions`` of an entry, or of all (docs/json.md).
    seen : bool
        Whether the capture is the sender's.
    syns : int
        Those by RTO that were SYNs.
    """
    if not seen and not counts["total"]:
        return "none seen"
    parts = [
        f"{counts[key]:,} {text}{_or_else(counts, key)}"
        for key, text in RETRANSMISSION_WORDS.items()
        if counts.get(key)
    ]
    if syns and counts.get("timeout"):
        parts[0] += " (SYN)" if syns == counts["timeout"] else f" ({syns:,} of them SYN)"
    inferred = counts.get("inferred", 0)
    some = [f"{'all' if inferred == counts['total'] else f'{inferred:,}'} inferred"] if inferred else []
    text = count(counts["total"], "segment")
    if seen:
        parts, before = parts + some, ": "
    else:
        text, before = ", ".join([text, *some]), "; causes inferred: "
    return f"{text}{before}{', '.join(parts)}" if parts else text


def _or_else(counts: Object, cause: str) -> str:
    """`` (64 of them may be slow start after an RTO)``: what the capture does not decide."""
    key, other = OR_ELSE.get(cause, ("", ""))
    undecided = counts.get(key, 0)
    if not undecided:
        return ""
    which = "all" if undecided == counts[cause] else f"{undecided:,} of them"
    return f" ({which} may be {RETRANSMISSION_WORDS[other].partition(' (')[0]})"


def retransmitted(connection: Object) -> str:
    """The same of a connection: at least those that passed, where others were lost before the capture."""
    counts, possible = connection["retransmissions"], possibly_again(connection)
    if possible and not counts["total"]:
        return f"none for certain; {may_be_again(possible)}"
    if not counts["total"] and (connection.get("losses") or {}).get("refused"):
        return "no segments; Linux later sends segments that its own queue refused, as new data"
    found = causes(counts, seen=known_point(connection) == "snd", syns=syns_again(connection))
    least = "at least " if counts["total"] and some_missing(connection) else ""
    more = f"; {may_be_again(possible)}" if possible else ""
    return f"{least}{found}{unseen_words(counts)}{more}"


def unseen_words(counts: Object) -> str:
    """Retransmissions that were lost before the capture as well, or passed in order, like new data.

    Parameters
    ----------
    counts : mapping
        ``retransmissions`` of an entry, or of all (docs/json.md).
    """
    unseen = counts.get("unseen", 0)
    if not unseen:
        return ""
    return f"; {unseen:,} more by IP identifications, lost before this capture or arrived in order"


def verdicts(counts: Object) -> str:
    """Timeouts by verdict."""
    return _timeouts(counts["total"], "", _of_each_verdict(counts))


def _of_each_verdict(counts: Object) -> list[str]:
    return [f"{counts[key]:,} {key}" for key in ("spurious", "genuine", "inconclusive") if counts[key]]


def _timeouts(total: int, how: str, parts: list[str]) -> str:
    return f"{count(total, 'timeout')}{how}{': ' if parts else ''}{', '.join(parts)}"


def timeouts(connection: Object) -> str:
    """Timeouts by verdict, as far as the capture shows them.

    Those whose first copy this capture does not hold are inferred, and have no verdict.
    """
    if not connection["timeouts"]["total"] and not connection["packets"]["received"]:
        return "unknown: only one direction was captured"
    missing = some_missing(connection)
    points = [known_point(connection)]
    # Where its first flight was lost in the sender's own queue, a capture next to it may seem to be
    # elsewhere.
    possible = possibly_again(connection) > 0 and connection["point"] == "snd"
    again = connection["retransmissions"]
    return timeouts_from(connection["timeouts"], again, points, missing=missing, possible=possible)


def unlisted_timeouts(connection: Object) -> str:
    """Why the table has not all timeouts of the line; empty if it has.

    A row counts segments that had passed before the timer retransmitted them.
    """
    again = connection["retransmissions"]
    number = min(again["timeout"] - connection["timeouts"]["total"], again.get("inferred") or 0)
    if number <= 0:
        return ""
    others, they = ("1 other has", "it") if number == 1 else (f"{number:,} others have", "they")
    return f"{others} no row: no copy had passed this capture before the one that {they} sent"


def timeouts_from(
    counts: Object,
    again: Object,
    points: Iterable[str | None],
    *,
    missing: bool = False,
    possible: bool = False,
) -> str:
    """The same of one connection, or of many.

    Parameters
    ----------
    counts, again : mapping
        ``timeouts`` and ``retransmissions`` of an entry, or sums of them.
    points : iterable of str or None
        Where the captures were taken: away from the sender, a timeout shows by what it sent alone.
    missing : bool
        Whether retransmissions may have been made that no capture shows.
    possible : bool
        Whether segments in order may be those of timeouts.
    """
    there = all(point == "snd" for point in points)
    # Sums of many do not show whether any was inferred.
    known = not there or again.get("inferred", 1) > 0
    inferred = max(0, again["timeout"] - counts["total"]) if known else 0
    total = counts["total"] + inferred
    if not total and possible:
        return "none for certain"
    if not total and not there:
        return "none seen; only a capture at the sender shows all of them"
    # What is inferred is no bound: late segments may look like a timer's, and a timer's may not pass.
    least = "at least " if missing and there and total else ""
    more = "; more may not show here" if missing and not there and total else ""
    parts = [f"{inferred:,} {'inferred, ' if there else ''}without a verdict"] if inferred else []
    text = _timeouts(total, "" if there else " by inference", _of_each_verdict(counts) + parts)
    return f"{least}{text}{more}"


def losses(connection: Object, both: Object | None = None) -> str:
    """What was lost on which side of the capture; empty if nothing.

    Parameters
    ----------
    connection : mapping
        An entry of ``connections``.
    both : mapping, optional
        Of the same direction, what captures of both ends show: that is counted, the rest is inferred.
    """
    bounds, needless = loss_bounds(connection), connection.get("needless_retransmissions") or 0
    downstream = 0 if says_little(needless, connection["retransmissions"]["total"]) else bounds.downstream
    facts = flow(connection)
    # What its own queue dropped never reached this capture either.
    upstream = max(bounds.upstream, 0 if facts is None or facts.kernel_drops is not None else facts.own_drops)
    parts = [f"at least {upstream:,} upstream of this capture" if upstream else ""]
    if both is not None:
        number = both["data_lost"]
        parts.append(f"{count(number, 'segment')} between the captures of both ends" if number else "")
    else:
        at_receiver = facts is not None and facts.discarded > 0
        behind = (
            f"at least {downstream:,} discarded by the receiver's host"
            if at_receiver
            else f"at most {downstream:,} downstream of this capture"
        )
        parts.append(behind if downstream else "")
        if any(parts) and bounds.in_flight:
            parts.append(f"besides {bounds.in_flight:,} in flight at its end")
        if any(parts) and bounds.at_reset:
            parts.append(f"besides {bounds.at_reset:,} without an ACK at the reset")
    return ", ".join(part for part in parts if part)


def needless(connection: Object, *, both: bool) -> str:
    """How many retransmissions were needless; empty if none shows.

    Parameters
    ----------
    connection : mapping
        An entry of ``connections``.
    both : bool
        Whether captures of both ends show all of them.
    """
    number = connection.get("needless_retransmissions") or 0
    if not number:
        return ""
    certain = both or (connection["point"] == "rcv" and not some_missing(connection))
    least = needless_prefix(certain=certain, divided=loss_bounds(connection).divided)
    return f"{least}{count(number, 'retransmission')}, of data that had arrived"


def arrivals(connection: Object) -> str:
    """What the network did to segments that passed; empty if nothing.

    Parameters
    ----------
    connection : mapping
        An entry of ``connections``.
    """
    found = connection.get("arrivals") or {}
    parts = [
        f"{count(found[name], 'segment')} {what}"
        for name, what in (
            # A retransmission that is overtaken itself is counted as one.
            ("reordered", "reordered (first copies)"),
            ("network_duplicate", "duplicated by the network"),
            ("undecided", "out of order, retransmitted or reordered"),
        )
        if found.get(name)
    ]
    return ", ".join(parts)


def most_twice(contract: Object) -> float:
    """Share of what the sender sent that the link carried a second time, at most, by captures alone.

    Copies that passed again, and, away from the sender, those of what was lost before the capture: whether a
    link had carried that does not show.
    """
    found, entries = contract["utilization"], contract["connections"]
    bounds = [loss_bounds(one) for one in entries if one["bytes"]["sent"] and known_point(one) != "snd"]
    sent = max(sum(one.sent for one in bounds), 1)
    lost = sum(one.upstream for one in bounds) / sent
    return float((1 - lost) * found["duplicate_bytes"] / found["sent_bytes"] + lost)


def duplicated(contract: Object) -> str:
    """What the link carried twice: a log of the link has all, captures those that TCP made.

    Where the network duplicated packets, before the link or after it, does not show.
    """
    found = contract["utilization"]
    logged = is_logged(found)
    # Which copies the link carried, only its log shows, or the capture where they arrive.
    certain = bool(found.get("duplicates_certain"))
    most = 0.0 if logged or certain else most_twice(contract)
    share = f"at most {percent_at_most(most)}" if most else f"{found['duplicate_share']:.1%}"
    said = f"{share} of the bytes on the link"
    if logged:
        return said
    copies = sum(
        (connection["arrivals"] or {}).get("network_duplicate", 0) for connection in contract["connections"]
    )
    seen = f"; the network duplicated {count(copies, 'segment')}" if copies else ""
    shown = " (capture at the receiver)" if certain else ""
    return f"{said}, by retransmission{shown}{seen}"
