"""Make the 42 runs of the study in ns-2, for two distances of the nodes and three seeds each: 252 runs.

Usage: python make_runs.py OUTPUT

Needs ns-2.35 (Debian: ns2). On two cores the runs take a minute or two, and about 2 GB.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAVOURS = ("reno", "newreno", "sack")
RTS = ("on", "off")
CASES = [*itertools.product(("0.01", "0.05", "0.1"), (512, 1500)), ("burst", 1500)]
METRES_APART = {"three": 200, "one": 60}
SEEDS = (1, 2, 3)
SECONDS = 40
RATE_MBPS = 2


def run(folder: Path, flavour: str, loss: str, mtu: int, rts: str, hops: str, seed: int) -> None:
    """One run, with what batch tables need to know of it; a run that is there is left alone."""
    if (folder / "measurement.toml").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [flavour, loss, mtu, rts, SECONDS, seed, "old", METRES_APART[hops], RATE_MBPS]
    command = ["ns", str(HERE / "manet.tcl"), str(folder), *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (folder / "measurement.toml").write_text(
        f'[parameters]\nflavour = "{flavour}"\nloss = "{loss}"\nmtu = {mtu}\nrts = "{rts}"\nhops = "{hops}"\n'
        f"seed = {seed}\n"
    )


def main() -> None:
    """All runs into the directory that the command line names."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    output = Path(sys.argv[1])
    grid = list(itertools.product(METRES_APART, FLAVOURS, CASES, RTS, SEEDS))
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(
                run,
                output / f"{hops}-{flavour}-{loss}-{mtu}-rts-{rts}-{seed}",
                flavour,
                loss,
                mtu,
                rts,
                hops,
                seed,
            )
            for hops, flavour, (loss, mtu), rts, seed in grid
        ]
        for job in jobs:
            job.result()
    print(f"{len(grid)} runs")


if __name__ == "__main__":
    main()
