"""The few sentences that an expert would write about a transfer, ordered by cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from multitracer.analyzers._needs import QUESTIONS
from multitracer.diagnosis.chains.found import chains_of
from multitracer.diagnosis.field.causes import FULL_LINK
from multitracer.diagnosis.field.looked_at import looked_at
from multitracer.diagnosis.field.measurement import from_captures
from multitracer.diagnosis.findings import priced
from multitracer.diagnosis.findings.both_ways import named, other_direction
from multitracer.diagnosis.findings.broken_off import cut_short, unfinished
from multitracer.diagnosis.findings.finding import Finding, plot_command
from multitracer.diagnosis.findings.outage import outages
from multitracer.diagnosis.findings.silence import silences
from multitracer.diagnosis.findings.whole import (
    GOOD,
    headline,
    idle_causes,
    queue,
    well,
)
from multitracer.diagnosis.gain import Loss
from multitracer.model.analysis import Analyzer, Result, answered, summary_of
from multitracer.model.timeline import Timeline
from multitracer.output.used import is_logged

_SMALL = 0.01
_ALWAYS = (
    "call_dropped",
    "unfinished",
    "silence",
    "link_reset",
    "local_drop",
    "link_loss",
    "link_burst",
    "standstill",
    "ack_loss",
    "spurious",
    "host_drops",
)
_OTHERS_OWN = (
    "bearer_repeats",
    "bearer_repeats_back",
    "bearer_discards",
    "air_busy",
    "air_retries",
    "air_slow",
    "host_queue",
    "host_busy",
    "host_receiving",
    "host_writer",
    "host_reader",
    "multipath",
)
_HARMLESS = ("queue", "link_burst_harmless", "xoff", "ack_compression", *_OTHERS_OWN)
"""What costs TCP nothing of the link, the most important first."""
_FIRST = ("call_dropped", "unfinished", "silence")
_STANDING = ("call_dropped", "link_reset", "link_burst", "standstill")
"""While these last, nothing is delivered."""


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Report what cost most first, each with its numbers, records and picture; one sentence if all is well.

    A cost is what the transfer would have gained without the cause (`multitracer.diagnosis.gain`). By
    captures alone, the first is what held the transfer longest, unless another surely cost more. That a
    transfer broke off comes before all else, as no share of the link shows it; if only a few of its
    connections did, after the main cause. With a log of the link, the link is the measure: what cost less
    than one percent of the transfer is left out, unless it was a reset, a drop or a timer that fired
    needlessly. Without one, what limited the sender is (`multitracer.diagnosis.field`). Without a capture,
    what logs prove (`multitracer.diagnosis.findings.logs`).

    References
    ----------
    Paper 5 and 6.
    """
    utilization = summary_of(results, "utilization")
    logs = summary_of(results, "logs")
    loss: Loss | None = None
    if not m.connections:
        from multitracer.diagnosis.findings.logs import from_logs

        sentences = from_logs(m, logs)
    elif is_logged(utilization):
        sentences, loss = _along_the_link(m, results, utilization)
    else:
        sentences, loss = _from_captures(m, results, utilization)
    if conditions := summary_of(results, "conditions"):
        from multitracer.diagnosis.findings.conditions import from_conditions

        sentences = [*sentences, *from_conditions(m, conditions)]
    if not sentences:
        return Result("diagnosis", inconclusive="no TCP data in these traces")
    lost = None if loss is None else loss.to_dict()
    return Result("diagnosis", {"sentences": [one.to_dict() for one in sentences], "loss": lost})


