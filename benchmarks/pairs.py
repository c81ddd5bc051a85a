#!/usr/bin/env python3
"""Pairs of captures disguised as the field disguises them, and whether a clock ever excludes the truth.

    benchmarks/pairs.py RUNS --seed 1 --count 60 [--out DIR]

RUNS holds measurements of the lab, each with `snd.pcap[.gz]` and `rcv.pcap[.gz]` of IPv4, both on one clock
(`multitracer lab`, or `benchmarks/field.py make`). Each case draws one or two of them and a disguise:
addresses and ports translated between the captures; both runs at once under two addresses of each host, with
the data of the second in the other direction, too; a clock that is wrong by up to a day and 200 ppm, or that
steps; a capture that began earlier than the flow; the files in either order. The true time of every packet is
known, so each record of each joined capture is held against the bound of its clock: the program's answer is
wrong if one record is off by more. Exit status 1 if any is.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import struct
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import multitracer as mt

Packet = tuple[int, bytes]
Clock = Callable[[int], int]
DISGUISES = ("plain", "nat-source", "nat-destination", "nat-both", "two-addresses", "two-ways", "nat-two")
_BEFORE_IP = {101: 0, 12: 0, 14: 0, 228: 0, 1: 14, 276: 20, 113: 16}
"""Bytes of the link layer in front of IP, by link type."""
_S = 1_000_000_000
_DAY_S = 86_400


@dataclass(frozen=True)
class Case:
    """One pair: its two captures on the true clock, and how each is told."""

    number: int
    disguise: str
    runs: tuple[str, ...]
    captures: tuple[list[Packet], list[Packet]]
    clocks: tuple[Clock, Clock]
    words: str
    swapped: bool


def main() -> int:
    """Make the cases, read each pair, print what was off and the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--out", type=Path, help="keep the pairs and what was found here")
    arguments = parser.parse_args()
    known = sorted(
        path for path in arguments.runs.glob("**/") if _file(path, "snd") is not None and _file(path, "rcv")
    )
    if len(known) < 2:
        parser.error(f"{arguments.runs}: needs two measurements with snd.pcap and rcv.pcap, or more")
    chance = random.Random(arguments.seed)
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(arguments.count):
            case = _case(number, known, chance)
            folder = (arguments.out or Path(scratch)) / f"{number:04d}"
            folder.mkdir(parents=True, exist_ok=True)
            one = _held(case, folder)
            found.append(one)
            print(_line(case, one), flush=True)
            if arguments.out is None:
                for path in folder.iterdir():
                    path.unlink()
    joined = [one for one in found if one["joined"]]
    wrong = [one for one in joined if one["beyond"]]
    records = sum(one["records"] for one in joined)
    print(
        f"\n{len(found)} pairs, {len(joined)} joined; {records:,} records held against their bound:"
        f" {sum(one['beyond'] for one in joined):,} beyond it, in {len(wrong)} pairs."
    )
    for name in DISGUISES:
        some = [one for one in found if one["disguise"] == name]
        there = [one for one in some if one["joined"]]
        if some:
            bound = np.median([one["bound_ms"] for one in there]) if there else float("nan")
            apart = sum(one["split"] for one in there)
            print(
                f"{name}: {len(there)} of {len(some)} joined, connections left apart {apart},"
                f" median bound {bound:.3f} ms, beyond it {sum(bool(one['beyond']) for one in there)}"
            )
    if arguments.out:
        (arguments.out / "pairs.json").write_text(json.dumps(found, indent=1))
    return 1 if wrong else 0


def _file(folder: Path, name: str) -> Path | None:
    return next((one for one in (folder / f"{name}.pcap.gz", folder / f"{name}.pcap") if one.exists()), None)


def _packets(path: Path | None) -> list[Packet]:
    """Time in ns and bytes of each packet of a capture of IPv4."""
    assert path is not None
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    unit = {b"\xd4\xc3\xb2\xa1": 1000, b"\x4d\x3c\xb2\xa1": 1}.get(data[:4])
    before = _BEFORE_IP.get(struct.unpack_from("<I", data, 20)[0]) if unit else None
    if unit is None or before is None:
        raise SystemExit(f"{path}: no little-endian pcap of IP or Ethernet")
    found, at = [], 24
    while at + 16 <= len(data):
        seconds, part, kept = struct.unpack_from("<III", data, at)
        packet = data[at + 16 + before : at + 16 + kept]
        if len(packet) >= 40 and packet[0] >> 4 == 4 and packet[9] == 6:
            found.append((seconds * _S + part * unit, packet))
        at += 16 + kept
    return found


