"""Lines a second and core of every text format, from the file to tables, and what whole commands take.

Each log of `textlogs.py` is made, read by `multitracer.open_trace` in a process of its own (its processor
time, without that of starting Python), and by `multitracer info`. The last column is what a loop over the
lines in Python takes that does nothing but split them into words: no parser in Python could be faster.

Usage: python benchmarks/bench_text.py [--formats FORMAT,...] [--lines N] [--runs N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import textlogs
from bench_analyze import ENVIRONMENT, MULTITRACER, machine, measure, warm

DOCUMENTS = {"ndt7": 200_000, "iperf3": 200_000}
"""Lines at most of what is a document (of bounded size), or a test with a line for each tenth of a second."""

READ = """
import os, sys
import numpy, multitracer
from multitracer import native
before = os.times()
multitracer.open_trace(sys.argv[1])
after = os.times()
print(after.user + after.system - before.user - before.system)
"""


def reading(path: Path) -> float:
    """Processor time from the file to tables."""
    command = [sys.executable, "-c", READ, str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT).stdout)


def plain_loop(path: Path) -> float:
    """Processor time of a loop over the lines that splits them into words."""
    begin = time.process_time()
    with path.open("rb") as file:
        for line in file:
            line.split()
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--formats", default=",".join(textlogs.KINDS), help="default: %(default)s")
    parser.add_argument("--lines", type=int, default=1_000_000, help="of each log (default %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default %(default)s)")
    options = parser.parse_args()
    print(f"machine    {machine()}\n")
    heads = (
        *(("B/line", 7), ("read s", 8), ("M lines/s", 11), ("MB/s", 7)),
        *(("info cpu", 10), ("peak MB", 9), ("split s", 9)),
    )
    print(f"{'format':14}" + "".join(f"{head:>{width}}" for head, width in heads))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x-cwnd.log"  # a variable: ns3-series goes by the name
        for kind in options.formats.split(","):
            lines = textlogs.write(path, kind, min(options.lines, DOCUMENTS.get(kind, options.lines)))
            warm(path)
            seconds = statistics.median(reading(path) for _ in range(options.runs))
            info = measure([MULTITRACER, "info", "--json", str(path)])
            size = path.stat().st_size
            print(
                f"{kind:14}{size / lines:>7.0f}{seconds:>8.2f}{lines / seconds / 1e6:>11.2f}"
                f"{size / seconds / 1e6:>7.0f}{info.cpu_s:>10.2f}{info.peak_mb:>9.0f}"
                f"{plain_loop(path):>9.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
