"""DCCP packets and captures, byte by byte (RFC 4340), for tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

REQUEST, RESPONSE, DATA, ACK, DATAACK = range(5)
SENDER, RECEIVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
PORTS = (40000, 5001)


def packet(
    kind: int, seq: int, ack: int | None = None, *, data: int = 0, options: bytes = b"", back: bool = False
) -> bytes:
    """An IPv4 packet with long sequence numbers."""
    body = b""
    if ack is not None:
        body += struct.pack(">HHI", 0, ack >> 32, ack & 0xFFFFFFFF)
    if kind in (REQUEST, RESPONSE):
        body += bytes(4)  # service code
    options += bytes(-len(options) % 4)
    words = (16 + len(body) + len(options)) // 4
    ports = PORTS[::-1] if back else PORTS
    header = struct.pack(">HHBBHBBHI", *ports, words, 0, 0, kind << 1 | 1, 0, seq >> 32, seq & 0xFFFFFFFF)
    dccp = header + body + options + bytes(data)
    ends = (RECEIVER, SENDER) if back else (SENDER, RECEIVER)
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(dccp), 0, 0, 64, 33, 0, *ends) + dccp


def report(seq: int, ack: int, *, rate_bytes: int, interval: int, elapsed_us: int = 0) -> bytes:
    """A CCID 3 receiver's report: X_recv, inverse of p (0: no loss), elapsed time."""
    options = struct.pack(">BBI", 194, 6, rate_bytes)
    options += struct.pack(">BBI", 192, 6, interval or 0xFFFFFFFF)
    options += struct.pack(">BBI", 43, 6, elapsed_us // 10)
    return packet(ACK, seq, ack, options=options, back=True)


def capture(path: Path, packets: Iterable[tuple[float, bytes]], offset_s: float = 0.0) -> Path:
    """A capture of raw IP packets, by time in seconds."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
        for t_s, data in packets:
            t_ns = round((t_s + offset_s) * 1e9)
            file.write(struct.pack("<IIII", t_ns // 10**9, t_ns % 10**9, len(data), len(data)) + data)
    return path
