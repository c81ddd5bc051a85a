"""What the analysis says of a recording, held against what the system itself said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import multitracer as mt
from multitracer.model.table import Table

Score = dict[str, Any]
_POINTS, _QUEUE_US = 2, 10


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
    """How far times in a token bucket are from what its rate, burst and earlier packets make of the arrivals.

    The bucket holds `burst_bytes` worth of time, full at the beginning; a packet may go when there is enough
    for it, and goes when the kernel's timer comes to it: that is in the figures. Packets of one segment each:
    how a larger one is cut in the queue, its arrival does not tell.
    """
    if truth["queue"] != "tbf-host" or truth["offload"]:
        return None
    ours = packets.where((packets["enqueue_ns"] >= 0) & (packets["dequeue_ns"] >= 0))
    order = np.argsort(ours["dequeue_ns"], kind="stable")
    came, went = ours["enqueue_ns"][order].tolist(), ours["dequeue_ns"][order].tolist()
    sizes = (ours["length"][order] + 14).tolist()
    if not came:
        return None
    per_byte_ns = 8e9 / truth["rate_bps"]
    full_ns = truth["burst_bytes"] * per_byte_ns
    tokens_ns, before_ns = full_ns, came[0]
    off = []
    for arrival, departure, size in zip(came, went, sizes, strict=True):
        begin = max(arrival, before_ns)
        there = min(tokens_ns + begin - before_ns, full_ns)
        off.append((departure - begin - max(size * per_byte_ns - there, 0.0)) / 1e3)
        tokens_ns = min(tokens_ns + departure - before_ns, full_ns) - size * per_byte_ns
        before_ns = departure
    middle, tail = np.percentile(np.abs(off), (50, 95))
    return {
        "median": round(float(np.median(off)), 1),
        "median_off": round(float(middle), 1),
        "p95_off": round(float(tail), 1),
        "packets": len(off),
    }


def table(found: list[Score]) -> list[str]:
    """Markdown: each aim, in how many runs it was met, and the misses."""
    lost = sum(1 for one in found if one["lost_events"])
    lines = [f"{len(found)} recordings, {lost} with lost events.", "", "| what | against | met | else |"]
    lines.append("|---|---|---|---|")
    for what, against, key, fits in (
        ("drops of the host's queue", "`tc -s`", "drops", lambda one: one["queue"].endswith("host")),
        (
            "retransmissions in the capture, no drops in the host",
            "`TcpRetransSegs` - `TCPRetransFail`",
            "retransmitted",
            lambda one: not one["drops"][1],
        ),
        ("writes", "strace", "writes", lambda one: True),
        ("bytes written", "strace", "bytes_written", lambda one: True),
    ):
        runs = [one for one in found if fits(one)]
        misses = {one["run"]: "{:,} of {:,}".format(*one[key]) for one in runs if one[key][0] != one[key][1]}
        lines.append(_row(what, against, len(runs), misses))
    apart = {one["run"]: str(one["unjoined_segments"]) for one in found if one["unjoined_segments"]}
    lines.append(_row("captured segments without their packet", "none", len(found), apart))
    known = [one for one in found if one["limits_off"] is not None]
    far = {one["run"]: f"{one['limits_off']} points" for one in known if one["limits_off"] > _POINTS}
    lines.append(_row(f"limits within {_POINTS} points", "tcp_info", len(known), far))
    timed = {one["run"]: one["queue_off_us"]["median_off"] for one in found if one["queue_off_us"]}
    slow = {run: f"{off} us" for run, off in timed.items() if off > _QUEUE_US}
    lines.append(_row(f"time in the queue, median within {_QUEUE_US} us", "token bucket", len(timed), slow))
    return lines


def _row(what: str, against: str, runs: int, misses: dict[str, str]) -> str:
    words = "; ".join(f"{run}: {miss}" for run, miss in misses.items()) or "-"
    return f"| {what} | {against} | {runs - len(misses)} of {runs} | {words} |"
