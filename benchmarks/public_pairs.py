#!/usr/bin/env python3
"""What `multitracer analyze A B --json` says of pairs of captures, against a matching of packets of its own.

    benchmarks/public_pairs.py PAIR [PAIR ...]

Each PAIR is a directory with two captures or more of one transfer; every two of them are compared, in both
orders of the arguments. Per pair, one row of a table:

- connections joined: those whose packets are in both files, and those that the program has made one of;
- losses: of the data packets that `pair_check.py` judges, how many are lost by it and by the program, and how
  many verdicts differ. Where none does, the sums of `other.losses` by direction are compared, in packets;
- clocks: a packet cannot arrive before it was sent, which bounds the offset from both sides, by all packets
  and by those of each connection alone. The offset of the JSON object must be within the bounds of all, its
  interval must touch those of each connection; with --same-clock it must contain 0;
- order: the points and what was lost are the same if the files are named in the other order;
- MPTCP: subflows in one transfer by the program and by tshark's `mptcp.stream`, if tshark is installed.

Exit status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from ipaddress import ip_address
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pair_check

import multitracer as mt

_ROUNDING_NS = 1_000
_MOST_PAYLOAD = 1460
"""Of a packet of Ethernet; longer ones are super-segments."""
Ends = tuple[tuple[bytes, int], tuple[bytes, int]]


def main() -> int:
    """Compare each pair, print a row each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pairs", nargs="+", type=Path)
    parser.add_argument("--same-clock", action="store_true", help="the true offset is 0 in all")
    arguments = parser.parse_args()
    print(
        "| pair | joined, script / program | losses, script / program | verdicts that differ / compared"
        " | offset, ms | bound, ms | causal interval, ms | clock within bounds"
        " | order of arguments | MPTCP |\n"
        "|---|---|---|---|---|---|---|---|---|---|"
    )
    wrong = 0
    for folder in arguments.pairs:
        captures = sorted(path for path in folder.iterdir() if path.suffix in (".pcap", ".pcapng", ".cap"))
        for first, second in combinations(captures, 2):
            row, differs = _compared(first, second, arguments.same_clock)
            print(f"| {folder.name}: {first.name}, {second.name} | {row} |", flush=True)
            wrong += differs
    return int(wrong > 0)


def _compared(first: Path, second: Path, same_clock: bool) -> tuple[str, bool]:
    paths = (first, second)
    packets = [pair_check.read(path) for path in paths]
    there = pair_check.matched(*packets)
    if not there:
        none = len(_json(first, second).get("other", {}).get("losses", {})) == 0
        return "0 | - | - | - | - | - | - | - | -", not none
    toward = pair_check.directions(packets, there)
    analysis = mt.analyze(mt.read(*paths), only=["losses"])
    told, swapped = _json(first, second), _json(second, first)
    flows = [{_flow(packet.ends) for packet in some} for some in packets]
    both = {_flow(packets[0][place].ends) for place in there}
    joined = len(flows[0]) + len(flows[1]) - len(told["connections"])
    lost, differ = _losses(
        pair_check.verdicts(packets, there, toward, paths), analysis, told, _sizes(packets, paths)
    )
    clock, holds = _clock(packets, there, toward, told, paths, same_clock)
    orders = [_by_order(one) for one in (told, swapped)]
    subflows, grouped = _subflows(told, paths)
    good = joined == len(both) and not differ and holds and orders[0] == orders[1] and grouped
    row = [
        f"{len(both)} / {joined}",
        lost,
        clock,
        "same" if orders[0] == orders[1] else "DIFFERS",
        subflows,
    ]
    return " | ".join(row), not good


