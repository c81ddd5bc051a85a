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
_ETHERNET = 14
_FEW = 20


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
        "queue_off_us": _queue(
            analysis.results["host"].tables["host_packets"], analysis.measurement.table("segments"), truth
        ),
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


def _queue(packets: Table, segments: Table, truth: Score) -> dict[str, float] | None:
    """Times of packets in a token bucket, against its rate and against the capture's own stamps.

    Of full packets that waited for the one before, the distance between departures is their bytes divided by
    the rate. When the bucket's timer comes late, a packet really waits longer; the next one waits less.
    Packets of one segment each: how a larger one is cut in the queue, its arrival does not tell.
    """
    if truth["queue"] != "tbf-host" or truth["offload"]:
        return None
    ours = packets.where((packets["enqueue_ns"] >= 0) & (packets["dequeue_ns"] >= 0))
    ours = ours.where(np.argsort(ours["dequeue_ns"], kind="stable"))
    came, went, size = ours["enqueue_ns"], ours["dequeue_ns"], ours["length"] + _ETHERNET
    full = size == size.max(initial=0)
    behind = np.flatnonzero(full[1:] & full[:-1] & (came[1:] < went[:-1]))
    if len(behind) < _FEW:
        return None
    ideal_us = float(size.max()) * 8e6 / truth["rate_bps"]
    gaps_us = (went[behind + 1] - went[behind]) / 1e3
    known = ours["capture"] >= 0
    apart_us = (segments["t_ns"][ours["capture"][known]] - went[known]) / 1e3
    return {
        "packets": len(behind),
        "ideal": round(ideal_us, 1),
        "median_off": round(float(np.median(gaps_us)) - ideal_us, 1),
        "spread": round(float(np.percentile(np.abs(gaps_us - np.median(gaps_us)), 50)), 1),
        "captured_after": round(float(np.median(apart_us)), 1),
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
    timed = {one["run"]: one["queue_off_us"] for one in found if one["queue_off_us"]}
    for what, against, key in (
        ("between departures", "bytes over rate", "median_off"),
        ("departure", "the capture's stamp", "captured_after"),
    ):
        slow = {run: f"{us[key]} us" for run, us in timed.items() if abs(us[key]) > _QUEUE_US}
        lines.append(_row(f"queue, {what}: median within {_QUEUE_US} us", against, len(timed), slow))
    return lines


def _row(what: str, against: str, runs: int, misses: dict[str, str]) -> str:
    words = "; ".join(f"{run}: {miss}" for run, miss in misses.items()) or "-"
    return f"| {what} | {against} | {runs - len(misses)} of {runs} | {words} |"
