"""What logs alone show of transfers: throughput, RTT, windows, retransmissions, limits, stalls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.logged import LoggedFlow, Samples, limits, uncaptured
from multitracer.layers.logged.limits import at_ends
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.schema.results import LOG_INTERVALS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline
from multitracer.model.trace import Flow

Object = dict[str, Any]


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Each transfer that a log reports and no capture holds, with its intervals.

    Throughput counts what the log counts (`counted`): bytes acknowledged, written, received. RTTs are the
    kernel's smoothed ones, or those of single probes (`rtt_ms.kind`). Shares of limits are of the time that
    the log watched; their grade shows whether the kernel's own clocks show them, or windows, RTT and rate.

    References
    ----------
    RFC 6298 (SRTT); RFC 4898 (tcpEStatsPerfSndLim...).
    """
    flows = uncaptured(m)
    transfers = [_described(m, flow) for flow in flows]
    _pair(m, flows, transfers)
    return Result("logs", {"transfers": transfers}, {"log_intervals": _intervals(flows)})


def _described(m: Timeline, flow: LoggedFlow) -> Object:
    source = m.sources[flow.source]
    start_ns, end_ns = flow.span_ns
    rates, held = flow.rates, limits(flow)
    rate = None
    size = None
    if rates:
        length = (rates.end_ns - rates.begin_ns).astype(np.float64) / 1e9
        size = float(np.nansum(rates.size))
        # What is between intervals (a log that was paused) is neither.
        rate = {
            "mean": round(size * 8 / float(length.sum())),
            "min": round(float(rates.rate_bps.min())),
            "median": round(float(np.median(rates.rate_bps))),
            "max": round(float(rates.rate_bps.max())),
            "intervals": len(rates.end_ns),
        }
    ends = _ends(m, flow)
    again = flow.retransmissions
    return {
        "source": source.path,
        "format": source.format,
        "label": flow.label or None,
        "local": None if ends is None else _end(ends.local_address, ends.local_port),
        "remote": None if ends is None else _end(ends.remote_address, ends.remote_port),
        "sends": flow.sends,
        "start": round(m.seconds(start_ns), 9),
        "end": round(m.seconds(end_ns), 9),
        "duration_s": round((end_ns - start_ns) / 1e9, 9),
        "bytes": None if size is None else round(size),
        "counted": flow.counted or None,
        "throughput_bps": rate,
        "rtt_ms": _rtt(flow),
        "cwnd_bytes": _spread(flow.cwnd),
        "cwnd_packets": _spread(flow.cwnd_packets),
        "rwnd_bytes": _spread(flow.rwnd),
        "retransmissions": round(float(again.value.sum())) if again is not None else None,
        "retransmitted_bytes": flow.bytes_retransmitted,
        "datagrams": _datagrams(flow),
        "limits": None
        if held is None
        else {
            "grade": held.grade,
            "watched_s": round(held.span_s, 6),
            "shares": {name: round(share, 4) for name, share in held.shares.items()},
            "record": held.record,
        },
        "app_limited_share": _app_limited(flow),
        "stalls": _stalls(m, flow),
        "other_end": None,
        "reported": _reported(source.details),
        "records": _records(flow),
    }


def _ends(m: Timeline, flow: LoggedFlow) -> Flow | None:
    known = m.traces[flow.source].flows
    return known[flow.flow] if 0 <= flow.flow < len(known) else None


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


_LONGEST_S = 1e9
"""No RTT is as long as thirty years."""


def _spread(found: Samples | None) -> Object | None:
    if not found:
        return None
    values = found.value
    return {
        "min": round(float(values.min())),
        "median": round(float(np.median(values))),
        "max": round(float(values.max())),
        "samples": len(values),
    }


def _rtt(flow: LoggedFlow) -> Object | None:
    if not flow.rtt:
        return None
    # Times of decades in a damaged log are no delays, and their sums are meaningless.
    ms = flow.rtt.value[(flow.rtt.value >= 0) & (flow.rtt.value < _LONGEST_S)] * 1e3
    if not len(ms):
        return None
    return {
        "kind": flow.rtt_kind,
        "min": round(float(ms.min()), 3),
        "median": round(float(np.median(ms)), 3),
        "mean": round(float(ms.mean()), 3),
        "p95": round(float(np.percentile(ms, 95)), 3),
        "max": round(float(ms.max()), 3),
        "samples": len(ms),
        "kernel_min": None if flow.min_rtt_s is None else round(flow.min_rtt_s * 1e3, 3),
    }


