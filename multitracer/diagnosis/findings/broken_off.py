"""Sentences about transfers that broke off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.diagnosis.findings.finding import MOST_EVIDENCE, Finding, plot_command, seconds, several
from multitracer.model.timeline import Timeline
from multitracer.output.losses import some_missing

Summary = Mapping[str, Any]

_ANSWER_S = 1.0
"""A reset that comes later than this after a timeout does not answer it: the other end closed by itself."""
_CHANCE = 0.01
"""Unanswered timeouts that chance causes in more measurements than this show no end of a transfer."""

_NAMED = 6
"""Of more connections that broke off, only so many are named by their number."""

MOST = 0.5
"""From this part of the connections, or of what was sent, on, that they broke off is the main cause."""


def unfinished(m: Timeline, connections: Sequence[Summary]) -> tuple[list[Finding], list[Finding]]:
    """Report that transfers broke off: bytes were never acknowledged, and timers or long waits show it.

    Parameters
    ----------
    m : Timeline
    connections : list of Summary
        Of the result `connections`.

    Returns
    -------
    main, beside : list of Finding
        One for all connections whose timers brought no answer, one for those that only a reset answered, one
        for those that the other end reset later, and one for those that waited for an ACK when the capture
        ends. Those of most of the connections, or of most of what was sent, are the main cause; those of few
        are reported in addition.
    """
    shown = [entry for entry in connections if entry.get("unfinished")]
    usual = _usual_loss(connections, sum(entry["unfinished"]["timeouts"] for entry in shown))
    silent: list[Summary] = []
    refused: list[Summary] = []
    reset_later: list[Summary] = []
    waiting: list[Summary] = []
    for entry in shown:
        timeouts = entry["unfinished"]["timeouts"]
        if not timeouts:
            waiting.append(entry)
        # Where much is lost, some are not answered for a while: when the capture ends, too.
        elif usual**timeouts <= _CHANCE / len(connections):
            reset = entry["unfinished"]["reset"]
            answered = reset and entry["end"] - entry["unfinished"]["last"] <= _ANSWER_S
            (refused if answered else reset_later if reset else silent).append(entry)
    found = [
        (_timed_out(m, ended, len(connections), answer), ended)
        for ended, answer in (
            (silent, "no answer"),
            (refused, "only a reset"),
            (reset_later, "no answer until the other end sent a RST"),
        )
        if ended
    ]
    if waiting:
        found.append((_waiting(m, waiting, len(connections)), waiting))
    main = [one for one, ended in found if are_most(ended, connections)]
    return main, [one for one, ended in found if not are_most(ended, connections)]


_UNDELIVERED = "what had not arrived by then was never delivered"
_RESET_BY = {"sender": "the sender", "receiver": "the receiver", "both": "both ends"}


def cut_short(m: Timeline, connections: Sequence[Summary]) -> list[Finding]:
    """Report that connections were reset before all data that they had sent was acknowledged.

    Those whose timers had expired by then broke off (`unfinished`).

    Parameters
    ----------
    m : Timeline
    connections : list of Summary
        Of the result `connections`.

    Returns
    -------
    list of Finding
        One for those of each end that reset them.

    References
    ----------
    RFC 9293 section 3.10.7.4; RFC 2525 section 2.17 (a close with data unread).
    """
    found = []
    for by, who in _RESET_BY.items():
        reset = [
            entry
            for entry in connections
            if entry["closed"] == "reset"
            and entry["reset_by"] == by
            and not entry.get("unfinished")
            and 0 < entry["bytes"]["acked"] < entry["bytes"]["unique"]
        ]
        if not reset:
            continue
        which = "the connection" if len(connections) == 1 else which_of(reset, len(connections))
        text = f"{who} reset {which}: {_left(reset)}; {_meaning(reset, by)}"
        ends = [entry["end"] for entry in reset]
        found.append(Finding(text, 0.0, "reset", plot_command(m, max(min(ends) - 1, 0.0), max(ends))))
    return found


def _meaning(reset: list[Summary], by: str) -> str:
    """What a RST means; by the TTLs of it and of other packets, where they are known, who sent it."""
    known = [entry["reset_ttl"] for entry in reset if entry["reset_ttl"] is not None]
    apart = [abs(one["reset"] - one["usual"]) for one in known] if len(known) == len(reset) else []
    if apart and min(apart) >= _OTHER_HOPS:
        which = "the RST" if len(known) == 1 else "these RSTs"
        ttls = f"{known[0]['reset']} here, that of its other packets {known[0]['usual']}"
        return f"something on the path sent {which} in its name (TTL {ttls})"
    if by != "receiver":
        return _UNDELIVERED
    own = apart and max(apart) == 0
    sent = " (the RST has the TTL of its other packets)" if own else ", or a middlebox sent the RST"
    return f"its application wanted no more{sent}"


_OTHER_HOPS = 3
"""Routes of one host differ by fewer hops; a stack gives a RST the TTL of its other packets."""


def are_most(ended: Sequence[Summary], connections: Sequence[Summary]) -> bool:
    """Whether the connections that broke off are most of them, or sent most of the data."""
    carrying = [entry for entry in connections if entry["bytes"]["sent"]]
    sent, of = (sum(entry["bytes"]["unique"] for entry in some) for some in (ended, connections))
    return len(ended) >= MOST * len(carrying) or sent >= MOST * of


def _timed_out(m: Timeline, ended: list[Summary], of: int, answer: str) -> Finding:
    shown = [entry["unfinished"] for entry in ended]
    timeouts = sum(one["timeouts"] for one in shown)
    text = f"{_never(ended, of)}, and {several(timeouts, 'timeout')} brought {answer}{_too_large(ended)}"
    # Each by the capture that counts its connection.
    records = sorted(
        (record, entry["source"]) for entry in ended for record in entry["unfinished"]["records"]
    )
    evidence = () if m.snd is None else tuple((m.sources[source].path, record) for record, source in records)
    command = plot_command(m, min(one["first"] for one in shown), max(one["last"] for one in shown))
    return Finding(text, 0.0, "unfinished", command, evidence[:MOST_EVIDENCE])


def _too_large(ended: list[Summary]) -> str:
    """That no full segment ever got through, if that is so of all: what is too large for a path does not.

    Routers report it by ICMP, which may be filtered (RFC 2923 section 2.1).
    """
    if any(_full_arrived(entry) for entry in ended):
        return ""
    return (
        "; the handshake got through, and no full segment ever did: a smaller MTU on the path whose ICMP "
        "errors are filtered (a PMTU blackhole; tracepath finds it), or a filter that drops data, does so"
    )


def _full_arrived(entry: Summary) -> bool:
    """Whether a full segment was acknowledged, or none is known to have been sent."""
    counts, full = entry["bytes"], entry.get("mss") or 0
    return not entry["handshake"] or not counts["acked"] < full <= counts["unique"] - counts["acked"]


def _waiting(m: Timeline, ended: list[Summary], of: int) -> Finding:
    waits = [(entry["end"], entry["unfinished"]["waited_s"]) for entry in ended]
    since = f"the first of them {seconds(max(waited for _, waited in waits))} before the capture ends"
    begin, end = min(end - waited for end, waited in waits), max(end for end, _ in waits)
    text = f"{_never(ended, of)}, {since}"
    return Finding(text, 0.0, "unfinished", plot_command(m, begin, end))


def _usual_loss(connections: Sequence[Summary], unanswered: int) -> float:
    """Part of the segments that were retransmitted where data got through, without those never answered."""
    going = [entry for entry in connections if 2 * entry["bytes"]["acked"] > entry["bytes"]["unique"]]
    again = sum(int(entry["retransmissions"]["total"]) for entry in going) - unanswered
    sent = sum(int(entry["packets"]["data"]) for entry in going) - unanswered
    return max(again, 0) / max(sent, 1)


def _never(ended: list[Summary], of: int) -> str:
    """``6 of 51 connections (1, 4, 5, ...) broke off: 27,000 of 60,000 bytes were never acknowledged``."""
    who = "the transfer" if of == 1 else which_of(ended, of)
    return f"{who} broke off: {_left(ended)}"


def which_of(ended: Sequence[Summary], of: int) -> str:
    """``6 of 51 connections (1, 4, 5, ...)``."""
    numbers = [str(entry["index"]) for entry in ended[:_NAMED]]
    if len(ended) == 1:
        return f"connection {numbers[0]} of {of:,}"
    more = ", ..." if len(ended) > _NAMED else ""
    return f"{len(ended):,} of {of:,} connections ({', '.join(numbers)}{more})"


def _left(ended: list[Summary]) -> str:
    """``27,000 of 60,000 bytes were never acknowledged``."""
    sent = sum(entry["bytes"]["unique"] for entry in ended)
    left = sent - sum(entry["bytes"]["acked"] for entry in ended)
    # What was lost before the capture is not among them.
    least = "at least " if any(map(some_missing, ended)) else ""
    return f"{least}{left:,} of {sent:,} bytes were never acknowledged"
