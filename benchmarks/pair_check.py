#!/usr/bin/env python3
"""Losses and clocks of two captures of one transfer, against a matching of packets of its own.

    benchmarks/pair_check.py FIRST SECOND [--same-clock]

Both files are decoded by dpkt, not by the core, and each TCP packet of one (also in GTP-U) is looked for in
the other by what no path changes: sequence and acknowledgment numbers, flags, payload, timestamps, IP
identification. Then

- each data packet that the capture nearer to its sender has and the other one lacks, while the other one
  was running, is held against the verdict of `multitracer` about that packet: records, not sums;
- the clock of the second capture is held against causality: no packet may arrive before it was sent by more
  than the bound, in either direction. With --same-clock the true offset is 0, and the bound must include it.

Exit status 1 if a verdict differs or a bound does not hold. Records that a capture lost are no losses: bytes
that the receiver acknowledged before another copy of them passed are told apart, here as there.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpkt
import numpy as np

import multitracer as mt

_GTPU = 2152
_MOST_PIECES = 64
_HALF, _ALL = 1 << 31, 1 << 32
_OUTSIDE_NS = 1_000_000_000
"""A packet this near to an end of the far capture, or a twentieth of its length, may have passed outside."""
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Packet:
    """One TCP packet of a capture."""

    record: int
    t_ns: int
    ends: tuple[tuple[bytes, int], tuple[bytes, int]]
    seq: int
    ack: int
    flags: int
    size: int
    stamps: bytes
    ip_id: int

    @property
    def key(self) -> Key:
        """What no path changes."""
        return (self.seq, self.ack, self.flags, self.size, self.stamps, self.ip_id)


@dataclass(frozen=True)
class Verdict:
    """What became of a packet between the captures, and between which ends it was."""

    verdict: str
    ends: tuple[tuple[bytes, int], tuple[bytes, int]]


def main() -> int:
    """Match, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--same-clock", action="store_true", help="the true offset is 0")
    arguments = parser.parse_args()
    paths = (arguments.first, arguments.second)
    packets = [read(path) for path in paths]
    there = matched(*packets)
    if not there:
        print("no packet is in both captures")
        return 0
    toward = directions(packets, there)
    analysis = mt.analyze(mt.read(*paths), only=["losses"])
    wrong = losses(packets, there, toward, analysis, paths)
    return int(clocks(packets, there, toward, analysis.measurement, paths, arguments.same_clock) + wrong > 0)


def read(path: Path) -> list[Packet]:
    """Every TCP packet."""
    found: list[Packet] = []
    with path.open("rb") as handle:
        reader = dpkt.pcap.UniversalReader(handle)
        link = reader.datalink()
        try:
            for record, (stamp, data) in enumerate(reader, 1):
                packet = _tcp(record, round(float(stamp) * 1e6) * 1000, link, data)
                if packet is not None:
                    found.append(packet)
        except dpkt.NeedData:
            pass  # the file ends in a record
    return found


def _tcp(record: int, t_ns: int, link: int, data: bytes) -> Packet | None:
    try:
        if link in (dpkt.pcap.DLT_EN10MB, dpkt.pcap.DLT_LINUX_SLL):
            ip = (dpkt.ethernet.Ethernet if link == dpkt.pcap.DLT_EN10MB else dpkt.sll.SLL)(data).data
        else:
            ip = (dpkt.ip.IP if data[:1] and data[0] >> 4 == 4 else dpkt.ip6.IP6)(data)
        tcp = ip.data
        if isinstance(tcp, dpkt.udp.UDP) and _GTPU in (tcp.sport, tcp.dport):
            ip = dpkt.ip.IP(_inside(bytes(tcp.data)))
            tcp = ip.data
    except (dpkt.UnpackError, IndexError):
        return None
    if not isinstance(tcp, dpkt.tcp.TCP):
        return None
    if isinstance(ip, dpkt.ip.IP):
        size, ip_id = ip.len - 4 * ip.hl - 4 * tcp.off, ip.id
    else:
        size, ip_id = ip.plen - 4 * tcp.off, 0
    stamps = next((bytes(value) for kind, value in dpkt.tcp.parse_opts(tcp.opts) if kind == 8), b"")
    ends = ((ip.src, tcp.sport), (ip.dst, tcp.dport))
    return Packet(record, t_ns, ends, tcp.seq, tcp.ack, tcp.flags, max(size, 0), stamps, ip_id)