def _json(*paths: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "multitracer", "analyze", "--json", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _flow(ends: Ends) -> Ends:
    """Both directions of a connection are one."""
    return min(ends, ends[::-1])


def _losses(
    mine: dict[tuple[str, int], pair_check.Verdict],
    analysis: Any,
    answer: dict[str, Any],
    sizes: dict[tuple[str, int], tuple[int, int]],
) -> tuple[str, int]:
    """Lost packets by both, and how many verdicts differ of those compared."""
    theirs, certain = pair_check.program_verdicts(analysis)
    compared = {key: one for key, one in mine.items() if one.verdict != "outside"}
    lost = sum(one.verdict == "lost" for one in compared.values())
    if certain is None:
        return f"{lost} / not answered | - / {len(compared):,}", int(lost > 0)
    told = sum(theirs.get(key) == "lost" for key in compared)
    differ = sum((one.verdict == "lost") != (theirs.get(key) == "lost") for key, one in compared.items())
    if not differ:
        differ = _unequal(mine, theirs, answer, sizes)
    return f"{lost} / {told} | {differ} / {len(compared):,}", differ


def _unequal(
    mine: dict[tuple[str, int], pair_check.Verdict],
    theirs: dict[tuple[str, int], str],
    answer: dict[str, Any],
    sizes: dict[tuple[str, int], tuple[int, int]],
) -> int:
    """Directions of the JSON object whose lost packets are not those lost here, each of its own size.

    A capture may hold several packets as one record; near the ends of a file the program decides.
    """
    here: Counter[tuple[str, str]] = Counter()
    for key, one in mine.items():
        if "lost" in (one.verdict, theirs.get(key) if one.verdict == "outside" else None):
            size, whole = sizes[key]
            here[_name(one.ends[0]), _name(one.ends[1])] += -(-size // whole)
    ends = {one["index"]: tuple(one["endpoints"]) for one in answer["connections"]}
    there: Counter[tuple[str, str]] = Counter()
    for direction in answer["other"]["losses"]["directions"]:
        turn = 1 if direction["direction"] == "forward" else -1
        there[ends[direction["conn"]][::turn]] += direction["lost"]
    return sum(here[key] != there[key] for key in here | there)


def _sizes(
    packets: list[list[pair_check.Packet]], paths: tuple[Path, ...]
) -> dict[tuple[str, int], tuple[int, int]]:
    """Payload of each record, and of a full packet of its connection on the wire."""
    whole: Counter[Ends] = Counter()
    for packet in chain(*packets):
        if packet.size <= _MOST_PAYLOAD:
            whole[packet.ends] = max(whole[packet.ends], packet.size)
    return {
        (path.name, packet.record): (packet.size, whole[packet.ends] or _MOST_PAYLOAD)
        for path, some in zip(paths, packets, strict=True)
        for packet in some
    }


def _name(end: tuple[bytes, int]) -> str:
    return f"{ip_address(end[0])}:{end[1]}"


def _clock(
    packets: list[list[pair_check.Packet]],
    there: dict[int, int],
    toward: dict[Any, bool],
    told: dict[str, Any],
    paths: tuple[Path, ...],
    same_clock: bool,
) -> tuple[str, bool]:
    """The offset of the second file's clock, against what causality allows it to be."""
    clocks = {clock["source"]: clock for clock in told["clocks"]}
    of_first, of_second = (clocks[str(path)] for path in paths)
    if None in (of_first["uncertainty_s"], of_second["uncertainty_s"]):
        return "not joined | - | - | no", not there
    offset_ns = (of_first["offset_s"] - of_second["offset_s"]) * 1e9  # t_reference = t_source + offset_s
    bound_ns = (of_first["uncertainty_s"] + of_second["uncertainty_s"]) * 1e9
    earliest: dict[Ends, list[int]] = defaultdict(list)
    latest: dict[Ends, list[int]] = defaultdict(list)
    for place, other in there.items():
        one, two = packets[0][place], packets[1][other]
        if one.ends in toward:
            # The difference of the times is offset and transit, or offset less transit.
            (latest if toward[one.ends] else earliest)[_flow(one.ends)].append(two.t_ns - one.t_ns)
    spans = [(max(earliest[flow]), min(latest[flow])) for flow in earliest if latest[flow]]
    if not spans:
        return f"{offset_ns / 1e6:.4f} | {bound_ns / 1e6:.3f} | - | no packet both ways", False
    low, high = max(begin for begin, _ in spans), min(end for _, end in spans)
    touches = sum(
        begin - _ROUNDING_NS <= offset_ns + bound_ns and offset_ns - bound_ns <= end + _ROUNDING_NS
        for begin, end in spans
    )
    holds = low - _ROUNDING_NS <= offset_ns <= high + _ROUNDING_NS and touches == len(spans)
    holds = holds and (not same_clock or abs(offset_ns) <= bound_ns + _ROUNDING_NS)
    words = f"{'yes' if holds else 'NO'} ({touches} of {len(spans)} connections alone)"
    return (
        f"{offset_ns / 1e6:.4f} | {bound_ns / 1e6:.3f} | {low / 1e6:.3f} to {high / 1e6:.3f} | {words}",
        holds,
    )


def _by_order(told: dict[str, Any]) -> Any:
    """What must not depend on the order of the files."""
    points = sorted((source["path"], source["point"]) for source in told["sources"])
    ends = {one["index"]: tuple(one["endpoints"]) for one in told["connections"]}
    directions = told["other"].get("losses", {}).get("directions", [])
    lost = sorted(
        (
            *(ends[one["conn"]] if one["direction"] == "forward" else ends[one["conn"]][::-1]),
            one["packets"],
            one["lost"],
        )
        for one in directions
    )
    return points, lost


def _subflows(told: dict[str, Any], paths: tuple[Path, ...]) -> tuple[str, bool]:
    """Connections that are in one MPTCP transfer, by the program and by tshark in either file."""
    if shutil.which("tshark") is None:
        return "no tshark", True
    groups: set[frozenset[Any]] = set()
    for path in paths:
        streams = defaultdict(set)
        command = ["tshark", "-r", str(path), "-Y", "mptcp.stream", "-T", "fields"]
        for field in ("mptcp.stream", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport"):
            command += ["-e", field]
        for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines():
            stream, *ends = line.split("\t")
            if all(ends) and "," not in line:
                streams[stream].add(frozenset((f"{ends[0]}:{ends[1]}", f"{ends[2]}:{ends[3]}")))
        groups |= {frozenset(one) for one in streams.values()}
    flows = {one["index"]: frozenset(one["endpoints"]) for one in told["connections"]}
    transfers = (told.get("mptcp") or {}).get("transfers", [])
    mine = {frozenset(flows[one["conn"]] for one in transfer["subflows"]) for transfer in transfers}
    # tshark groups what one file shows; a subflow whose handshake only the other file has is alone there.
    fits = all(any(group <= one for one in mine) for group in groups if len(group) > 1)
    if not groups and not mine:
        return "none", True
    return f"{len(mine)} of {sum(map(len, mine))}; tshark {'fits' if fits else 'DIFFERS'}", fits


if __name__ == "__main__":
    sys.exit(main())
