"""Sentences about the transfer as a whole: utilization, idle causes that are no chain, the queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.diagnosis.chains.found import Chains
from multitracer.diagnosis.field.entries import flow
from multitracer.diagnosis.field.full_links import STANDING, queue_words
from multitracer.diagnosis.findings.finding import Finding, joined, plot_command, seconds, several, share
from multitracer.model.idle import awaits_last_ack
from multitracer.model.timeline import Timeline
from multitracer.output.used import NEARLY_ALL, idle_share, is_logged, nearly_all

Summary = dict[str, Any]

GOOD = 0.95
_HELD = 0.2
"""From this part of the time on, a full receive window behind a full link is reported with the queue."""
_OVERLOAD = 2.0
"""What is in flight is in a queue only if it is more than this many times the BDP."""

IDLE_WORDS = {
    "receiver_window": "the advertised receive window was full",
    "application": "the application gave TCP no data, or everything was sent and the last ACKs were pending",
    "handshake/slow_start": "the congestion window was full: cwnd still below the BDP",
    "probe_rtt": "BBR held cwnd at four segments to measure the min RTT (ProbeRTT)",
    "pacing": "the sender paced its segments: data was waiting, and no ACK released it",
    "stalled_path": "what was in flight stalled on the path",
    "unknown": "no capture shows why",
    "timeout_wait": "TCP waited for its timer",
    "recovery_stall": "TCP was in recovery from a loss, or its congestion window still small after it",
    "local_drop": "TCP was in recovery from a drop in front of the link",
    "power_save": "the station slept while the ACK it awaited was at its access point (power save)",
}
"""Why a link is idle, by each cause of idle phases."""

WORTH_SAYING = 0.01
"""Duplicates are named with an estimate from this part of what the link carried on."""


MOST_IDLE = 0.9
"""An upper bound of the idle time above this share is not reported."""


def headline(m: Timeline, utilization: Summary) -> Finding | None:
    """How much of the link TCP used.

    Bytes whose first copies were dropped in front of the link are duplicates to TCP, and new to the link.
    """
    value = utilization.get("value")
    if value is None:
        return None
    span, idle = utilization["span_s"], utilization["idle_s"]
    twice, sent = utilization["carried_twice_bytes"], utilization["sent_bytes"]
    carried = sent - (utilization["duplicate_bytes"] - twice)
    lost = idle + duplicates_s(utilization)
    # At the receiver alone, what was lost before it is not known.
    whole = "sent" if m.snd is not None or m.rcv is None else "that arrived"
    of_all = whole if carried == sent else "that it carried"
    share, about = f"{value:.1%}", ""
    # Which copies the link carried, and which were lost before it, only its log or the receiver's end shows.
    logged = is_logged(utilization)
    proven = logged or m.rcv is not None
    if not logged:
        low, high = (f"{utilization[bound]:.0%}" for bound in ("low", "high"))
        bounds = f"{low} to {high}, " if low != high else ""
        share = f"about {value:.0%} ({bounds}estimated from captures)"
        about = "about " if twice < utilization["duplicate_bytes"] else ""
    about_idle, idle_share_said = idle_share(utilization)
    said_s = idle_share_said * span if about_idle else idle
    all_used = nearly_all(utilization)
    # With an estimate of nearly all, the upper bound of the idle time is only the estimate's uncertainty.
    vague = all_used is None and value >= NEARLY_ALL and about_idle == "at most "
    # With an estimate, a few duplicates do not explain what is missing.
    worth_it = logged or twice >= WORTH_SAYING * carried
    parts = [
        f"the link was idle for {about_idle}{seconds(said_s)} of {seconds(span)}"
        if said_s >= 0.05 and (logged or not (all_used or vague)) and said_s <= MOST_IDLE * span
        else "",
        f"{about}{twice:,} of {carried:,} bytes {of_all} were duplicates"
        if twice and proven and worth_it
        else "",
    ]
    used = ": TCP used nearly all of the link's capacity" if all_used else ""
    text = f"utilization {share}" + (f": {joined(parts)}" if any(parts) else used)
    return Finding(text, lost, "utilization", plot_command(m, None, None))


def well(m: Timeline, utilization: Summary) -> Finding:
    """The one sentence for a transfer without any problem: the log of the link proves it."""
    text = f"TCP used {utilization['value']:.1%} of the link capacity: all is well"
    return Finding(text, 0.0, "well", plot_command(m, None, None))


def idle_causes(
    m: Timeline,
    phases: list[Summary],
    chained: dict[float, int],
    connections: list[Summary],
    chains: Chains | None,
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
    chains : Chains or None
        As in the result of `chains`.

    Returns
    -------
    list of Finding
        By cause, in the order of the first phase of each; the cost is its idle time.
    """
    found = []
    causes: dict[str, list[Summary]] = {}
    for phase in phases:
        if not chained.get(phase["start"]):
            causes.setdefault(phase["cause"], []).append(phase)
    for cause, mine in causes.items():
        total = sum(phase["end"] - phase["start"] for phase in mine)
        longest = max(mine, key=lambda phase: phase["end"] - phase["start"])
        because = IDLE_WORDS.get(cause, cause.replace("_", " "))
        if all(awaits_last_ack(phase) for phase in mine):
            because = "all data had been sent and only its ACK was awaited"
        if cause == "receiver_window" and (window := _window(connections)):
            because += f" (at most {window:,} bytes)"
        text = f"the link was idle for {seconds(total)} in {several(len(mine), 'phase')} because {because}"
        waited = _held_up(mine, chains)
        if waited >= 0.1 * total:
            text += f"; for {seconds(waited)} of it ACKs were delayed on the return path"
        evidence = tuple(
            (m.sources[m.snd].path, phase["wake_record"])
            for phase in mine
            if m.snd is not None and phase["wake_record"]
        )
        evidence = tuple(dict.fromkeys(evidence))
        command = plot_command(m, longest["start"], longest["end"])
        found.append(Finding(text, total, idle_kind(cause), command, evidence[:12]))
    return found


