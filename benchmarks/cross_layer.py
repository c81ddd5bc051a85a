"""Hold what the analyses join across the layers against the lab's own record.

    sudo multitracer lab fleet FLEET.toml -o runs
    python benchmarks/cross_layer.py runs/* [--markdown]

For every measurement with a link log and ``truth.json`` (which the analyses do not read): byte ranges and
fates of packets, resets, flushed bytes, ruined segments, local drops, XOFF, idle time, and utilization by
link log against the estimate from captures alone. Prints one row a quantity, then every miss.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import multitracer as mt
from multitracer.layers.link.path import link_path
from multitracer.layers.link.resetlog import handshake_spans, handshakes
from multitracer.layers.link.waits import full_window
from multitracer.layers.tcp.transit import data_spans
from multitracer.model.arrays.intervals import (
    Intervals,
    intersect,
    intervals,
    longer_than,
    subtract,
    total,
    union,
)

Counts = dict[str, tuple[float, float]]


def main(arguments: list[str]) -> None:
    """Compare every run named, and print."""
    runs = [Path(name) for name in arguments if not name.startswith("--")]
    rows: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    estimates = []
    for run in runs:
        if not (run / "truth.json").exists() or not list(run.glob("rlp.log*")):
            continue
        counts, estimate = compare(run)
        for name, (ours, truth) in counts.items():
            rows[name].append((run.name, ours, truth))
        if estimate is not None:
            estimates.append((run.name, *estimate))
    print("| quantity | runs | ours | truth | runs that differ |\n|---|---|---|---|---|")
    for name, values in rows.items():
        ours, truth = (sum(value[index] for value in values) for index in (1, 2))
        differ = [value for value in values if abs(value[1] - value[2]) > tolerance(name, value[2])]
        print(f"| {name} | {len(values)} | {ours:,.10g} | {truth:,.10g} | {len(differ)} |")
    for name, values in rows.items():
        for run_name, ours, truth in values:
            if abs(ours - truth) > tolerance(name, truth):
                print(f"- {name}: {run_name}: {ours:.10g}, truth {truth:.10g}")
    for label, column in (("both captures", 2), ("sender's capture alone", 3)):
        errors = np.array([abs(one[column] - one[1]) for one in estimates if np.isfinite(one[column])])
        middle, most, worst = (float(np.quantile(errors, part)) for part in (0.5, 0.9, 1.0))
        shown = f"{middle:.4f} (median), {most:.4f} (90 %), {worst:.4f} (worst)"
        print(f"utilization, {label}: {len(errors)} runs, off by {shown}")
    inside = sum(one[4] <= one[1] <= one[5] for one in estimates)
    print(f"within the bounds of the estimate from both captures: {inside} of {len(estimates)}")
    for name, link, both, _, low, high in estimates:
        if not low <= link <= high:
            bounds = f"{both:.4f} ({low:.4f} to {high:.4f})"
            print(f"- outside of the bounds: {name}: {link:.4f} by link log, {bounds}")


def tolerance(name: str, truth: float) -> float:
    """Difference that is no miss: a slot for each side of a time."""
    return 0.1 + 0.02 * truth if name.endswith("[s]") else 0.0


def compare(run: Path) -> tuple[Counts, tuple[float, ...] | None]:
    """Ours and the truth, by name; utilization by link log, from two captures, from one, and bounds."""
    truth: dict[str, Any] = json.loads((run / "truth.json").read_text())
    measurement = mt.read(run)
    results = mt.analyze(measurement).results
    events = truth.get("events", [])
    counts: Counts = {}
    path = link_path(measurement)
    resets = results["link_resets"].tables.get("link_resets")
    if resets is not None:
        flushed = sum(reset[3] + reset[4] for reset in truth["resets"])
        counts["reset lines of both entities"] = int(resets["lines"].sum()), len(truth["resets"])
        ours = int(resets["flush_snd"].sum() + resets["flush_rcv"].sum())
        counts["bytes flushed"] = ours, flushed
    drops = results["local_drops"]
    if drops.inconclusive is None:
        counts["local drops"] = drops.summary["count"], len(truth["if_queue_drops"])
    counts.update(_map(measurement, events))
    if path is not None and any(event["what"] == "packet" for event in events):
        side = ("ms", "iwf").index(measurement.entities[path.sender])
        ruined = sum(event["what"] == "packet_ruined" and event["side"] == side for event in events)
        chains = results["chains"].summary["chains"]
        found = sum(e["what"] == "segment_corrupted" for chain in chains for e in chain["events"])
        counts["data segments ruined"] = found, ruined
        counts.update(_xoff(measurement, results, events, side))
        idle = total(true_idle(measurement, results, events, side)) / 1e9
        counts["idle time [s]"] = results["idle_phases"].summary["idle_s"], idle
    told = results["utilization"].summary
    estimate = told.get("estimate")
    if not estimate:
        return counts, None
    alone = mt.analyze(mt.read(run / "snd.pcap"), only=["utilization"]).results["utilization"].summary
    return counts, (
        told["value"],
        estimate["value"],
        alone.get("value", np.nan),
        estimate["low"],
        estimate["high"],
    )


def _map(measurement: Any, events: list[dict[str, Any]]) -> Counts:
    spans = measurement.frame_map.spans
    counts: Counts = {}
    exact = close = beyond = wrong = known = 0
    for side, name in enumerate(("ms", "iwf")):
        true = [
            (e["first"], e["end"], e["ip_id"]) for e in events if e["what"] == "packet" and e["side"] == side
        ]
        if not true or name not in measurement.entities:
            continue
        mine = spans.where(spans["entity"] == measurement.entities.index(name)).sorted_by("record")
        mine = mine.where((mine["first"] >= 0) & (mine.words("fate") != "waiting"))
        lost = {e.get("end") for e in events if e["what"] == "packet_lost" and e["side"] == side}
        for row, (first, end, _) in zip(range(len(mine)), true, strict=False):
            off = max(abs(int(mine["first"][row]) - first), abs(int(mine["end"][row]) - end))
            exact += off == 0
            close += off <= 4
            beyond += off > mine["error"][row]
            wrong += (str(mine.words("fate")[row]) != "carried") != (end in lost)
        known += len(true)
    if known:
        counts["byte ranges exact"] = exact, known
        counts["byte ranges within 4 bytes"] = close, known
        counts["byte ranges beyond the stated error"] = beyond, 0
        counts["fates (arrived or lost) told wrong"] = wrong, 0
    return counts


def _xoff(measurement: Any, results: Any, events: list[dict[str, Any]], side: int) -> Counts:
    """XOFF as the peer decided on it; the sender hears of it with the next frame, and of XON too."""
    held = results["flow_control"].tables["flow_control"]
    held = held.where(held["entity"] == measurement.entities.index(("ms", "iwf")[side]))
    times = [(e["t_ns"], e["what"]) for e in events if e["what"] in ("xoff", "xon") and e["side"] == 1 - side]
    starts = [t_ns for t_ns, what in times if what == "xoff"]
    ends = [t_ns for t_ns, what in times if what == "xon"]
    length = sum(end - start for start, end in zip(starts, ends, strict=False)) / 1e9
    ours = float((held["end_ns"] - held["t_ns"]).sum() / 1e9)
    return {"XOFF intervals": (len(held), len(starts)), "XOFF time [s]": (ours, length)}


def true_idle(measurement: Any, results: Any, events: list[dict[str, Any]], side: int) -> Intervals:
    """Idle time by the lab's own places of packets: busy from a packet's handover to its last frame.

    A packet is in the sender from its handover on, unless it leaves with the next slot; a reset of that side
    takes it away. The link could not send while it was held off, reset, at a checkpoint or at its window's
    end, as the lines of its log say.
    """
    path = link_path(measurement)
    assert path is not None
    spans_of = measurement.frame_map.spans
    mine = spans_of.where((spans_of["entity"] == path.sender) & (spans_of["first"] >= 0)).sorted_by("record")
    handed = mine["t_ns"].tolist()
    ends = path.first["offset"] + path.first["length"]
    resets = [event["t_ns"] for event in events if event["what"] == "reset" and event["side"] == side]
    busy = []
    put = [event for event in events if event["what"] == "packet" and event["side"] == side]
    for event, start in zip(put, handed, strict=False):
        last = int(np.searchsorted(ends, event["end"]))
        if last < len(ends):
            one = int(path.first["t_ns"][int(np.searchsorted(ends, event["first"], side="right"))])
            begin = one if 0 <= one - start <= path.slot_ns + path.tolerance_ns else start
            end = int(path.first["t_ns"][last]) + path.slot_ns
            end = min([end, *(t_ns for t_ns in resets if t_ns >= event["t_ns"])])
            busy.append((begin, max(end, begin)))
    spans = data_spans(measurement)
    held = results["flow_control"].tables["flow_control"]
    held = held.where(held["entity"] == path.sender)
    blocked = union(
        np.column_stack([held["t_ns"], held["end_ns"]]),
        handshake_spans(measurement, handshakes(measurement)),
        _polls(measurement, side),
        full_window(measurement, path),
    )
    first = int(path.first["t_ns"][0])
    span = intersect(spans, intervals([(first, int(np.iinfo(np.int64).max))]))
    sent = np.column_stack([path.sent["t_ns"], path.sent["t_ns"] + path.slot_ns])
    silent = subtract(subtract(span, union(intervals(busy), intervals(sent))), blocked)
    return longer_than(silent, path.tolerance_ns)


def _polls(measurement: Any, side: int) -> Intervals:
    """From a poll of the entity to the answer, or to what it did instead, in the words of the log."""
    name = ("ms", "iwf")[side]
    found = []
    asked = None
    for source in measurement.sources:
        if source.format != "rlpdump":
            continue
        opened = gzip.open if source.path.endswith(".gz") else open
        with opened(source.path, "rt") as lines:
            for line in lines:
                words = line.split()
                if words[1] != name:
                    continue
                t_ns = int(words[0].replace(".", "").ljust(19, "0"))
                if words[2] == "snd" and "cr=1" in words:
                    asked = t_ns if asked is None else asked
                elif asked is not None and (
                    words[2:4] in (["snd", "I"], ["evt", "reset"])
                    or (words[2] == "rcv" and "pf=1" in words and "cr=1" not in words)
                ):
                    found.append((asked, t_ns))
                    asked = None
    return intervals(found)


if __name__ == "__main__":
    main(sys.argv[1:])
