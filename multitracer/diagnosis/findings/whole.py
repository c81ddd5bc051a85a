"""Sentences about the transfer as a whole: utilization, idle causes that are no chain, the queue."""

from __future__ import annotations

from typing import Any

from multitracer.diagnosis.findings.finding import Finding, joined, plot_command, seconds, several
from multitracer.model.timeline import Timeline

Summary = dict[str, Any]

GOOD = 0.95
_LONG_QUEUE_S = 1.0
_OVERLOAD = 4.0

_IDLE = {
    "receiver_window": "the window that the receiver offered was full",
    "application": "the application gave TCP no data, or all was sent and its ACKs were awaited",
    "handshake/slow_start": "the congestion window was full: it had not grown to the pipe yet",
    "unknown": "no capture shows why",
    "timeout_wait": "TCP waited for its timer",
    "recovery_stall": "TCP was in recovery from a loss",
    "local_drop": "TCP was in recovery from a drop in front of the link",
    "power_save": "the station slept while the ACK it awaited was at its access point (power save)",
}


def headline(m: Timeline, utilization: Summary, connections: list[Summary]) -> Finding | None:
    """How much of the link TCP used."""
    value = utilization.get("value")
    if value is None:
        return None
    span, idle = utilization["span_s"], utilization["idle_s"]
    twice = utilization["duplicate_bytes"]
    lost = idle + _twice_s(utilization)
    told = f"{value:.1%}"
    if utilization["basis"] != "link log":
        low, high = (f"{utilization[bound]:.0%}" for bound in ("low", "high"))
        bounds = f"{low} to {high}, " if low != high else ""
        told = f"about {value:.0%} ({bounds}estimated from captures)"
    parts = [
        f"the link was idle for {seconds(idle)} of {seconds(span)}" if idle >= 0.05 else "",
        f"{twice:,} of {utilization['sent_bytes']:,} bytes were sent before" if twice else "",
    ]
    text = f"utilization {told}" + (f": {joined(parts)}" if any(parts) else ": TCP used all the link offered")
    return Finding(text, lost, "utilization", plot_command(m, None, None))


def well(m: Timeline, utilization: Summary) -> Finding:
    """Say the one sentence for a transfer without anything to find: the log of the link proves it."""
    text = f"TCP used {utilization['value']:.1%} of what the link offered: all is well"
    return Finding(text, 0.0, "well", plot_command(m, None, None))


def unfinished(m: Timeline, connections: list[Summary], timeouts: list[Summary]) -> list[Finding]:
    """Say that a transfer broke off: a timer fired for bytes that were never acknowledged."""
    found = []
    for entry in connections:
        acked, sent = entry["bytes"]["acked"], entry["bytes"]["unique"]
        flow = (entry["index"], entry["data_direction"])
        mine = [one for one in timeouts if (one["conn"], one["direction"]) == flow]
        mine = [one for one in mine if acked < one["seq"] <= sent]
        if not mine:
            continue
        text = (
            f"the transfer broke off: {sent - acked:,} of {sent:,} bytes were never acknowledged, and "
            f"{several(len(mine), 'timeout')} brought no answer"
        )
        evidence = tuple((m.sources[m.snd].path, event["record"]) for event in mine if m.snd is not None)
        command = plot_command(m, mine[0]["t"], mine[-1]["t"])
        found.append(Finding(text, 0.0, "unfinished", command, evidence[:12]))
    return found


def idle_causes(
    m: Timeline,
    phases: list[Summary],
    chained: dict[float, int],
    connections: list[Summary],
    chains: list[Summary],
) -> list[Finding]:
    """One finding for each cause of idle phases that belong to no chain.

    Parameters
    ----------
    m : Timeline
    phases : list of dict
        As in the result of `idle_phases`.
    chained : dict
        Chain of each phase, by its start; 0 if it belongs to none.
    connections : list of dict
        As in the result of `connections`.
    chains : list of dict
        As in the result of `chains`.
    """
    found = []
    causes: dict[str, list[Summary]] = {}
    for phase in phases:
        if not chained.get(phase["start"]):
            causes.setdefault(phase["cause"], []).append(phase)
    for cause, mine in causes.items():
        total = sum(phase["end"] - phase["start"] for phase in mine)
        longest = max(mine, key=lambda phase: phase["end"] - phase["start"])
        because = _IDLE.get(cause, cause.replace("_", " "))
        if all(str(phase.get("because", "")).startswith("all data was sent") for phase in mine):
            because = "all data had been sent and only its ACK was awaited"
        if cause == "receiver_window" and (window := _window(connections)):
            because += f" (at most {window:,} bytes)"
        text = f"the link was idle for {seconds(total)} in {several(len(mine), 'phase')} because {because}"
        waited = _held_up(mine, chains)
        if waited >= 0.1 * total:
            text += f"; for {seconds(waited)} of it ACKs were held up on the way back"
        evidence = tuple(
            (m.sources[m.snd].path, phase["wake_record"])
            for phase in mine
            if m.snd is not None and phase["wake_record"]
        )
        evidence = tuple(dict.fromkeys(evidence))
        command = plot_command(m, longest["start"], longest["end"])
        found.append(Finding(text, total, f"idle_{cause.replace('/', '_')}", command, evidence[:12]))
    return found


def queue(m: Timeline, queueing: Summary) -> Finding | None:
    """Say that much more was outstanding than the pipe holds."""
    for entry in queueing.get("connections", []):
        delay, over = entry["queueing_delay_s"]["median"], entry["overload"]
        if delay < _LONG_QUEUE_S or not over or over < _OVERLOAD:
            continue
        window = entry["smaller_window"]
        text = (
            f"a queue of {entry['queue_bytes']['median']:,} bytes stood in front of the link and delayed "
            f"everything by {seconds(delay)} (smallest round trip {seconds(entry['rtt_min_s'])}): TCP kept "
            f"{over:.0f} times the pipe's capacity outstanding; a window of {window['window_bytes']:,} bytes "
            f"would fill the pipe and save {seconds(window['saves_s'])} of delay"
        )
        return Finding(text, 0.0, "queue", plot_command(m, None, None, "queue"))
    return None


def _held_up(phases: list[Summary], chains: list[Summary]) -> float:
    """Seconds of idle phases during which ACKs that later came in a bunch were under way."""
    spans = [
        (chain["start"], event["t"])
        for chain in chains
        if chain["kind"] == "ack_path"
        for event in chain["events"][:1]
        if event["what"] == "acks_compressed"
    ]
    overlaps = (
        min(phase["end"], end) - max(phase["start"], start) for phase in phases for start, end in spans
    )
    return float(sum(max(overlap, 0.0) for overlap in overlaps))


def _window(connections: list[Summary]) -> int:
    return max((entry.get("max_window_bytes") or 0 for entry in connections), default=0)


def _twice_s(utilization: Summary) -> float:
    busy: float = utilization.get("available_s", utilization["span_s"]) - utilization["idle_s"]
    return float(max(busy, 0.0) * utilization["duplicate_share"])
