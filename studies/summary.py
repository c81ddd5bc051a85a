"""A row for each run of a simulation: quicker than a batch, which explains each run too.

Usage: python summary.py RUNS SUMMARY

Only the analyzers that the studies in ns-2 ask for are run. Of several flows: mean and standard deviation of
goodput, Jain's index, and `by_start_kbps`, the goodput of each flow [kbit/s] in order of their beginnings.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import multitracer as mt
from multitracer.batch.summary import csv_bytes

ANALYZERS = ["connections", "energy", "fairness", "goodput", "rtt_deviation"]


def row(folder: Path) -> dict[str, Any]:
    """What a run's traces tell, and its parameters."""
    analysis = mt.analyze(mt.read(folder), only=ANALYZERS)
    told = analysis["connections"]["connections"]
    flows = sorted((one for one in told if one["bytes"]["unique"]), key=lambda one: one["start"])
    parameters = tomllib.loads((folder / "measurement.toml").read_text())["parameters"]
    found: dict[str, Any] = {"name": folder.name, "utilization": None} | parameters
    if len(told) == 1:
        return found | _one(analysis, told[0])
    fair = analysis.fairness
    return found | {
        "goodput_bps": round(fair["goodput_mean_bps"], 1),
        "goodput_std_bps": round(fair["goodput_std_bps"], 1),
        "jain": fair["value"],
        "by_start_kbps": " ".join(f"{one['goodput_bps'] / 1e3:.1f}" for one in flows),
    }


def _one(analysis: Any, one: dict[str, Any]) -> dict[str, Any]:
    def first(name: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = analysis[name].summary.get("connections") or [{}]
        return found[0]

    return {
        "bytes": one["bytes"]["unique"],
        "sent_bytes": one["bytes"]["sent"],
        "duplicate_bytes": one["bytes"]["duplicate"],
        "received_share": first("goodput").get("value"),
        "goodput_bps": round(one["goodput_bps"] or 0.0, 1),
        "retransmissions": one["retransmissions"]["total"],
        "timeouts": one["timeouts"]["total"],
        "timeouts_spurious": one["timeouts"]["spurious"],
        "rtt_deviation_ms": first("rtt_deviation").get("deviation_ms"),
        "energy_j_per_mbit": analysis["energy"].summary.get("value"),
    }


def write(rows: list[dict[str, Any]], path: Path) -> None:
    """Rows as a CSV; what a run does not have is empty."""
    names = list(dict.fromkeys(name for one in rows for name in one))
    path.write_bytes(csv_bytes([dict.fromkeys(names) | one for one in rows], names))


def main() -> None:
    """All runs below a directory."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folders = sorted(file.parent for file in Path(sys.argv[1]).glob("*/measurement.toml"))
    write([row(folder) for folder in folders], Path(sys.argv[2]))


if __name__ == "__main__":
    main()
