"""Sentences about outages: several timeouts in a row without an answer, and nothing from the other end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multitracer.diagnosis.field.offered import base_rtt_s
from multitracer.diagnosis.findings.broken_off import Summary
from multitracer.diagnosis.findings.finding import MOST_EVIDENCE, Finding, plot_command, seconds, several
from multitracer.model.frozen import frozen
from multitracer.model.timeline import Timeline
from multitracer.output.digest import transfer_s
from multitracer.output.observed import observed_point

LEAST_S = 1.0
"""Shorter ones are not reported."""

IN_A_ROW = 3
"""From so many expiries in a row on, chance does not explain that none before the last had an answer."""

MAIN_SHARE = 0.25
"""An outage of this part of the transfer is the main cause."""

_RTO_S = 0.2
"""No timer is shorter (Linux)."""


@frozen
class _Outage:
    """Nothing got through to either end.

    Attributes
    ----------
    start_s, end_s : float
        The last packet before it, and the retransmission that got through.
    least_s : float
        How long it was at least.
    unanswered_s : float or None
        The last packet that got no answer; None where none was seen.
    events : list of dict
        The timeouts, the last of which ended it.
    """

    start_s: float
    end_s: float
    least_s: float
    unanswered_s: float | None
    events: Sequence[Summary]


def outages(
    m: Timeline, connections: Sequence[Summary], timeouts: Sequence[Summary]
) -> tuple[list[Finding], list[Finding]]:
    """Report when nothing got through, and how much of the wait was the timer's backoff.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Summary
        Of the result `connections`.
    timeouts : sequence of Summary
        Of the result `timeouts`.

    Returns
    -------
    main, beside : list of Finding
        None or one: that of the longest of all outages. It is the main cause if it is a good part of its
        transfer.
    """
    by_flow = _by_flow(timeouts)
    found = [
        (one, entry)
        for entry in connections
        for one in _of_connection(m, entry, by_flow.get((entry["index"], entry["data_direction"]), ()))
        if one.least_s >= LEAST_S
    ]
    if not found:
        return [], []
    longest, entry = max(found, key=lambda one: one[0].least_s)
    said = _said(m, longest, entry, len(found), len(connections))
    most = len(connections) == 1 and longest.least_s >= MAIN_SHARE * transfer_s(entry)
    return ([said], []) if most else ([], [said])


def _by_flow(timeouts: Sequence[Summary]) -> dict[tuple[int, str], list[Summary]]:
    """Those of data, by connection and direction."""
    found: dict[tuple[int, str], list[Summary]] = {}
    for one in timeouts:
        if one["seq"] > 0:
            found.setdefault((one["conn"], one["direction"]), []).append(one)
    return found


def _of_connection(m: Timeline, entry: Summary, mine: Sequence[Summary]) -> Iterator[_Outage]:
    given_up = (entry.get("unfinished") or {}).get("first")
    for run in _runs(mine):
        if given_up is not None and run[-1]["t"] >= given_up:
            continue
        start_s, end_s = run[0]["t"] - run[0]["silence_s"], run[-1]["t"]
        if _came_meanwhile(m, entry, start_s + _usual_rto_s(entry), end_s):
            continue
        if len(run) >= IN_A_ROW and not _got_smaller(m, entry, run):
            yield _Outage(start_s, end_s, run[-2]["t"] - start_s, run[-2]["t"], run)
        elif _hides_expiries(entry, run) and end_s - start_s >= (2**IN_A_ROW - 1) * _usual_rto_s(entry):
            # Those between did not pass: at last a timer that doubles ran for half of the time, and more.
            yield _Outage(start_s, end_s, (end_s - start_s) / 2, None, run)


def _usual_rto_s(entry: Summary) -> float:
    """A timer of a connection, as far as its RTTs show it (RFC 6298)."""
    longest_ms = (entry.get("rtt") or {}).get("p95_ms") or 0.0
    return float(max(_RTO_S, 2 * base_rtt_s(entry), 2 * longest_ms / 1e3))


def _hides_expiries(entry: Summary, run: Sequence[Summary]) -> bool:
    """Whether earlier expiries may not show: what they sent was lost before this capture."""
    return len(run) == 1 and observed_point(entry) != "snd"


def _runs(timeouts: Sequence[Summary]) -> Iterator[list[Summary]]:
    """Expiries in a row."""
    run: list[Summary] = []
    for one in sorted(timeouts, key=lambda one: float(one["t"])):
        if run and one["backoff"] == run[-1]["backoff"] + 1:
            run.append(one)
            continue
        if run:
            yield run
        run = [one]
    if run:
        yield run


def _got_smaller(m: Timeline, entry: Summary, run: Sequence[Summary]) -> bool:
    """Whether only a shorter segment than before got through: the path takes no longer ones (RFC 4821)."""
    direction = 0 if entry["data_direction"] == "forward" else 1
    rows = m.flow(entry["index"], direction, entry["source"])
    first, last = (rows["length"][rows["record"] == one["record"]].tolist() for one in (run[0], run[-1]))
    return bool(first and last and last[0] < first[0])


def _came_meanwhile(m: Timeline, entry: Summary, start_s: float, end_s: float) -> bool:
    """Whether anything came from the other end."""
    direction = 1 if entry["data_direction"] == "forward" else 0
    t_ns = m.flow(entry["index"], direction, entry["source"])["t_ns"]
    first, last = t_ns.searchsorted([m.nanoseconds(start_s), m.nanoseconds(end_s)]).tolist()
    return bool(last > first)


def _said(m: Timeline, one: _Outage, entry: Summary, of: int, connections: int) -> Finding:
    wait_s, last = one.end_s - one.start_s, one.events[-1]
    where = "" if connections == 1 else f" on connection {entry['index']}"
    if one.unanswered_s is None:
        span = f"(from {seconds(one.start_s)} to {seconds(one.end_s)})"
        text = (
            f"nothing passed in either direction{where} for {seconds(wait_s)} {span}, then a retransmission "
            "by timeout came: an outage before this capture; the backoff of the timer may be half of the wait"
        )
    else:
        span = f"from {seconds(one.start_s)} to {seconds(one.unanswered_s)}"
        text = (
            f"an outage{where} of at least {seconds(one.least_s)}: nothing sent {span} was answered, and "
            f"nothing came from the other end; the timer had doubled {several(last['backoff'], 'time')} "
            f"(backoff): the next retransmission, {seconds(one.end_s - one.unanswered_s)} later, ended "
            f"a wait of {seconds(wait_s)}"
        )
    path = m.sources[entry["source"]].path
    evidence = tuple((path, event["record"]) for event in one.events)[:MOST_EVIDENCE]
    if of > 1:
        text += f"; {several(of - 1, 'more outage')} like this"
    return Finding(text, 0.0, "outage", plot_command(m, one.start_s, one.end_s), evidence)
