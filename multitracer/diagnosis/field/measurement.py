"""The sentences about a measurement of captures without a log of the link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from multitracer.diagnosis.chains.found import chains_of
from multitracer.diagnosis.field.groups import WORTH
from multitracer.diagnosis.field.kernel import kernel_counts
from multitracer.diagnosis.field.looked_at import looked_at
from multitracer.diagnosis.field.saying import sentences
from multitracer.diagnosis.findings.finding import MOST_EVIDENCE, Finding, plot_command
from multitracer.diagnosis.findings.hops import with_hops
from multitracer.layers.vantage import acknowledged_bytes
from multitracer.model.analysis import Result, summary_of
from multitracer.model.quantities import count, duration
from multitracer.model.timeline import Timeline
from multitracer.output.digest import severity
from multitracer.output.observed import hosts

Object = Mapping[str, Any]

_DIRECTIONS = ("forward", "reverse")

_NEVER_OPENED = {"unanswered": "nothing answered", "refused": "a RST answered"}
"""Ends of connections that never began."""

_LOSS = ("local_drop", "loss", "spurious", "bottleneck", "queue")
_DROPPED = ("capture-drops", "capture-loss")
_BEHIND = ("local_drop", "loss", "spurious")


def from_captures(m: Timeline, results: Mapping[str, Result]) -> list[Finding]:
    """What limited the connections, the weightiest first, followed by what only several captures show.

    Parameters
    ----------
    m : Timeline
    results : mapping
        With that of `connections`, and of `chains` and `hops` where they are there.

    Returns
    -------
    list of Finding
        Empty without connections.
    """
    every = summary_of(results, "connections").get("connections", [])
    entries = looked_at(m, every)
    if not entries:
        return []
    complete = not any(issue.code in _DROPPED for trace in m.traces for issue in trace.issues)
    counts = kernel_counts(m, summary_of(results, "host"))
    command = plot_command(m, None, None)
    found = sentences(
        entries,
        command,
        counts,
        _lost(m, results),
        complete=complete,
    )
    if not found:
        both = all(m.snd in one.summaries and m.rcv in one.summaries for one in m.connections)
        acked = _acknowledged_unseen(m, entries)
        text = _acks_alone(entries, acked) if acked else _without_data(entries, both_ends=both)
        return [Finding(text, 0.0, "unknown")]
    if len(entries) < len(every):
        looked = (
            f"; looked at: {len(entries):,} of {len(every):,} connections, those with most data and timeouts"
        )
        found = [replace(found[0], text=found[0].text + looked), *found[1:]]
    if m.summarised:
        return _with_losses(m, found, entries)
    from multitracer.diagnosis.findings.arrivals import arrivals
    from multitracer.diagnosis.findings.behind_chains import said
    from multitracer.diagnosis.findings.marks import with_marks
    from multitracer.diagnosis.findings.sack_blocks import unusable_blocks
    from multitracer.diagnosis.findings.stillness import shown
    from multitracer.diagnosis.findings.too_large import too_large

    found = with_hops(m, with_marks(m, shown(m, found, entries), entries), summary_of(results, "hops"))
    every_chain = chains_of(results)
    chains = said(m, every_chain)
    found = _with_records(found, [one for one in chains if one.kind in _BEHIND])
    kinds = {one.kind for one in found}
    others = [one for one in chains if one.kind not in _BEHIND and one.kind not in kinds]
    others.sort(key=lambda one: -one.cost_s)
    # No limit of a sender names a stalled path: it comes before them if it took long.
    stood_still = every_chain.of_kind("standstill") if every_chain is not None else ()
    still_s = sum(chain["held_s"] for chain in stood_still)
    if still_s >= WORTH * max(entry["end"] - entry["start"] for entry in entries):
        found = [*(one for one in others if one.kind == "standstill"), *found]
        others = [one for one in others if one.kind != "standstill"]
    spoiled = [dict(entry) for entry in entries if entry["damaged_segments"]]
    damaged = arrivals(m, spoiled) if m.snd is None else []
    return [*too_large(m, entries), *found[:1], *unusable_blocks(m, entries), *found[1:], *others, *damaged]


def _without_data(entries: Sequence[Object], *, both_ends: bool = False) -> str:
    """What is known where no data passed: that none was sent only with captures of both ends.

    Next to one end the other may have sent data that never passed.
    """
    ends = {entry["closed"] for entry in entries}
    if ends <= set(_NEVER_OPENED):
        why = " or ".join(words for end, words in _NEVER_OPENED.items() if end in ends)
        if len(entries) > 1:
            return f"none of the connections was established: {why} their SYNs"
        again = entries[0]["syn_timeouts"]
        times = f" (retransmitted {count(again, 'time')})" if again else ""
        return f"the connection was never established: {why} its SYN{times}"
    if both_ends:
        return "no data was sent: there is nothing to explain"
    packets = sum(entry["packets"]["sent"] + entry["packets"]["received"] for entry in entries)
    if packets == 1:
        which = ", a RST," if entries[0]["closed"] == "reset" else ""
        return f"one packet{which} passed this capture, and no data"
    passed = f"no data passed this capture in {duration(_open_s(entries))}"
    hosts = {_host_beside(entry) for entry in entries}
    beside = hosts.pop() if len(hosts) == 1 else None
    where = "the sender" if beside is None else "the other end"
    if beside is None:
        which = "none was sent, or all of it was lost before this point"
    else:
        which = f"{beside} sent none; the other end sent none, or all of it was lost before this point"
    return f"{passed}: {which} (a capture at {where} shows which)"


def _open_s(entries: Sequence[Object]) -> float:
    return float(max(entry["end"] - entry["start"] for entry in entries))


def _acknowledged_unseen(m: Timeline, entries: Sequence[Object]) -> int:
    """Bytes that ACKs acknowledge of directions of which nothing was captured; 0 if anything was."""
    if any(entry["packets"]["sent"] for entry in entries):
        return 0
    known = [m.connections[entry["index"]] for entry in entries]
    # The last byte of each may be a FIN.
    return sum(
        max(
            acknowledged_bytes(one[_DIRECTIONS[connection.data_dir]]) for one in connection.summaries.values()
        )
        - 1
        for connection in known
    )


def _acks_alone(entries: Sequence[Object], acked: int) -> str:
    """What is known where only ACKs were captured."""
    return (
        f"only the direction of the ACKs was captured: they acknowledge at least {acked:,} bytes in "
        f"{duration(_open_s(entries))}; a capture of both directions shows RTTs, losses and what limited the "
        "transfer"
    )


def _host_beside(entry: Object) -> str | None:
    """Address of the end that the capture was taken next to; None elsewhere."""
    place = {"snd": 0, "rcv": 1}.get(entry["point"])
    if place is None:
        return None
    return hosts(entry)[place]


def _lost(m: Timeline, results: Mapping[str, Result]) -> dict[int, int]:
    """Data segments of each connection that passed the sender's capture and never the receiver's."""
    losses = results.get("losses")
    if losses is None or losses.inconclusive is not None or m.snd is None or m.rcv is None:
        return {}
    lost = {(one["conn"], one["direction"]): one["data_lost"] for one in losses.summary["directions"]}
    return {
        one.index: lost.get((one.index, _DIRECTIONS[one.data_dir]), 0)
        for one in m.connections
        if m.snd in one.summaries and m.rcv in one.summaries
    }


def _with_losses(m: Timeline, found: list[Finding], entries: Sequence[Object]) -> list[Finding]:
    """Some packets behind the sentences on losses, of the worst connections: a summary has no chains."""
    place = next((at for at, one in enumerate(found) if one.kind in _LOSS), None)
    worst = sorted((one for one in entries if one["loss_records"]), key=severity)[:MOST_EVIDENCE]
    if place is None or not worst:
        return found
    each = max(MOST_EVIDENCE // len(worst), 1)
    evidence = tuple(
        (m.sources[one["source"]].path, record) for one in worst for record in one["loss_records"][:each]
    )
    return [*found[:place], replace(found[place], evidence=evidence), *found[place + 1 :]]


def _with_records(found: list[Finding], chains: list[Finding]) -> list[Finding]:
    """The records, the picture and the chains behind the sentences on losses."""
    place = next((at for at, one in enumerate(found) if one.kind in _LOSS), None)
    if place is None or not chains:
        return found
    evidence = tuple(dict.fromkeys(record for one in chains for record in one.evidence))
    numbers = tuple(chain.from_iterable(one.chains for one in chains))
    evidence = evidence[:MOST_EVIDENCE]
    pointed = replace(found[place], evidence=evidence, command=chains[0].command, chains=numbers)
    return [*found[:place], pointed, *found[place + 1 :]]
