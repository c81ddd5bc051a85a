#!/usr/bin/env python3
"""Recovery classes of random transfers: what a sender's capture alone tells, against the sender's kernel.

    benchmarks/field.py make --out DIR --runs 900 --seed 77 --axes path
    benchmarks/classes.py DIR... [--jobs 2] [--misses FILE]

Each run below DIR has ``snd.pcap`` and ``rcv.pcap`` (a host each, perhaps compressed) and both kernels'
counters, in ``kernel.json`` as the lab leaves it or in ``truth.json``. Printed are the sums of every class
over all hosts, and how many hosts differ; exit status 1 if any differs that the capture could have told.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "accuracy"))

import measured  # noqa: E402

CLASSES = ("retransmitted", "timeouts", "fast", "slow_start", "loss_probes")
_OPEN = {
    "timeouts": "probe_or_timeout",
    "loss_probes": "probe_or_timeout",
    "fast": "fast_or_slow_start",
    "slow_start": "fast_or_slow_start",
}
"""What is said to be undecided of a class."""
HOSTS = {"snd.pcap": ("kernel", "sender"), "rcv.pcap": ("kernel_rcv", "receiver")}


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--misses", type=Path, help="write every host that differs to this file")
    arguments = parser.parse_args()
    runs = sorted(
        path.parent
        for folder in arguments.folders
        for path in {*folder.glob("truth.json"), *folder.glob("*/truth.json")}
        if not path.parent.name.startswith(".")
    )
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for done, part in enumerate(pool.map(hosts, runs), 1):
            rows += part
            print(f"\r{done} of {len(runs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    wrong = [row for row in rows if row["differs"]]
    if arguments.misses:
        arguments.misses.write_text("".join(json.dumps(row) + "\n" for row in wrong))
    print(table(runs, rows))
    return 1 if any(row["why"] == "" for row in wrong) else 0


def hosts(run: Path) -> list[dict[str, Any]]:
    """Both hosts of a run, each by the capture next to it."""
    truth = json.loads((run / "truth.json").read_text())
    file = run / "kernel.json"
    apart = json.loads(file.read_text()) if file.is_file() else {}
    endings = _endings(truth)
    rows = []
    for name, (key, host) in HOSTS.items():
        capture = next((one for one in (run / name, run / f"{name}.gz") if one.is_file()), None)
        counters = truth.get(key) or apart.get(host)
        if capture is None or not counters:
            continue
        theirs = {one: int(counters.get(measured.KERNEL[one], 0)) for one in CLASSES}
        failed = int(counters.get("TcpExtTCPRetransFail", 0))
        ours = measured.ours(capture, endings[name])
        mine = {one: ours[one] for one in (*CLASSES, "unknown")}
        open_ = {one: ours[_OPEN[one]] if one in _OPEN else 0 for one in CLASSES}
        differs = [one for one in CLASSES if mine[one] != theirs[one]]
        rows.append(
            {
                "run": str(run),
                "host": name,
                "kernel": theirs,
                "ours": mine,
                "differs": differs,
                "why": _why(truth, failed, _decided(mine, theirs, open_)) if differs else "",
            }
        )
    return rows


def _endings(truth: dict[str, Any]) -> dict[str, str]:
    """How the address of each host ends."""
    settings = truth.get("settings")
    first = settings is None or settings["network"].get("sender", "ms") == "ms"
    return dict(zip(HOSTS, (".1", ".2") if first else (".2", ".1"), strict=True))


def _decided(mine: dict[str, int], theirs: dict[str, int], undecided: dict[str, int]) -> bool:
    """Whether a class differs by more than what is said to be undecided."""
    return any(abs(mine[one] - theirs[one]) > undecided[one] for one in CLASSES)


def _why(truth: dict[str, Any], failed: int, decided: bool) -> str:
    """What kept packets from the capture, or that it is said to decide nothing; empty if neither did."""
    if not decided:
        return "said to be undecided"
    if failed:
        return "the host's own queue refused retransmissions"
    at_sender = (truth.get("qdisc") or {}).get("at") == "sender"
    if at_sender and (truth.get("qdisc") or {}).get("drops"):
        return "the host's own queue dropped packets before the capture"
    captures = (truth.get("lab") or {}).get("captures", {})
    return "the capture dropped packets" if any(one["dropped"] for one in captures.values()) else ""


def table(runs: list[Path], rows: list[dict[str, Any]]) -> str:
    """Sums by class, and reasons."""
    lines = [
        f"{len(runs)} runs, {len(rows)} hosts, {sum(bool(row['kernel']['retransmitted']) for row in rows)} "
        "of them retransmitted.\n",
        "| count | here | kernel | hosts that differ | of them with every packet in the capture |",
        "|---|--:|--:|--:|--:|",
    ]
    for name in CLASSES:
        wrong = [row for row in rows if name in row["differs"]]
        sums = (sum(row[who][name] for row in rows) for who in ("ours", "kernel"))
        whole = sum(row["why"] == "" for row in wrong)
        lines.append(
            f"| {' | '.join([measured.KERNEL[name], *map(str, sums), str(len(wrong)), str(whole)])} |"
        )
    lines.append(f"\nwithout a class: {sum(row['ours']['unknown'] for row in rows)}")
    reasons = Counter(row["why"] or "to explain" for row in rows if row["differs"])
    lines += [f"- {why}: {number} hosts" for why, number in reasons.most_common()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
