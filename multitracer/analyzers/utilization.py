"""Utilization: the share of the link's bandwidth that TCP used for new data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.analyzers._needs import QUESTIONS
from multitracer.diagnosis.field.looked_at import MOST
from multitracer.diagnosis.field.offered import offered
from multitracer.model.analysis import Analyzer, Result, answered
from multitracer.model.lazy import np
from multitracer.model.timeline import Timeline
from multitracer.output.digest import digest, limit_s

FLAG_AT = 0.95

_SEVERAL = "connections filled different links: choose those of one link with --conn or --filter"
_NO_RATE = "needs a link log: the captures do not show the capacity of the link"

_SUMMARY = "needs a link that is seen full, or single segments, which a summary does not keep: use --full"

VARIES = 1.25
"""A link that repeats frames is slower than its usual rate for a part of the time: by so much in the mean."""

MOSTLY = 0.5
"""The rate of a link that was full for this part of the transfers is enough to know the utilization."""

RATE_WITHIN = 1.1
"""The rate of a full link is right within this factor."""


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Compute ``U = (1 - idle_time / available_time) * (1 - duplicate_bytes / bytes_sent)``.

    Bytes count on the link: those of segments that were dropped in front of it are not sent, and their
    retransmissions are no duplicates to it.
    Available is the time from the first data segment to the last ACK without XOFF intervals and reset
    handshakes: those are the link's fault, not TCP's. Transfers at 95% or less are flagged, and those whose
    call was dropped, which the paper leaves out of its Figure 6. Without a link
    log the same is estimated from captures alone, and labelled so.

    References
    ----------
    Paper 4.3 and 5.1, Figure 6.
    """
    if m.summarised:
        estimate = _beside_others(m, _by_rate(m, results["connections"]))
        if estimate is None:
            return Result("utilization", inconclusive=_why_none(m, results))
        return Result("utilization", {**estimate, "flagged": estimate["value"] <= FLAG_AT})
    from multitracer.layers.link.path import link_path
    from multitracer.layers.link.resetlog import handshake_spans, handshakes
    from multitracer.layers.tcp.transit import data_spans
    from multitracer.model.arrays.intervals import intersect, intervals, subtract, total, union

    path = None if m.link_is_apart else link_path(m)
    estimate = _estimate(m, results)
    dropped_bytes = _dropped_in_front(results)
    if path is None or m.snd is None or not answered(results, "flow_control", "idle_phases"):
        estimate = _beside_others(m, estimate or _by_rate(m, results["connections"]))
        if estimate is None:
            return Result("utilization", inconclusive=_why_none(m, results))
        estimate["flagged"] = estimate["value"] <= FLAG_AT
        if answered(results, "idle_phases"):
            span_s = estimate["span_s"]
            estimate["causes"] = _causes(results, span_s, estimate["idle_s"], estimate["duplicate_share"])
        return Result("utilization", estimate)
    span = data_spans(m)
    held = results["flow_control"].tables["flow_control"]
    held = held.where(held["entity"] == path.sender)
    xoff = intersect(intervals(zip(held["t_ns"].tolist(), held["end_ns"].tolist(), strict=True)), span)
    resets = subtract(intersect(handshake_spans(m, handshakes(m)), span), xoff)
    available = total(subtract(span, union(xoff, resets)))
    sent, duplicate = _bytes(results["connections"])
    if available <= 0 or sent <= 0:
        return Result("utilization", inconclusive="no data was sent while the link was available")
    phases = results["idle_phases"].tables["idle_phases"]
    idle = int((phases["end_ns"] - phases["t_ns"]).sum())
    carried_twice = max(duplicate - dropped_bytes, 0)
    idle_share, duplicate_share = idle / available, carried_twice / max(sent - dropped_bytes, 1)
    value = (1 - idle_share) * (1 - duplicate_share)
    events = m.table("link_events")
    dropped = bool(np.any(events["kind"] == events.code("kind", "call_dropped")))
    summary = {
        "value": round(value, 6),
        "idle_share": round(idle_share, 6),
        "duplicate_share": round(duplicate_share, 6),
        "basis": "link log",
        "flagged": value <= FLAG_AT or dropped,
        "call_dropped": dropped,
        "span_s": _s(total(span)),
        "available_s": _s(available),
        "idle_s": _s(idle),
        "xoff_s": _s(total(xoff)),
        "reset_s": _s(total(resets)),
        "sent_bytes": sent,
        "duplicate_bytes": duplicate,
        "carried_twice_bytes": carried_twice,
        "causes": _causes(results, available / 1e9, idle / 1e9, duplicate_share),
        "estimate": estimate,
    }
    return Result("utilization", summary)


