#!/usr/bin/env python3
"""Captures as a mirror of two ports of a router would make them: each packet twice, with a TTL less by one.

    benchmarks/mirrors.py CAPTURE ... [--json FILE]

Each capture (IPv4 or IPv6, with or without a link layer of fixed length) is read as it is, and again with a
copy of every packet so much later: by a time, as where a queue stands in the router, or by packets,
as where the mirror's buffers hold them. What is told of retransmissions, duplicate bytes and timeouts
must be the same. Exit status 1 if it is not.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import tempfile
from pathlib import Path

import multitracer as mt
from multitracer import native

_BEFORE_IP = {101: 0, 12: 0, 14: 0, 228: 0, 229: 0, 1: 14, 276: 20, 113: 16}
"""Bytes of the link layer in front of IP, by link type."""
LATER_MS = (0.01, 1.0, 20.0, 200.0, 900.0)
PACKETS = (50, 1000)
Record = tuple[int, int, bytes]


def behind(packet: bytes, begin: int) -> bytes:
    """The packet after one hop more; what is not IP stays."""
    version = packet[begin] >> 4 if len(packet) > begin + 8 else 0
    at = begin + {4: 8, 6: 7}.get(version, 0)
    if version not in (4, 6) or packet[at] == 0:
        return packet
    return packet[:at] + bytes([packet[at] - 1]) + packet[at + 1 :]


def mirrored(records: list[Record], begin: int, later_ns: int, packets: int) -> list[Record]:
    """All records and their copies, in order of time."""
    copies = []
    for place, (t_ns, length, data) in enumerate(records):
        if packets:
            t_ns = records[min(place + packets, len(records) - 1)][0] + 1
        copies.append((t_ns + later_ns, length, behind(data, begin)))
    return sorted([*records, *copies], key=lambda one: one[0])


def write(path: Path, records: list[Record], link_type: int) -> Path:
    """A capture in nanoseconds."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link_type))
        for t_ns, length, data in records:
            file.write(struct.pack("<IIII", *divmod(t_ns, 10**9), len(data), length) + data)
    return path


def told(path: Path) -> dict[str, int]:
    """What the program says of a capture, over all connections and both directions."""
    contract = mt.analyze(mt.read(path, detail="summary")).to_dict()
    found = contract["connections"]
    copies = sum(one["count"] for one in contract["issues"] if one["code"] == "duplicate-record")
    return {
        "connections": len(found),
        "segments": sum(one["packets"]["sent"] + one["packets"]["received"] for one in found),
        "retransmissions": sum(
            one[key]["total"] for one in found for key in ("retransmissions", "reverse_retransmissions")
        ),
        "duplicate_bytes": sum(one[key]["duplicate"] for one in found for key in ("bytes", "reverse_bytes")),
        "timeouts": sum(one["timeouts"]["total"] for one in found),
        "copies": copies,
    }


def main() -> int:
    """Check all captures and print a line for each distance."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("captures", nargs="+")
    parser.add_argument("--json")
    given = parser.parse_args()
    ways = [(round(ms * 1e6), 0) for ms in LATER_MS] + [(0, count) for count in PACKETS]
    sums: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in given.captures:
            read = [packet for _, packet in native.packets(name)]
            if not read or read[0].link_type not in _BEFORE_IP:
                print(f"{name}: left out", file=sys.stderr)
                continue
            link = read[0].link_type
            records = sorted(((one.t_ns, one.original_length, one.data) for one in read), key=lambda r: r[0])
            plain = told(write(Path(folder, "plain.pcap"), records, link))
            for later_ns, packets in ways:
                way = f"{packets} packets" if packets else f"{later_ns / 1e6:g} ms"
                made = mirrored(records, _BEFORE_IP[link], later_ns, packets)
                seen = told(write(Path(folder, "mirrored.pcap"), made, link))
                row = sums.setdefault(way, dict.fromkeys(("captures", "equal", "records", *plain), 0))
                row["captures"] += 1
                row["records"] += len(records)
                differing = [key for key in plain if key != "copies" and plain[key] != seen[key]]
                row["equal"] += not differing
                for key in plain:
                    row[key] += abs(seen[key] - plain[key])
                for key in differing:
                    print(f"{name}, {way}: {key} {plain[key]} and {seen[key]}", file=sys.stderr)
    print(f"{'copies later by':>16} {'captures':>9} {'equal':>6} {'records':>9} {'copies':>9}  differences: "
          "segments, retransmissions, timeouts")  # fmt: skip
    for way, row in sums.items():
        print(
            f"{way:>16} {row['captures']:9} {row['equal']:6} {row['records']:9,} {row['copies']:9,}  "
            f"{row['segments']}, {row['retransmissions']}, {row['timeouts']}"
        )
    if given.json:
        Path(given.json).write_text(json.dumps(sums, indent=2), encoding="utf-8")
    return int(any(row["equal"] < row["captures"] for row in sums.values()))


if __name__ == "__main__":
    sys.exit(main())