def _datagrams(flow: LoggedFlow) -> Object | None:
    """Packets of a UDP test, and those that were lost; of the sender alone the latter are unknown."""
    if not flow.packets:
        return None
    lost = None if not flow.lost_packets else round(float(flow.lost_packets.value.sum()))
    return {"packets": round(float(flow.packets.value.sum())), "lost": lost}


def _app_limited(flow: LoggedFlow) -> float | None:
    """Share of the samples whose delivery rate the kernel marks as limited by the application."""
    if flow.states is None:
        return None
    app_limited = flow.states["app_limited"]
    app_limited = app_limited[app_limited >= 0]
    return round(float(app_limited.mean()), 4) if len(app_limited) else None


def _stalls(m: Timeline, flow: LoggedFlow) -> list[Object]:
    """Intervals without a byte, between others with data; those that follow each other are one."""
    rates = flow.rates
    if not rates:
        return []
    still = rates.rate_bps <= 0
    moving = np.flatnonzero(~still)
    if not len(moving):
        return []
    inside = still.copy()
    inside[: moving[0]] = inside[moving[-1] :] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8)))
    return [
        {
            "start": round(m.seconds(int(rates.begin_ns[first])), 6),
            "end": round(m.seconds(int(rates.end_ns[behind - 1])), 6),
            "record": int(rates.record[first]),
        }
        for first, behind in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    ]


def _reported(details: Mapping[str, Any]) -> Object | None:
    """What the tool itself reports at its end, if it does."""
    keys = (
        "sum_sent",
        "sum_received",
        "throughput_bps",
        "retransmissions",
        "duration_s",
        "transmitted",
        "received",
    )
    found = {key: details[key] for key in keys if details.get(key) is not None}
    return found or None


def _records(flow: LoggedFlow) -> list[int]:
    """First and last record that reports it."""
    parts = (flow.rates, flow.rtt, flow.cwnd_packets, flow.cwnd, flow.retransmissions)
    records = [one.record for one in parts if one]
    return [int(min(one.min() for one in records)), int(max(one.max() for one in records))]


def _pair(m: Timeline, flows: Sequence[LoggedFlow], transfers: Sequence[Object]) -> None:
    """Name the other end of each transfer that both ends logged: the same test, the sockets turned round."""
    by_ends: dict[tuple[object, ...], int] = {}
    for index, flow in enumerate(flows):
        ends = _ends(m, flow)
        if ends is None:
            continue
        test = m.sources[flow.source].details.get("cookie")
        local, remote = (ends.local_address, ends.local_port), (ends.remote_address, ends.remote_port)
        by_ends[(test, local, remote)] = index
        other = by_ends.get((test, remote, local))
        if other is not None and flows[other].source != flow.source:
            transfers[index]["other_end"], transfers[other]["other_end"] = other, index


def _intervals(flows: Sequence[LoggedFlow]) -> Table:
    parts: list[dict[str, Array]] = []
    for index, flow in enumerate(flows):
        rates = flow.rates
        if not rates:
            continue
        rows = len(rates.end_ns)
        missing = np.full(rows, np.nan)
        again = missing
        if flow.retransmissions is not None:
            sums = np.concatenate([[0.0], np.cumsum(flow.retransmissions.value)])
            edges = np.searchsorted(flow.retransmissions.t_ns, [rates.begin_ns, rates.end_ns], side="right")
            again = sums[edges[1]] - sums[edges[0]]
            again[0] = sums[edges[1][0]]
        parts.append(
            {
                "t_ns": rates.begin_ns,
                "end_ns": rates.end_ns,
                "source": np.full(rows, flow.source),
                "record": rates.record,
                "transfer": np.full(rows, index),
                "length": rates.size,
                "throughput": rates.rate_bps,
                "rtt": at_ends(flow.rtt, rates.end_ns) if flow.rtt else missing,
                "cwnd": at_ends(flow.cwnd, rates.end_ns) if flow.cwnd else missing,
                "rwnd": at_ends(flow.rwnd, rates.end_ns) if flow.rwnd else missing,
                "retransmissions": again,
            }
        )
    if not parts:
        return Table.empty(LOG_INTERVALS)
    return Table(LOG_INTERVALS, {name: np.concatenate([one[name] for one in parts]) for name in parts[0]})


ANALYZER = Analyzer(
    name="logs",
    question="What do logs alone show of transfers that no capture holds?",
    run=run,
    **QUESTIONS["logs"]._asdict(),
)
