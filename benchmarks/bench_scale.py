"""Whether cost grows with the input and no faster: time and memory of a summary, each kind at growing sizes.

Every kind of `generate.py` is written at sizes that grow tenfold and analysed by a whole process,
`multitracer analyze --json --summary`; long ones come through a pipe, made while they are read. The last
column is the time per packet, start-up taken out, against that of the size before: about 1 is linear, about
10 is quadratic. Caches fill up: a step to 2 need not go on.

Usage: python benchmarks/bench_scale.py [--kinds KIND,...] [--smallest N] [--largest PACKETS] [--runs N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import generate
from bench_analyze import MULTITRACER, machine, measure

SMALLEST = 1_000
PACKETS_EACH = {"connections": 10, "holes": 5, "wide": 2, "scattered": 5}
"""Packets that one of a kind takes, where it is not one."""


IN_MEMORY = 5_000_000
"""Packets of the kinds that are made in one piece."""
COMMAND = [MULTITRACER, "analyze", "--json", "--summary"]


def cost(path: Path, runs: int) -> tuple[float, float]:
    """Median processor time in seconds (what a busy machine lets wait does not count), and peak MB."""
    costs = [measure([*COMMAND, str(path)]) for _ in range(runs)]
    return statistics.median(one.cpu_s for one in costs), max(one.peak_mb for one in costs)


def written(path: Path, kind: str, count: int) -> int:
    """Write a capture in another process: the peak memory of a child begins at its parent's."""
    maker = [sys.executable, generate.__file__, kind, str(count), str(path)]
    done = subprocess.run(maker, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[0].replace(",", ""))


def cost_through_pipe(kind: str, count: int, runs: int) -> tuple[float, float]:
    """The same of what `generate.py` writes meanwhile."""
    costs = []
    for _ in range(runs):
        maker = [sys.executable, generate.__file__, kind, str(count), "-"]
        with subprocess.Popen(maker, stdout=subprocess.PIPE) as source:
            costs.append(measure([*COMMAND, "-"], source.stdout))
    return statistics.median(one.cpu_s for one in costs), max(one.peak_mb for one in costs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default=",".join(generate.KINDS), help="default: %(default)s")
    parser.add_argument("--smallest", type=int, default=SMALLEST, help="count (default %(default)s)")
    parser.add_argument(
        "--largest", type=int, default=1_000_000, help="packets at most (default %(default)s)"
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default %(default)s)")
    options = parser.parse_args()
    print(f"machine    {machine()}\n")
    print(f"{'kind':12}{'count':>10}{'packets':>12}{'cpu s':>8}{'ns/packet':>11}{'peak MB':>9}{'growth':>8}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "capture.pcap"
        written(path, "bulk", 3)
        start_up, _ = cost(path, options.runs)
        for kind in options.kinds.split(","):
            count, before = options.smallest, None
            most = options.largest if kind in generate.STREAMED else min(options.largest, IN_MEMORY)
            while (packets := count * PACKETS_EACH.get(kind, 1)) <= most:
                if kind in generate.STREAMED and packets > IN_MEMORY:
                    seconds, peak_mb = cost_through_pipe(kind, count, options.runs)
                else:
                    packets = written(path, kind, count)
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
