"""Measurements per minute of ``multitracer batch`` with processes and with Dask, and its workers' memory.

The measurements under ROOT are linked into one tree as often as it takes to have --count of them. Each way
of running is measured on a tree of --each, in turn, --rounds times; then one run over all --count
measurements with two processes is followed: the resident memory of every process that it starts.

Usage: python benchmarks/bench_batch.py ROOT [--count 500] [--each 60] [--rounds 3]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = {
    "1 process": ["-j", "1"],
    "2 processes": ["-j", "2"],
    "Dask, 2 workers": ["--dask", "2"],
}
PARTS = 5  # stretches of the long run between which memory is compared


def linked(root: Path, target: Path, count: int) -> None:
    """`count` measurements: the directories of `root`, linked again and again."""
    found = sorted(path.parent for path in root.glob("*/measurement.toml")) or sorted(
        {path.parent for path in root.glob("*/*.pcap*")}
    )
    if not found:
        sys.exit(f"{root}: no measurement in it; make some with: multitracer lab fleet")
    for number in range(count):
        source = found[number % len(found)]
        copy = target / f"{source.name}_copy={number // len(found)}"
        copy.mkdir(parents=True)
        for path in source.iterdir():
            if path.is_file():
                os.link(path, copy / path.name)


def command(root: Path, output: Path, words: list[str]) -> list[str]:
    base = [sys.executable, "-m", "multitracer", "batch", str(root), "-o", str(output)]
    return [*base, "--pages", "none", "--json", *words]


def rate(root: Path, count: int, words: list[str]) -> float:
    """Measurements per minute of one run."""
    with tempfile.TemporaryDirectory(dir=root.parent) as output:
        begin = time.perf_counter()
        done = subprocess.run(command(root, Path(output), words), capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - begin
    if json.loads(done.stdout)["done"] != count:
        sys.exit(f"{words}: not all measurements were analysed: {done.stderr}")
    return 60 * count / seconds


def resident(pid: int) -> dict[int, float]:
    """Resident memory, in MB, of the processes below one, by their number."""
    found: dict[int, float] = {}
    children: list[str] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            children += thread.read_text().split()
    for child in map(int, children):
        try:
            pages = int(Path(f"/proc/{child}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
        found[child] = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        found |= resident(child)
    return found


def memory(root: Path, count: int) -> None:
    """Follow the processes of one long run."""
    with tempfile.TemporaryDirectory(dir=root.parent) as name:
        output = Path(name)
        run = subprocess.Popen(command(root, output, ["-j", "2"]), stdout=subprocess.DEVNULL)
        most: list[dict[int, float]] = [{} for _ in range(PARTS)]
        while run.poll() is None:
            done = sum(1 for _ in output.glob("measurements/*/result.json"))
            now = most[min(PARTS * done // count, PARTS - 1)]
            for pid, size in resident(run.pid).items():
                now[pid] = max(now.get(pid, 0.0), size)
            time.sleep(0.1)
        if run.returncode:
            sys.exit(f"the long run ended with status {run.returncode}")
    for number, part in enumerate(most):
        sizes = sorted(part.values())
        span = f"{number * count // PARTS}-{(number + 1) * count // PARTS}"
        print(f"  measurements {span:>9}: {len(sizes)} processes, largest of each (MB): ", end="")
        print(", ".join(f"{size:.0f}" for size in sizes[-4:]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--each", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    # On the same file system, or nothing can be linked.
    with tempfile.TemporaryDirectory(dir=options.root.resolve().parent) as place:
        short, long = Path(place) / "short", Path(place) / "long"
        linked(options.root, short, options.each)
        linked(options.root, long, options.count)
        found: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(options.rounds):
            for way, words in WAYS.items():
                found[way].append(rate(short, options.each, words))
        print(f"{options.each} measurements, median of {options.rounds} rounds, measurements per minute:")
        base = statistics.median(found["1 process"])
        for way, rates in found.items():
            middle = statistics.median(rates)
            print(f"  {way:<16} {middle:6.1f}  {middle / base:5.2f} times one process")
        print(f"{options.count} measurements with 2 processes, resident memory:")
        memory(long, options.count)


if __name__ == "__main__":
    main()
