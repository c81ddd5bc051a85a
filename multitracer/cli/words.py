"""Numbers of the JSON objects in words, for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from multitracer.model import quantities
from multitracer.model.quantities import duration as duration, votes as votes
from multitracer.output.digest import LIMITS

Object = Mapping[str, Any]

CAUSES = {
    "timeout": "by RTO",
    "fast": "by fast retransmit",
    "slow_start": "in slow start (go-back-N)",
    "tail_loss_probe": "as tail loss probe",
    "unknown": "unclassified",
}


def count(number: int, thing: str) -> str:
    """``3 link resets``, ``no link resets``."""
    return quantities.count(number, thing) if number else f"no {thing}s"


def data(counts: Object) -> str:
    """Bytes of a connection, or of many."""
    again = f"{counts['duplicate']:,} duplicate bytes" if counts["duplicate"] else "no duplicate bytes"
    return f"{counts['unique']:,} bytes, {counts['acked']:,} acknowledged; {counts['sent']:,} sent, {again}"


def ends(connection: Object) -> str:
    """Both ends, and which way the data went."""
    begin, end = connection["endpoints"]
    return f"{begin} {'->' if connection['data_direction'] == 'forward' else '<-'} {end}"


def rate(bits_per_s: float | None) -> str:
    """A data rate in the unit that suits it, and in bytes while it is slow."""
    if bits_per_s is None or bits_per_s >= 1e6:
        return quantities.rate(bits_per_s)
    return f"{quantities.rate(bits_per_s)} ({bits_per_s / 8:,.0f} bytes/s)"


def size(count_bytes: int) -> str:
    """A number of bytes with three digits."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count_bytes >= limit:
            return f"{count_bytes / limit:.3g} {unit}"
    return f"{count_bytes} B"


def causes(counts: Object) -> str:
    """Retransmissions by cause."""
    parts = [f"{counts[key]:,} {text}" for key, text in CAUSES.items() if counts.get(key)]
    text = f"{count(counts['total'], 'segment')}{': ' if parts else ''}{', '.join(parts)}"
    if not counts.get("inferred"):
        return text
    return f"{text}; {counts['inferred']:,} inferred, as their first copies never passed this capture"


def verdicts(counts: Object) -> str:
    """Timeouts by verdict."""
    parts = [f"{counts[key]} {key}" for key in ("spurious", "genuine", "inconclusive") if counts[key]]
    return f"{count(counts['total'], 'timeout')}{': ' if parts else ''}{', '.join(parts)}"


def round_trip(rtt_ms: Object | None) -> str:
    """RTT samples."""
    if rtt_ms is None:
        return "no sample"
    low, mean, high = (duration(rtt_ms[key] / 1e3) for key in ("min", "mean", "max"))
    return f"{low} to {high}, {mean} on average ({rtt_ms['samples']:,} samples)"


def losses(connection: Object) -> str:
    """On which side of the capture segments were lost, what came out of order; empty if nothing."""
    lost, arrived = connection.get("losses") or {}, connection.get("arrivals") or {}
    parts = [
        f"{lost[side]:,} {words_}"
        for side, words_ in (("upstream", "before this capture"), ("downstream", "behind it (or their ACKs)"))
        if lost.get(side)
    ]
    text = f"{', '.join(parts)}" if parts else ""
    others = [
        f"{arrived[verdict]:,} {verdict.replace('_', ' ')}"
        for verdict in ("reordered", "network_duplicate", "undecided")
        if arrived.get(verdict)
    ]
    return "; ".join(part for part in (text, f"out of order: {', '.join(others)}" if others else "") if part)


def limits(found: Object | None) -> str:
    """What held the sender, by share of the time: ``bandwidth 93%, loss recovery 5%``."""
    if not found:
        return ""
    shares = {name: found[name] for name in LIMITS if found[name] >= 0.005}
    parts = [
        f"{name.replace('_', ' ')} {share:.0%}"
        for name, share in sorted(shares.items(), key=lambda one: -one[1])
    ]
    return f"{', '.join(parts)} of {duration(found['seconds'])} ({found['method']})"