def _written(path: Path, packets: list[Packet], clock: Clock) -> Path:
    with path.open("wb") as handle:
        handle.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 101))
        for t_ns, data in packets:
            seconds, part = divmod(clock(t_ns), _S)
            whole = struct.unpack_from("!H", data, 2)[0]
            handle.write(struct.pack("<IIII", seconds, part, len(data), max(whole, len(data))) + data)
    return path


def _case(number: int, known: list[Path], chance: random.Random) -> Case:
    disguise = DISGUISES[number % len(DISGUISES)]
    two = disguise in ("two-addresses", "two-ways", "nat-two")
    runs = chance.sample(known, 2 if two else 1)
    near, far = (_packets(_file(runs[0], name)) for name in ("snd", "rcv"))
    if two:
        here, there = (_packets(_file(runs[1], name)) for name in ("snd", "rcv"))
        if disguise == "two-ways":
            here, there = there, here
        names = _addresses(here + there, lambda at: f"10.88.{at}.2")
        length = max(near[-1][0] - near[0][0], 1)
        move = near[0][0] - min(here[0][0], there[0][0]) + chance.randrange(length)
        here, there = (_moved(_renamed(some, names, 0), move) for some in (here, there))
        near, far = (sorted(a + b, key=lambda one: one[0]) for a, b in ((near, here), (far, there)))
    if disguise.startswith("nat"):
        ends = sorted({end for _, data in near for end in _ends(data)[:1]})
        clients = {_ends(data)[0] for _, data in near if data[data[0] % 16 * 4 + 13] & 0x12 == 2}
        chosen = [
            end
            for end in ends
            if disguise == "nat-both" or (end in clients) == (disguise in ("nat-source", "nat-two"))
        ]
        ports = chance.randrange(20_000, 60_000) if chance.random() < 0.7 else 0
        hosts = {address: f"203.0.113.{at + 5}" for at, address in enumerate(sorted({a for a, _ in chosen}))}
        names = {end: (hosts[end[0]], (ports + at) if ports else end[1]) for at, end in enumerate(chosen)}
        far = _renamed(far, names, 1)
    if chance.random() < 0.25:
        # Another capture's start long before the flow: a bound is that of the flow, not of the file.
        lonely = struct.pack("!BBHHHBBH4s4sHHIIBBHHH", 69, 0, 40, 1, 0, 64, 6, 0, b"\x0a\x63\0\1",
                             b"\x0a\x63\0\2", 4000, 4001, 1, 1, 80, 16, 1000, 0, 0)  # fmt: skip
        before = near[0][0] - chance.randrange(60, 7200) * _S
        near = [(before, lonely), *near]
    wrong = chance.choice([0, 0, 1, 1, 2])
    offset = 0 if wrong == 0 else round(chance.uniform(-1, 1) * chance.choice([0.01, 1, 3600, _DAY_S]) * _S)
    skew = 0.0 if wrong == 0 else chance.uniform(-200, 200) * 1e-6
    step = round(chance.uniform(-2, 2) * _S) if wrong == 2 else 0
    start = far[0][0]
    cut = start + round(chance.uniform(0.3, 0.7) * max(far[-1][0] - start, 1))

    def told(t_ns: int) -> int:
        return t_ns + offset + round(skew * (t_ns - start)) + (step if t_ns >= cut else 0)

    words = f"offset {offset / 1e9:.6f} s, skew {skew * 1e6:.1f} ppm, step {step / 1e9:.3f} s"
    swapped = chance.random() < 0.5
    names_of = tuple(run.name for run in runs)
    return Case(number, disguise, names_of, (near, far), (lambda t_ns: t_ns, told), words, swapped)


def _moved(packets: list[Packet], by_ns: int) -> list[Packet]:
    return [(t_ns + by_ns, data) for t_ns, data in packets]


def _ends(data: bytes) -> tuple[tuple[str, int], tuple[str, int]]:
    head = data[0] % 16 * 4
    ports = struct.unpack_from("!HH", data, head)
    return tuple(  # type: ignore[return-value]
        (".".join(str(byte) for byte in data[at : at + 4]), port)
        for at, port in zip((12, 16), ports, strict=True)
    )


