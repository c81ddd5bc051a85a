#!/usr/bin/env python3
"""Causes of retransmissions and verdicts on timeouts from one capture, against kernels and packets.

Usage: benchmarks/timeouts.py DIR... [--rows FILE] [--jobs 1]     (campaigns of field.py)

Counted at each point, with and without SACK and timestamps:

- timeouts, fast and slow-start retransmissions, against both hosts' TcpExtTCPTimeouts, TcpExtTCPFastRetrans
  and TcpExtTCPSlowStartRetrans: as many, fewer or more;
- the cause of each retransmission, against that at the sender's capture where that agrees with the kernel;
- each verdict on a timeout, against what became of the copies before: "lost" (none arrived), "late" (one did,
  and an ACK of it reached the sender), "unheard" (one did, and no ACK of it reached the sender).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from fieldwork.packets import SYN, Packet, load, packets  # noqa: E402
from fieldwork.wire import Direction, directions  # noqa: E402

from multitracer.model.schema import CAUSES, VERDICTS  # noqa: E402
from multitracer.native.captures import read_capture  # noqa: E402

POINTS = ("snd", "mid", "rcv")
KERNEL = {"timeout": "TCPTimeouts", "fast": "TCPFastRetrans", "slow_start": "TCPSlowStartRetrans"}
RETRANSMISSION = 1
SLACK_NS = 20_000
"""Two captures of one machine stamp the same moment within this."""

Identity = tuple[int, int, int]
Json = dict[str, Any]


def name_of(packet: Packet) -> Identity:
    """What names a packet at every point."""
    return packet.ip_id, packet.seq, packet.ts_val or 0


def fates(captures: Mapping[str, list[Packet]]) -> dict[Identity, str]:
    """Of each packet sent again with data: what became of the copies of its first byte before it."""
    found = directions(captures)
    seen = {point: _times(capture) for point, capture in captures.items()}
    fate: dict[Identity, str] = {}
    for key, direction in found.items():
        start, end = ("snd", "rcv") if _from_sender(captures, key) else ("rcv", "snd")
        acks = [p for p in captures[end] if p.reverse == key and not p.flags & SYN]
        heard = {(p.ip_id, p.ack, p.ts_val) for p in captures[start] if p.reverse == key}
        fate |= _of(direction, (seen[start], seen[end]), acks, heard)
    return fate


def _from_sender(captures: Mapping[str, list[Packet]], key: Any) -> bool:
    first = {p: next((x.t_ns for x in captures[p] if x.key == key), None) for p in ("snd", "rcv")}
    snd, rcv = first["snd"], first["rcv"]
    return rcv is None or (snd is not None and snd <= rcv)


def _times(capture: list[Packet]) -> dict[Identity, int]:
    times: dict[Identity, int] = {}
    for packet in capture:
        times.setdefault(name_of(packet), packet.t_ns)
    return times


def _of(
    direction: Direction,
    seen: tuple[dict[Identity, int], dict[Identity, int]],
    acks: list[Packet],
    heard: set[Any],
) -> dict[Identity, str]:
    fate = {}
    at_start, at_end = seen
    before: dict[int, list[Identity]] = {}
    for (ip_id, seq, ts_val), sent in direction.sent.items():
        name = (ip_id, seq, ts_val or 0)
        earlier = before.setdefault(sent.seq, [])
        if sent.retransmission and sent.data and name in at_start:
            came = [at_end[copy] for copy in earlier if copy in at_end]
            if not came:
                fate[name] = "lost"
            else:
                until = at_end.get(name, at_start[name] + 10**12)
                covering = [
                    p
                    for p in acks
                    if min(came) - SLACK_NS <= p.t_ns < max(until, min(came) + SLACK_NS)
                    and direction.relative(p.ack) > sent.seq
                ]
                reached = any((p.ip_id, p.ack, p.ts_val) in heard for p in covering)
                late = reached or min(came) > at_start[name]
                fate[name] = "late" if late else "unheard"
        earlier.append(name)
    return fate


def truth_of(run: Path) -> Json:
    """What is known of a run, but for what the program says."""
    truth = json.loads((run / "truth.json").read_text())
    settings = truth["settings"]
    captures = {point: packets(load(run / f"{point}.pcap.gz")) for point in POINTS}
    kernels = truth["kernel"], truth["kernel_rcv"]
    joined = bool(settings["network"]["offload"] or settings["link"].get("gro"))
    return {
        "sack": bool(settings["tcp"]["sack"]),
        "timestamps": bool(settings["tcp"]["timestamps"]),
        "joined": joined,
        "local": settings["network"]["qdisc"]["at"] == "sender" and bool((truth["qdisc"] or {}).get("drops")),
        "kernel": {name: sum(k.get(f"TcpExt{key}", 0) for k in kernels) for name, key in KERNEL.items()},
        "fates": fates(captures),
    }


def said(capture: Path) -> Json:
    """What the program says of one capture."""
    read = read_capture(str(capture), keep_segments=True)
    segments, rows, timeouts = read["segments"], read["arrivals"], read["timeouts"]
    late = {
        int(record): int(cause)
        for record, verdict, cause in zip(rows["record"], rows["verdict"], rows["cause"], strict=True)
        if verdict == RETRANSMISSION
    }
    causes: dict[Any, str] = {}
    by_record = {}
    names = ("ip_id", "seq_raw", "ts_val", "length", "record", "cause")
    for ip_id, seq, ts_val, length, record, cause in zip(*(segments[name] for name in names), strict=True):
        packet = (int(ip_id), int(seq), int(ts_val))
        by_record[int(record)] = packet
        if length > 0:
            causes.setdefault(packet, CAUSES[int(cause) or late.get(int(record), 0)])
    counts: Counter[str] = Counter()
    for connection in read["connections"]:
        for way in ("forward", "reverse"):
            one = connection[way]
            for cause in (*KERNEL, "unknown"):
                counts[cause] += one["retransmissions"][cause]
            counts["listed"] += one["timeouts"]["total"]
    rows_of = ("record", "length", "verdict")
    verdicts = [
        (by_record.get(int(record)), int(length), VERDICTS[int(verdict)], int(record))
        for record, length, verdict in zip(*(timeouts[name] for name in rows_of), strict=True)
    ]
    return {"causes": causes, "counts": counts, "verdicts": verdicts}


def score(run: Path) -> list[Json]:
    """A run at every point."""
    truth = truth_of(run)
    out = []
    right: dict[Any, str] = {}
    for point in POINTS:
        found = said(run / f"{point}.pcap.gz")
        if point == "snd" and all(found["counts"][name] == truth["kernel"][name] for name in KERNEL):
            right = found["causes"]
        pairs: Counter[str] = Counter()
        if not truth["joined"] and right:
            pairs = Counter(
                f"{right[name] or 'once'} {cause or 'once'}"
                for name, cause in found["causes"].items()
                if name in right and (right[name] or cause)
            )
        verdicts = Counter(
            f"{truth['fates'].get(name, '?') if length else 'syn'} {verdict}"
            for name, length, verdict, _ in found["verdicts"]
        )
        records = [
            (truth["fates"].get(name, "?"), verdict, record)
            for name, length, verdict, record in found["verdicts"]
            if length
        ]
        out.append(
            {
                "run": str(run),
                "point": point,
                **{key: truth[key] for key in ("sack", "timestamps", "kernel", "joined", "local")},
                "counts": dict(found["counts"]),
                "pairs": dict(pairs),
                "verdicts": dict(verdicts),
                "records": records,
            }
        )
    return out


def table(rows: list[Json]) -> str:
    """Sums."""
    lines = []
    for point in POINTS:
        for sack in (True, False):
            for stamps in (True, False):
                own = [r for r in rows if (r["point"], r["sack"], r["timestamps"]) == (point, sack, stamps)]
                if own:
                    lines += [
                        f"\n{point}, SACK {sack}, timestamps {stamps}: {len(own)} captures",
                        *_sums(own),
                    ]
    return "\n".join(lines)


def _sums(own: list[Json]) -> list[str]:
    lines = []
    for name in KERNEL:
        off = [r["counts"].get(name, 0) - r["kernel"][name] for r in own]
        more, less = (sum(sign * d for d in off if sign * d > 0) for sign in (1, -1))
        lines.append(
            f"  {name}: {sum(r['kernel'][name] for r in own)} by the kernel; captures right {off.count(0)}, "
            f"fewer {sum(d < 0 for d in off)} (by {less}), more {sum(d > 0 for d in off)} (by {more})"
        )
    for key in ("pairs", "verdicts"):
        sums: Counter[str] = sum((Counter(r[key]) for r in own), Counter())
        lines.append(f"  {key}: " + ", ".join(f"{k.replace(' ', '->')} {v}" for k, v in sorted(sums.items())))
    return lines


def main() -> int:
    """Score and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="campaigns")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=Path, help="write what was found of each capture to this file")
    arguments = parser.parse_args()
    runs = sorted(path.parent for folder in arguments.folders for path in folder.glob("*/truth.json"))
    with ProcessPoolExecutor(arguments.jobs) as pool:
        rows = [row for part in pool.map(score, runs) for row in part]
    if arguments.rows:
        arguments.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(table(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