def _inside(tunnel: bytes) -> bytes:
    """What a GTP-U packet carries (3GPP TS 29.281 section 5)."""
    if not tunnel[0] & 7:
        return tunnel[8:]
    begin, following = 12, tunnel[11] if tunnel[0] & 4 else 0
    while following:
        length = 4 * max(tunnel[begin], 1)
        following, begin = tunnel[begin + length - 1], begin + length
    return tunnel[begin:]


def matched(first: list[Packet], second: list[Packet]) -> dict[int, int]:
    """Place in the second of each packet of the first; copies of one key in their order."""
    waiting: dict[Key, list[int]] = defaultdict(list)
    for place, packet in enumerate(second):
        waiting[packet.key].append(place)
    found = {}
    for place, packet in enumerate(first):
        queue = waiting[packet.key]
        if queue:
            found[place] = queue.pop(0)
    return found


def directions(packets: list[list[Packet]], there: dict[int, int]) -> dict[Any, bool]:
    """Whether packets of a flow pass the first capture before the second.

    The clocks' offset is the same for both directions of a connection, and transit takes time: the direction
    with the greater difference is that from the first to the second. Others than seen both ways are left out.
    """
    differences: dict[Any, list[int]] = defaultdict(list)
    for place, other in there.items():
        one = packets[0][place]
        differences[one.ends].append(packets[1][other].t_ns - one.t_ns)
    middle = {ends: float(np.median(some)) for ends, some in differences.items()}
    return {ends: middle[ends] > middle[ends[::-1]] for ends in middle if ends[::-1] in middle}


