"""Hold what is told of Wi-Fi links against the lab's own record of them.

    sudo multitracer lab fleet benchmarks/fleets/wifi.toml -o runs --jobs 1
    python benchmarks/wifi.py runs/*

For every measurement with ``wifi.pcap`` and ``truth.json`` (which the analyses do not read): transmissions,
retries, packets that arrived and that were given up, airtime, bursts, resets, idle time, utilization, drops.
Prints one row a quantity, then every difference.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import multitracer as mt
from multitracer.layers.link.path import link_path
from multitracer.layers.link.resetlog import handshake_spans, handshakes
from multitracer.layers.tcp.transit import data_spans
from multitracer.model.arrays.intervals import intersect, intervals, subtract, total

_LINE = re.compile(r"(\d+)\.(\d+) (sta|ap) (snd|rcv|evt) (.*)")
_SIDES = ("sta", "ap")


def main(arguments: list[str]) -> None:
    """Compare every run named, and print."""
    rows: dict[str, list[tuple[str, float, float, float]]] = defaultdict(list)
    verdicts = []
    for run in map(Path, arguments):
        if not (run / "truth.json").exists() or not (run / "wifi.pcap").exists():
            continue
        analysis = mt.analyze(mt.read(run))
        truth = json.loads((run / "truth.json").read_text())
        for name, ours, true, allowed in compare(run, analysis, truth):
            rows[name].append((run.name, ours, true, allowed))
        verdicts.append((run.name, competing(analysis, truth)))
    print("| quantity | runs | ours | truth | runs that differ |\n|---|---|---|---|---|")
    for name, values in rows.items():
        ours, true = (sum(value[index] for value in values) for index in (1, 2))
        differ = sum(abs(value[1] - value[2]) > value[3] for value in values)
        print(f"| {name} | {len(values)} | {ours:,.10g} | {true:,.10g} | {differ} |")
    for name, values in rows.items():
        for run_name, ours, true, allowed in values:
            if abs(ours - true) > allowed:
                print(f"- {name}: {run_name}: {ours:.10g}, truth {true:.10g}")
    print("\n| run | spurious timeouts | of them during retries of the link | chains: retries and timer |")
    print("|---|---|---|---|")
    for run_name, (spurious, during, chains) in verdicts:
        print(f"| {run_name} | {spurious} | {during} | {chains} |")


def compare(run: Path, analysis: Any, truth: dict[str, Any]) -> Iterator[tuple[str, float, float, float]]:
    """Name, ours, the truth, and the difference that is no miss."""
    m, results = analysis.measurement, analysis.results
    log = list(_log(run))
    missed = [truth.get(f"monitor_missed_{what}", [0, 0]) for what in ("first", "retries", "acks")]
    deaf = any(map(any, missed))
    frames, events, radio = (m.table(name) for name in ("link_frames", "link_events", "link_radio"))
    for side, entity in enumerate(m.entities.index(name) for name in _SIDES):
        suffix = " (monitor misses frames)" if deaf else ""
        mine = frames["entity"] == entity
        sent = mine & (frames.words("action") == "snd")
        seen = truth["frames_sent"][side] - missed[0][side] - missed[1][side]
        yield f"transmissions seen{suffix}", int(sent.sum()), seen, 0
        again = int((sent & (frames["attempt"] > 0)).sum())
        true_again = truth["link_retransmissions"][side] - missed[1][side]
        yield f"retries seen{suffix}", again, true_again, 0
        peer = m.entities.index(_SIDES[1 - side])
        heard = (frames["entity"] == peer) & (frames.words("action") == "rcv") & (frames["duplicate"] == 0)
        arrived = sum(
            1 for _, who, what, text in log if (who, what) == (_SIDES[1 - side], "rcv") and "dup" not in text
        )
        yield f"packets that arrived{suffix}", int(heard.sum()), arrived, 0
        gone = (events["entity"] == entity) & (events.words("kind") == "discard")
        lost = sum(event["what"] == "packet_lost" and event["side"] == side for event in truth["events"])
        yield f"packets given up that had not arrived{suffix}", int(gone.sum()), lost, 0
        if not deaf:
            airtime = int(radio["airtime_ns"][radio["entity"] == entity].sum()) / 1e9
            yield "airtime of data frames [s]", airtime, truth.get("airtime_ns", [0, 0])[side] / 1e9, 0.001
        told = next(
            e for e in results["link_retransmissions"].summary["entities"] if e["entity"] == _SIDES[side]
        )
        burst = told["longest_burst"]
        yield (
            f"longest burst of retries [s]{suffix}",
            burst["duration_ms"] / 1e3 if burst else 0.0,
            _longest(log, _SIDES[side]),
            # The log has the begin of an attempt, the monitor its end: up to the longest backoff later.
            0.021,
        )
    yield from _resets(m, results, truth)
    yield from _idle(m, results, truth)
    drops = results["local_drops"]
    if drops.inconclusive is None:
        path = link_path(m)
        side = _SIDES.index(m.entities[path.sender]) if path else 0
        true = sum(1 for _, at in truth["if_queue_drops"] if at == side)
        yield "drops in front of the link", drops.summary["count"], true, 0


def _resets(m: Any, results: Any, truth: dict[str, Any]) -> Iterator[tuple[str, float, float, float]]:
    found = results["link_resets"].summary["resets"]
    true = [event for event in truth["events"] if event["what"] == "reset"]
    yield "resets", len(found), len(true), 0
    for ours, event in zip(found, true, strict=False):
        # Of a link that had nothing to send just then, the silence began before.
        yield "begin of resets [s]", ours["t"], m.seconds(event["t_ns"]), 0.05
        yield "time away [s]", ours["handshake_s"] or 0.0, (event["until_ns"] - event["t_ns"]) / 1e9, 0.05
        yield "causes of resets", float(ours["cause"] == event["cause"]), 1.0, 0


def _idle(m: Any, results: Any, truth: dict[str, Any]) -> Iterator[tuple[str, float, float, float]]:
    path = link_path(m)
    if path is None:
        return
    side = _SIDES.index(m.entities[path.sender])
    span = data_spans(m)
    away = handshake_spans(m, handshakes(m))
    true = [
        (event["since_ns"], event["t_ns"])
        for event in truth["events"]
        if event["what"] == "idle_until" and event["side"] == side
    ]
    # Shorter ones are the time between two packets that a busy sender hands over.
    long = [(begin, end) for begin, end in true if end - begin > 1.5 * path.slot_ns]
    idle = total(subtract(intersect(intervals(long), span), away)) / 1e9
    yield "idle time [s]", results["idle_phases"].summary["idle_s"], idle, 0.02 * total(span) / 1e9
    told = results["utilization"].summary
    sent, duplicate = told["sent_bytes"], told["duplicate_bytes"]
    value = (1 - idle / told["available_s"]) * (1 - duplicate / sent)
    yield "utilization", told["value"], value, 0.02


def competing(analysis: Any, truth: dict[str, Any]) -> tuple[int, int, int]:
    """Spurious timeouts; those while the link sent one packet again and again; chains that say so."""
    m, results = analysis.measurement, analysis.results
    judged = results["timeouts"].tables["timeouts"]
    spurious = judged.where(judged.words("verdict") == "spurious")
    frames = m.table("link_frames")
    path = link_path(m)
    mine = frames.where((frames["entity"] == path.sender) & (frames.words("action") == "snd"))
    during = 0
    for t_ns, silence in zip(spurious["t_ns"].tolist(), spurious["silence_ns"].tolist(), strict=True):
        inside = (mine["t_ns"] > t_ns - silence) & (mine["t_ns"] <= t_ns)
        during += int((mine["attempt"][inside] > 0).sum()) > 3
    chains = [c for c in results["chains"].summary["chains"] if c["kind"] == "link_burst"]
    return len(spurious), during, len(chains)


def _log(run: Path) -> Iterator[tuple[int, str, str, str]]:
    with gzip.open(run / "frames" / "rlp.log.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            if found := _LINE.match(line):
                seconds, rest, who, what, text = found.groups()
                yield int(seconds) * 10**9 + int(rest), who, what, text


def _longest(log: list[tuple[int, str, str, str]], entity: str) -> float:
    """The longest run of retries without a first transmission between them."""
    longest, begin = 0, None
    for t_ns, who, what, text in log:
        if (who, what) != (entity, "snd"):
            continue
        if " try=" not in text:
            begin = None
            continue
        begin = t_ns if begin is None else begin
        longest = max(longest, t_ns - begin)
    return longest / 1e9


if __name__ == "__main__":
    main(sys.argv[1:])
