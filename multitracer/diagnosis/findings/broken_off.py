"""Sentences about transfers that broke off."""

from __future__ import annotations

from typing import Any

from multitracer.diagnosis.findings.finding import Finding, plot_command, seconds, several
from multitracer.layers.vantage import vantage
from multitracer.model.lazy import np
from multitracer.model.timeline import Connection, Timeline

Summary = dict[str, Any]
_Ended = tuple[Summary, list[Summary]]
"""A connection, and its timeouts without an answer."""

_RST = 0x04

QUIET_S = 1.0
"""What was sent so long before the end of a capture, and was not acknowledged, is not just under way."""

_CHANCE = 0.01
"""Timeouts without an answer that chance brings to a measurement more often show no end of a transfer."""

_NAMED = 6
"""Of more connections that broke off, only so many are named by their number."""

MOST = 0.5
"""From this part of the connections, or of what was sent, on, that they broke off is the main cause."""


def unfinished(
    m: Timeline, connections: list[Summary], timeouts: list[Summary]
) -> tuple[list[Finding], list[Finding]]:
    """Say that transfers broke off: bytes were never acknowledged, and timers or long waits show it.

    Parameters
    ----------
    m : Timeline
    connections : list of Summary
        Of the result `connections`.
    timeouts : list of Summary
        Of the result `timeouts`, with the sequence number and the flow of each.

    Returns
    -------
    main, beside : list of Finding
        One for all connections whose timers brought no answer, one for those that only a reset answered, and
        one for those that waited for an ACK when the capture ends. Those of most of the connections, or of
        most of what was sent, are the main cause; those of a few are said beside it.
    """
    fired = _unanswered(connections, timeouts)
    usual = _usual_loss(connections, sum(map(len, fired)))
    known = {one.index: one for one in m.connections}
    silent: list[_Ended] = []
    refused: list[_Ended] = []
    waiting: list[tuple[Summary, float]] = []
    for entry, mine in zip(connections, fired, strict=True):
        if not mine:
            waited = _unanswered_s(m, known.get(entry["index"]), entry)
            waiting += [(entry, waited)] if waited is not None else []
        # Where much is lost, some are not answered for a while: when the capture ends, too.
        elif usual ** len(mine) <= _CHANCE / len(connections):
            reset = _reset_after(m, known.get(entry["index"]), entry["data_direction"], mine[-1]["t"])
            (refused if reset else silent).append((entry, mine))
    found = [
        (_timed_out(m, ended, len(connections), answer), [entry for entry, _ in ended])
        for ended, answer in ((silent, "no answer"), (refused, "only a reset"))
        if ended
    ]
    if waiting:
        found.append((_waiting(m, waiting, len(connections)), [entry for entry, _ in waiting]))
    main = [one for one, ended in found if _are_most(ended, connections)]
    return main, [one for one, ended in found if not _are_most(ended, connections)]


def _are_most(ended: list[Summary], connections: list[Summary]) -> bool:
    """Whether the connections that broke off are most of them, or sent most of the data."""
    carrying = [entry for entry in connections if entry["bytes"]["sent"]]
    sent, of = (sum(entry["bytes"]["unique"] for entry in some) for some in (ended, connections))
    return len(ended) >= MOST * len(carrying) or sent >= MOST * of


def _unanswered(connections: list[Summary], timeouts: list[Summary]) -> list[list[Summary]]:
    """The timeouts of each connection for data that was never acknowledged."""
    fired: dict[tuple[int, str], list[Summary]] = {}
    for one in timeouts:
        fired.setdefault((one["conn"], one["direction"]), []).append(one)
    return [
        [
            one
            for one in fired.get((entry["index"], entry["data_direction"]), [])
            if entry["bytes"]["acked"] < one["seq"] <= entry["bytes"]["unique"]
        ]
        for entry in connections
    ]


def _timed_out(m: Timeline, ended: list[_Ended], of: int, answer: str) -> Finding:
    every = sorted((one for _, mine in ended for one in mine), key=lambda one: one["t"])
    text = (
        f"{_never([entry for entry, _ in ended], of)}, and {several(len(every), 'timeout')} brought {answer}"
    )
    evidence = () if m.snd is None else tuple((m.sources[m.snd].path, one["record"]) for one in every)
    command = plot_command(m, every[0]["t"], every[-1]["t"])
    return Finding(text, 0.0, "unfinished", command, evidence[:12])


def _waiting(m: Timeline, ended: list[tuple[Summary, float]], of: int) -> Finding:
    longest = max(waited for _, waited in ended)
    since = f"the first of them {seconds(longest)} before the capture ends"
    begin, end = min(one["end"] - waited for one, waited in ended), max(one["end"] for one, _ in ended)
    text = f"{_never([entry for entry, _ in ended], of)}, {since}"
    return Finding(text, 0.0, "unfinished", plot_command(m, begin, end))


def _usual_loss(connections: list[Summary], unanswered: int) -> float:
    """Part of the segments that were retransmitted where data got through, without those never answered."""
    going = [entry for entry in connections if 2 * entry["bytes"]["acked"] > entry["bytes"]["unique"]]
    again = sum(int(entry["retransmissions"]["total"]) for entry in going) - unanswered
    sent = sum(int(entry["packets"]["data"]) for entry in going) - unanswered
    return max(again, 0) / max(sent, 1)


def _never(ended: list[Summary], of: int) -> str:
    """``6 of 51 connections (1, 4, 5, ...) broke off: 27,000 of 60,000 bytes were never acknowledged``."""
    sent = sum(entry["bytes"]["unique"] for entry in ended)
    left = sent - sum(entry["bytes"]["acked"] for entry in ended)
    numbers = [str(entry["index"]) for entry in ended[:_NAMED]]
    if of == 1:
        who = "the transfer"
    elif len(ended) == 1:
        who = f"connection {numbers[0]} of {of:,}"
    else:
        more = ", ..." if len(ended) > _NAMED else ""
        who = f"{len(ended):,} of {of:,} connections ({', '.join(numbers)}{more})"
    return f"{who} broke off: {left:,} of {sent:,} bytes were never acknowledged"


def _reset_after(m: Timeline, connection: Connection | None, direction: str, t: float) -> bool:
    """Whether the other end reset the connection after a time: its answer to what the timer sent."""
    if connection is None:
        return False
    after_ns = m.t0_ns + round(t * 1e9) - 1000
    back = 1 if direction == "forward" else 0
    flows = (m.flow(connection.index, back, source) for source in connection.summaries)
    return any(bool(np.any((one["flags"] & _RST > 0) & (one["t_ns"] > after_ns))) for one in flows)


def _unanswered_s(m: Timeline, connection: Connection | None, entry: Summary) -> float | None:
    """For how long the first byte that was never acknowledged had been waiting at the end.

    None unless that is a second and twice the longest RTT: what was sent last may be answered behind the end
    of the capture. None too where no ACK was captured, or a FIN of both ends shows that all had arrived.
    """
    acked, round_trip = entry["bytes"]["acked"], entry["rtt_ms"]
    if connection is None or not acked or acked >= entry["bytes"]["unique"] or entry["closed"] == "fin":
        return None
    from multitracer.layers.tcp.transit import data_at

    data = data_at(m, connection, vantage(m, connection))
    beyond = np.flatnonzero((data["length"] > 0) & (data["seq"] + data["length"] > acked + 1))
    if not len(beyond) or round_trip is None:
        return None
    waited = float(entry["end"] - m.seconds(int(data["t_ns"][beyond[0]])))
    return waited if waited >= max(QUIET_S, 2 * round_trip["max"] / 1e3) else None
