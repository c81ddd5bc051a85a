"""Instructions that decoding and tracking take, counted by valgrind: no busy machine can change the figure.

Counts for small fixed captures of `generate.py` are held against `instructions.json` beside this file: with
`--check`, more than 2 % above it fails. Counts are those of one compiler on one kind of processor; where
another is used, they are printed and nothing fails. `--record` writes them anew: part of the change that
explains it.

Usage: python benchmarks/instructions.py [--check | --record]     (needs cargo and valgrind)
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "instructions.json"
COUNTS = {
    "bulk": 20_000,
    "connections": 2_000,
    "parallel": 60_000,
    "holes": 4_000,
    "wide": 4_000,
    "shuffled": 10_000,
}
TOLERANCE = 0.02


def build() -> Path:
    """The program that reads and tracks a capture."""
    command = ["cargo", "build", "--release", "-q", "-p", "multitracer-core", "--example", "track"]
    subprocess.run(command, cwd=HERE.parent, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    return target / "release" / "examples" / "track"


def instructions(program: Path, capture: Path) -> int:
    """Instructions of one run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), str(capture)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise SystemExit(f"valgrind said nothing of instructions: {done.stderr[-500:]}")
    return int(found[1])


def measured() -> dict[str, Any]:
    """Instructions per packet by kind of capture, and what they hold for."""
    import generate

    program = build()
    each = {}
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "capture.pcap"
        for kind, count in COUNTS.items():
            packets = generate.write(capture, kind, count)
            each[kind] = round(instructions(program, capture) / packets, 1)
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return {"compiler": compiler.stdout.strip(), "machine": platform.machine(), "per_packet": each}


def above(now: Mapping[str, Any], recorded: Mapping[str, Any]) -> list[str] | None:
    """Kinds whose count has grown beyond the tolerance; None where the two cannot be compared."""
    if any(now[key] != recorded[key] for key in ("compiler", "machine")):
        return None
    limits = {kind: count * (1 + TOLERANCE) for kind, count in recorded["per_packet"].items()}
    return [kind for kind, count in now["per_packet"].items() if count > limits.get(kind, 0)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="exit status 1 if more than what is recorded")
    what.add_argument("--record", action="store_true", help="write what is recorded anew")
    options = parser.parse_args()
    missing = [tool for tool in ("cargo", "valgrind") if shutil.which(tool) is None]
    if missing:
        raise SystemExit(f"instructions: {' and '.join(missing)} not found")
    now = measured()
    if options.record:
        RECORDED.write_text(json.dumps(now, indent=2) + "\n")
    recorded = json.loads(RECORDED.read_text())
    print(f"{'instructions per packet':26}{'now':>9}{'recorded':>10}{'change':>9}")
    for kind, count in now["per_packet"].items():
        then = recorded["per_packet"].get(kind)
        change = f"{then:10.1f}{count / then - 1:9.1%}" if then else f"{'-':>10}"
        print(f"{kind:26}{count:9.1f}{change}")
    grown = above(now, recorded)
    if grown is None:
        known = f"{recorded['compiler']} on {recorded['machine']}"
        print(f"recorded with {known}, this is {now['compiler']} on {now['machine']}: not compared")
    elif grown:
        print(f"more than {TOLERANCE:.0%} above what is recorded: {', '.join(grown)}")
    return int(options.check and bool(grown))


if __name__ == "__main__":
    sys.exit(main())
