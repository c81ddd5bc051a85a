"""Sentences about chains: resets, drops, bursts, losses, flow control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multitracer.diagnosis.chains.found import Chains
from multitracer.diagnosis.chains.recovery import CONVERGED
from multitracer.diagnosis.findings.finding import (
    MOST_EVIDENCE,
    Finding,
    joined,
    plot_command,
    seconds,
    several,
    spread,
)
from multitracer.layers import framemap
from multitracer.layers.tcp.transit import near_sender, valid_acks
from multitracer.model.table import Array
from multitracer.model.timeline import Timeline

Object = dict[str, Any]

_LONG_S = 0.2  # a gap that a timer of TCP may run out in

_SENT_AGAIN = {
    "timeout_retransmission": "by RTO",
    "fast": "by fast retransmit",
    "slow_start": "in slow start (go-back-N)",
    "tail_loss_probe": "as tail loss probe",
    "unneeded_probe": "as a probe",
    "unknown": "unclassified",
}


def said(m: Timeline, chains: Chains | None) -> list[Finding]:
    """One finding for each kind of chain that occurs."""
    found: list[Finding] = []
    if chains is None:
        return found
    for kind, say in _SPEAKERS.items():
        mine = chains.of_kind(kind)
        if mine:
            found += say(m, mine, chains)
    return found


def _finding(m: Timeline, kind: str, text: str, chains: Chains, picture: str, *what: str) -> Finding:
    costs = chains.seconds("cost_ns")
    weights = list(zip(costs, chains.seconds("silence_ns"), strict=True))
    place = weights.index(max(weights))
    worst, rows = chains[place], np.arange(len(chains)) == place
    # The picture shows the worst of them: its records come first.
    every = (part.records(MOST_EVIDENCE, *what) for part in (chains.where(rows), chains))
    records = tuple(dict.fromkeys(record for part in every for record in part))[:MOST_EVIDENCE]
    return Finding(
        text,
        sum(costs),
        kind,
        plot_command(m, worst["start"], worst["end"], picture),
        records,
        tuple(chains.column("chain").tolist()),
    )


def _resets(m: Timeline, mine: Chains, every: Chains) -> list[Finding]:
    causes = set(mine.of_events("cause", "reset").tolist())
    names = ("segment_lost", "segment_corrupted", "ack_lost")
    lost, corrupted, acks = (len(mine.events(what)) for what in names)
    flushed = _length(mine, "flush")
    took = [several(lost, "segment"), several(acks, "ACK") if acks else ""]
    text = f"{several(len(mine), 'link reset')} ({joined(sorted(causes))})"
    if any(m.link_type(entity).tells("flushes") for entity in range(len(m.entities))):
        text += f" flushed {flushed:,} bytes and"
    text += f" lost {joined(took)}" if lost or acks else " lost nothing that TCP missed"
    if corrupted:
        text += (
            f"; {several(corrupted, 'segment')} after the loss arrived corrupted by header decompression "
            "and were discarded"
        )
    text += _waits(m, mine, every)
    gaps = _gaps(mine)
    if gaps and (lost or max(gaps) >= _LONG_S):
        text += f"; nothing was delivered in order for {spread(gaps)}"
    found = _finding(
        m, "link_reset", text + _price(mine), mine, "multilayer", "reset", "timeout", "segment_lost"
    )
    return [found]


def _gaps(mine: Chains) -> list[float]:
    """Lengths of the gaps around resets; resets that share a gap have one."""
    found = (
        (event["t"], event["end"]) for chain in mine for event in chain["events"] if event["what"] == "gap"
    )
    return [end - start for start, end in dict.fromkeys(found)]


def _drops(m: Timeline, mine: Chains, every: Chains) -> list[Finding]:
    drops = len(mine.events("drop"))
    text = f"the queue in front of the link dropped {several(drops, 'segment')} that TCP had sent"
    text += _again(mine) + _waits(m, mine, every) + _price(mine)
    if dropped := mine.dropped_bytes:
        every_byte = dropped == int(mine.column("duplicate").sum())
        text += f" ({'the' if every_byte else f'{dropped:,} whose'} first copies never crossed the link)"
    return [_finding(m, "local_drop", text, mine, "multilayer", "timeout", "drop", "fast")]


def _gave_up(m: Timeline, mine: Chains, every: Chains) -> list[Finding]:
    lost = len(mine.events("segment_lost"))
    text = f"the link discarded {several(lost, 'segment')} after the last transmission attempt"
    text += _again(mine) + _waits(m, mine, every) + _price(mine)
    return [_finding(m, "link_loss", text, mine, "multilayer", "timeout", "segment_lost", "fast")]


def _bursts(m: Timeline, mine: Chains, every: Chains) -> list[Finding]:
    repeated, harmless = mine.counts(*_SENT_AGAIN) > 0, mine.counts("no_timeout") > 0
    fired, quiet, beside = mine.where(repeated), mine.where(harmless), mine.where(~repeated & ~harmless)
    found = []
    if fired or beside:
        text = ""
        if fired:
            number = len(fired.events("timeout"))
            text = (
                f"{several(len(fired), 'burst')} of link retransmissions took longer than TCP waited: "
                f"{several(number, 'timeout') if number else 'it recovered'} for data that the link still "
                "carried (competing error recovery)"
            )
            text += _again(fired) + _price(fired)
        if beside:
            # What the timer retransmitted is part of another chain: its ACKs were late, or it was lost.
            text += "; " if text else ""
            fired_beside = "an RTO" if len(beside) == 1 and len(beside.events("timeout")) < 2 else "RTOs"
            text += f"{several(len(beside), 'burst')} of link retransmissions left {_gaps_of(beside)}; "
            text += f"{fired_beside} fired"
        both = fired.joined(beside)
        found.append(_finding(m, "link_burst", text, both, "multilayer", "burst", "timeout"))
    if quiet:
        text = f"{several(len(quiet), 'burst')} of link retransmissions left {_gaps_of(quiet)}"
        text += "; no RTO fired meanwhile"
        found.append(_finding(m, "link_burst_harmless", text, quiet, "multilayer", "burst"))
    return found


def _gaps_of(bursts: Chains) -> str:
    gaps = bursts.seconds("silence_ns")
    return f"{'a gap' if len(gaps) == 1 else 'gaps'} of {spread(gaps)} in delivery to the receiver"


def _losses(m: Timeline, mine: Chains, every: Chains) -> list[Finding]:
    vain = _needless(mine)
    needless, lossy = mine.where(vain), mine.where(~vain)
    found = []
    if lossy:
        recoveries = several(len(lossy), "recovery", "recoveries")
        with_link = len(m.table("link_frames")) > 0
        text = recoveries if with_link else several(len(lossy), "loss recovery", "loss recoveries")
        if lost := len(lossy.events("segment_lost")):
            text += f" of {several(lost, 'segment')} lost between the captures"
        if with_link:
            text += f"{',' if lost else ''} without a known cause in front of or on the link"
        if int(lossy.column("events").sum()) == len(lossy.events("sent", "idle", *_PROBES)):
            text = f"{several(lossy.segments(*_SENT_AGAIN), 'probe')} sent although nothing had been lost"
        found.append(("loss", text, lossy))
    if needless:
        number = len(needless.events("timeout"))
        text = f"{several(number, 'spurious timeout')}: the data was in flight for longer than the timer ran"
        if number > 1:
            text = text.replace("it was", "they were").replace("timer", "timers")
        found.append(("spurious", text, needless))
    return [
        _finding(
            m,
            kind,
            text + _again(chains) + _waits(m, chains, every, counted=kind == "loss") + _price(chains),
            chains,
            "multilayer",
            "timeout",
            "fast",
            "tail_loss_probe",
            "unknown",
        )
        for kind, text, chains in found
    ]


def _needless(chains: Chains) -> Array:
    """Of which all timeouts, one at least, were spurious, and no segment is known to be lost."""
    every = chains.counts("timeout")
    vain = chains.counts("timeout", where=("cause", "spurious"))
    needless: Array = (every > 0) & (vain == every) & (chains.counts("segment_lost") == 0)
    return needless


_PROBES = ("tail_loss_probe", "unneeded_probe")


def _xoff(m: Timeline, mine: Chains, every: Chains) -> list[Finding]:
    chain = mine[0]
    number = len(mine.events("xoff"))
    if any(m.link_type(entity).prefix == "Wifi" for entity in range(len(m.entities))):
        text = (
            f"the station slept {several(number, 'time')}, {seconds(chain['held_s'])} in all (power save)"
            + _held_back(m, [event for event in chain["events"] if event["what"] == "xoff"])
        )
        return [_finding(m, "xoff", text, mine, "multilayer", "xoff")]
    text = (
        f"the link's flow control stopped the sender {several(number, 'time')}, {seconds(chain['held_s'])} "
        f"in all, with gaps of up to {seconds(chain['silence_s'])}: a limit of the link's rate, not of TCP"
    )
    return [_finding(m, "xoff", text, mine, "figure-12", "xoff")]


def _held_back(m: Timeline, sleeps: Sequence[Object]) -> str:
    """How many segments came in while the station slept, to be sent to it when it was awake, and how late."""
    spans = framemap.of(m).spans
    sent = spans["sent_ns"] >= 0
    came, went = ((spans[name] - m.t0_ns) / 1e9 for name in ("t_ns", "sent_ns"))
    waits = [
        float(wait)
        for event in sleeps
        for wait in (went - came)[
            sent & (came >= event["t"]) & (came < event["end"]) & (went >= event["end"])
        ]
    ]
    if not waits:
        return ": no segment is known to have waited for it"
    return f": {several(len(waits), 'segment')} had to wait for it, up to {seconds(max(waits))}"


def _call(m: Timeline, mine: Chains, every: Chains) -> list[Finding]:
    first = mine[0]["events"][0]
    lost, acks = (len(mine.events(what)) for what in ("segment_lost", "ack_lost"))
    text = (
        f"the link dropped the call at {seconds(mine[0]['start'])} ({first['cause']}): "
        f"{joined([several(lost, 'segment'), several(acks, 'ACK') if acks else ''])} on it or in front of it "
        "never arrived"
    )
    if missing := _length(mine, "unfinished"):
        text += f", nor did anything later; {missing:,} bytes were never acknowledged: "
        text += "the transfer broke off"
    text += _waits(m, mine, every) + _price(mine)
    return [
        _finding(
            m,
            "call_dropped",
            text,
            mine,
            "multilayer",
            "call_dropped",
            "timeout",
            "unfinished",
            "segment_lost",
        )
    ]


def _acks(m: Timeline, mine: Chains, every: Chains) -> list[Finding]:
    found = []
    repeated = mine.where(mine.counts(*_SENT_AGAIN) > 0)
    if repeated:
        lost, late = (len(repeated.events(what)) for what in ("ack_lost", "ack_late"))
        were = joined(
            [
                several(lost, "ACK was lost", "ACKs were lost") if lost else "",
                several(late, "ACK came too late", "ACKs came too late") if late else "",
            ]
        )
        text = f"{were} on the return path, for data that had arrived"
        waits = _waited(repeated, "ack_late")
        if waits:
            text += f" (up to {seconds(max(waits))} in transit"
            again = np.count_nonzero(repeated.of_events("number", "ack_late") > 1)
            text += f", {again} in frames that the link retransmitted)" if again else ")"
        text += _again(repeated) + _waits(m, repeated, every) + _price(repeated)
        found.append(_finding(m, "ack_loss", text, repeated, "multilayer", "ack_lost", "ack_late", "timeout"))
    bunched = mine.where(mine.counts("acks_compressed") > 0)
    if bunched:
        bursts = bunched.of_events("number", "burst_sent").tolist()
        most = max(chain["events"][0]["number"] for chain in bunched)
        text = (
            f"ACK compression: ACKs were delayed on the return path {several(len(bunched), 'time')}, for "
            f"up to {seconds(max(bunched.seconds('silence_ns')))}, and up to {most} came at once"
        )
        if max(bursts, default=0) > 1:
            text += f"; TCP answered with bursts of up to {max(bursts)} segments"
        text += _price(bunched)
        found.append(_finding(m, "ack_compression", text, bunched, "multilayer", "acks_compressed"))
    return found


def _standstill(m: Timeline, mine: Chains, every: Chains) -> list[Finding]:
    lengths = mine.seconds("silence_ns")
    times = "" if len(mine) == 1 else f" {several(len(mine), 'time')}"
    text = f"the path was stalled{times}: nothing arrived at either end for {spread(lengths)}"
    if len(mine) > 1:
        text += f" each, {seconds(sum(lengths))} in all"
    text += _again(mine) + _waits(m, mine, every) + _price(mine)
    return [_finding(m, "standstill", text, mine, "multilayer", "standstill", "timeout")]


_SPEAKERS = {
    "call_dropped": _call,
    "link_reset": _resets,
    "local_drop": _drops,
    "link_loss": _gave_up,
    "link_burst": _bursts,
    "standstill": _standstill,
    "ack_path": _acks,
    "loss": _losses,
    "xoff": _xoff,
}


def _length(chains: Chains, what: str) -> int:
    return int(np.maximum(chains.of_events("length", what), 0).sum())


def _waited(chains: Chains, what: str) -> list[float]:
    """The shortest and the longest wait of events of a kind, in seconds; empty if none is known."""
    waits = chains.of_events("wait_ns", what)
    known = waits[waits >= 0]
    return [round(int(end) / 1e9, 6) for end in (known.min(), known.max())] if len(known) else []


def _again(chains: Chains) -> str:
    numbers = {kind: chains.segments(kind) for kind in _SENT_AGAIN}
    parts = [f"{numbers[kind]} {words}" for kind, words in _SENT_AGAIN.items() if numbers[kind] > 0]
    total = sum(numbers.values())
    how = joined(parts) if len(parts) > 1 else "".join(parts).partition(" ")[2]
    colon = ":" if len(parts) > 1 else ""
    return f"; {several(total, 'segment was', 'segments were')} retransmitted{colon} {how}" if parts else ""


def _waits(m: Timeline, chains: Chains, every: Chains, *, counted: bool = True) -> str:
    """Timeouts of these chains, how far a queue had inflated the timer, and what the RTO rested on."""
    timeouts = chains.events("timeout")
    if not len(timeouts):
        return ""
    waits = _waited(chains, "timeout")
    events = chains.of.events
    spurious = timeouts[events["cause"][timeouts] == "spurious"]
    needless = len(spurious)
    which = several(len(timeouts), "spurious timeout" if needless == len(timeouts) else "timeout")
    which += f", {needless} of them spurious," if 0 < needless < len(timeouts) else ""
    waited = f"a wait of {spread(waits)}" if waits else ""
    text = f"; {which}" + (f" after {waited}" if waited else "") if counted else waited and f"; {waited}"
    records = {record or None for record in events["record"][timeouts].tolist()}
    inflated = [
        chain["silence_s"]
        for chain in every.of_kind("queue_timeout")
        if records & {event["record"] for event in chain["events"]}
    ]
    if inflated:
        text += f", {spread(inflated)} of it because RTTs far above the min RTT had inflated the RTO"
    fired: dict[int, list[float]] = {}
    conns = chains.of.table["conn"][events["chain"][spurious] - 1].tolist()
    for conn, t_ns in zip(conns, events["t_ns"][spurious].tolist(), strict=True):
        if conn >= 0:
            fired.setdefault(conn, []).append(round(float(t_ns - chains.of.t0_ns) / 1e9, 6))
    early = sum(
        int(np.count_nonzero(_samples_before(m, conn, times) < CONVERGED))
        for conn, times in sorted(fired.items())
    )
    if early:
        of = "" if early == len(timeouts) else f" of {early} of them"
        text += f"; the RTO{of} had not converged (fewer than {CONVERGED} RTT samples)"
    return text


def _samples_before(m: Timeline, conn: int, times_s: Sequence[float]) -> Array:
    """RTT samples of a connection that its sender had by each time (Karn's rule)."""
    connection = m.connection(conn)
    acks = valid_acks(m, connection, near_sender(m))
    sampled_s = (acks["t_ns"][acks["rtt_ns"] > 0] - m.t0_ns) / 1e9
    return np.searchsorted(sampled_s, np.array(times_s))


def _price(chains: Chains) -> str:
    idle = sum(chains.seconds("idle_ns"))
    twice = int(chains.column("duplicate").sum())
    parts = [
        f"{seconds(idle)} of idle link" if idle >= 0.05 else "",
        f"{twice:,} duplicate bytes" if twice else "",
    ]
    return f": {joined(parts)}" if any(parts) else ""
