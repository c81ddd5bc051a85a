#!/usr/bin/env python3
"""One capture, taken anywhere: measurements with truth, and what is said of each capture alone.

    benchmarks/field.py make --out DIR --runs 200 --seed 1 [--axes path,everyday] [--jobs 2]
    benchmarks/field.py score DIR... [--markdown] [--misses FILE] [--json FILE]

`make` needs what the lab needs (root, ip, ss, tc, tcpdump); the same command again makes what is missing.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from fieldwork.scenarios import FAMILIES


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    making = commands.add_parser("make", help="make measurements")
    making.add_argument("--out", type=Path, required=True, help="the campaign's folder")
    making.add_argument("--runs", type=int, default=120, help="how many in all")
    making.add_argument("--seed", type=int, default=1)
    making.add_argument(
        "--axes", default="path,everyday", help=f"families, taken in turn: {', '.join(FAMILIES)}"
    )
    making.add_argument("--jobs", type=int, default=2, help="runs at a time")
    scoring = commands.add_parser("score", help="hold what is said of each capture against the truth")
    scoring.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="campaigns, or single runs")
    scoring.add_argument("--markdown", action="store_true", help="tables as Markdown")
    scoring.add_argument(
        "--misses", type=Path, help="write each miss to this file: run, point, variant, record"
    )
    scoring.add_argument("--json", type=Path, help="write every score to this file, one JSON object a line")
    scoring.add_argument("--only", default="", help="points, comma separated")
    scoring.add_argument("--variants", default="", help="as it is, no IDs, no timestamps, neither, a part")
    scoring.add_argument("--runs", default="", help="only runs whose name holds this word")
    scoring.add_argument("--no-others", action="store_true", help="without tshark and tcptrace")
    scoring.add_argument("--jobs", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    return make_all(parser, arguments) if arguments.command == "make" else score_all(parser, arguments)


def make_all(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    """Make the runs of a campaign that are missing."""
    from fieldwork.making import make

    families = arguments.axes.split(",")
    if unknown := set(families) - set(FAMILIES):
        parser.error(f"--axes: {', '.join(sorted(unknown))} is none of {', '.join(FAMILIES)}")
    failed = make(
        arguments.out,
        arguments.runs,
        arguments.seed,
        families,
        arguments.jobs,
        lambda line: print(line, flush=True),
    )
    return 4 if failed else 0


def score_all(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    """Score all runs and print the tables."""
    from fieldwork.runs import POINTS
    from fieldwork.scoring import VARIANTS
    from fieldwork.table import tables

    runs = sorted(
        path.parent
        for folder in arguments.folders
        for path in {*folder.glob("truth.json"), *folder.glob("*/truth.json")}
        if arguments.runs in path.parent.name and not path.parent.name.startswith(".")
    )
    if not runs:
        parser.error("no runs there")
    points = tuple(filter(None, arguments.only.split(","))) or POINTS
    variants = tuple(filter(None, arguments.variants.split(","))) or tuple(VARIANTS)
    if unknown := {*points, *variants} - {*POINTS, *VARIANTS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    work = functools.partial(score_one, points=points, variants=variants, with_others=not arguments.no_others)
    scores: list[dict[str, Any]] = []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for done, (run, part) in enumerate(zip(runs, pool.map(work, runs), strict=True), 1):
            scores += part
            print(f"\r{done} of {len(runs)} {run.name}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if arguments.json:
        arguments.json.write_text("".join(json.dumps(score) + "\n" for score in scores))
    if arguments.misses:
        lines = [
            f"{score['run']} {score['point']} ({score['variant']}): {miss}\n"
            for score in scores
            for miss in score["misses"]
        ]
        arguments.misses.write_text("".join(lines))
    print(f"{len(runs)} runs, {len(scores)} captures judged.\n")
    print(tables(scores, arguments.markdown))
    return 0


def score_one(path: Path, **options: Any) -> list[dict[str, Any]]:
    """The scores of one run as plain values; a run that cannot be read is told with its name."""
    from fieldwork.scoring import score_run

    try:
        return [score.to_dict() for score in score_run(path, **options)]
    except Exception as error:
        raise RuntimeError(f"{path}: {error!r}") from error


if __name__ == "__main__":
    sys.exit(main())
