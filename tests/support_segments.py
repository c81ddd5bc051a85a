"""Captures of segments that say whatever a test wants, without payload."""

from __future__ import annotations

import struct
from pathlib import Path

RAW = 101
V4 = [bytes([10, 0, 0, 1]), bytes([192, 168, 255, 254])]
V6 = [bytes(15) + b"\x01", b"\x20\x01\x0d\xb8" + bytes(11) + b"\x02"]

Segment = tuple[int, int, bool, bool, int, int, int, int, int, bytes]
"""Step of the clock in ns, port, from the first end, IPv6, sequence and acknowledgment number, flags, length
of the payload, window, options."""


def capture(path: Path, segments: list[Segment]) -> Path:
    """Whatever the segments say, as a capture without payload in nanoseconds."""
    t_ns = 1_700_000_000_123_456_789
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, RAW))
        for step, port, first, six, seq, ack, flags, length, window, options in segments:
            t_ns += step
            ends = (V6 if six else V4)[:: 1 if first else -1]
            ports = (1000 + port, 80) if first else (80, 1000 + port)
            offset = (20 + len(options)) << 2
            tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, offset, flags, window, 0, 0) + options
            if six:
                ip = struct.pack(">IHBB", 6 << 28, len(tcp) + length, 6, 64) + ends[0] + ends[1]
            else:
                total = 20 + len(tcp) + length
                ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, total, 0, 0, 64, 6, 0, ends[0], ends[1])
            packet = ip + tcp
            held = (t_ns // 10**9, t_ns % 10**9, len(packet), len(packet) + length)
            file.write(struct.pack("<IIII", *held) + packet)
    return path
