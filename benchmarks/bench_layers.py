"""Seconds and memory of alignment, frame map and cross-layer analysis of a long measurement.

A run of the lab without link resets (captures at both hosts, an rlpdump log) is laid behind itself: each
repetition is a new connection, later, on a link that goes on with its numbers and bytes. Or two captures of
many short connections, both ends out of one, in every twentieth of which a segment is lost and sent again.

Usage: python benchmarks/bench_layers.py [RUN] [--times 1,3] [--connections 1000,10000] [--runs N]
"""

from __future__ import annotations

import argparse
import gzip
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from generate import KEPT, RECORD, connections

MULTITRACER = str(Path(sys.executable).with_name("multitracer"))
GAP_S = 10
NUMBERS = 62
PACKETS, FIRST_DATA, LOSSY = 10, 3, 20
"""Packets of a short connection, which of them is its first segment, and every which one loses it."""
STEP_US, WAY_US = 1000, 300


def lengthened(run: Path, out: Path, times: int) -> tuple[float, int, int]:
    """Write the run `times` times over; seconds, packets and link frames of the outcome."""
    lines = gzip.decompress((run / "rlp.log.gz").read_bytes()).decode().splitlines()
    begin, end = (float(line.split()[0]) for line in (lines[1], lines[-1]))
    step_s = int(end - begin) + GAP_S
    out.mkdir()
    shutil.copy(run / "measurement.toml", out)
    with (out / "rlp.log").open("w") as file:
        file.write(lines[0] + "\n")
        base: dict[str, tuple[int, int]] = {}
        for turn in range(times):
            base = _log(file, lines[1:], turn * step_s, base)
    packets = 0
    for name in ("snd.pcap", "rcv.pcap"):
        data = (run / name).read_bytes()
        with (out / name).open("wb") as capture:
            capture.write(data[:24])
            for turn in range(times):
                packets += _capture(capture, data, turn * step_s, turn)
    return times * step_s, packets, times * (len(lines) - 1)


def _log(
    file: object, lines: list[str], later_s: int, base: dict[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """One repetition of the link log; the number and the byte that follow, by the entity that sends them."""
    following = dict(base)
    for line in lines:
        words = line.split()
        entity, action, kind = words[1:4]
        peer = "iwf" if entity == "ms" else "ms"
        # Frames of data go from their sender; requests for them come back to it.
        owner = entity if (action == "snd") == (kind == "I") else peer
        number, byte = base.get(owner, (0, 0))
        seconds, _, fraction = words[0].partition(".")
        words[0] = f"{int(seconds) + later_s}.{fraction}"
        values = dict(word.split("=") for word in words[4:] if "=" in word)
        for key in ("ns", "nr"):
            if key in values:
                values[key] = str((int(values[key]) + number) % NUMBERS)
        if "off" in values:
            values["off"] = str(int(values["off"]) + byte)
            if action == "snd" and "try" not in values:
                after = int(values["off"]) + int(values["len"])
                following[owner] = ((int(values["ns"]) + 1) % NUMBERS, after)
        rest = [f"{key}={value}" for key, value in values.items()]
        file.write(" ".join([*words[:4], *rest]) + "\n")  # type: ignore[attr-defined]
    return following


def _capture(file: object, data: bytes, later_s: int, turn: int) -> int:
    """One repetition of a capture of raw IP, from another port; how many packets."""
    at, count = 24, 0
    while at + 16 <= len(data):
        seconds, fraction, kept, length = struct.unpack_from("<IIII", data, at)
        packet = bytearray(data[at + 16 : at + 16 + kept])
        tcp = (packet[0] & 15) * 4
        for place in (tcp, tcp + 2):
            port = int.from_bytes(packet[place : place + 2], "big")
            if port > 20_000:
                moved = port + turn if port + turn < 65_536 else port - 40_000 + turn
                total = int.from_bytes(packet[tcp + 16 : tcp + 18], "big") ^ 0xFFFF
                total += (port ^ 0xFFFF) + moved
                total = (total & 0xFFFF) + (total >> 16)
                total = (total & 0xFFFF) + (total >> 16)
                packet[place : place + 2] = moved.to_bytes(2, "big")
                packet[tcp + 16 : tcp + 18] = (total ^ 0xFFFF).to_bytes(2, "big")
        file.write(struct.pack("<IIII", seconds + later_s, fraction, kept, length) + packet)  # type: ignore[attr-defined]
        at, count = at + 16 + kept, count + 1
    return count


def both_ends(out: Path, count: int) -> int:
    """Write what captures at both ends have of `count` connections; how many packets that is."""
    packets = connections(count).astype(RECORD)
    at = np.arange(len(packets))
    again = np.flatnonzero((at % PACKETS == FIRST_DATA) & (at // PACKETS % LOSSY == 0))
    packets = np.insert(packets, again, packets[again])
    packets["ip_id"] = np.arange(len(packets)) % 65536
    packets["original"] = np.maximum(14 + packets["ip_length"].astype("u4"), KEPT)
    arrives = np.ones(len(packets), dtype=bool)
    arrives[again + np.arange(len(again))] = False
    sent_us = np.arange(len(packets), dtype="i8") * STEP_US
    way_us = np.where(packets["target_port"] == 5201, WAY_US, -WAY_US)
    out.mkdir()
    for name, t_us, kept in (("snd.pcap", sent_us, ...), ("rcv.pcap", sent_us + way_us, arrives)):
        packets["t_s"], packets["t_us"] = 1_700_000_000 + t_us // 1_000_000, t_us % 1_000_000
        with (out / name).open("wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, KEPT, 1))
            file.write(packets[kept].tobytes())
    return len(packets) + int(arrives.sum())


def cost(path: Path) -> tuple[float, float, float]:
    """Wall-clock and processor seconds, and the peak of memory in MB so far, of one analysis."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([MULTITRACER, "analyze", "--json", str(path)], stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--times", default="1,3", help="repetitions (default %(default)s)")
    parser.add_argument("--connections", default="", help="of two captures of short connections")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.run is not None:
            print(f"{'measured':>12}{'packets':>10}{'link log':>12}{'wall':>8}{'cpu':>8}{'peak MB':>9}")
            for times in _numbers(options.times):
                path = Path(folder) / f"run-{times}"
                seconds, packets, lines = lengthened(options.run, path, times)
                _line(f"{seconds:>10.0f} s{packets:>10,}{lines:>12,}", path, options.runs)
        if options.connections:
            print(f"{'connections':>12}{'packets':>10}{'':>12}{'wall':>8}{'cpu':>8}{'peak MB':>9}")
            for count in _numbers(options.connections):
                path = Path(folder) / f"connections-{count}"
                packets = both_ends(path, count)
                _line(f"{count:>12,}{packets:>10,}{'':>12}", path, options.runs)


def _numbers(words: str) -> list[int]:
    return sorted(int(word) for word in words.split(",") if word)


def _line(what: str, path: Path, runs: int) -> None:
    costs = [cost(path) for _ in range(runs)]
    wall, cpu = (statistics.median(one[place] for one in costs) for place in (0, 1))
    print(f"{what}{wall:>6.2f} s{cpu:>6.2f} s{costs[-1][2]:>9.0f}", flush=True)


if __name__ == "__main__":
    main()
