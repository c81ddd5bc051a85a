#!/usr/bin/env python3
"""The cost of a cause, held against what a transfer gains without it: pairs of runs that differ in the cause.

    benchmarks/gain.py make --out DIR --pairs 130 --seed 1 [--kinds loss,pauses] [--jobs 2]
    benchmarks/gain.py score DIR [--json FILE] [--jobs 2]

`make` needs what the lab needs (root, ip, tcpdump); the same command again makes what is missing. The real
gain is the time of the transfer with the cause less the time without it; the predicted gain is the cost that
the sentences of the cause state of the run that has it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from fieldwork.making import toml_of
from gainwork.pairs import KINDS, pair

_DONE = "measurement.toml"


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    making = commands.add_parser("make", help="make pairs")
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--pairs", type=int, default=130, help="in all, the kinds in turn")
    making.add_argument("--seed", type=int, default=1)
    making.add_argument("--kinds", default=",".join(KINDS))
    making.add_argument("--jobs", type=int, default=2)
    scoring = commands.add_parser("score", help="predicted against real gain")
    scoring.add_argument("folder", type=Path)
    scoring.add_argument("--json", type=Path, help="write every pair, one JSON object a line")
    scoring.add_argument("--kinds", default=",".join(KINDS))
    scoring.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.command == "make":
        return make(parser, arguments)
    rows = scored(arguments.folder, arguments.kinds.split(","), arguments.jobs)
    if arguments.json:
        arguments.json.write_text("".join(json.dumps(row) + "\n" for row in rows))
    late = [row for row in rows if row["late_ms"] > LATE_MS]
    print(table([row for row in rows if row not in late]))
    print(f"Left out: {len(late)} pairs whose link the lab served more than {LATE_MS:g} ms late.")
    return 0


def make(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    """Both runs of each pair that is not there yet."""
    from multitracer.lab.fleet import Job, run_fleet

    kinds = arguments.kinds.split(",")
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"--kinds: {', '.join(sorted(unknown))} is none of {', '.join(KINDS)}")
    folder = arguments.out / ".scenarios"
    folder.mkdir(parents=True, exist_ok=True)
    jobs = []
    for number in range(arguments.pairs):
        kind, index = kinds[number % len(kinds)], number // len(kinds)
        for which, scenario in zip(("with", "without"), pair(kind, arguments.seed, index), strict=True):
            name = f"{kind}-{arguments.seed}-{index:03}-{which}"
            if (arguments.out / name / _DONE).exists():
                continue
            file = folder / f"{name}.toml"
            file.write_text(toml_of(scenario))
            jobs.append(Job(str(file), {}, arguments.seed * 1000 + index, name))
    failed = 0

    def say(outcome: Any, _running: object, waiting: int) -> None:
        nonlocal failed
        if outcome is not None:
            failed += outcome.status == "failed"
            print(f"{outcome.job.name}: {outcome.status}, {waiting} to go {outcome.error}", flush=True)

    run_fleet(jobs, str(arguments.out), arguments.jobs, say)
    return 4 if failed else 0


def scored(folder: Path, kinds: list[str], jobs: int) -> list[dict[str, Any]]:
    """Every pair that is complete."""
    having = sorted(path.parent for path in folder.glob(f"*-with/{_DONE}"))
    having = [path for path in having if _kind(path) in kinds and (_without(path) / _DONE).exists()]
    with ProcessPoolExecutor(jobs) as pool:
        return [row for row in pool.map(score, having) if row is not None]


def _kind(having: Path) -> str:
    return next(word for word in sorted(KINDS, key=len, reverse=True) if having.name.startswith(f"{word}-"))


def _without(having: Path) -> Path:
    return having.with_name(having.name.removesuffix("-with") + "-without")


def score(having: Path) -> dict[str, Any] | None:
    """One pair; None if a transfer did not end."""
    import multitracer as mt

    name = having.name.removesuffix("-with")
    kind = _kind(having)
    times = [_seconds(path) for path in (having, _without(having))]
    if None in times:
        return None
    took, without = (float(value or 0.0) for value in times)
    found = json.loads(mt.analyze(mt.read(having)).to_json())
    said = [one for one in found["diagnosis"] if one["kind"] not in ("utilization", "well")]
    mine = [one for one in said if one["kind"] in KINDS[kind].told]
    return {
        "pair": name,
        "kind": kind,
        "seconds": took,
        "late_ms": max(_late_ms(path) for path in (having, _without(having))),
        "real_s": round(took - without, 3),
        "predicted_s": round(sum(one["cost_s"] for one in mine), 3),
        "low_s": round(sum((one.get("cost_bounds_s") or [one["cost_s"]] * 2)[0] for one in mine), 3),
        "high_s": round(sum((one.get("cost_bounds_s") or [one["cost_s"]] * 2)[1] for one in mine), 3),
        "all_s": round(sum(one["cost_s"] for one in said), 3),
        "loss_s": (found.get("loss") or {}).get("s"),
        "said": [[one["kind"], one["cost_s"], one.get("cost_bounds_s")] for one in found["diagnosis"]],
    }


def _late_ms(run: Path) -> float:
    return float(json.loads((run / "truth.json").read_text())["lab"]["lateness"]["max_ms"])


def _seconds(run: Path) -> float | None:
    flow = json.loads((run / "truth.json").read_text())["flows"][0]
    return float(flow["seconds"]) if flow["intact"] else None


def table(rows: list[dict[str, Any]]) -> str:
    """By kind: real and predicted gain, and how far they are apart."""
    lines = [
        "| cause | pairs | transfer | real gain | predicted | error, median | error, 90% | within bounds |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for kind in [*KINDS, "all"]:
        mine = [row for row in rows if kind in (row["kind"], "all")]
        if not mine:
            continue
        errors = sorted(abs(row["predicted_s"] - row["real_s"]) / row["seconds"] for row in mine)
        inside = sum(_within(row) for row in mine)
        names = ("seconds", "real_s", "predicted_s")
        values = [statistics.median(row[name] for row in mine) for name in names]
        most = errors[int(0.9 * (len(errors) - 1))]
        lines.append(
            f"| {kind} | {len(mine)} | {' | '.join(f'{value:.2f} s' for value in values)} | "
            f"{statistics.median(errors):.1%} | {most:.1%} | {inside} of {len(mine)} |"
        )
    over = [row for row in rows if row["loss_s"] is not None and row["all_s"] > row["loss_s"] + 0.002]
    lines.append(
        "\nErrors are shares of the transfer's time. "
        f"Sum of all costs beyond the loss: {len(over)} of {len(rows)}."
    )
    return "\n".join(lines)


def _within(row: dict[str, Any]) -> bool:
    slack_s = SLACK * row["seconds"]
    return bool(row["low_s"] - slack_s <= row["real_s"] <= row["high_s"] + slack_s)


LATE_MS = 150.0
"""A machine that is too busy stops the link for so long: a cause that is in one run and not in the other."""

SLACK = 0.02
"""Of the time of a transfer: what is allowed beyond the bounds, as runs of the same scenario differ by it."""


if __name__ == "__main__":
    sys.exit(main())
