#!/usr/bin/env python3
"""Comparisons of sets of which one setting differs: is the changed cause the first, are equal sets equal?

    benchmarks/compare.py make --out DIR --bases 8 --runs 5 --seed 1 [--jobs 2] [--equal]
    benchmarks/compare.py score DIR [--points snd,rcv,host] [--markdown]

`make` needs what the lab needs (root, ip, ss, tc, tcpdump); the same command again makes what is missing.
Every base is a random path; from it, each change makes a set of runs with other seeds. The base has two sets,
for the comparison of equals; with `--equal` there are these alone.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import random
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from fieldwork.making import run_jobs, toml_of

Table = dict[str, Any]

STOP = 0.05
"""Difference at which ``--max-slowdown 5`` would stop a build."""


def base(rng: random.Random) -> Table:
    """A path without anything that slows a transfer but its rate and delay."""
    rate_bps = rng.choice([3e6, 5e6, 8e6])
    delay_ms = rng.choice([8.0, 15.0, 30.0])
    hop = {
        "up": {"rate_bps": rate_bps, "queue_packets": rng.choice([30, 60, 120])},
        "down": {"rate_bps": 0.0, "queue_packets": 0},
        "delay_ms": delay_ms,
        "jitter_ms": rng.choice([0.0, 0.3]),
        "routers": 1,
    }
    far = {
        "up": {"rate_bps": 0.0, "queue_packets": 0},
        "down": {"rate_bps": 0.0, "queue_packets": 0},
        "delay_ms": 2.0,
        "jitter_ms": 0.0,
        "routers": 1,
    }
    return {
        "shows": "one setting changed",
        "limit_s": 30.0,
        "network": {"mtu_bytes": 1500, "sender": "ms", "offload": False, "quiet_s": 0.2, "drain_s": 15},
        "trace": {"events": False, "ss_interval_s": 0.1, "snaplen": 100, "middle": True},
        "tcp": {
            "congestion_control": rng.choice(["cubic", "reno"]),
            "sack": int(rng.random() < 0.8),
            "timestamps": int(rng.random() < 0.8),
        },
        "flow": [{"kind": "bulk", "bytes": int(rate_bps / 8 * rng.uniform(0.8, 1.6)), "data": "zeros"}],
        "link": {"model": "path", "hop": [hop, far]},
    }


def _rate(table: Table) -> None:
    table["link"]["hop"][0]["up"]["rate_bps"] *= 0.5


def _delay(table: Table) -> None:
    table["link"]["hop"][0]["delay_ms"] *= 6


def _loss(table: Table) -> None:
    table["link"]["hop"][1]["up"]["loss"] = 0.03


def _window(table: Table) -> None:
    hop = table["link"]["hop"][0]
    # A third of what the path holds.
    holds = hop["up"]["rate_bps"] / 8 * 2 * (hop["delay_ms"] + 2) / 1e3
    table["flow"][0]["rcvbuf_bytes"] = max(4_000, int(holds / 3))


def _reader(table: Table) -> None:
    flow, rate_bps = table["flow"][0], table["link"]["hop"][0]["up"]["rate_bps"]
    flow |= {"read_bps": rate_bps * 0.4, "read_bytes": 8_000, "rcvbuf_bytes": 30_000}


def _writer(table: Table) -> None:
    flow, rate_bps = table["flow"][0], table["link"]["hop"][0]["up"]["rate_bps"]
    table["flow"] = [
        {
            "kind": "paced",
            "data": "zeros",
            "rate_bps": rate_bps * 0.4,
            "write_bytes": 4_000,
            "bytes": flow["bytes"],
        }
    ]


CHANGES: dict[str, tuple[Callable[[Table], None], str]] = {
    "half the rate": (_rate, "bandwidth"),
    "six times the delay": (_delay, "round_trip"),
    "3 % loss": (_loss, "losses"),
    "small window": (_window, "receiver_window"),
    "slow reader": (_reader, "receiver_window"),
    "slow writer": (_writer, "application"),
}
"""What is changed, and the cause that it must be found as."""


def make(out: Path, bases: int, runs: int, seed: int, jobs: int, equal: bool) -> int:
    """Make the runs that are missing, of `equal` sets alone or of all; how many failed."""
    from multitracer.lab.fleet import Job

    scenarios = out / ".scenarios"
    scenarios.mkdir(parents=True, exist_ok=True)
    wanted = []
    for number in range(bases):
        table = base(random.Random(f"compare {seed} {number}"))
        sets: dict[str, Table] = {"base": table, "again": table}
        for name, (change, _) in ({} if equal else CHANGES).items():
            sets[name] = copy.deepcopy(table)
            change(sets[name])
        for place, (name, scenario) in enumerate(sets.items()):
            file = scenarios / f"{number}-{place}.toml"
            file.write_text(toml_of(scenario))
            for run in range(runs):
                label = f"{number:03}.{name.replace(' ', '-').replace('%', 'percent')}.{run}"
                if not (out / label / "truth.json").exists():
                    wanted.append(
                        Job(str(file), {}, seed * 1_000_000 + number * 1000 + place * 50 + run, label)
                    )
    # Runs of all sets take turns: what the machine does beside them falls on every set alike.
    random.Random(seed).shuffle(wanted)
    return run_jobs(wanted, out, jobs, lambda text: print(text, flush=True))


def rows_of(job: tuple[str, str]) -> list[dict[str, Any]]:
    """The summary's rows of one capture alone; at the point `host`, of the sender's with its kernel's log."""
    import multitracer as mt
    from multitracer.batch.rows import record_of

    folder, point = job
    files = ["snd.pcap.gz", "ss.log.gz"] if point == "host" else [f"{point}.pcap.gz"]
    contract = mt.analyze(mt.read(*(f"{folder}/{name}" for name in files))).to_dict()
    return [{"name": Path(folder).name} | one for one in record_of(contract, {})["connections"]]