def verdicts(
    packets: list[list[Packet]],
    there: dict[int, int],
    toward: dict[Any, bool],
    paths: tuple[Path, ...],
) -> dict[tuple[str, int], Verdict]:
    """What became of each data packet of the capture nearer to its sender, by its file and record."""
    mine: dict[tuple[str, int], Verdict] = {}
    back = {other: place for place, other in there.items()}
    for near, known in ((0, there), (1, back)):
        flows = {ends for ends, first in toward.items() if first == (near == 0)}
        # Ends of a flow as the far capture has them; a translator may have changed them.
        far_ends = {packets[near][a].ends: packets[1 - near][b].ends for a, b in known.items()}
        seen = _Seen(packets[1 - near], flows_back={far_ends[one] for one in flows if one in far_ends})
        if not known:
            continue
        shift = np.median([packets[1 - near][b].t_ns - packets[near][a].t_ns for a, b in known.items()])
        begin, end = (packets[1 - near][at].t_ns - round(shift) for at in (0, -1))
        keys: set[Key] = set()
        outside = min(_OUTSIDE_NS, (end - begin) // 20)
        for place, packet in enumerate(packets[near]):
            if packet.ends not in flows or not packet.size or packet.flags & 2:
                continue
            if place not in known and packet.ip_id and packet.key in keys:
                continue  # a copy that the capture made, on another interface
            keys.add(packet.key)
            if not begin + outside <= packet.t_ns <= end - outside:
                verdict = "outside"
            elif place in known:
                verdict = "arrived"
            else:
                verdict = seen.verdict(packet, far_ends.get(packet.ends, packet.ends))
            mine[paths[near].name, packet.record] = Verdict(verdict, packet.ends)
    return mine


def losses(
    packets: list[list[Packet]],
    there: dict[int, int],
    toward: dict[Any, bool],
    analysis: Any,
    paths: tuple[Path, ...],
) -> int:
    """Packets lost between the captures, by this matching and by the program: how many verdicts differ."""
    mine = {key: one.verdict for key, one in verdicts(packets, there, toward, paths).items()}
    theirs, certain = program_verdicts(analysis)
    differ: Counter[str] = Counter()
    shown = 0
    for key, verdict in sorted(mine.items()):
        told = theirs.get(key, "arrived")
        if verdict == "outside":
            differ["near an end of a capture, not compared"] += 1
            continue
        differ[f"{verdict} here, {told} by the program"] += 1
        if {verdict, told} == {"lost", "arrived"}:
            shown += 1
            if shown <= 20:
                print(f"  {key[0]} record {key[1]}: {verdict} here, {told} by the program")
    for words, count in sorted(differ.items()):
        print(f"{count:8,} data packets {words}")
    if certain is None:
        print("         the program says nothing of losses")
    return shown


class _Seen:
    """What the far capture has of the flows to it: copies of bytes, and what was acknowledged when."""

    def __init__(self, packets: list[Packet], flows_back: set[Any]) -> None:
        self._copies: dict[Any, list[Packet]] = defaultdict(list)
        self._acks: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for packet in packets:
            if packet.ends in flows_back and packet.size:
                self._copies[packet.ends].append(packet)
            elif packet.ends[::-1] in flows_back and packet.flags & 16:
                times, highest = self._acks[packet.ends[::-1]]
                if not highest or 0 < (packet.ack - highest[-1]) % _ALL < _HALF:
                    times.append(packet.t_ns)
                    highest.append(packet.ack)

    def verdict(self, packet: Packet, ends: Any) -> str:
        """Lost, arrived in other pieces, or passed without a record."""
        copies = [
            one
            for one in self._copies[ends]
            if (one.seq - packet.seq) % _ALL < packet.size or (packet.seq - one.seq) % _ALL < one.size
        ]
        same = 0
        for one in copies:
            # A super-segment's pieces have its timestamp, and take the identifications from its own on.
            step = (one.ip_id - packet.ip_id) % (1 << 16)
            if one.size < packet.size and one.stamps == packet.stamps and (one.stamps or step < _MOST_PIECES):
                begin = (one.seq - packet.seq + _HALF) % _ALL - _HALF
                same += min(begin + one.size, packet.size) - max(begin, 0)
        if same >= packet.size:
            return "arrived"
        times, highest = self._acks[ends]
        last = packet.seq + packet.size - 1
        acknowledged = next(
            (t for t, ack in zip(times, highest, strict=True) if 0 < (ack - last) % _ALL < _HALF), None
        )
        if acknowledged is not None and not any(one.t_ns <= acknowledged for one in copies):
            return "unrecorded"
        return "lost"


def program_verdicts(analysis: Any) -> tuple[dict[tuple[str, int], str], bool | None]:
    """The program's verdicts by capture and record: in its table are packets that did not arrive whole."""
    answer = analysis["losses"]
    if answer.inconclusive:
        return {}, None
    table = answer.frame("fates")
    measurement = analysis.measurement
    segments = measurement.table("segments")
    rows = zip(*(segments[name].tolist() for name in ("t_ns", "conn", "record", "source")), strict=True)
    sources = {(t, conn, record): source for t, conn, record, source in rows}
    found = {}
    names = [Path(source.path).name for source in measurement.sources]
    fates = table["fate"].tolist()
    for t, conn, record, fate in zip(
        *(table[name].tolist() for name in ("t_ns", "conn", "record")), fates, strict=True
    ):
        found[names[sources[t, conn, record]], record] = fate
    return found, True


def clocks(
    packets: list[list[Packet]],
    there: dict[int, int],
    toward: dict[Any, bool],
    measurement: Any,
    paths: tuple[Path, ...],
    same_clock: bool,
) -> int:
    """Packets that arrive before they were sent by more than the bounds; and the true offset."""
    at = {Path(source.path).name: place for place, source in enumerate(measurement.sources)}
    both = [measurement.clocks[at[path.name]] for path in paths]
    if any(clock.uncertainty_ns is None for clock in both):
        print("not joined")
        return 0
    segments = measurement.table("segments")
    told: list[dict[int, int]] = []
    for path in paths:
        rows = segments.where(segments["source"] == at[path.name])
        told.append(dict(zip(rows["record"].tolist(), rows["t_ns"].tolist(), strict=True)))
    early = compared = beyond = 0
    worst = 0.0
    reference = next(place for place, clock in enumerate(both) if clock.grade == "reference")
    for place, other in there.items():
        one, two = packets[0][place], packets[1][other]
        if one.record not in told[0] or two.record not in told[1] or one.ends not in toward:
            continue
        compared += 1
        moved = told[1][two.record] - told[0][one.record]
        transit = moved if toward[one.ends] else -moved
        bound = sum(
            clock.uncertainty_at(record) or 0
            for clock, record in zip(both, (one.record, two.record), strict=True)
        )
        worst = min(worst, transit)
        early += transit + bound + 1000 < 0
        if same_clock:
            apart = (two.t_ns - one.t_ns) - moved
            beyond += abs(apart) > bound + 1000
    clock = both[1 - reference]
    print(
        f"{compared:8,} packets in both: {early:,} arrive before they were sent by more than the bound"
        f" (earliest {worst / 1e6:.3f} ms; offset {clock.offset_ns / 1e6:.4f} ms, bound"
        f" {clock.uncertainty_ns / 1e6:.3f} ms, {clock.grade})"
    )
    if same_clock:
        print(f"{beyond:8,} of them with a clock that is off by more than its bound (the true offset is 0)")
    return early + beyond


if __name__ == "__main__":
    sys.exit(main())
