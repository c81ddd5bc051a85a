"""Hold the map of encrypted Wi-Fi frames, and their clock, against what the same frames say in the clear.

    python benchmarks/wifi_encrypted.py runs/*

For every run of benchmarks/fleets/wifi.toml the bodies of the data frames of its ``wifi.pcap`` are made
unreadable as CCMP would. The map of both is compared packet by packet. With measurement.toml taken away, the
clocks of the encrypted capture and of the receiver's are compared with the truth, record by record: the lab
has one clock. So are they with both clocks set wrong.
"""

from __future__ import annotations

import shutil
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import multitracer as mt
from multitracer.layers.framemap.lookup import FrameMap, frame_map

_MONITOR, _RECEIVER = (137_000_000, 40.0), (-2_300_000_000, -25.0)
"""By how much clocks are set wrong, in ns, and how fast they drift, in ppm."""
_NANOSECONDS = bytes.fromhex("4d3cb2a1")
_PROTECTED, _QOS_DATA = 0x4000, 0x88
_CCMP_HEADER = bytes.fromhex("0100002000000000")


class Clocks(NamedTuple):
    """How far times of the monitor's and of the receiver's capture are off at most, and the bounds, in ms.

    A bound is None where none is told, all are None where a capture was not joined.
    """

    monitor: tuple[float | None, float | None]
    receiver: tuple[float | None, float | None]

    @property
    def beyond(self) -> int:
        """Captures whose times are further off than is told."""
        return sum(
            off is not None and bound is not None and off > bound
            for off, bound in (self.monitor, self.receiver)
        )


class Compared(NamedTuple):
    """Packets of a run: in the clear on the map, placed without it, in the right frame; the same of those
    that are told as certain; the clocks without measurement.toml, as stamped and set wrong.
    """

    counts: tuple[int, int, int, int, int]
    stamped: Clocks
    wrong: Clocks


def main(arguments: list[str]) -> None:
    """Compare every run named, and print a row for each."""
    print(
        "| run | packets | placed | in the right frame | certain | of them right "
        "| clocks as stamped: monitor, receiver | set wrong |\n|---|---|---|---|---|---|---|---|"
    )
    sums, beyond, runs = [0] * 5, [0, 0], 0
    for run in map(Path, arguments):
        if not (run / "wifi.pcap").exists() or not (run / "truth.json").exists():
            continue
        found = compare(run)
        runs += 1
        sums = [one + other for one, other in zip(sums, found.counts, strict=True)]
        beyond = [beyond[0] + found.stamped.beyond, beyond[1] + found.wrong.beyond]
        clocks = " | ".join("; ".join(_said(*one) for one in each) for each in (found.stamped, found.wrong))
        print(f"| {run.name} | {' | '.join(f'{count:,}' for count in found.counts)} | {clocks} |", flush=True)
    told = " | ".join(f"{count} beyond their bound" for count in beyond)
    print(f"| all {runs} | {' | '.join(f'{count:,}' for count in sums)} | {told} |")


def _said(off_ms: float | None, bound_ms: float | None) -> str:
    if off_ms is None:
        return "not joined"
    return f"{off_ms:.2f} ms ({'no bound' if bound_ms is None else f'{bound_ms:.2f}'})"


