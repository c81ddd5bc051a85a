"""What the analysis says of a recording, held against what the system itself said."""

from __future__ import annotations

import json
from itertools import pairwise
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
    written = [call["bytes"] for call in truth["writes"]]
    captured = sum(one["retransmissions"]["total"] for one in connections)
    return {
        "run": folder.name,
        **{name: truth[name] for name in ("queue", "offload", "workload", "flows", "congestion_control")},
        "lost_events": host["lost_events"],
        "drops": [host["qdisc"]["dropped"], truth["qdisc"]["drops"]],
        "retransmitted": [captured, truth["retransmitted"]],
        "writes": [len(writes), len(written)],
        "bytes_written": [int(writes.sum()), sum(written)],
        "same_writes": sorted(writes.tolist()) == sorted(written),
        **_receiver(folder, truth),
        "unjoined_segments": host["unjoined"]["segments"],
        "uncut": host["unjoined"]["cut_in_queue"],
        "limits_off": _limits(connections, truth),
        "queue_off_us": _queue(
            analysis.results["host"].tables["host_packets"], analysis.measurement.table("segments"), truth
        ),
    }


def _receiver(folder: Path, truth: Score) -> Score:
    """Both hosts in one measurement: what the receiver's application read, and the offset of its capture."""
    told: Score = {"both": truth["reads"] is not None, "reads": None, "bytes_read": None, "same_reads": None}
    if not told["both"]:
        return {**told, "clock_off_us": None, "clock_bound": None}
    analysis = mt.analyze(mt.read(folder / "recording", folder / "receiver"), only=["host"])
    host = analysis.results["host"]
    receiver = host.summary["points"]["rcv"]
    calls = host.tables["host_calls"]
    paths = [source.path for source in analysis.measurement.sources]
    own = calls["source"] == paths.index(receiver["source"])
    reads = calls["length"][own & (calls["kind"] == 1) & (calls["conn"] >= 0) & (calls["length"] > 0)]
    wanted = [call["bytes"] for call in truth["reads"] if call["bytes"] > 0]
    (clock,) = (
        one for one in analysis.measurement.clocks if paths[one.source].endswith("receiver/capture.pcap")
    )
    # The offset is that at the capture's first packet, which may be of before the transfer: bounds are of it.
    segments = analysis.measurement.table("segments")
    middle_ns = float(np.median(segments["t_ns"][segments["source"] == clock.source]))
    first_ns = analysis.measurement.sources[clock.source].first_ns or 0
    offset_ns = clock.offset_ns + clock.skew_ppm * 1e-6 * (middle_ns - first_ns)
    return {
        **told,
        "reads": [len(reads), len(wanted)],
        "bytes_read": [int(reads.sum()), sum(wanted)],
        "same_reads": sorted(reads.tolist()) == sorted(wanted),
        "receiver_lost_events": receiver["lost_events"],
        "clock_off_us": round(offset_ns / 1e3, 1),
        "clock_bound": abs(offset_ns) <= (clock.uncertainty_ns or 0),
    }


def _limits(connections: list[dict[str, Any]], truth: Score) -> float | None:
    """The largest distance, in points, of the application's and the window's shares from the truth.

    The window's is tcp_info's. To it, a connection is busy while anything is unacknowledged, also where the
    application has written nothing more: the application's share is at least the time that is not busy, and
    at most the time between calls of strace.
    """
    found = []
    by_port = {one["port"]: one for one in truth["tcp_info"]}
    for one in connections:
        port = int(one["endpoints"][0 if one["data_direction"] == "forward" else 1].rpartition(":")[2])
        told, info = one["limits"], by_port.get(port)
        if told is None or info is None or told["method"] != "kernel":
            continue
        span_us = told["seconds"] * 1e6
        least = max(1 - (info["busy_us"] - info["sndbuf_limited_us"]) / span_us - told["handshake"], 0.0)
        most = max(least, _between_calls_s(truth["writes"], port) * 1e6 / span_us)
        found.append(max(least - told["application"], told["application"] - most, 0.0))
        found.append(abs(told["receiver_window"] - info["rwnd_limited_us"] / span_us))
    return round(100 * max(found), 2) if found else None


def _between_calls_s(writes: list[dict[str, Any]], port: int) -> float:
    own = sorted((one["begin_s"], one["end_s"]) for one in writes if one["port"] == port)
    return sum(max(begin - end, 0.0) for (_, end), (begin, _) in pairwise(own))


