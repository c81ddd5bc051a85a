"""Pairs of captures made of the samples: with addresses translated, clocks moved, connections added."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dpkt
from support_samples import SAMPLES

Packet = tuple[float, bytes]
Endpoint = tuple[str, int]
RAW = 101  # LINKTYPE_RAW: packets begin with the IP header


@dataclass(frozen=True)
class Change:
    """What happens to each packet of a capture.

    Attributes
    ----------
    names : mapping
        New address and port for some endpoints; checksums are made anew.
    seq : mapping
        What is added to the sequence numbers that an endpoint (its old name) sends, and to what acknowledges
        them.
    later_s : float
        Added to all times.
    ts : int
        Added to TSval and TSecr.
    """

    names: Mapping[Endpoint, Endpoint] = field(default_factory=dict)
    seq: Mapping[Endpoint, int] = field(default_factory=dict)
    later_s: float = 0.0
    ts: int = 0


def packets(path: Path) -> list[Packet]:
    with path.open("rb") as handle:
        reader = dpkt.pcap.Reader(handle)
        assert reader.datalink() == RAW
        return [(float(t), bytes(data)) for t, data in reader]


def written(path: Path, found: Sequence[Packet]) -> Path:
    with path.open("wb") as handle:
        writer = dpkt.pcap.Writer(handle, linktype=RAW, nano=True)
        for t, data in found:
            writer.writepkt(data, ts=t)
    return path


def sample(name: str, file: str) -> list[Packet]:
    return packets(SAMPLES / name / file)


def endpoints(found: Sequence[Packet]) -> tuple[Endpoint, Endpoint]:
    ip = dpkt.ip.IP(found[0][1])
    return (socket.inet_ntoa(ip.src), ip.data.sport), (socket.inet_ntoa(ip.dst), ip.data.dport)


def changed(found: Sequence[Packet], change: Change) -> list[Packet]:
    """Every packet as a translator (or another host) would have it; headers may be all that was captured."""
    return [(t + change.later_s, _packet(data, change)) for t, data in found]


def _packet(data: bytes, change: Change) -> bytes:
    head = (data[0] & 15) * 4
    assert data[0] >> 4 == 4
    assert data[9] == 6
    ip, tcp = bytearray(data[:head]), bytearray(data[head:])
    ends = [
        (socket.inet_ntoa(bytes(ip[at : at + 4])), struct.unpack_from("!H", tcp, port)[0])
        for at, port in ((12, 0), (16, 2))
    ]
    before = bytes(ip[12:20]) + bytes(tcp)
    for one, (at, port) in zip(ends, ((12, 0), (16, 2)), strict=True):
        address, number = change.names.get(one, one)
        ip[at : at + 4] = socket.inet_aton(address)
        struct.pack_into("!H", tcp, port, number)
    for at, one in ((4, ends[0]), (8, ends[1])):
        value = struct.unpack_from("!I", tcp, at)[0]
        if at == 4 or tcp[13] & 16:
            struct.pack_into("!I", tcp, at, (value + change.seq.get(one, 0)) % (1 << 32))
    _options(tcp, change.ts)
    ip[10:12] = b"\0\0"
    struct.pack_into("!H", ip, 10, 0xFFFF ^ _sum(bytes(ip)))
    # RFC 1624: the new checksum from the old one, so that payload that was not captured counts as well.
    after = bytes(ip[12:20]) + bytes(tcp[:16]) + b"\0\0" + bytes(tcp[18:])
    plain = before[:24] + b"\0\0" + before[26:]
    old = struct.unpack_from("!H", tcp, 16)[0]
    total = (0xFFFF ^ old) + (0xFFFF ^ _sum(plain)) + _sum(after)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    struct.pack_into("!H", tcp, 16, 0xFFFF ^ total)
    return bytes(ip + tcp)


def _options(tcp: bytearray, ts: int) -> None:
    at, end = 20, min((tcp[12] >> 4) * 4, len(tcp))
    while ts and at < end and tcp[at] != 0:
        if tcp[at] == 1:
            at += 1
            continue
        if tcp[at] == 8:
            for place in (at + 2, at + 6):
                value = struct.unpack_from("!I", tcp, place)[0]
                if value or place == at + 2:
                    struct.pack_into("!I", tcp, place, (value + ts) % (1 << 32))
        at += max(tcp[at + 1], 2)


def _sum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(int(word) for word in struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def merged(*parts: Sequence[Packet]) -> list[Packet]:
    return sorted((one for part in parts for one in part), key=lambda one: one[0])


def only(found: Sequence[Packet], keep: Callable[[float], bool]) -> list[Packet]:
    return [one for one in found if keep(one[0])]
