"""Hold the map of encrypted Wi-Fi frames, and their clock, against what the same frames say in the clear.

    python benchmarks/wifi_encrypted.py runs/*

For every run of benchmarks/fleets/wifi.toml the bodies of the data frames of its ``wifi.pcap`` are made
unreadable as CCMP would. The map of both is compared packet by packet, and with measurement.toml taken away
the clock of the encrypted capture with the truth: the lab has one clock.
"""

from __future__ import annotations

import shutil
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import multitracer as mt
from multitracer.framemap.lookup import FrameMap, frame_map

_PROTECTED, _QOS_DATA = 0x4000, 0x88
_CCMP_HEADER = bytes.fromhex("0100002000000000")


class Compared(NamedTuple):
    """Packets of a run: in the clear on the map, placed without it, in the right frame; the same of those
    that are told as certain; the clock's error and its bound, in ms.
    """

    clear: int
    placed: int
    right: int
    certain: int
    certain_right: int
    clock_ms: float | None
    bound_ms: float | None


def main(arguments: list[str]) -> None:
    """Compare every run named, and print a row for each."""
    print(
        "| run | packets | placed | in the right frame | certain | of them right | clock off by | bound |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    sums = [0] * 5
    for run in map(Path, arguments):
        if not (run / "wifi.pcap").exists() or not (run / "truth.json").exists():
            continue
        found = compare(run)
        sums = [one + other for one, other in zip(sums, found[:5], strict=True)]
        clock = "no clock" if found.clock_ms is None else f"{found.clock_ms:+.2f} ms"
        bound = "" if found.bound_ms is None else f"{found.bound_ms:.2f} ms"
        print(f"| {run.name} | {' | '.join(f'{count:,}' for count in found[:5])} | {clock} | {bound} |")
    print(f"| all | {' | '.join(f'{count:,}' for count in sums)} | | |")


def compare(run: Path) -> Compared:
    """One run, clear and encrypted."""
    true = _frames(mt.read(run))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / run.name
        shutil.copytree(run, copy, ignore=shutil.ignore_patterns("frames", "truth.json"))
        (copy / "wifi.pcap").write_bytes(encrypted((run / "wifi.pcap").read_bytes()))
        ours = _frames(mt.read(copy))
        (copy / "measurement.toml").unlink(missing_ok=True)
        clock = _clock(mt.read(copy))
    right = {key for key, (frame, _) in ours.items() if key in true and true[key][0] == frame}
    certain = {key for key, (_, sure) in ours.items() if sure and key in true}
    placed = sum(key in true for key in ours)
    return Compared(len(true), placed, len(right), len(certain), len(certain & right), *clock)


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


def _clock(m: Any) -> tuple[float | None, float | None]:
    """Where the encrypted capture's clock was put against the sender's capture, and how sure that is."""
    for clock in m.clocks:
        if Path(m.sources[clock.source].path).name == "wifi.pcap" and clock.reference is not None:
            bound = None if clock.uncertainty_ns is None else clock.uncertainty_ns / 1e6
            return clock.offset_ns / 1e6, bound
    return None, None


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
