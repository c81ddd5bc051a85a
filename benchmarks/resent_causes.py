#!/usr/bin/env python3
"""Causes of retransmissions away from the sender, packet by packet, beside those of the sender's own capture.

Usage: benchmarks/resent_causes.py DIR... [--sack]     (campaigns of field.py)

Packets are matched by IP ID, sequence number, length and TSval. Runs with offload are left out: a
super-segment at one capture is several packets at another.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from multitracer.model.schema import CAUSES
from multitracer.native.captures import read_capture

AWAY = ("mid", "rcv")
COUNTED = ("timeout", "fast", "slow_start")
RETRANSMISSION = 1
Causes = dict[tuple[Any, ...], str]


def causes(capture: Path) -> Causes:
    """The cause of each data segment ("" if it was sent once), by what names its packet at any capture."""
    read = read_capture(str(capture), keep_segments=True)
    segments, rows = read["segments"], read["arrivals"]
    late = {
        int(record): int(cause)
        for record, verdict, cause in zip(rows["record"], rows["verdict"], rows["cause"], strict=True)
        if verdict == RETRANSMISSION
    }
    ends = [str(connection["endpoints"]) for connection in read["connections"]]
    names = ("conn", "dir", "ip_id", "seq_raw", "length", "ts_val", "record", "cause")
    found: Causes = {}
    for conn, *name, record, cause in zip(*(segments[name] for name in names), strict=True):
        if name[3] > 0:
            why = int(cause) or late.get(int(record), 0)
            found.setdefault((ends[int(conn)], *map(int, name)), CAUSES[why])
    return found


def main() -> int:
    """Print, for each point, the number of captures in which each number is right, and the matrix."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="campaigns")
    parser.add_argument("--sack", action="store_true", help="runs with SACK instead of those without")
    arguments = parser.parse_args()
    matrices: dict[tuple[str, bool], list[Counter[tuple[str, str]]]] = {}
    for truth in sorted(path for folder in arguments.folders for path in folder.glob("*/truth.json")):
        settings = json.loads(truth.read_text())["settings"]
        joined = settings["network"]["offload"] or settings["link"].get("gro")
        if joined or bool(settings["tcp"]["sack"]) != arguments.sack:
            continue
        right = causes(truth.with_name("snd.pcap.gz"))
        for point in AWAY:
            here = causes(truth.with_name(f"{point}.pcap.gz"))
            pairs = Counter((right[name], cause) for name, cause in here.items() if name in right)
            matrices.setdefault((point, bool(settings["tcp"]["timestamps"])), []).append(pairs)
    for (point, timestamps), each in sorted(matrices.items()):
        print(f"{point}, timestamps {'yes' if timestamps else 'no'}: {len(each)} captures")
        for cause in COUNTED:
            exact = sum(
                sum(count for (true, _), count in pairs.items() if true == cause)
                == sum(count for (_, said), count in pairs.items() if said == cause)
                for pairs in each
            )
            print(f"  number of {cause} right in {exact}")
        for (true, said), count in sorted(sum(each, Counter[tuple[str, str]]()).items()):
            if true or said:
                print(f"  {true or 'sent once'} said as {said or 'sent once'}: {count:,}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
