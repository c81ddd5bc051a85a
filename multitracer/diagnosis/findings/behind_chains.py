"""Sentences about chains: resets, drops, bursts, losses, flow control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multitracer.diagnosis.chains.recovery import CONVERGED
from multitracer.diagnosis.findings.finding import (
    Finding,
    evidence_of,
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

Chain = dict[str, Any]

_LONG_S = 0.2  # a gap that a timer of TCP may run out in

_SENT_AGAIN = {
    "timeout_retransmission": "by RTO",
    "fast": "by fast retransmit",
    "slow_start": "in slow start (go-back-N)",
    "tail_loss_probe": "as tail loss probe",
    "unneeded_probe": "as a probe",
    "unknown": "unclassified",
}


def said(m: Timeline, chains: Sequence[Chain]) -> list[Finding]:
    """One finding for each kind of chain that occurs."""
    found = []
    for kind, say in _SPEAKERS.items():
        mine = [chain for chain in chains if chain["kind"] == kind]
        if mine:
            found += say(m, mine, chains)
    return found


def _finding(m: Timeline, kind: str, text: str, chains: Sequence[Chain], picture: str, *what: str) -> Finding:
    worst = max(chains, key=lambda chain: (chain["cost_s"], chain["silence_s"]))
    return Finding(
        text,
        sum(chain["cost_s"] for chain in chains),
        kind,
        plot_command(m, worst["start"], worst["end"], picture),
        evidence_of(chains, *what),
        tuple(chain["chain"] for chain in chains),
    )


def _resets(m: Timeline, mine: Sequence[Chain], every: Sequence[Chain]) -> list[Finding]:
    causes = {event["cause"] for chain in mine for event in chain["events"] if event["what"] == "reset"}
    names = ("segment_lost", "segment_corrupted", "ack_lost")
    lost, corrupted, acks = (_count(mine, what) for what in names)
    flushed = sum(_lengths(mine, "flush"))
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


def _gaps(mine: Sequence[Chain]) -> list[float]:
    """Lengths of the gaps around resets; resets that share a gap have one."""
    found = (
        (event["t"], event["end"]) for chain in mine for event in chain["events"] if event["what"] == "gap"
    )
    return [end - start for start, end in dict.fromkeys(found)]


def _drops(m: Timeline, mine: Sequence[Chain], every: Sequence[Chain]) -> list[Finding]:
    drops = _count(mine, "drop")
    text = f"the queue in front of the link dropped {several(drops, 'segment')} that TCP had sent"
    text += _again(mine) + _waits(m, mine, every) + _price(mine)
    if dropped := sum(chain["dropped_bytes"] for chain in mine):
        every_byte = dropped == sum(chain["duplicate_bytes"] for chain in mine)
        text += f", {'none' if every_byte else f'{dropped:,}'} of which the link had "
        text += "carried before" if every_byte else "never carried before"
    return [_finding(m, "local_drop", text, mine, "multilayer", "timeout", "drop", "fast")]


def _gave_up(m: Timeline, mine: Sequence[Chain], every: Sequence[Chain]) -> list[Finding]:
    lost = _count(mine, "segment_lost")
    text = f"the link gave {several(lost, 'segment')} up after its last attempt"
    text += _again(mine) + _waits(m, mine, every) + _price(mine)
    return [_finding(m, "link_loss", text, mine, "multilayer", "timeout", "segment_lost", "fast")]


def _bursts(m: Timeline, mine: Sequence[Chain], every: Sequence[Chain]) -> list[Finding]:
    fired = [chain for chain in mine if _segments([chain])]
    quiet = [chain for chain in mine if _count([chain], "no_timeout")]
    beside = [chain for chain in mine if chain not in fired and chain not in quiet]
    found = []
    if fired or beside:
        text = ""
        if fired:
            number = _count(fired, "timeout")
            text = (
                f"{several(len(fired), 'burst')} of link retransmissions took longer than TCP waited: "
                f"{several(number, 'timeout') if number else 'it recovered'} for data that the link still "
                "carried (competing error recovery)"
            )
            text += _again(fired) + _price(fired)
        if beside:
            # What the timer sent again is part of another chain: its ACKs were late, or it was lost.
            text += "; " if text else ""
            text += (
                f"{several(len(beside), 'burst')} of link retransmissions left {_gaps_of(beside)}; RTOs fired"
            )
        both = [*fired, *beside]
        found.append(_finding(m, "link_burst", text, both, "multilayer", "burst", "timeout"))
    if quiet:
        text = f"{several(len(quiet), 'burst')} of link retransmissions left {_gaps_of(quiet)}"
        text += "; no RTO fired meanwhile"
        found.append(_finding(m, "link_burst_harmless", text, quiet, "multilayer", "burst"))
    return found


def _gaps_of(bursts: Sequence[Chain]) -> str:
    gaps = [chain["silence_s"] for chain in bursts]
    return f"{'a gap' if len(gaps) == 1 else 'gaps'} of {spread(gaps)} in delivery to the receiver"


def _losses(m: Timeline, mine: Sequence[Chain], every: Sequence[Chain]) -> list[Finding]:
    needless: list[Chain] = []
    lossy: list[Chain] = []
    for chain in mine:
        (needless if _needless(chain) else lossy).append(chain)
    found = []
    if lossy:
        recoveries = several(len(lossy), "recovery", "recoveries")
        text = f"{recoveries} that nothing in front of or on the link explains"
        if not len(m.table("link_frames")):
            text = several(len(lossy), "loss recovery", "loss recoveries")
        if lost := _count(lossy, "segment_lost"):
            text += f" of {several(lost, 'segment')} lost between the captures"
        if all(event["what"] in ("sent", "idle", *_PROBES) for chain in lossy for event in chain["events"]):
            text = f"{several(_segments(lossy), 'probe')} that nothing had been lost for"
        found.append(("loss", text, lossy))
    if needless:
        number = _count(needless, "timeout")
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


def _needless(chain: Chain) -> bool:
    """Whether its timeouts were all spurious, and no segment of it is known to be lost."""
    timers = [event["cause"] for event in chain["events"] if event["what"] == "timeout"]
    return bool(timers) and set(timers) == {"spurious"} and not _count([chain], "segment_lost")


_PROBES = ("tail_loss_probe", "unneeded_probe")


def _xoff(m: Timeline, mine: Sequence[Chain], every: Sequence[Chain]) -> list[Finding]:
    chain = mine[0]
    number = _count(mine, "xoff")
    if any(m.link_type(entity).prefix == "Wifi" for entity in range(len(m.entities))):
        text = (
            f"the station slept {several(number, 'time')}, {seconds(chain['held_s'])} in all (power save)"
            + _held_back(m, [event for event in chain["events"] if event["what"] == "xoff"])
        )
        return [_finding(m, "xoff", text, mine, "multilayer", "xoff")]
    text = (
        f"the link's flow control held the sender off {several(number, 'time')}, {seconds(chain['held_s'])} "
        f"in all, with gaps of up to {seconds(chain['silence_s'])}: the rate of the link, no fault of TCP's"
    )
    return [_finding(m, "xoff", text, mine, "figure-12", "xoff")]


def _held_back(m: Timeline, sleeps: Sequence[dict[str, Any]]) -> str:
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


def _call(m: Timeline, mine: Sequence[Chain], every: Sequence[Chain]) -> list[Finding]:
    first = mine[0]["events"][0]
    lost, acks = (_count(mine, what) for what in ("segment_lost", "ack_lost"))
    text = (
        f"the link dropped the call at {seconds(mine[0]['start'])} ({first['cause']}): "
        f"{joined([several(lost, 'segment'), several(acks, 'ACK') if acks else ''])} on it or in front of it "
        "never arrived"
    )
    if missing := sum(_lengths(mine, "unfinished")):
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


def _acks(m: Timeline, mine: Sequence[Chain], every: Sequence[Chain]) -> list[Finding]:
    found = []
    repeated = [chain for chain in mine if _segments([chain])]
    if repeated:
        lost, late = (_count(repeated, what) for what in ("ack_lost", "ack_late"))
        were = joined(
            [
                several(lost, "ACK was lost", "ACKs were lost") if lost else "",
                several(late, "ACK came too late", "ACKs came too late") if late else "",
            ]
        )
        text = f"{were} on the return path, for data that had arrived"
        waits = [
            event["wait_s"]
            for chain in repeated
            for event in chain["events"]
            if event["what"] == "ack_late" and event["wait_s"] is not None
        ]
        if waits:
            text += f" (up to {seconds(max(waits))} in transit"
            again = sum(
                event["number"] > 1
                for chain in repeated
                for event in chain["events"]
                if event["what"] == "ack_late"
            )
            text += f", {again} in frames that the link retransmitted)" if again else ")"
        text += _again(repeated) + _waits(m, repeated, every) + _price(repeated)
        found.append(_finding(m, "ack_loss", text, repeated, "multilayer", "ack_lost", "ack_late", "timeout"))
    bunched = [chain for chain in mine if _count([chain], "acks_compressed")]
    if bunched:
        bursts = [
            event["number"] for chain in bunched for event in chain["events"] if event["what"] == "burst_sent"
        ]
        most = max(chain["events"][0]["number"] for chain in bunched)
        text = (
            f"ACK compression: ACKs were delayed on the return path {several(len(bunched), 'time')}, for "
            f"up to {seconds(max(chain['silence_s'] for chain in bunched))}, and up to {most} came at once"
        )
        if max(bursts, default=0) > 1:
            text += f"; TCP answered with bursts of up to {max(bursts)} segments"
        text += _price(bunched)
        found.append(_finding(m, "ack_compression", text, bunched, "multilayer", "acks_compressed"))
    return found


def _standstill(m: Timeline, mine: Sequence[Chain], every: Sequence[Chain]) -> list[Finding]:
    lengths = [chain["silence_s"] for chain in mine]
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


def _count(chains: Sequence[Chain], what: str) -> int:
    return sum(event["what"] == what for chain in chains for event in chain["events"])


def _lengths(chains: Sequence[Chain], what: str) -> list[int]:
    return [event["length"] or 0 for chain in chains for event in chain["events"] if event["what"] == what]


def _segments(chains: Sequence[Chain], *what: str) -> int:
    kinds = what or tuple(_SENT_AGAIN)
    events = (event for chain in chains for event in chain["events"] if event["what"] in kinds)
    return sum(event["number"] for event in events)


def _again(chains: Sequence[Chain]) -> str:
    numbers = dict.fromkeys(_SENT_AGAIN, 0)
    for chain in chains:
        for event in chain["events"]:
            if event["what"] in numbers:
                numbers[event["what"]] += event["number"]
    parts = [f"{numbers[kind]} {words}" for kind, words in _SENT_AGAIN.items() if numbers[kind] > 0]
    total = sum(numbers.values())
    how = joined(parts) if len(parts) > 1 else "".join(parts).partition(" ")[2]
    colon = ":" if len(parts) > 1 else ""
    return f"; {several(total, 'segment was', 'segments were')} retransmitted{colon} {how}" if parts else ""


def _waits(m: Timeline, chains: Sequence[Chain], every: Sequence[Chain], *, counted: bool = True) -> str:
    """Timeouts of these chains, how far a queue had inflated the timer, and what the RTO rested on."""
    timeouts = [event for chain in chains for event in chain["events"] if event["what"] == "timeout"]
    if not timeouts:
        return ""
    waits = [event["wait_s"] for event in timeouts if event["wait_s"] is not None]
    needless = sum(event["cause"] == "spurious" for event in timeouts)
    which = several(len(timeouts), "spurious timeout" if needless == len(timeouts) else "timeout")
    which += f", {needless} of them spurious," if 0 < needless < len(timeouts) else ""
    waited = f"a wait of {spread(waits)}" if waits else ""
    text = f"; {which}" + (f" after {waited}" if waited else "") if counted else waited and f"; {waited}"
    records = {event["record"] for event in timeouts}
    inflated = [
        chain["silence_s"]
        for chain in every
        if chain["kind"] == "queue_timeout" and records & {event["record"] for event in chain["events"]}
    ]
    if inflated:
        text += f", {spread(inflated)} of it because RTTs far above the smallest had inflated the timer"
    fired: dict[int, list[float]] = {}
    for chain in chains:
        if chain["conn"] is not None:
            vain = (event for event in chain["events"] if event["what"] == "timeout")
            times = [event["t"] for event in vain if event["cause"] == "spurious"]
            fired.setdefault(chain["conn"], []).extend(times)
    early = sum(
        int(np.count_nonzero(_samples_before(m, conn, times) < CONVERGED))
        for conn, times in sorted(fired.items())
        if times
    )
    if early:
        of = "" if early == len(timeouts) else f" of {early} of them"
        text += f"; the RTO{of} had not converged (fewer than {CONVERGED} RTT samples)"
    return text


def _samples_before(m: Timeline, conn: int, times_s: Sequence[float]) -> Array:
    """RTT samples of a connection that its sender had by each time (Karn's rule)."""
    connection = next(one for one in m.connections if one.index == conn)
    acks = valid_acks(m, connection, near_sender(m))
    sampled_s = (acks["t_ns"][acks["rtt_ns"] > 0] - m.t0_ns) / 1e9
    return np.searchsorted(sampled_s, np.array(times_s))


def _price(chains: Sequence[Chain]) -> str:
    idle = sum(chain["idle_s"] for chain in chains)
    twice = sum(chain["duplicate_bytes"] for chain in chains)
    parts = [
        f"{seconds(idle)} of idle link" if idle >= 0.05 else "",
        f"{twice:,} duplicate bytes" if twice else "",
    ]
    return f": {joined(parts)}" if any(parts) else ""
