#!/usr/bin/env python3
"""`multitracer record` against tc, nstat, strace and tcp_info.

    benchmarks/record.py make --out DIR --runs 60 --seed 1
    benchmarks/record.py score DIR [--json FILE]
    benchmarks/record.py cost [--rounds 3] [--connections 10000]

`make` and `cost` need root, ip, tc, nstat and strace (iperf3 for `cost`); `make` again makes what is missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    making = commands.add_parser("make", help="make recordings")
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--runs", type=int, default=60)
    making.add_argument("--seed", type=int, default=1)
    scoring = commands.add_parser("score", help="hold recordings against the truth")
    scoring.add_argument("folder", type=Path)
    scoring.add_argument("--json", type=Path, help="write each run's figures, one JSON object a line")
    cost = commands.add_parser("cost", help="the same transfers with and without recording, in turn")
    cost.add_argument("--rounds", type=int, default=3)
    cost.add_argument("--connections", type=int, default=10_000)
    arguments = parser.parse_args()
    if arguments.command == "cost":
        return cost_all(arguments.rounds, arguments.connections)
    if arguments.command == "make":
        return make_all(arguments.out, arguments.runs, arguments.seed)
    return score_all(arguments.folder, arguments.json)


def make_all(out: Path, runs: int, seed: int) -> int:
    """Make the runs that are missing; how many failed."""
    from recordwork.making import draw, make

    failed = 0
    for number in range(runs):
        folder = out / f"r{number:03d}"
        if folder.exists():
            continue
        try:
            make(folder, draw(seed * 100_000 + number))
        except Exception as error:
            failed += 1
            print(f"{folder}: {error}", file=sys.stderr)
    return min(failed, 1)


def score_all(folder: Path, output: Path | None) -> int:
    """Print a line per run and the table of all."""
    from recordwork.scoring import score, table

    found = []
    for one in sorted(folder.glob("r[0-9]*/truth.json")):
        found.append(score(one.parent))
        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    if output is not None:
        output.write_text("".join(json.dumps(one) + "\n" for one in found))
    print("\n".join(table(found)))
    return 0


def cost_all(rounds: int, connections: int) -> int:
    """Print the table of what recording costs."""
    from recordwork.cost import measure, table

    print("\n".join(table(measure(rounds, connections))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