def _from_captures(
    m: Timeline, results: Mapping[str, Result], utilization: Mapping[str, Any]
) -> tuple[list[Finding], Loss | None]:
    found = from_captures(m, results)
    if not found:
        return [], None
    every = summary_of(results, "connections").get("connections", [])
    connections = looked_at(m, every)
    if not any(entry["bytes"]["sent"] for entry in connections):
        return found, None
    broken, some = _ended(m, connections)
    out, shorter = ([], []) if m.summarised else outages(m, connections, _timeouts(results))
    some = [*some, *shorter]
    ended = [*(one for one in found if one.kind in _FIRST), *broken, *out]
    chains = None if m.summarised else chains_of(results)
    whole = headline(m, dict(utilization)) if utilization.get("value") is not None else None
    # An estimate is the whole and no cause: what it was lost to has the costs.
    whole = replace(whole, cost_s=0.0) if whole is not None else None
    others_own = [] if m.summarised else _of_other_layers(m, results)
    found, others_own = _said_once(found, others_own)
    rest = [one for one in found if one.kind not in _FIRST]
    # What no cost is known of has its place already: before all others, or after them.
    ahead = list(takewhile(lambda one: one.kind in _PLACED, rest))
    placed = [one for one in rest[len(ahead) :] if one.kind in _PLACED]
    rest = [one for one in rest if one.kind not in _PLACED]
    known = utilization if whole is not None else None
    rest, loss = priced.from_captures(m, rest, connections, chains or (), known)
    rest = [one for one in rest if one.text]
    # The main cause first, with what the kernel has against it, then what cost most.
    rest = _dearest_first(rest, utilization)
    rest = [*rest[:1], *sorted(rest[1:], key=lambda one: (one.kind != "kernel_count", -one.cost_s))]
    rest = named(rest, connections)
    other = other_direction(connections, plot_command(m, None, None))
    some = [*some, other] if other is not None else some
    whole_said = [whole] if whole is not None else []
    behind = [*rest[1:], *cut_short(m, connections), *others_own]
    return [*ended, *ahead, *whole_said, *rest[:1], *some, *behind, *placed], loss


def _ended(m: Timeline, connections: Sequence[Mapping[str, Any]]) -> tuple[list[Finding], list[Finding]]:
    """How transfers ended that were not completed: the main cause, and what comes after it."""
    (broken, some), (silent, others) = unfinished(m, connections), silences(m, connections)
    return [*broken, *silent], [*some, *others]


_PLACED = ("late_data", "too_large")
"""Kinds whose place is decided by `from_captures`."""


_HALF = 0.5
"""A link that was idle for longer than this part of the time, at least, is no main cause for being full."""


def _dearest_first(found: list[Finding], utilization: Mapping[str, Any]) -> list[Finding]:
    """The main cause is what held the transfer longest, unless another surely cost more.

    A link that is full costs nothing, and is the main cause nevertheless, unless it was idle for most of the
    time.
    """
    if not found:
        return found
    idle_share = float(utilization.get("idle_low", utilization.get("idle_share")) or 0.0)
    if found[0].kind in FULL_LINK and idle_share <= _HALF:
        return found
    dearest = max(found, key=lambda one: one.between_s[0])
    if dearest.between_s[0] <= found[0].between_s[1]:
        return found
    return [dearest, *(one for one in found if one is not dearest)]


_SAME = {"host_drops": "local_drop", "host_writer": "idle_application"}
"""What the kernel's log of a host reports, and what captures alone show of the same."""


