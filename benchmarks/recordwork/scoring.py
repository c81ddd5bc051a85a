"""What the analysis says of a recording, held against what the system itself said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import multitracer as mt
from multitracer.model.table import Table

Score = dict[str, Any]


def score(folder: Path) -> Score:
    """The figures of one run."""
    truth = json.loads((folder / "truth.json").read_text())
    analysis = mt.analyze(mt.read(folder / "recording"))
    host = analysis.results["host"].summary
    connections = analysis.results["connections"].summary["connections"]
    calls = analysis.results["host"].tables["host_calls"]
    writes = calls["length"][(calls["kind"] == 0) & (calls["conn"] >= 0) & (calls["length"] > 0)]
    captured = sum(one["retransmissions"]["total"] for one in connections)
    return {
        "run": folder.name,
        **{name: truth[name] for name in ("queue", "offload", "workload", "flows", "congestion_control")},
        "lost_events": host["lost_events"],
        "drops": [host["qdisc"]["dropped"], truth["qdisc"]["drops"]],
        "retransmitted": [captured, truth["retransmitted"]],
        "writes": [len(writes), len(truth["writes"])],
        "bytes_written": [int(writes.sum()), sum(truth["writes"])],
        "same_writes": sorted(writes.tolist()) == sorted(truth["writes"]),
        "unjoined_segments": host["unjoined"]["segments"],
        "uncut": host["unjoined"]["cut_in_queue"],
        "limits_off": _limits(connections, truth),
        "queue_off_us": _queue(analysis.results["host"].tables["host_packets"], truth),
    }


def _limits(connections: list[dict[str, Any]], truth: Score) -> float | None:
    """The largest distance, in points, of the application's and the window's shares from tcp_info."""
    found = []
    by_port = {one["port"]: one for one in truth["tcp_info"]}
    for one in connections:
        port = int(one["endpoints"][0 if one["data_direction"] == "forward" else 1].rpartition(":")[2])
        told, info = one["limits"], by_port.get(port)
        if told is None or info is None or told["method"] != "kernel":
            continue
        span_us = told["seconds"] * 1e6
        application = 1 - (info["busy_us"] - info["sndbuf_limited_us"]) / span_us - told["handshake"]
        found.append(abs(told["application"] - max(application, 0)))
        found.append(abs(told["receiver_window"] - info["rwnd_limited_us"] / span_us))
    return round(100 * max(found), 2) if found else None


def _queue(packets: Table, truth: Score) -> dict[str, float] | None:
    """How far times in a token bucket are from what its rate and burst make of the arrivals.

    The bucket holds `burst_bytes` of time, full at the beginning; a packet goes when there is enough for it.
    Packets of one segment each: how a larger one is cut in the queue, its arrival does not tell.
    """
    if truth["queue"] != "tbf-host" or truth["offload"]:
        return None
    rows = (packets["enqueue_ns"] >= 0) & (packets["dequeue_ns"] >= 0)
    ours = packets.where(rows)
    order = np.argsort(ours["enqueue_ns"], kind="stable")
    came, went = ours["enqueue_ns"][order].tolist(), ours["dequeue_ns"][order].tolist()
    sizes = (ours["length"][order] + 14).tolist()
    if not came:
        return None
    per_byte_ns = 8e9 / truth["rate_bps"]
    full_ns = truth["burst_bytes"] * per_byte_ns
    tokens_ns, at_ns = full_ns, float(came[0])
    off = []
    for arrival, departure, size in zip(came, went, sizes, strict=True):
        now = max(float(arrival), at_ns)
        tokens_ns = min(tokens_ns + now - at_ns, full_ns)
        wait = max(size * per_byte_ns - tokens_ns, 0.0)
        tokens_ns = tokens_ns + wait - size * per_byte_ns
        at_ns = now + wait
        off.append((departure - at_ns) / 1e3)
    middle, tail = np.percentile(np.abs(off), (50, 95))
    return {
        "median": round(float(np.median(off)), 1),
        "median_off": round(float(middle), 1),
        "p95_off": round(float(tail), 1),
        "packets": len(off),
    }


def table(found: list[Score]) -> list[str]:
    """Markdown: each aim, in how many runs it was met, and the largest miss."""
    lost = sum(1 for one in found if one["lost_events"])
    lines = [f"{len(found)} recordings, {lost} with lost events.", "", "| what | against | equal | else |"]
    lines.append("|---|---|---|---|")
    kinds: tuple[tuple[str, str, str, Callable[[Score], bool]], ...] = (
        ("drops of the host's queue", "`tc -s`", "drops", lambda one: one["queue"].endswith("host")),
        (
            "retransmissions in the capture, no drops in the host",
            "`TcpRetransSegs` - `TCPRetransFail`",
            "retransmitted",
            lambda one: not one["drops"][1],
        ),
        ("writes", "strace", "writes", lambda one: True),
        ("bytes written", "strace", "bytes_written", lambda one: True),
    )
    for what, against, key, fits in kinds:
        runs = [one for one in found if fits(one)]
        misses = [
            f"{one['run']}: {one[key][0]:,} of {one[key][1]:,}" for one in runs if one[key][0] != one[key][1]
        ]
        words = "; ".join(misses) or "-"
        lines.append(f"| {what} | {against} | {len(runs) - len(misses)} of {len(runs)} | {words} |")
    apart = [f"{one['run']}: {one['unjoined_segments']}" for one in found if one["unjoined_segments"]]
    words = "; ".join(apart) or "-"
    lines.append(
        f"| captured segments joined to a packet | all | {len(found) - len(apart)} of {len(found)} | {words} |"
    )
    known = [one for one in found if one["limits_off"] is not None]
    far = [f"{one['run']}: {one['limits_off']} points" for one in known if one["limits_off"] > 2]
    words = "; ".join(far) or "-"
    lines.append(f"| limits within 2 points | tcp_info | {len(known) - len(far)} of {len(known)} | {words} |")
    timed = [one for one in found if one["queue_off_us"]]
    slow = [
        f"{one['run']}: {one['queue_off_us']['median_off']} us"
        for one in timed
        if one["queue_off_us"]["median_off"] > 10
    ]
    words = "; ".join(slow) or "-"
    lines.append(
        f"| time in the queue, median within 10 us | token bucket | {len(timed) - len(slow)} of {len(timed)} | {words} |"
    )
    return lines