def rows_by_task(tasks: list[tuple[str, str]], jobs: int, kept: Path) -> dict[tuple[str, str], list[Any]]:
    """`rows_of` each task; what `kept` has of an earlier call is not analysed again."""
    known = json.loads(kept.read_text()) if kept.exists() else {}
    missing = [task for task in tasks if " ".join(task) not in known]
    with ProcessPoolExecutor(jobs) as pool:
        for task, rows in zip(missing, pool.map(rows_of, missing, chunksize=4), strict=True):
            known[" ".join(task)] = rows
    kept.write_text(json.dumps(known))
    return {task: known[" ".join(task)] for task in tasks}


def score(out: Path, points: list[str], jobs: int, markdown: bool) -> int:
    """Compare every change with its base, and the base with its repetition; print the outcome."""
    from multitracer.batch.budget import budgets
    from multitracer.batch.difference import Difference, difference

    folders = sorted(path.parent for path in out.glob("*/truth.json"))
    tasks = [(str(folder), point) for folder in folders for point in points]
    found = rows_by_task(tasks, jobs, out / ".rows.json")
    sets: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for (folder, point), rows in found.items():
        number, name, _ = Path(folder).name.split(".")
        sets.setdefault((number, name, point), []).extend(rows)

    def compared(number: str, name: str, point: str) -> Difference:
        one, other = sets[number, "base", point], sets[number, name, point]
        return difference(budgets(one), budgets(other), ("base", name))

    kinds = {name.replace(" ", "-").replace("%", "percent"): cause for name, (_, cause) in CHANGES.items()}
    lines, misses = [], []
    for name, cause in kinds.items():
        told = shown = right = 0
        for number, kind, point in sorted(sets):
            if kind != name:
                continue
            outcome = compared(number, name, point)
            told += 1
            if outcome.verdict != "slower":
                continue
            shown += 1
            first = outcome.causes[0].cause
            right += first == cause
            if first != cause:
                parts = {one.cause: round(one.difference_s, 3) for one in outcome.causes}
                misses.append(f"{number} {name} {point}: {outcome.difference_s:+.3f} s {parts}")
        lines.append((name, cause, told, shown, right))
    alarms = stops = equal = again_alarms = again_stops = again = 0
    for number, kind, point in sorted(sets):
        if kind != "again":
            continue
        outcome = compared(number, kind, point)
        equal += 1
        alarms += outcome.verdict in ("slower", "faster")
        stops += outcome.verdict != "no difference shown" and abs(outcome.share) > STOP
        # The runs of both sets, dealt anew in every way: neither time nor load differs between the halves.
        both = budgets(sets[number, "base", point] + sets[number, "again", point])
        for chosen in itertools.combinations(range(1, len(both)), len(both) // 2):
            one = [both[at] for at in chosen]
            other = [both[at] for at in range(len(both)) if at not in chosen]
            outcome = difference(one, other, ("one half", "other half"))
            again += 1
            again_alarms += outcome.verdict in ("slower", "faster")
            again_stops += outcome.verdict != "no difference shown" and abs(outcome.share) > STOP
    if markdown:
        print("| changed | cause | comparisons | difference shown | cause first |\n|---|---|---|---|---|")
        for line in lines:
            print("| " + " | ".join(map(str, line)) + " |")
    else:
        for line in lines:
            print(*line, sep="\t")
    shown, right = sum(line[3] for line in lines), sum(line[4] for line in lines)
    print(f"\nfirst cause right in {right} of {shown}")
    print(f"equal sets: {alarms} alarms in {equal}, {stops} above {STOP:.0%}")
    print(f"runs of equal sets dealt anew: {again_alarms} alarms in {again}, {again_stops} above {STOP:.0%}")
    print(*misses, sep="\n")
    counts = {"right": right, "shown": shown, "alarms": alarms, "equal": equal}
    print(json.dumps(counts | {"dealt_alarms": again_alarms, "dealt": again}))
    return 0


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    making = commands.add_parser("make", help="make measurements")
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--bases", type=int, default=8)
    making.add_argument("--runs", type=int, default=5, help="runs of each set")
    making.add_argument("--seed", type=int, default=1)
    making.add_argument("--jobs", type=int, default=2)
    making.add_argument("--equal", action="store_true", help="only the sets that are equal")
    scoring = commands.add_parser("score", help="hold comparisons against the truth")
    scoring.add_argument("out", type=Path, metavar="DIR")
    scoring.add_argument("--points", default="snd,rcv")
    scoring.add_argument("--jobs", type=int, default=2)
    scoring.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "make":
        given = (arguments.out, arguments.bases, arguments.runs, arguments.seed, arguments.jobs)
        return 4 if make(*given, arguments.equal) else 0
    return score(arguments.out, arguments.points.split(","), arguments.jobs, arguments.markdown)


if __name__ == "__main__":
    sys.exit(main())
