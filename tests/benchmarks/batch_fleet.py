"""A fleet for `multitracer batch`: measurements copied with other clocks, so that each copy is a new file.

    python tests/benchmarks/batch_fleet.py OUT --copies 3 sample_traces/* [lab runs ...]

Of captures the time of every packet is moved; logs are copied as they are: alignment has to find the offset.
"""

from __future__ import annotations

import argparse
import random
import shutil
from pathlib import Path


def moved_capture(source: Path, target: Path, seconds: int) -> None:
    """The same packets at other times, to the nanosecond."""
    data = source.read_bytes()
    magic = data[:4]
    order = "little" if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else "big"
    if len(data) < 24 or magic[:: -1 if order == "little" else 1][:2] not in (b"\xa1\xb2", b"\xa1\xb2"):
        raise ValueError(f"{source}: not a pcap")
    out, at = bytearray(data), 24
    while at + 16 <= len(data):
        stamp = int.from_bytes(data[at : at + 4], order) + seconds
        out[at : at + 4] = stamp.to_bytes(4, order)
        at += 16 + int.from_bytes(data[at + 8 : at + 12], order)
    target.write_bytes(out)


def copy(measurement: Path, target: Path, number: int, most_s: int) -> None:
    """One measurement whose capture clocks are off by as much, together."""
    target.mkdir(parents=True)
    seconds = random.Random(f"{measurement.name} {number}").randint(1, most_s) if number else 0
    for file in sorted(measurement.iterdir()):
        if not file.is_file():
            continue
        if file.suffix == ".pcap" and seconds:
            moved_capture(file, target / file.name, seconds)
        else:
            shutil.copyfile(file, target / file.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("measurements", type=Path, nargs="+")
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--most-s", type=int, default=3600, help="largest change of a clock")
    options = parser.parse_args()
    for measurement in options.measurements:
        if not measurement.is_dir():
            continue
        for number in range(options.copies):
            copy(measurement, options.out / f"{measurement.name}_copy={number}", number, options.most_s)


if __name__ == "__main__":
    main()