def _why_none(m: Timeline, results: Mapping[str, Result]) -> str:
    """Why captures alone show no utilization."""
    if offered(m, results["connections"].summary["connections"]).several_links:
        return _SEVERAL
    if m.summarised:
        return _SUMMARY
    # Who never filled a link shows no rate of one at its sender either.
    if m.snd is None and offered(m, results["connections"].summary["connections"]).rate_bps is None:
        return _NO_RATE
    from multitracer.layers.tcp.bottleneck import why_no_bottleneck

    return why_no_bottleneck(m) or _NO_RATE


def _estimate(m: Timeline, results: Mapping[str, Result]) -> dict[str, Any] | None:
    """The same from captures alone, with bounds: the time in which nothing was in the bottleneck.

    The captures do not show when the link itself could not send, so that nothing is left out of the span; but
    while a path was stalled, its link may have been unable to send: that is not idle for certain.
    """
    from multitracer.diagnosis.field.idle import idle
    from multitracer.model.arrays.intervals import total

    entries = results["connections"].summary["connections"]
    sent, duplicate = _bytes(results["connections"])
    estimate = idle(m, entries) if sent > 0 else None
    if estimate is None:
        return None
    path = offered(m, entries)
    if path.rate_bps is None or total(estimate.span) <= 0:
        return None
    found, span = estimate.found, total(estimate.span)
    # A copy was lost in front of the bottleneck, then the link carried the bytes once, or on it or after it.
    least_twice = min(_arrived_twice(m), duplicate)
    # What a timer repaired may have been lost in an outage of the link, after a standing queue.
    overflowed = estimate.found.overflowed and path.overflow_share >= MOSTLY
    overflow_share = 1.0 if overflowed else path.overflow_share
    twice = round(least_twice + (1 - overflow_share) * (duplicate - least_twice))
    middle, most = estimate.middle_ns, estimate.most_ns
    least = max(estimate.least_ns - round(1e9 * _stalled_s(entries)), 0)
    duplicate_share = _share_twice(sent, duplicate, twice)
    high = (1 - least / span) * (1 - least_twice / max(sent - (duplicate - least_twice), 1))
    idle_bounds = least / span, most / span
    if estimate.by_queue:
        # At its upper bound the idle time leaves out what was lost: what it carried then, it carried once.
        bounds = 1 - most / span, high
        counts = sent, duplicate, twice
        return _summary(found.basis, estimate.rate, middle / span, idle_bounds, bounds, span / 1e9, counts)
    # A link that carries so many bytes in so much time is not much busier than its rate allows.
    by_rate = 8 * path.wire_bytes / (path.rate_bps * span / 1e9)
    idle_share = max(middle / span, 1 - min(by_rate * VARIES / max(1 - duplicate_share, 0.01), 1.0))
    low = (1 - most / span) * (1 - duplicate / sent) * found.rate / found.peak
    bounds = min(low, by_rate), min(high, by_rate * VARIES)
    counts = sent, duplicate, twice
    return {
        **_summary(found.basis, path.rate_bps / 8, idle_share, idle_bounds, bounds, span / 1e9, counts),
        "duplicates_certain": overflowed,
    }


def _by_rate(m: Timeline, connections: Result) -> dict[str, Any] | None:
    """The same by the rate alone that the bottleneck had while full: what it carried, of what it could.

    Any capture shows this one, also where no time between a segment and its ACK can be measured.
    """
    path = offered(m, connections.summary["connections"])
    span_s = path.transferring_s
    if path.rate_bps is None or span_s <= 0 or path.full_part < MOSTLY:
        return None
    sent, duplicate = _bytes(connections)
    twice = min(_arrived_twice(m), duplicate)
    duplicate_share = _share_twice(sent, duplicate, twice)
    new_share = 8 * path.wire_bytes / (path.rate_bps * span_s)
    # Of what was lost, a full queue carried nothing, and a link in front of the loss each copy.
    again = path.again_share
    carried = (1 + (1 - path.overflow_share) * again) * new_share
    busy_share = min(max(carried, new_share / max(1 - duplicate_share, 0.01)), 1.0)
    most = max(path.faster, RATE_WITHIN)
    bounds = new_share / most, min(new_share * VARIES, 1 - duplicate_share)
    counts = sent, duplicate, twice
    # While nothing came the link may have been unable to send: that is not idle for certain.
    unable_s = max(_stalled_s(path.entries), _silent_s(path.entries))
    idle_least = 1 - (1 + again) * new_share / path.slower - unable_s / span_s
    idle_bounds = max(idle_least, 0.0), 1 - new_share / most
    return _summary(
        "rate of the full link", path.rate_bps / 8, 1 - busy_share, idle_bounds, bounds, span_s, counts
    )


