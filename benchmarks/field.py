#!/usr/bin/env python3
"""One capture, taken anywhere: measurements with truth by the hundred, and what is said of each capture alone.

    benchmarks/field.py make --out DIR --runs 200 --seed 1 [--axes path,everyday] [--jobs 2]
    benchmarks/field.py score DIR... [--markdown] [--misses FILE]

`make` needs what the lab needs (root, ip, ss, tc, tcpdump); the same command again makes what is missing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fieldwork.scenarios import FAMILIES


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    making = commands.add_parser("make", help="make measurements")
    making.add_argument("--out", type=Path, required=True, help="the campaign's folder")
    making.add_argument("--runs", type=int, default=120, help="how many in all")
    making.add_argument("--seed", type=int, default=1)
    making.add_argument("--axes", default=",".join(FAMILIES), help="families, taken in turn")
    making.add_argument("--jobs", type=int, default=2, help="runs at a time")
    arguments = parser.parse_args()
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


if __name__ == "__main__":
    sys.exit(main())
