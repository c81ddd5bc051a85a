"""DCCP packets as bytes (RFC 4340), with CCID 3's options (RFC 4342), and captures of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

REQUEST, RESPONSE, DATA, ACK = range(4)
SENDER, RECEIVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
PORTS = (40000, 5001)
NO_LOSS = 0xFFFFFFFF

KEPT = 96
"""Bytes of a packet that a capture keeps: as much as the headers need."""

Packet = tuple[int, bytes, int]
"""Time in nanoseconds, the first `KEPT` bytes, length of the whole."""


def packet(
    kind: int, seq: int, ack: int | None = None, *, ccval: int = 0, data: int = 0, options: bytes = b""
) -> bytes:
    """An IPv4 packet with a DCCP header of long sequence numbers; the receiver sends responses and ACKs."""
    body = b"" if ack is None else struct.pack(">HHI", 0, ack >> 32, ack & 0xFFFFFFFF)
    if kind in (REQUEST, RESPONSE):
        body += bytes(4)  # service code
    options += bytes(-len(options) % 4)
    back = kind in (RESPONSE, ACK)
    words = (16 + len(body) + len(options)) // 4
    ports = PORTS[::-1] if back else PORTS
    kind_and_x = kind << 1 | 1
    low = seq & 0xFFFFFFFF
    header = struct.pack(">HHBBHBBHI", *ports, words, ccval << 4, 0, kind_and_x, 0, seq >> 32, low)
    dccp = header + body + options + bytes(data)
    ends = (RECEIVER, SENDER) if back else (SENDER, RECEIVER)
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(dccp), 0, 0, 64, 33, 0, *ends) + dccp


def report(seq: int, ack: int, rate_bytes: float, interval: float, elapsed_ns: int) -> bytes:
    """What a receiver of CCID 3 says once a round trip: X_recv, the inverse of p, how long it waited."""
    options = struct.pack(">BBI", 194, 6, min(round(rate_bytes), 0xFFFFFFFF))
    options += struct.pack(">BBI", 192, 6, NO_LOSS if interval <= 0 else max(1, round(interval)))
    options += struct.pack(">BBI", 43, 6, min(elapsed_ns // 10_000, 0xFFFFFFFF))
    return packet(ACK, seq, ack, options=options)


def numbers(raw: bytes) -> tuple[int, int, int]:
    """Type, sequence number and CCVal of a packet."""
    header = raw[20:]
    high, low = struct.unpack(">HI", header[10:16])
    return header[8] >> 1 & 0xF, high << 32 | low, header[5] >> 4


def told(raw: bytes) -> tuple[int, float, float, int]:
    """What a report says: packet acknowledged, X_recv in bytes/s, p, time held in nanoseconds."""
    header = raw[20:]
    high, low = struct.unpack(">HI", header[18:24])
    rate, interval, elapsed = (struct.unpack(">I", header[at : at + 4])[0] for at in (26, 32, 38))
    p = 0.0 if interval == NO_LOSS else 1 / interval
    return high << 32 | low, float(rate), p, elapsed * 10_000


def capture(path: Path, packets: Iterable[Packet]) -> None:
    """A capture of raw IP packets."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, KEPT, 101))
        for t_ns, head, length in packets:
            file.write(struct.pack("<IIII", t_ns // 10**9, t_ns % 10**9, len(head), length) + head)
