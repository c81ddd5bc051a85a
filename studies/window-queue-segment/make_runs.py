"""Make the runs of the study in ns-3: every window x queue x segment x flavour, one flow and ten.

Usage: python make_runs.py OUTPUT

Ten flows start at random times: five runs of each case. One flow is the same whenever it starts.
Needs g++ and the Debian packages libns3-dev (3.37) and libgsl-dev.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = "core network internet point-to-point applications flow-monitor traffic-control"
WINDOWS = QUEUES = (2000, 8000, 32000, 64000)
SEGMENTS = (128, 256, 512)
FLAVOURS = ("tahoe", "reno")
RUNS = {1: 1, 10: 5}
SECONDS = 10


def build(program: Path) -> None:
    """Compile the simulation."""
    packages = [f"ns3-{module}" for module in MODULES.split()]
    asked = ["pkg-config", "--cflags", "--libs", *packages]
    flags = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
    source = str(HERE / "dumbbell.cc")
    subprocess.run(["g++", "-O1", "-std=c++17", source, "-o", str(program), *flags], check=True)


def run(program: Path, folder: Path, parameters: dict[str, str | int]) -> None:
    """One run, with what batch tables need to know of it; one that is there is left alone."""
    if (folder / "measurement.toml").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    options = [f"--{name}={value}" for name, value in parameters.items()]
    subprocess.run([str(program), *options, f"--seconds={SECONDS}", f"--out={folder}"], check=True)
    lines = [f'{name} = "{v}"' if isinstance(v, str) else f"{name} = {v}" for name, v in parameters.items()]
    (folder / "measurement.toml").write_text("[parameters]\n" + "\n".join(lines) + "\n")


def main() -> None:
    """All runs into the directory that the command line names."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    program = output / "dumbbell"
    build(program)
    grid = [
        (flows, number, *case)
        for flows, runs in RUNS.items()
        for number in range(1, runs + 1)
        for case in itertools.product(FLAVOURS, WINDOWS, QUEUES, SEGMENTS)
    ]
    for flows, number, flavour, window, queue, segment in grid:
        name = f"{flavour}-w{window}-q{queue}-s{segment}-f{flows}-r{number}"
        parameters: dict[str, str | int] = {
            "flavour": flavour,
            "window": window,
            "queue": queue,
            "segment": segment,
            "flows": flows,
            "run": number,
        }
        run(program, output / name, parameters)
    print(f"{len(grid)} runs")


if __name__ == "__main__":
    main()
