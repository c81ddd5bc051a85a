"""Transfers that only a log reports, in words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from multitracer.cli import words
from multitracer.model import quantities

Object = Mapping[str, Any]

LIMITS = (
    ("application", "application"),
    ("receiver_window", "receiver's window"),
    ("send_buffer", "send buffer"),
    ("congestion_window", "congestion window"),
    ("unknown", "not known"),
)
_GRADES = {"kernel": "the kernel's own clocks", "inferred": "inferred from windows, RTT and rate"}


def heading(one: Object, number: int) -> str:
    """Which transfer it is, by which log."""
    name = f"{one['format']}, {os.path.basename(one['source'])}"
    if one["local"] is not None:
        arrow = {True: "->", False: "<-", None: "--"}[one["sends"]]
        return f"Log {number}: {one['local']} {arrow} {one['remote']} ({name})"
    return f"Log {number}: {one['label']} ({name})" if one["label"] else f"Log {number}: {name}"


def lines(one: Object) -> Iterator[tuple[str, str]]:
    """Label and text of each line about a transfer."""
    speed = one["throughput_bps"]
    if speed is not None:
        yield "Data", f"{one['bytes']:,} bytes {one['counted']}, over {words.duration(one['duration_s'])}"
        low, middle, high = (words.rate(speed[name]) for name in ("min", "median", "max"))
        intervals = words.count(speed["intervals"], "interval")
        spread = f"; by {intervals} min {low}, median {middle}, max {high}" if speed["intervals"] > 1 else ""
        yield "Rate", f"{words.rate(speed['mean'])} on average{spread}"
    reported = one["reported"] or {}
    if "transmitted" in reported:
        missing = reported["transmitted"] - reported["received"]
        yield (
            "Probes",
            f"{reported['transmitted']:,} sent, {reported['received']:,} answered, {missing:,} lost",
        )
    if one["retransmissions"] is not None:
        yield "Retransmitted", words.count(one["retransmissions"], "segment")
    datagrams = one["datagrams"]
    if datagrams is not None and datagrams["lost"] is not None:
        lost, whole = datagrams["lost"], datagrams["packets"]
        yield "Lost", f"{lost:,} of {words.count(whole, 'packet')} ({100 * lost / max(whole, 1):.1f}%)"
    if (rtt := one["rtt_ms"]) is not None:
        kind = "smoothed by the kernel, " if rtt["kind"] == "srtt" else ""
        yield (
            "RTT",
            (
                f"min {rtt['min']:.4g} ms, median {rtt['median']:.4g} ms, "
                f"95th percentile {rtt['p95']:.4g} ms, max {rtt['max']:.4g} ms "
                f"({kind}{words.count(rtt['samples'], 'sample')})"
            ),
        )
    for label, unit in (("cwnd", "bytes"), ("rwnd", "bytes"), ("cwnd", "packets")):
        found = one[f"{label}_{unit}"]
        if found is not None and not (unit == "packets" and one["cwnd_bytes"] is not None):
            yield label, f"min {found['min']:,}, median {found['median']:,}, max {found['max']:,} {unit}"
    if (held := one["limits"]) is not None:
        shares = [
            f"{name} {held['shares'][key]:.1%}" for key, name in LIMITS if held["shares"].get(key, 0) >= 0.001
        ]
        yield (
            "Limited by",
            f"{', '.join(shares)} of {words.duration(held['watched_s'])} ({_GRADES[held['grade']]})",
        )
    if one["stalls"]:
        total = sum(stall["end"] - stall["start"] for stall in one["stalls"])
        stretches = quantities.count(len(one["stalls"]), "stretch", "stretches")
        yield (
            "Stalls",
            f"{stretches} of whole intervals without data, {words.duration(total)} in all",
        )
    if one["other_end"] is not None:
        yield "Other end", f"log {one['other_end'] + 1} is of the same transfer"


def condition(one: Object) -> str:
    """A number of the link over time, and how throughput went with it."""
    unit = f" {one['unit']}" if one["unit"] else ""
    text = f"{one['min']:.4g} to {one['max']:.4g}{unit}, {words.count(one['samples'], 'sample')}"
    if unit == " bit/s":
        text = (
            f"{words.rate(one['min'])} to {words.rate(one['max'])}, {words.count(one['samples'], 'sample')}"
        )
    throughput = one["throughput"]
    return (
        text
        if throughput is None
        else f"{text}; rank correlation with throughput {throughput['rank_correlation']:+.2f}"
    )


def changed(one: Object) -> str:
    """How often a name of the link (a cell) changed, and throughput just after it."""
    text = f"{one['count']:,} between {words.count(one['different'], 'value')}"
    throughput = one["throughput"]
    if throughput is None:
        return text
    after, otherwise = words.rate(throughput["after_bps"]), words.rate(throughput["otherwise_bps"])
    within = f"within {throughput['window_s']:g} s after one"
    return f"{text}; median throughput {after} {within}, {otherwise} otherwise"
