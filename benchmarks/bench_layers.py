"""Seconds and memory of alignment, frame map and cross-layer analysis of a long measurement.

A run of the lab without link resets (captures at both hosts, an rlpdump log) is laid behind itself: each
repetition is a new connection, later, on a link that goes on with its numbers and bytes.

Usage: python benchmarks/bench_layers.py RUN [--times 1,3] [--runs N]
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

MULTITRACER = str(Path(sys.executable).with_name("multitracer"))
GAP_S = 10
NUMBERS = 62


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
    parser.add_argument("run", type=Path)
    parser.add_argument("--times", default="1,3", help="repetitions (default %(default)s)")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print(f"{'measured':>12}{'packets':>10}{'link log':>12}{'wall':>8}{'cpu':>8}{'peak MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for times in sorted(int(word) for word in options.times.split(",")):
            path = Path(folder) / f"run-{times}"
            seconds, packets, lines = lengthened(options.run, path, times)
            costs = [cost(path) for _ in range(options.runs)]
            wall, cpu = (statistics.median(one[place] for one in costs) for place in (0, 1))
            print(
                f"{seconds:>10.0f} s{packets:>10,}{lines:>12,}{wall:>6.2f} s{cpu:>6.2f} s"
                f"{costs[-1][2]:>9.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
