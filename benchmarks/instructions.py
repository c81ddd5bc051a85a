"""Instructions that decoding and tracking take, counted by valgrind: no busy machine can change the figure.

Counts for small fixed captures of `generate.py` are held against `instructions.json` beside this file; more
than 5 % above it fails. They are those of one compiler: `--record` writes them anew, which belongs into the
change that explains it.

Usage: python benchmarks/instructions.py [--record]     (needs cargo and valgrind; exit status 1 if above)
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import generate

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "instructions.json"
COUNTS = {"bulk": 20_000, "connections": 2_000, "holes": 4_000, "wide": 4_000, "shuffled": 10_000}
TOLERANCE = 0.05


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


def main() -> int:
    missing = [tool for tool in ("cargo", "valgrind") if shutil.which(tool) is None]
    if missing:
        raise SystemExit(f"instructions: {' and '.join(missing)} not found")
    program = build()
    compiler = subprocess.run(
        ["rustc", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    each = {}
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "capture.pcap"
        for kind, count in COUNTS.items():
            packets = generate.write(capture, kind, count)
            each[kind] = round(instructions(program, capture) / packets, 1)
    if "--record" in sys.argv:
        RECORDED.write_text(json.dumps({"compiler": compiler, "per_packet": each}, indent=2) + "\n")
    recorded = json.loads(RECORDED.read_text())
    if recorded["compiler"] != compiler:
        print(f"recorded with {recorded['compiler']}, this is {compiler}: a difference may be the compiler's")
    above = []
    print(f"{'instructions per packet':26}{'now':>9}{'recorded':>10}{'change':>9}")
    for kind, now in each.items():
        then = recorded["per_packet"][kind]
        print(f"{kind:26}{now:9.1f}{then:10.1f}{now / then - 1:9.1%}")
        if now > then * (1 + TOLERANCE):
            above.append(kind)
    if above:
        print(f"more than {TOLERANCE:.0%} above what is recorded: {', '.join(above)}")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
