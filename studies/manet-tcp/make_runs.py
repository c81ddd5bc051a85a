"""Make the 42 cases of the study in ns-2, for two distances of the nodes, and cases of our own.

Usage: python make_runs.py OUTPUT [--summary SUMMARY] [--seeds FIRST-LAST] [--only published|own]

Our own cases (1500 bytes, no RTS): more frames lost (20 and 30%), and losses of segments, which the MAC
does not see. With --summary, each run's row goes there and its traces are removed: they would need 14 GB.
The row stays in the run's folder, so that a second call resumes. `as_ns` says whether bytes sent,
retransmitted and with new data are those that the agent of ns-2 counted itself. Needs ns-2.35 (Debian: ns2).
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import summary

HERE = Path(__file__).resolve().parent
FLAVOURS = ("reno", "newreno", "sack")
PUBLISHED = [
    *itertools.product(("0.01", "0.05", "0.1"), (512, 1500), ("on", "off"), ("frames",)),
    *itertools.product(("burst",), (1500,), ("on", "off"), ("frames",)),
]
OWN = [
    *itertools.product(("0.2", "0.3"), (1500,), ("off",), ("frames",)),
    *itertools.product(("0.01", "0.05", "0.1"), (1500,), ("off",), ("segments",)),
]
SEEDS = "1-10"
METRES_APART = {"three": 200, "one": 60}
SECONDS = 40
RATE_MBPS = 2

Case = tuple[str, int, str, str]


def run(output: Path, hops: str, flavour: str, case: Case, seed: int) -> Path:
    """One run, with what tables need to know of it; a run that is there is left alone."""
    loss, mtu, rts, of = case
    folder = output / f"{hops}-{flavour}-{loss}-{of}-{mtu}-rts-{rts}-{seed}"
    if (folder / "measurement.toml").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [flavour, loss, mtu, rts, SECONDS, seed, "old", METRES_APART[hops], RATE_MBPS, of]
    command = ["ns", str(HERE / "manet.tcl"), str(folder), *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (folder / "measurement.toml").write_text(
        f'[parameters]\nflavour = "{flavour}"\nloss = "{loss}"\nof = "{of}"\nmtu = {mtu}\nrts = "{rts}"\n'
        f'hops = "{hops}"\nseed = {seed}\n'
    )
    return folder


def as_ns(folder: Path, row: dict[str, Any]) -> dict[str, bool]:
    """Whether a run's row has the bytes that the agent of ns-2 counted itself."""
    totals = json.loads((folder / "totals.json").read_text())
    theirs = (totals["ndatabytes_"], totals["nrexmitbytes_"], totals["maxseq_"] * (row["mtu"] - 40))
    return {"as_ns": (row["sent_bytes"], row["duplicate_bytes"], row["bytes"]) == theirs}


def told(folder: Path) -> dict[str, Any]:
    """A run's row, out of its traces, which are removed, or as kept when they were."""
    kept = folder / "row.json"
    if kept.exists():
        row: dict[str, Any] = json.loads(kept.read_text())
        return row
    row = summary.row(folder)
    row |= as_ns(folder, row)
    kept.write_text(json.dumps(row) + "\n")
    for trace in folder.glob("*.tr"):
        trace.unlink()
    return row


def main() -> None:
    """All runs into the directory that the command line names, seed by seed."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--summary", type=Path)
    parser.add_argument("--seeds", default=SEEDS)
    parser.add_argument("--only", choices=("published", "own"))
    asked = parser.parse_args()
    cases = {"published": PUBLISHED, "own": OWN, None: PUBLISHED + OWN}[asked.only]
    first, _, last = asked.seeds.partition("-")
    rows = []
    for seed in range(int(first), int(last or first) + 1):
        for case, hops, flavour in itertools.product(cases, METRES_APART, FLAVOURS):
            folder = run(asked.output, hops, flavour, case, seed)
            if asked.summary:
                rows.append(told(folder))
        if asked.summary:
            summary.write(rows, asked.summary)


if __name__ == "__main__":
    main()
