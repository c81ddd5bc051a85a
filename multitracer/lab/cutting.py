"""A part of a capture, by time: what a capture that was started late or stopped early would hold."""

from __future__ import annotations

import struct
from pathlib import Path

from multitracer.lab.requirements import LabError

_UNIT_NS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}


def cut(source: str | Path, target: str | Path, begin_ns: int, end_ns: int) -> int:
    """Copy the packets of a pcap file with ``begin_ns <= t < end_ns``; how many these were.

    Parameters
    ----------
    source : str | Path
        The file.
    target : str | Path
        The copy.
    begin_ns, end_ns : int
        Since the epoch.

    Raises
    ------
    LabError
        `source` is no pcap file of this machine's byte order.
    """
    data = Path(source).read_bytes()
    unit_ns = _UNIT_NS.get(struct.unpack_from("=I", data)[0], 0) if len(data) >= 24 else 0
    if not unit_ns:
        raise LabError(f"{source}: no pcap file")
    kept = [data[:24]]
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, length, _ = struct.unpack_from("=IIII", data, at)
        if begin_ns <= seconds * 1_000_000_000 + fraction * unit_ns < end_ns:
            kept.append(data[at : at + 16 + length])
        at += 16 + length
    Path(target).write_bytes(b"".join(kept))
    return len(kept) - 1