def _beside_others(m: Timeline, estimate: dict[str, Any] | None) -> dict[str, Any] | None:
    """The same estimate; where other protocols are in the capture, they may have filled what TCP left."""
    from multitracer.layers.other_traffic import other_traffic

    if estimate is None or other_traffic(m) is None:
        return estimate
    return {**estimate, "idle_low": 0.0}


def _stalled_s(entries: Sequence[Mapping[str, Any]]) -> float:
    """For how long paths were stalled."""
    return sum(float(one["length_s"]) for entry in entries for one in entry.get("standstills") or ())


def _silent_s(entries: Sequence[Mapping[str, Any]]) -> float:
    """How long nothing came while the only one with data waited for a timer, or through an outage."""
    return limit_s(entries[0], "loss_recovery_silent") if len(entries) == 1 else 0.0


def _share_twice(sent: int, duplicate: int, twice: int) -> float:
    """Share of what the link carried that it had carried before; the other copies never were on it."""
    carried = sent - (duplicate - twice)
    return twice / carried if carried else 0.0


def _summary(
    basis: str,
    rate: float,
    idle_share: float,
    idle_bounds: tuple[float, float],
    bounds: tuple[float, float],
    span_s: float,
    counts: tuple[int, int, int],
) -> dict[str, Any]:
    """An estimate as docs/json.md has it; `counts`: bytes sent, retransmitted, and of these carried twice."""
    sent, duplicate, twice = counts
    duplicate_share = _share_twice(sent, duplicate, twice)
    value = (1 - idle_share) * (1 - duplicate_share)
    # What is idle is not used: neither bound contradicts the other.
    most = min(bounds[1], 1 - idle_bounds[0])
    return {
        "value": round(value, 6),
        "low": round(min(bounds[0], value), 6),
        "high": round(max(most, value), 6),
        "idle_share": round(idle_share, 6),
        "idle_low": round(min(idle_bounds[0], idle_share), 6),
        "idle_high": round(max(idle_bounds[1], idle_share), 6),
        "duplicate_share": round(duplicate_share, 6),
        "basis": "estimate from captures",
        "told_from": basis,
        "span_s": round(span_s, 6),
        "idle_s": round(idle_share * span_s, 6),
        "sent_bytes": sent,
        "duplicate_bytes": duplicate,
        "carried_twice_bytes": twice,
        "rate_bytes_per_s": round(rate, 3),
    }


def _dropped_in_front(results: Mapping[str, Result]) -> int:
    """Bytes of data that never reached the link and were retransmitted."""
    found = results.get("local_drops")
    if found is None or found.inconclusive is not None:
        return 0
    drops = found.tables["local_drops"]
    again = (drops["record"] > 0) & (drops["length"] > 0) & (drops["recovered_ns"] >= 0)
    return int(drops["length"][again].sum(dtype=np.int64))


def _arrived_twice(m: Timeline) -> int:
    """Bytes that came to the receiver's capture more than once: the link carried each copy; 0 without it."""
    if m.rcv is None or m.summarised:
        return 0
    directions = ("forward", "reverse")
    return sum(
        int(one.summaries[m.rcv][directions[one.data_dir]]["duplicate_bytes"])
        for one in m.connections
        if m.rcv in one.summaries
    )


def _bytes(connections: Result) -> tuple[int, int]:
    """Bytes sent, and those of them retransmitted."""
    entries = connections.summary["connections"]
    if len(entries) > MOST:
        sums = digest(entries, MOST)["bytes"]
        return sums["sent"], sums["duplicate"]
    counts = [entry["bytes"] for entry in entries]
    return sum(entry["sent"] for entry in counts), sum(entry["duplicate"] for entry in counts)


def _causes(
    results: Mapping[str, Result], available_s: float, idle_s: float, duplicate_share: float
) -> list[dict[str, Any]]:
    """What the utilization was lost to, largest first: shares of the available time and of the bytes sent.

    Each in seconds too: of idle time, or of the link's work on bytes that it had carried before. Phases that
    are too short to distinguish have no cause: an estimate of the idle time may be more than all that have.
    """
    causes = results["idle_phases"].summary["causes"]
    found = [
        {"cause": name, "kind": "idle", "share": round(entry["s"] / available_s, 6), "s": entry["s"]}
        for name, entry in causes.items()
    ]
    if duplicate_share > 0:
        lost_s = round((available_s - idle_s) * duplicate_share, 6)
        found.append(
            {"cause": "duplicates", "kind": "bytes", "share": round(duplicate_share, 6), "s": lost_s}
        )
    return sorted(found, key=lambda entry: -entry["share"])


def _s(time_ns: int) -> float:
    return round(time_ns / 1e9, 6)


ANALYZER = Analyzer(
    name="utilization",
    question="How much of the link's capacity did TCP use for new data?",
    run=run,
    **QUESTIONS["utilization"]._asdict(),
)