def queue(
    m: Timeline, connections: list[Summary], queueing: Summary, timeouts: list[Summary], *, stood: bool
) -> Finding | None:
    """Report that much more was in flight than the BDP, and how that affected the RTT and SYNs.

    Parameters
    ----------
    m : Timeline
    connections, queueing, timeouts : list of dict, dict, list of dict
        As in the results of these analyzers. The delay is that of ``bottleneck`` of a connection, which the
        tables show; BDP and bytes in flight are those of `queueing`.
    stood : bool
        Whether the link was away, or its path stalled, for a while: the percentile may be that of packets
        that waited for the end of that.

    References
    ----------
    Paper 5.2.
    """
    flows = [one for entry in connections if (one := flow(entry)) is not None and one.has_queue]
    loads = {entry["conn"]: entry for entry in queueing.get("connections", [])}
    if loads:
        flows = [one for one in flows if (loads.get(one.index, {}).get("overload") or 0) >= _OVERLOAD]
    syns = _late_syns(timeouts)
    largest = max(flows, key=lambda one: one.unique_bytes, default=None)
    if largest is None or largest.queue_ms is None or largest.base_rtt_ms is None:
        return None
    text = f"{STANDING}{queue_words(largest, stood=stood)}"
    load = loads.get(largest.index)
    if load is not None:
        text += (
            f": {load['overload']:.1f} times the BDP of {load['pipe_capacity_bytes']:,} bytes in flight "
            f"(median); a window of twice the BDP, {load['smaller_window']['window_bytes']:,} bytes, would "
            "fill the link"
        )
    held = largest.limits_s.get("receiver_window", 0.0) / (largest.seconds or 1.0)
    if held >= _HELD:
        text += f"; the receive window was full for {share(held)} of the time, behind this queue"
    return Finding(text + syns, 0.0, "queue", plot_command(m, None, None, "queue"))


def _late_syns(timeouts: list[Summary]) -> str:
    """SYN timers that expired while the SYN or its answer was in the queue."""
    parts = []
    opening = [one for one in timeouts if one["seq"] == 0]
    for conn, direction in dict.fromkeys((one["conn"], one["direction"]) for one in opening):
        mine = [one for one in opening if (one["conn"], one["direction"]) == (conn, direction)]
        needless = sum(one["verdict"] == "spurious" for one in mine)
        parts.append(
            f"the {'SYN' if direction == 'forward' else 'SYN-ACK'} timer of connection {conn} expired "
            f"{several(len(mine), 'time')} because of it" + (f" ({needless:,} spurious)" if needless else "")
        )
    return f"; {joined(parts[:3])}" if parts else ""


def _held_up(phases: list[Summary], chains: Chains | None) -> float:
    """Seconds of idle phases during which ACKs that later arrived compressed were in transit."""
    spans = [
        (chain["start"], event["t"])
        for chain in (() if chains is None else chains.of_kind("ack_path"))
        for event in chain["events"][:1]
        if event["what"] == "acks_compressed"
    ]
    overlaps = (
        min(phase["end"], end) - max(phase["start"], start) for phase in phases for start, end in spans
    )
    return float(sum(max(overlap, 0.0) for overlap in overlaps))


def _window(connections: list[Summary]) -> int:
    return max((entry.get("max_window_bytes") or 0 for entry in connections), default=0)


def idle_kind(cause: str) -> str:
    """Kind of the sentence of a cause of idle phases.

    Parameters
    ----------
    cause : str
        One of `IDLE_WORDS`.

    Returns
    -------
    str
    """
    return f"idle_{cause.replace('/', '_')}"


def duplicates_s(utilization: Mapping[str, Any]) -> float:
    """Time that the link took for bytes that it had carried before."""
    busy: float = utilization.get("available_s", utilization["span_s"]) - utilization["idle_s"]
    return float(max(busy, 0.0) * utilization["duplicate_share"])