def compare(run: Path) -> Compared:
    """One run, clear and encrypted."""
    true = _frames(mt.read(run))
    plain = encrypted((run / "wifi.pcap").read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / run.name
        shutil.copytree(run, copy, ignore=shutil.ignore_patterns("frames", "truth.json"))
        (copy / "wifi.pcap").write_bytes(plain)
        declared = mt.read(copy)
        ours = _frames(declared)
        (copy / "measurement.toml").unlink(missing_ok=True)
        stamped = _clocks(copy, declared)
        (copy / "wifi.pcap").write_bytes(set_wrong(plain, *_MONITOR))
        (copy / "rcv.pcap").write_bytes(set_wrong((run / "rcv.pcap").read_bytes(), *_RECEIVER))
        wrong = _clocks(copy, declared)
    right = {key for key, (frame, _) in ours.items() if key in true and true[key][0] == frame}
    certain = {key for key, (_, sure) in ours.items() if sure and key in true}
    placed = sum(key in true for key in ours)
    return Compared((len(true), placed, len(right), len(certain), len(certain & right)), stamped, wrong)


def _frames(m: Any) -> dict[tuple[str, int], tuple[int, bool]]:
    """The frame that carried each packet, by capture and record, and whether that is certain."""
    found: FrameMap = frame_map(m)
    points = {index: source.point or str(index) for index, source in enumerate(m.sources)}
    rows = found.frames
    return {
        (points[source], record): (frame, sure)
        for source, record, frame, sure in zip(
            rows["source"].tolist(),
            rows["record"].tolist(),
            rows["frame_record"].tolist(),
            rows["certain"].tolist(),
            strict=True,
        )
    }


def _clocks(copy: Path, true: Any) -> Clocks:
    """How far the times of both captures are off in a run whose measurement `true` knows them."""
    m = mt.read(copy)
    return Clocks(
        *(_clock(m, true, *one) for one in (("wifi.pcap", "link_frames"), ("rcv.pcap", "segments")))
    )


def _clock(m: Any, true: Any, name: str, table: str) -> tuple[float | None, float | None]:
    times: list[dict[int, int]] = []
    clock = None
    for measured in (m, true):
        (source,) = (
            i
            for i, one in enumerate(measured.sources)
            if Path(one.path).name == name and one.layer == ("link" if table == "link_frames" else "tcp")
        )
        rows = measured.table(table)
        mine = rows["source"] == source
        rows = rows.where(mine & (rows.words("action") == "snd") if table == "link_frames" else mine)
        times.append(dict(zip(rows["record"].tolist(), rows["t_ns"].tolist(), strict=True)))
        clock = clock or next(one for one in measured.clocks if one.source == source)
    assert clock is not None
    if clock.reference is None:
        return None, None
    bound = None if clock.uncertainty_ns is None else clock.uncertainty_ns / 1e6
    ours, truth = times
    return max(abs(ours[record] - truth[record]) for record in ours.keys() & truth.keys()) / 1e6, bound


def set_wrong(plain: bytes, offset_ns: int, skew_ppm: float) -> bytes:
    """A capture as a clock would have written it that is off, and drifts."""
    unit = 1 if plain[:4] == _NANOSECONDS else 1000
    out, at, begin = [plain[:24]], 24, None
    while at < len(plain):
        seconds, rest, kept, length = struct.unpack_from("<IIII", plain, at)
        t_ns = seconds * 10**9 + rest * unit
        begin = t_ns if begin is None else begin
        t_ns += offset_ns + round((t_ns - begin) * skew_ppm / 1e6)
        out.append(struct.pack("<IIII", t_ns // 10**9, t_ns % 10**9 // unit, kept, length))
        out.append(plain[at + 16 : at + 16 + kept])
        at += 16 + kept
    return b"".join(out)


def encrypted(plain: bytes) -> bytes:
    """A radiotap capture with the bodies of its QoS data frames as CCMP would leave them."""
    out, at = [plain[:24]], 24
    while at < len(plain):
        seconds, rest, kept, _ = struct.unpack_from("<IIII", plain, at)
        packet = plain[at + 16 : at + 16 + kept]
        at += 16 + kept
        begin = struct.unpack_from("<H", packet, 2)[0]
        frame = packet[begin:]
        if frame[0] == _QOS_DATA:
            body = _CCMP_HEADER + bytes(one ^ 0x5A for one in frame[26:-4]) + bytes(8) + frame[-4:]
            control = struct.unpack_from("<H", frame)[0] | _PROTECTED
            packet = packet[:begin] + struct.pack("<H", control) + frame[2:26] + body
        out.append(struct.pack("<IIII", seconds, rest, len(packet), len(packet)) + packet)
    return b"".join(out)


if __name__ == "__main__":
    main(sys.argv[1:])