def bottleneck(found: Object | None) -> str:
    """Rate, how often it was full, and its queue; empty where it was never seen full."""
    if not found or not found["full_share"]:
        return ""
    parts = [f"full for {found['full_share']:.0%} of the time with data under way"]
    if found["rate_bps"] is not None:
        parts.insert(0, quantities.rate(found["rate_bps"]))
    if found["standing_queue_ms"] is not None and found["base_rtt_ms"] is not None:
        median, p95, base = (
            duration(value / 1e3)
            for value in (
                found["standing_queue_ms"]["median"],
                found["standing_queue_ms"]["p95"],
                found["base_rtt_ms"],
            )
        )
        parts.append(f"queue {median} (median; 95th percentile {p95}) over a base RTT of {base}")
    if found["shared_with"]:
        parts.append(f"shared with {count(found['shared_with'], 'other connection')}")
    return "; ".join(parts)


def timer(backoff: int, rto_s: float | None) -> str:
    """What the timer had been set to."""
    times = f"{2 ** min(backoff, 62):,} RTO" if backoff else "RTO"
    return times if rto_s is None else f"{times} of {duration(rto_s)}"


def entity(found: Object) -> str:
    """One end of the link."""
    # Of a sender that nobody listened to, what arrived is known.
    unheard = found.get("seen_by") == "receiver"
    parts = [
        f"{count(found['frames'], 'frame')}{' that arrived' if unheard else ''}, {found['retransmitted']:,} "
        f"{'known to be sent ' if unheard else ''}again"
    ]
    if found.get("rate_bytes_per_s") is not None:
        parts.append(f"{found['rate_bytes_per_s']:,.0f} bytes/s of new data")
    burst = found.get("longest_burst")
    if burst:
        parts.append(f"longest burst of retransmissions {duration(burst['duration_ms'] / 1e3)}")
    return "; ".join(parts)


def flow_control(found: Object) -> str:
    """XOFF intervals of the data-sending entity."""
    if not found["count"]:
        return "none"
    text = f"{found['entity']} held off {found['count']:,} times, {found['share']:.1%} of the transfer"
    gaps, rates = found["gap_ms"], found["rate_bytes_per_s"]
    if gaps:
        text += f"; gaps of {gaps['min']:,.0f} to {gaps['max']:,.0f} ms"
    if rates["outside"] is not None:
        text += f"; {rates['outside']:,.0f} bytes/s outside of them, {rates['overall']:,.0f} overall"
    return text


def toll(reset: Object) -> str:
    """What a link reset did to TCP."""
    parts = []
    for key, thing in (
        ("segments_lost", "{} lost"),
        ("segments_discarded", "{} discarded as damaged"),
        ("acks_lost", "{} of the other direction lost"),
        ("timeouts", "{} in the gap"),
    ):
        number = reset.get(key)
        if number:
            parts.append(thing.format(count(number, "timeout" if key == "timeouts" else "segment")))
    return ", ".join(parts) or "nothing"


def offset(seconds: float) -> str:
    """How far a clock is off; zero if it is the same clock."""
    if seconds == 0:
        return "0"
    if abs(seconds) >= 1e6:
        return f"{seconds:+.3f} s"
    return ("-" if seconds < 0 else "+") + duration(abs(seconds))


def uncertainty(seconds: float | None) -> str:
    """Bound of a clock's error."""
    return "unknown" if seconds is None else f"±{duration(seconds)}" if seconds else "exactly"


def begin(seconds: float | None, clock: str) -> str:
    """Begin of a file: time of day, or seconds where its clock has none."""
    if seconds is None:
        return ""
    if clock == "realtime":
        try:
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
        except (OverflowError, ValueError, OSError):
            return f"{seconds:.0f} s"
    return f"{seconds:.3f} s"
