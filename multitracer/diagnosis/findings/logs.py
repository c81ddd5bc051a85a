"""Sentences about transfers that only a log reports: what limited them as far as the log proves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.diagnosis.findings.finding import Finding, plot_command, seconds, several, share
from multitracer.model.quantities import rate
from multitracer.model.timeline import Timeline

Object = Mapping[str, Any]

MAIN = 0.5
"""Share of the time from which on a limit is the main cause."""
SMALL = 0.01
"""Transfers with less than this share of the data of the largest are left out."""
STILL_S = 0.2
"""Shorter stretches without a byte are no stall: the shortest RTO of Linux."""
QUEUE_MS = 30.0
QUEUE_TIMES = 3.0
"""A standing queue: so much longer, and so many times longer, is the median RTT than the smallest."""
_FEW_RTTS = 5

_WORDS = {
    "application": "the application: it had nothing to send",
    "receiver_window": "the receiver's window",
    "send_buffer": "the sender's own socket buffer",
    "congestion_window": "the congestion window",
}
KINDS = {
    "application": "log_application",
    "receiver_window": "log_receiver_window",
    "send_buffer": "log_send_buffer",
    "congestion_window": "log_congestion_window",
}
"""Kinds of sentences by the limit with most of the time."""
_INFERRED = {
    **_WORDS,
    "application": "the application, or its socket buffer: less was sent than both windows allowed",
}


def from_logs(m: Timeline, summary: Object) -> list[Finding]:
    """What limited these transfers, the most frequent first; equal ones are one sentence."""
    transfers = [one for one in summary.get("transfers", ()) if one["throughput_bps"] is not None]
    # Of a transfer that both ends logged, the sender's log shows more.
    chosen = [one for one in transfers if one["sends"] is not False or one["other_end"] is None]
    most = max((one["bytes"] for one in chosen), default=0)
    # Control sockets and those that carried ACKs only are no transfers to be explained.
    chosen = [one for one in chosen if one["bytes"] >= SMALL * most]
    probes = [one for one in summary.get("transfers", ()) if one["throughput_bps"] is None and one["rtt_ms"]]
    if not chosen and not probes:
        return []
    groups: dict[str, list[Object]] = {}
    for one in chosen:
        groups.setdefault(_main(one)[0], []).append(one)
    found = [_said(m, kind, members, len(chosen)) for kind, members in groups.items()]
    found.sort(key=lambda one: -one.cost_s)
    known = [one for one in found if one.kind != "log_unknown"]
    unknown = [one for one in found if one.kind == "log_unknown"]
    return [*known, *unknown, *_stalls(m, chosen), *_queues(m, [*chosen, *probes])]


def _main(one: Object) -> tuple[str, str]:
    """Kind of sentence, and the limit with the largest share."""
    held = one["limits"]
    if held is None:
        kind = "log_unknown"
        return kind, ""
    shares = {name: value for name, value in held["shares"].items() if name != "unknown"}
    name = max(shares, key=lambda name: shares[name])
    kind = "log_mixed"
    return (KINDS[name] if shares[name] >= MAIN else kind), name


def _said(m: Timeline, kind: str, members: Sequence[Object], all_of: int) -> Finding:
    first = members[0]
    if kind == "log_unknown":
        what = f"what limited the sender is not known: {_missing(members)}"
        text = f"{_who(members, all_of)}{_fast(members)}; {what}"
        return Finding(text, 0.0, kind, _picture(m), _evidence(members))
    limits = [one["limits"] for one in members]
    name = _main(first)[1]
    watched = sum(one["watched_s"] for one in limits)
    if kind == "log_mixed":
        shares = {
            key: sum(one["shares"].get(key, 0.0) * one["watched_s"] for one in limits) / watched
            for key in _WORDS
        }
        parts = [
            f"{_WORDS[key].partition(':')[0]} {share(value)}"
            for key, value in sorted(shares.items(), key=lambda item: -item[1])
            if value >= 0.05
        ]
        text = (
            f"{_who(members, all_of)}{_fast(members)}; no single limit ({_grade(limits)}): "
            f"{', '.join(parts)} of the time"
        )
        return Finding(text, 0.0, kind, _picture(m), _evidence(members))
    held = sum(one["shares"][name] * one["watched_s"] for one in limits)
    inferred = any(one["grade"] == "inferred" for one in limits)
    words = (_INFERRED if inferred else _WORDS)[name]
    text = (
        f"{_who(members, all_of)}{_fast(members)}; for {share(held / watched)} of the time "
        f"({_grade(limits)}) limited by {words}"
    )
    if name == "congestion_window":
        text += _path(members)
    full = name == "receiver_window" and 2 * sum(_queued(one) for one in members) >= len(members)
    if full:
        text += ", which a queue on the path filled: a larger window would only lengthen it"
    cost_s = 0.0 if full or name == "congestion_window" else held
    return Finding(text, cost_s, kind, _picture(m), _evidence(members))


def _grade(limits: Sequence[Object]) -> str:
    if all(one["grade"] == "kernel" for one in limits):
        return "by the kernel's own clocks"
    return "inferred from windows, RTT and rate of each interval"


def _who(members: Sequence[Object], all_of: int) -> str:
    if all_of == 1:
        return ""
    if len(members) == 1:
        return f"{_name(members[0])}: "
    return f"{len(members)} of {all_of} transfers: "


def _name(one: Object) -> str:
    if one["local"] is not None:
        return (
            f"{one['local']} to {one['remote']}"
            if one["sends"] is not False
            else f"{one['remote']} to {one['local']}"
        )
    return str(one["label"] or one["source"])


def _fast(members: Sequence[Object]) -> str:
    means = sorted(one["throughput_bps"]["mean"] for one in members)
    longest = max(one["duration_s"] for one in members)
    if len(members) == 1:
        return f"{rate(means[0])} on average over {seconds(longest)}{_again(members)}"
    low, high = rate(means[0]), rate(means[-1])
    return f"{low if low == high else f'{low} to {high}'} on average{_again(members)}"


def _again(members: Sequence[Object]) -> str:
    datagrams = [one["datagrams"] for one in members if one["datagrams"] is not None]
    if any(one["lost"] is not None for one in datagrams):
        lost, whole = (sum(one[key] or 0 for one in datagrams) for key in ("lost", "packets"))
        return f", {lost:,} of {several(whole, 'UDP packet')} lost ({share(lost / max(whole, 1))})"
    counted = [one["retransmissions"] for one in members if one["retransmissions"] is not None]
    return f", {several(sum(counted), 'retransmitted segment')}" if counted else ""


def _path(members: Sequence[Object]) -> str:
    """What the log shows of the path while the congestion window was full."""
    lost = sum(one["retransmissions"] or 0 for one in members)
    queued = sum(_queued(one) for one in members)
    if queued and 2 * queued >= len(members):
        return ": the path had no spare capacity, and its queue filled"
    return (
        ": segments were lost on the path" if lost else ": it was still growing, or the path had no more room"
    )


def _missing(members: Sequence[Object]) -> str:
    if all(one["datagrams"] is not None for one in members):
        return "UDP has no window, it is sent as fast as the test asks for; a TCP test would meet a limit"
    if all(one["sends"] is False for one in members):
        return "this is the receiver's log; the sender's log, or a capture at the sender, would show it"
    if all(one["cwnd_packets"] is not None and one["cwnd_bytes"] is None for one in members):
        return (
            "the log has cwnd in packets and not the segment size; `ss -tin` every 100 ms, or a capture at "
            "the sender, would show it"
        )
    return (
        "the log has neither the kernel's clocks (busy, rwnd_limited, sndbuf_limited) nor windows with RTT; "
        "`ss -tin` every 100 ms, or a capture at the sender, would show it"
    )


def _queued(one: Object) -> bool:
    rtt = one["rtt_ms"]
    if rtt is None or rtt["samples"] < _FEW_RTTS:
        return False
    low = _lowest(rtt)
    return bool(low > 0 and rtt["median"] - low >= QUEUE_MS and rtt["median"] >= QUEUE_TIMES * low)


def _lowest(rtt: Object) -> float:
    return float(min(rtt["min"], rtt["kernel_min"] if rtt["kernel_min"] is not None else rtt["min"]))


def _queues(m: Timeline, transfers: Sequence[Object]) -> list[Finding]:
    found = [one for one in transfers if _queued(one)]
    if not found:
        return []
    one = max(found, key=lambda one: one["rtt_ms"]["median"] - _lowest(one["rtt_ms"]))
    rtt = one["rtt_ms"]
    low = _lowest(rtt)
    base, median, most = (seconds(value / 1e3) for value in (low, rtt["median"], rtt["p95"]))
    who = (
        ""
        if len(transfers) == 1
        else f"{_name(one)}: "
        if len(found) == 1
        else f"{len(found)} of {len(transfers)} transfers, most of all {_name(one)}: "
    )
    what = "RTT" if rtt["kind"] == "rtt" else "smoothed RTT"
    text = (
        f"{who}the {what} was {median} (median) and {most} (95th percentile), "
        f"{rtt['median'] / low:.1f} times the smallest ({base}): a standing queue on the path"
    )
    return [Finding(text, 0.0, "log_queue", _picture(m), _evidence(found))]


def _stalls(m: Timeline, transfers: Sequence[Object]) -> list[Finding]:
    found = [one for one in transfers if one["stalls"]]
    if not found:
        return []
    still = [
        (one, stall) for one in found for stall in one["stalls"] if stall["end"] - stall["start"] >= STILL_S
    ]
    if not still:
        return []
    lengths = [stall["end"] - stall["start"] for _, stall in still]
    found = list({id(one): one for one, _ in still}.values())
    who = "" if len(transfers) == 1 else f"in {several(len(found), 'transfer')} of {len(transfers)}: "
    text = (
        f"{who}no byte moved in {several(len(lengths), 'stretch', 'stretches')} of whole intervals, "
        f"{seconds(sum(lengths))} in all, "
        f"the longest {seconds(max(lengths))}; a capture or a log of the link would show why"
    )
    records = tuple((one["source"], stall["record"]) for one, stall in still)[:12]
    _, longest = max(still, key=lambda item: item[1]["end"] - item[1]["start"])
    cost_s = sum(lengths)
    return [Finding(text, cost_s, "log_stall", _picture(m, longest["start"], longest["end"]), records)]


def _picture(m: Timeline, start: float | None = None, end: float | None = None) -> str:
    return plot_command(m, start, end, "logs")


def _evidence(members: Sequence[Object]) -> tuple[tuple[str, int], ...]:
    found = [
        (one["source"], one["limits"]["record"] if one["limits"] else one["records"][1]) for one in members
    ]
    return tuple(dict.fromkeys(found))[:12]
