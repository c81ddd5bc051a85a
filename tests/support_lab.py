"""Packets and a clock for link models, without a kernel."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from multitracer.lab.link import Delivery
from multitracer.lab.models import build_link
from multitracer.lab.ppp.vj import ip_checksum

SECOND = 1_000_000_000


@dataclass
class Outcome:
    """What came out of a simulated transfer."""

    link: Any
    sent: list[list[bytes]] = field(default_factory=lambda: [[], []])
    deliveries: list[Delivery] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def received(self, from_side: int) -> list[bytes]:
        return [delivery.packet for delivery in self.deliveries if delivery.side == 1 - from_side]


def run(
    settings: dict[str, Any], packets: list[tuple[int, int, bytes]], seed: int = 1, limit_s: float = 600
) -> Outcome:
    """Send ``(t_ns, side, packet)`` in time order and let the link come to rest."""
    link = build_link(settings, seed)
    outcome = Outcome(link)
    for t_ns, side, packet in packets:
        outcome.deliveries += link.advance(t_ns)
        if link.send(side, packet, t_ns):
            outcome.sent[side].append(packet)
        outcome.log += link.drain_log()
    while (t_ns := link.next_ns()) is not None and t_ns < limit_s * SECOND:
        outcome.deliveries += link.advance(t_ns)
        outcome.log += link.drain_log()
    return outcome


def payload(index: int, length: int) -> bytes:
    """A recognisable packet that no other index gives."""
    return b"\x45" + index.to_bytes(4, "big") + random.Random(index).randbytes(max(length - 5, 0))


def tcp(
    seq: int,
    ack: int,
    data: bytes = b"",
    *,
    window: int = 8192,
    flags: int = 0x10,
    ip_id: int = 1,
    ports: tuple[int, int] = (1025, 80),
    options: bytes = b"",
    urgent: int = 0,
    tos: int = 0,
) -> bytes:
    """An IPv4 packet with right checksums."""
    header = (
        ports[0].to_bytes(2, "big")
        + ports[1].to_bytes(2, "big")
        + (seq & 0xFFFFFFFF).to_bytes(4, "big")
        + (ack & 0xFFFFFFFF).to_bytes(4, "big")
        + bytes(((5 + len(options) // 4) << 4, flags))
        + window.to_bytes(2, "big")
        + b"\0\0"
        + urgent.to_bytes(2, "big")
        + options
    )
    addresses = bytes((10, 0, 0, 1, 10, 0, 0, 2))
    length = len(header) + len(data)
    checksum = ip_checksum(addresses + b"\0\x06" + length.to_bytes(2, "big") + header + data)
    segment = header[:16] + checksum.to_bytes(2, "big") + header[18:] + data
    ip = (
        bytes((0x45, tos))
        + (20 + length).to_bytes(2, "big")
        + (ip_id & 0xFFFF).to_bytes(2, "big")
        + b"\x40\0\x40\x06\0\0"
        + addresses
    )
    return ip[:10] + ip_checksum(ip).to_bytes(2, "big") + ip[12:] + segment


def checksum_good(packet: bytes) -> bool:
    """Whether the TCP checksum of an option-less IPv4 packet is right."""
    segment = packet[20:]
    return ip_checksum(packet[12:20] + b"\0\x06" + len(segment).to_bytes(2, "big") + segment) == 0
