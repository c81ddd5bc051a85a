"""Whether cost grows with the input and no faster: time and memory of a summary, each kind at growing sizes.

Every kind of `generate.py` is written at sizes that grow tenfold and analysed by a whole process,
`multitracer analyze --json --summary`. The last column is the time per packet, start-up taken out, against
that of the size before: about 1 is linear, about 10 is quadratic. Caches fill up: a step to 2 need not go on.

Usage: python benchmarks/bench_scale.py [--kinds KIND,...] [--largest PACKETS] [--runs N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

import generate
from bench_analyze import MULTITRACER, machine, measure

SMALLEST = 1_000
PACKETS_EACH = {"connections": 10, "holes": 5, "wide": 2, "scattered": 5}
"""Packets that one of a kind takes, where it is not one."""


def cost(path: Path, runs: int) -> tuple[float, float]:
    """Median processor time in seconds (what a busy machine lets wait does not count), and peak MB."""
    spent, peak = [], 0.0
    for _ in range(runs):
        before = os.times()
        peak = max(peak, measure([MULTITRACER, "analyze", "--json", "--summary", str(path)]).peak_mb)
        after = os.times()
        spent.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    return statistics.median(spent), peak


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default=",".join(generate.KINDS), help="default: %(default)s")
    parser.add_argument(
        "--largest", type=int, default=1_000_000, help="packets at most (default %(default)s)"
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default %(default)s)")
    options = parser.parse_args()
    print(f"machine    {machine()}\n")
    print(f"{'kind':12}{'count':>10}{'packets':>12}{'cpu s':>8}{'ns/packet':>11}{'peak MB':>9}{'growth':>8}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "capture.pcap"
        generate.write(path, "bulk", 3)
        start_up, _ = cost(path, options.runs)
        for kind in options.kinds.split(","):
            count, before = SMALLEST, None
            while count * PACKETS_EACH.get(kind, 1) <= options.largest:
                packets = generate.write(path, kind, count)
                seconds, peak_mb = cost(path, options.runs)
                each_ns = max(seconds - start_up, 0) / packets * 1e9
                # The smallest are over before they can be told from start-up.
                growth = f"{each_ns / before:8.1f}" if before else f"{'-':>8}"
                print(
                    f"{kind:12}{count:>10,}{packets:>12,}{seconds:>8.2f}{each_ns:>11.0f}{peak_mb:>9.0f}{growth}",
                    flush=True,
                )
                before = each_ns if seconds - start_up > 0.02 else None
                count *= 10


if __name__ == "__main__":
    main()