def _said_once(found: list[Finding], own: list[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Replace sentences from captures alone by those of a recorded host: the kernel's log decides.

    Drops give their records to the sentence of the queue that dropped, which has their number.
    """
    for kind, same in _SAME.items():
        mine = next((one for one in own if one.kind == kind and "data sender" in one.text), None)
        place = next((at for at, one in enumerate(found) if one.kind == same), None)
        if mine is None or place is None:
            continue
        said = found[place]
        if kind == "host_drops":
            said = replace(said, evidence=mine.evidence, command=mine.command)
        else:
            said = replace(mine, cost_s=said.cost_s)
        found = [*found[:place], said, *found[place + 1 :]]
        own = [one for one in own if one is not mine]
    return found, own


def _of_other_layers(m: Timeline, results: Mapping[str, Result]) -> list[Finding]:
    """What the air, radio bearers and recorded hosts show; for most captures nothing is loaded."""
    said: list[Finding] = []
    if answered(results, "air"):
        from multitracer.diagnosis.findings.airtime import air

        said += air(m, results)
    if answered(results, "bearer"):
        from multitracer.diagnosis.findings.bearers import bearer

        said += bearer(m, results)
    if answered(results, "host"):
        from multitracer.diagnosis.findings.hosts import hosts

        said += hosts(m, results)
    if answered(results, "mptcp"):
        from multitracer.diagnosis.findings.multipath import multipath

        said += multipath(m, results)
    return said


def _along_the_link(
    m: Timeline, results: Mapping[str, Result], utilization: dict[str, Any]
) -> tuple[list[Finding], Loss]:
    from multitracer.diagnosis.findings.behind_chains import said

    connections = summary_of(results, "connections").get("connections", [])
    chains = chains_of(results)
    phases = summary_of(results, "idle_phases").get("phases", [])
    found = said(m, chains) + idle_causes(m, phases, _chained(m, results), connections, chains)
    found, loss = priced.along_the_link(found, chains or (), utilization, _repeated(m, results))
    span = float(utilization.get("span_s") or _span(connections))
    findings = [one for one in found if one.kind in (*_ALWAYS, *_HARMLESS) or one.cost_s >= _SMALL * span]
    # Where the window left the link idle, what waits is no standing queue: it bridges the link's own delays.
    starved = any(one.kind == "idle_receiver_window" for one in findings)
    stood = any(one.kind in _STANDING for one in found)
    loads, timers = summary_of(results, "queueing"), _timeouts(results)
    waiting = None if starved else queue(m, connections, loads, timers, stood=stood)
    findings += [waiting] if waiting is not None else []
    findings += _of_other_layers(m, results)
    some: list[Finding] = []
    if not any(one.kind in _FIRST for one in findings):
        broken, some = _ended(m, connections)
        findings += broken
    findings.sort(key=lambda one: (one.kind not in _FIRST, -one.cost_s, _place(one)))
    value = float(utilization["value"])
    if value > GOOD:
        findings = [one for one in findings if not one.kind.startswith("idle_")]
    harmless = all(one.kind in _HARMLESS and one.cost_s < (1 - GOOD) * span for one in findings)
    if value > GOOD and waiting is None and harmless and not some:
        findings = [one for one in findings if one.kind != "ack_compression"]
        return ([well(m, utilization), *findings] if connections else findings), loss
    whole = headline(m, utilization)
    ended = [one for one in findings if one.kind in _FIRST]
    rest = findings[len(ended) :]
    return [*ended, *([whole] if whole is not None else []), *rest[:1], *some, *rest[1:]], loss


def _repeated(m: Timeline, results: Mapping[str, Result]) -> float:
    """Share of the data frames that the link retransmitted."""
    from multitracer.layers.link.path import link_path

    path = link_path(m)
    links = summary_of(results, "link_retransmissions").get("entities", [])
    sender = m.entities[path.sender] if path is not None else None
    return max((float(one["share"]) for one in links if one["entity"] == sender), default=0.0)


def _place(one: Finding) -> int:
    return _HARMLESS.index(one.kind) if one.kind in _HARMLESS else -1


def _timeouts(results: Mapping[str, Result]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = summary_of(results, "timeouts").get("timeouts", [])
    return found


def _chained(m: Timeline, results: Mapping[str, Result]) -> dict[float, int]:
    """Chain of each idle phase, by its start."""
    found = results.get("chains")
    links = found.tables.get("chain_links") if found is not None else None
    if links is None:
        return {}
    idle = links.where(links["what"] == "idle")
    return {
        round(m.seconds(t_ns), 6): int(chain)
        for t_ns, chain in zip(idle["t_ns"].tolist(), idle["chain"].tolist(), strict=True)
    }


def _span(connections: list[dict[str, Any]]) -> float:
    return max((entry["end"] - entry["start"] for entry in connections), default=0.0)


ANALYZER = Analyzer(
    name="diagnosis",
    question="What is the diagnosis, highest cost first?",
    run=run,
    **QUESTIONS["diagnosis"]._asdict(),
)
