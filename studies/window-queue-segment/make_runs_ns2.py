"""Make the runs in ns-2, with a real Tahoe: every window x queue x segment x flavour, one flow and ten.

Usage: python make_runs_ns2.py OUTPUT [SUMMARY]

Ten flows begin at random within 0.1 s: four runs of each case, the first at the times that the published
study gives. One flow is the same whenever it begins.
With SUMMARY, each run's row goes there and its trace is removed. Needs ns-2.35 (Debian: ns2).
"""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WINDOWS = QUEUES = (2000, 8000, 32000, 64000)
SEGMENTS = (128, 256, 512)
FLAVOURS = ("tahoe", "reno")
RUNS = {1: 1, 10: 4}
SECONDS = 10
PUBLISHED_STARTS = (
    *(0.0665559, 0.00105638, 0.0988327, 0.0159708, 0.0544278),
    *(0.057616, 0.0571915, 0.0261588, 0.0596925, 0.0265378),
)

Parameters = dict[str, str | int]


def starts(run: int, flows: int) -> tuple[float, ...]:
    """When the flows of a run begin, in seconds."""
    if run == 1:
        return PUBLISHED_STARTS[:flows]
    drawn = random.Random(f"starts {run}")
    return tuple(round(drawn.uniform(0, 0.1), 7) for _ in range(flows))


def run(folder: Path, parameters: Parameters) -> None:
    """One run, with what tables need to know of it; one that is there is left alone."""
    if (folder / "measurement.toml").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    values = [str(parameters[name]) for name in ("flavour", "window", "queue", "segment")]
    times = [str(one) for one in starts(int(parameters["run"]), int(parameters["param_flows"]))]
    program = ["ns", str(HERE / "dumbbell.tcl"), str(folder)]
    subprocess.run([*program, *values, str(SECONDS), *times], check=True)
    lines = [f'{name} = "{v}"' if isinstance(v, str) else f"{name} = {v}" for name, v in parameters.items()]
    (folder / "measurement.toml").write_text("[parameters]\n" + "\n".join(lines) + "\n")


def main() -> None:
    """All runs into the directory that the command line names."""
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    output = Path(sys.argv[1])
    rows = []
    for number in range(1, max(RUNS.values()) + 1):
        for flows in (one for one, runs in RUNS.items() if number <= runs):
            for flavour, window, queue, segment in itertools.product(FLAVOURS, WINDOWS, QUEUES, SEGMENTS):
                folder = output / f"{flavour}-w{window}-q{queue}-s{segment}-f{flows}-r{number}"
                parameters: Parameters = {"flavour": flavour, "window": window, "queue": queue}
                parameters |= {"segment": segment, "param_flows": flows, "run": number}
                run(folder, parameters)
                if len(sys.argv) == 3:
                    rows.append(summary.row(folder))
                    shutil.rmtree(folder)
            if rows:
                summary.write(rows, Path(sys.argv[2]))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    import summary

    main()