def _queue(packets: Table, segments: Table, truth: Score) -> dict[str, float] | None:
    """Times of packets in a token bucket, against its rate, and against the capture's own stamps.

    Of full packets that waited for the one before, the distance between departures is their bytes divided by
    the rate. Of any packet, the time from the next departure after its arrival to its own is the backlog
    behind that departure divided by the rate. When the bucket's timer comes late, a packet really waits
    longer; those behind it do not. Packets of one segment each: how a larger one is cut in the queue, its
    arrival does not tell. The capture stamps a packet between its dequeue and its hand-over to the driver.
    """
    if truth["queue"] != "tbf-host" or truth["offload"]:
        return None
    ours = packets.where((packets["enqueue_ns"] >= 0) & (packets["dequeue_ns"] >= 0))
    ours = ours.where(np.argsort(ours["dequeue_ns"], kind="stable"))
    came, went, size = ours["enqueue_ns"], ours["dequeue_ns"], ours["length"] + _ETHERNET
    full = size == size.max(initial=0)
    waited = came[1:] < went[:-1]
    behind = np.flatnonzero(full[1:] & full[:-1] & waited)
    if len(behind) < _FEW:
        return None
    us_per_byte = 8e6 / truth["rate_bps"]
    gaps_us = (went[behind + 1] - went[behind]) / 1e3
    rows = np.flatnonzero(waited) + 1
    ahead = np.searchsorted(went, came[rows], side="right")
    upto = np.cumsum(size)
    ideal_us = (upto[rows] - upto[ahead]) * us_per_byte
    queued_us = (went[rows] - went[ahead]) / 1e3
    known = ours["capture"] >= 0
    stamp = segments["t_ns"][ours["capture"][known]]
    return {
        "packets": len(rows),
        "median_off": round(float(np.median(gaps_us)) - float(size.max()) * us_per_byte, 1),
        "spread": round(float(np.percentile(np.abs(gaps_us - np.median(gaps_us)), 50)), 1),
        "backlog_off": round(float(np.median(queued_us - ideal_us)), 1),
        "captured_after": round(float(np.median(stamp - went[known])) / 1e3, 1),
        "driver_after": round(float(np.median(ours["start_ns"][known] - stamp)) / 1e3, 1),
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
        ("reads", "strace", "reads", lambda one: one["both"]),
        ("bytes read", "strace", "bytes_read", lambda one: one["both"]),
    ):
        runs = [one for one in found if fits(one)]
        misses = {one["run"]: "{:,} of {:,}".format(*one[key]) for one in runs if one[key][0] != one[key][1]}
        what = f"{what} ({sum(one[key][1] for one in runs):,})"
        lines.append(_row(what, against, len(runs), misses))
    apart = {one["run"]: str(one["unjoined_segments"]) for one in found if one["unjoined_segments"]}
    lines.append(_row("captured segments without their packet", "none", len(found), apart))
    unequal = {
        f"{one['run']} {what}": "sizes differ"
        for one in found
        for what in ("writes", "reads")
        if one[f"same_{what}"] is False
    }
    lines.append(_row("size of each call", "strace", len(found), unequal))
    clocks = [one for one in found if one["both"]]
    wrong = {one["run"]: f"{one['clock_off_us']} us" for one in clocks if not one["clock_bound"]}
    lines.append(_row("clock of the receiver's capture inside its bound", "one clock", len(clocks), wrong))
    known = [one for one in found if one["limits_off"] is not None]
    far = {one["run"]: f"{one['limits_off']} points" for one in known if one["limits_off"] > _POINTS}
    lines.append(_row(f"limits within {_POINTS} points", "tcp_info, strace", len(known), far))
    timed = {one["run"]: one["queue_off_us"] for one in found if one["queue_off_us"]}
    for what, against, key in (
        ("between departures", "bytes over rate", "median_off"),
        ("in it since the next departure", "backlog over rate", "backlog_off"),
        ("departure", "the capture's stamp", "captured_after"),
        ("hand-over to the driver", "the capture's stamp", "driver_after"),
    ):
        slow = {run: f"{us[key]} us" for run, us in timed.items() if abs(us[key]) > _QUEUE_US}
        lines.append(_row(f"queue, {what}: median within {_QUEUE_US} us", against, len(timed), slow))
    return lines


def _row(what: str, against: str, runs: int, misses: dict[str, str]) -> str:
    words = "; ".join(f"{run}: {miss}" for run, miss in misses.items()) or "-"
    return f"| {what} | {against} | {runs - len(misses)} of {runs} | {words} |"
