"""What a build with `PGO=1` runs to learn which ways through the core are common.

The samples, again and again, for losses, SACK, timestamps and queues of real transfers; and generated
captures for many connections and for bulk. Maturin runs it with the instrumented package (`pgo-command` in
pyproject.toml).

Usage: python scripts/train.py     (in an environment that has the package installed)
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from multitracer.native.captures import read_capture

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "sample_traces"
ROUNDS = 10
GENERATED = {"bulk": 50_000, "connections": 5_000, "parallel": 100_000}
"""Kinds of `benchmarks/generate.py`, with their size."""


def main() -> None:
    """Read and track all of them, as summaries, and the samples with all segments too."""
    captures = sorted(SAMPLES.glob("**/*.pcap"))
    if not captures:
        raise SystemExit(f"train: no captures in {SAMPLES}")
    for number in range(ROUNDS):
        for capture in captures:
            read_capture(str(capture), keep_segments=number % 2 == 0)
    with tempfile.TemporaryDirectory() as folder:
        for kind, count in GENERATED.items():
            made = Path(folder) / f"{kind}.pcap"
            program = ROOT / "benchmarks" / "generate.py"
            subprocess.run([sys.executable, program, kind, str(count), made], check=True)
            read_capture(str(made), keep_segments=False)


if __name__ == "__main__":
    main()