def _addresses(packets: list[Packet], name: Callable[[int], str]) -> dict[tuple[str, int], tuple[str, int]]:
    ends = {end for _, data in packets for end in _ends(data)}
    order = {address: at for at, address in enumerate(sorted({address for address, _ in ends}))}
    return {(address, port): (name(order[address]), port) for address, port in ends}


def _renamed(packets: list[Packet], names: dict[tuple[str, int], tuple[str, int]], hops: int) -> list[Packet]:
    """Other addresses and ports, a TTL less by some hops, checksums as a translator makes them (RFC 1624)."""
    found = []
    for t_ns, data in packets:
        head = data[0] % 16 * 4
        new = bytearray(data)
        for place, end in enumerate(_ends(data)):
            address, port = names.get(end, end)
            new[12 + 4 * place : 16 + 4 * place] = bytes(int(part) for part in address.split("."))
            struct.pack_into("!H", new, head + 2 * place, port)
        new[8] = max(new[8] - hops, 1)
        _mend(data, new, 10, (8, 12, 14, 16, 18))
        _mend(data, new, head + 16, (12, 14, 16, 18, head, head + 2))
        found.append((t_ns, bytes(new)))
    return found


def _mend(old: bytes, new: bytearray, at: int, fields: tuple[int, ...]) -> None:
    if at + 2 > len(new):
        return
    total = 0xFFFF ^ int(struct.unpack_from("!H", old, at)[0])
    for field in fields:
        total += 0xFFFF ^ int(struct.unpack_from("!H", old, field)[0])
        total += int(struct.unpack_from("!H", new, field)[0])
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    struct.pack_into("!H", new, at, 0xFFFF ^ total)


def _held(case: Case, folder: Path) -> dict[str, Any]:
    """Every record of the second capture, as the timeline has it, against where it belongs."""
    paths = [
        _written(folder / f"{name}.pcap", packets, clock)
        for name, packets, clock in zip(("near", "far"), case.captures, case.clocks, strict=True)
    ]
    timeline = mt.read(*(paths[::-1] if case.swapped else paths))
    at = {Path(source.path).name: index for index, source in enumerate(timeline.sources)}
    order = [at["near.pcap"], at["far.pcap"]]
    told: dict[str, Any] = {"case": case.number, "disguise": case.disguise, "runs": case.runs}
    clocks = [timeline.clocks[index] for index in order]
    told |= {"wrong": case.words, "swapped": case.swapped, "grades": [clock.grade for clock in clocks]}
    if any(clock.uncertainty_ns is None for clock in clocks):
        return {**told, "joined": False, "issues": sorted({issue.code for issue in timeline.issues})}
    reference = next(place for place, clock in enumerate(clocks) if clock.grade == "reference")
    other = 1 - reference
    segments = timeline.table("segments")
    mine = segments.where(segments["source"] == order[other])
    true_ns = np.array([t_ns for t_ns, _ in case.captures[other]], dtype=np.int64)
    record = mine["record"].astype(np.int64)
    base = case.clocks[reference]
    expected = np.array([base(int(t_ns)) for t_ns in true_ns[record - 1]], dtype=np.int64)
    off = np.abs(mine["t_ns"].astype(np.int64) - expected)
    bounds = [clocks[other].uncertainty_at(int(one)) for one in record.tolist()]
    bound = np.array([np.iinfo(np.int64).max if one is None else one for one in bounds], dtype=np.int64)
    beyond = off > bound + 1000  # files of microseconds: half of one of each
    ends = {len(one.summaries) for one in timeline.connections}
    return {
        **told,
        "joined": True,
        "records": len(off),
        "beyond": int(beyond.sum()),
        "off_ms": float(off.max(initial=0)) / 1e6,
        "bound_ms": float(np.median(bound)) / 1e6 if len(bound) else 0.0,
        "split": sum(
            len(one.summaries) == 1 for one in timeline.connections if ends == {1, 2} or len(ends) == 1
        ),
        "issues": sorted({issue.code for issue in timeline.issues}),
    }


def _line(case: Case, one: dict[str, Any]) -> str:
    head = f"{case.number:4d} {case.disguise:15s} {'+'.join(case.runs):38s}"
    if not one["joined"]:
        return f"{head} not joined {one['issues']} ({case.words})"
    mark = "BEYOND" if one["beyond"] else "ok"
    return (
        f"{head} {mark} off at most {one['off_ms']:.3f} ms, bound {one['bound_ms']:.3f} ms,"
        f" {one['beyond']} of {one['records']} beyond; apart {one['split']} ({case.words})"
    )


if __name__ == "__main__":
    sys.exit(main())
