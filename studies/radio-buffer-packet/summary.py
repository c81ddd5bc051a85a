"""A row for each run over the packet radio: what the analysis tells, and what the link recorded.

Usage: python summary.py RUNS SUMMARY

Read are the captures of both ends; the link's log would cost twenty times as much, and is only needed to name
drops of the sender's queue, which the link has counted itself. With other traffic there are two connections;
the row is that of the first, which the study is about. `late_share` is the share of the link's events that
the machine served more than 5 ms late.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import multitracer as mt
from multitracer.batch.summary import csv_bytes

ANALYZERS = ["connections", "goodput", "rtt_deviation", "idle_losses"]
PARAMETERS = ("flow.0.rcvbuf_bytes", "network.mtu_bytes", "seed")
HEADERS = 40


def row(folder: Path) -> dict[str, Any]:
    """One run."""
    analysis = mt.analyze(mt.read(folder / "snd.pcap", folder / "rcv.pcap"), only=ANALYZERS)
    parameters = tomllib.loads((folder / "measurement.toml").read_text())["parameters"]
    told = analysis["connections"].summary["connections"]
    one = min(told, key=lambda each: each["endpoints"][1])
    by_connection = {
        name: next(
            (e for e in analysis[name].summary.get("connections", []) if e["conn"] == one["index"]), {}
        )
        for name in ("goodput", "rtt_deviation")
    }
    trips, idle = by_connection["rtt_deviation"], analysis["idle_losses"].summary
    lost = idle.get("lost") or {}
    return {
        "name": folder.name,
        "utilization": None,
        "air": folder.name.split("_")[0].removesuffix(f"-{parameters['network.mtu_bytes']}"),
        **{name: parameters[name] for name in PARAMETERS},
        "bytes": one["bytes"]["unique"],
        "received_share": by_connection["goodput"].get("value"),
        "throughput_bps": one["throughput_bps"],
        "goodput_bps": one["goodput_bps"],
        "retransmissions": one["retransmissions"]["total"],
        "retransmissions_fast": one["retransmissions"]["fast"],
        "timeouts": one["timeouts"]["total"],
        "timeouts_spurious": one["timeouts"]["spurious"],
        "rtt_mean_ms": trips.get("mean_ms"),
        "rtt_deviation_ms": trips.get("deviation_ms"),
        "rto_ms": trips.get("rto_ms"),
        "segments": idle.get("segments"),
        "idle_after_losses_share": (idle.get("after_losses") or {}).get("share"),
        "lost_segments": lost.get("total"),
        "lost_timeout": lost.get("timeout"),
        "lost_fast": lost.get("fast"),
        **_true(folder),
    }


def _true(folder: Path) -> dict[str, Any]:
    """What the link recorded: drops of its queue, packets with data given up, and how late it was."""
    truth = json.loads((folder / "truth.json").read_text())
    given_up = [e for e in truth["events"] if e["what"] == "packet_lost" and e["side"] == 0]
    late = truth["lab"]["lateness"]
    return {
        "queue_drops": truth.get("queue_drops", [0, 0])[0],
        "given_up": sum(one["length"] > HEADERS for one in given_up),
        "late_share": round(late["late"] / max(1, late["events"]), 3),
    }


def main() -> None:
    """All runs below a directory."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = (file.parent for file in Path(sys.argv[1]).glob("[!.]*/measurement.toml"))
    folders = sorted(found, key=lambda folder: (folder.name.rpartition("=")[2], folder.name))
    rows = []
    for number, folder in enumerate(folders, 1):
        rows.append(row(folder))
        if number % 25 == 0 or number == len(folders):
            Path(sys.argv[2]).write_bytes(csv_bytes(rows, list(rows[0])))
    print(f"{len(rows)} runs")


if __name__ == "__main__":
    main()
