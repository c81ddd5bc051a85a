"""Seconds and memory of a time/sequence plot of millions of points, to a file.

A transfer is synthesised as a figure: segments and ACKs with loss and jitter, drawn as points and steps
(``multilayer``) and as data bars (``tsg``). Drawing and writing are timed, each in a process of its own.

Usage: python benchmarks/bench_plot.py [--points N ...] [--kinds points bars] [--endings png svg]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

MSS = 1448


def one(count: int, kind: str, path: str) -> tuple[float, float]:
    """Seconds to draw and write `count` points, and the peak memory in MB before drawing."""
    from multitracer.plots.mpl import renderer as mpl
    from multitracer.plots.panel import Axis, Figure, Marks, Panel, Pieces, Series

    random = np.random.default_rng(7)
    half = count // 2
    x = np.cumsum(random.exponential(1e-4, half))
    y = np.arange(half, dtype=np.float64) * MSS
    again = random.random(half) < 0.01
    y[again] -= MSS * random.integers(1, 200, int(again.sum()))
    acks = Series("TcpSnd_ack", "snd_ack", x + 0.02, np.maximum.accumulate(y), kind="steps", label="ACKs")
    marks = Marks("fast", "fast_retransmit", x[again], y[again], letter="3", label="fast retransmit")
    if kind == "bars":
        bars = Pieces("data", "snd_data", x, y, x, y + MSS, label="sent")
        panel = Panel("sequence", Axis("Sequence number", "bytes"), (acks,), (marks,), pieces=(bars,))
    else:
        data = Series("TcpSnd_data", "snd_data", x, y, label="segments")
        panel = Panel("sequence", Axis("Sequence number", "bytes"), (data, acks), (marks,))
    figure = Figure("bench", f"{count:,} points", (panel,), (0.0, float(x[-1])))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    begin = time.perf_counter()
    mpl.draw(figure, path)
    return time.perf_counter() - begin, before


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, nargs="+", default=[1_000_000, 5_000_000, 10_000_000])
    parser.add_argument("--kinds", nargs="+", default=["points", "bars"])
    parser.add_argument("--endings", nargs="+", default=["png", "svg"])
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        seconds, before = one(int(options.one[0]), options.one[1], options.one[2])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{seconds:.3f} {before:.0f} {peak:.0f}")
        return
    print(
        f"{'points':>12}{'drawn as':>10}{'file':>6}{'seconds':>9}{'data MB':>9}{'peak MB':>9}{'file kB':>9}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for count in options.points:
            for kind in options.kinds:
                for ending in options.endings:
                    path = os.path.join(folder, f"figure.{ending}")
                    words = [sys.executable, __file__, "--one", str(count), kind, path]
                    done = subprocess.run(words, capture_output=True, text=True, check=True)
                    seconds, before, peak = map(float, done.stdout.split())
                    size = os.path.getsize(path) / 1e3
                    print(
                        f"{count:12,}{kind:>10}{ending:>6}{seconds:9.2f}{before:9.0f}{peak:9.0f}{size:9.0f}"
                    )


if __name__ == "__main__":
    main()
