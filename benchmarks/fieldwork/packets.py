"""TCP over IPv4 out of pcap files, by plain unpacking: nothing of the program that is to be judged."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

FIN, SYN, RST, ACK = 1, 2, 4, 16
End = tuple[bytes, int]
Key = tuple[End, End]
"""A direction: from, to."""

_UNIT_NS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
_ETHERNET, _RAW = 1, 101


@dataclass(slots=True)
class Packet:
    """One TCP segment of a capture.

    Attributes
    ----------
    record : int
        Number in the file, from 1; packets of other protocols count as well.
    length : int
        Bytes of payload, by the IP header.
    mss, ts_val, ts_ecr : int or None
        Options, where there.
    """

    record: int
    t_ns: int
    key: Key
    ip_id: int
    ttl: int
    seq: int
    ack: int
    flags: int
    length: int
    mss: int | None = None
    ts_val: int | None = None
    ts_ecr: int | None = None

    @property
    def reverse(self) -> Key:
        """The other direction."""
        return self.key[1], self.key[0]


@dataclass(frozen=True)
class File:
    """A pcap file in memory: its header and where its records are."""

    data: bytes
    ip_at: int
    records: tuple[tuple[int, int, int], ...]

    @property
    def header(self) -> bytes:
        """The file's header."""
        return self.data[:24]


def load(path: Path) -> File:
    """Read a pcap file (gzip or not) of this machine's byte order.

    Raises
    ------
    ValueError
        It is none.
    """
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    magic, *_, link_type = struct.unpack_from("=IHHiIII", data)
    if magic not in _UNIT_NS or link_type not in (_ETHERNET, _RAW):
        raise ValueError(f"{path}: not a pcap file of Ethernet or raw IP")
    records = []
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, length, _ = struct.unpack_from("=IIII", data, at)
        if at + 16 + length > len(data):
            break
        records.append((seconds * 1_000_000_000 + fraction * _UNIT_NS[magic], at + 16, length))
        at += 16 + length
    return File(data, 14 if link_type == _ETHERNET else 0, tuple(records))


def packets(file: File) -> list[Packet]:
    """All TCP segments over IPv4, in the order of the file."""
    found = []
    for number, (t_ns, at, length) in enumerate(file.records, 1):
        packet = parse(file.data[at + file.ip_at : at + length], number, t_ns)
        if packet is not None:
            found.append(packet)
    return found


def parse(data: bytes, record: int, t_ns: int) -> Packet | None:
    """One segment out of an IP packet; None if it is none, or cut within its TCP header."""
    if len(data) < 40 or data[0] >> 4 != 4 or data[9] != 6:
        return None
    ip_len = (data[0] & 15) * 4
    total, ip_id = struct.unpack_from("!HH", data, 2)
    if len(data) < ip_len + 20:
        return None
    sport, dport, seq, ack, offset, flags = struct.unpack_from("!HHIIBB", data, ip_len)
    tcp_len = (offset >> 4) * 4
    packet = Packet(
        record,
        t_ns,
        ((data[12:16], sport), (data[16:20], dport)),
        ip_id,
        data[8],
        seq,
        ack,
        flags,
        total - ip_len - tcp_len,
    )
    for kind, value in options(data[ip_len + 20 : ip_len + tcp_len]):
        if kind == 2 and len(value) == 2:
            packet.mss = int.from_bytes(value, "big")
        elif kind == 8 and len(value) == 8:
            packet.ts_val, packet.ts_ecr = struct.unpack("!II", value)
    return packet


def options(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and value of each TCP option, padding left out."""
    at = 0
    while at < len(data) and data[at]:
        if data[at] == 1:
            at += 1
            continue
        if at + 1 >= len(data) or data[at + 1] < 2:
            return
        yield data[at], data[at + 2 : at + data[at + 1]]
        at += data[at + 1]


def rewrite(file: File, *changes: Callable[[bytearray], None], records: Iterable[int] | None = None) -> bytes:
    """The file again with each IP packet changed in place; or only some of its records (from 1)."""
    numbers = range(1, len(file.records) + 1) if records is None else records
    out = [file.header]
    for number in numbers:
        _, at, length = file.records[number - 1]
        packet = bytearray(file.data[at + file.ip_at : at + length])
        if len(packet) >= 40 and packet[0] >> 4 == 4:
            for change in changes:
                change(packet)
        out += [file.data[at - 16 : at + file.ip_at], bytes(packet)]
    return b"".join(out)


def zero_id(packet: bytearray) -> None:
    """Take the IP ID away, as a sender does that sets none with "don't fragment"."""
    packet[4:6] = b"\0\0"
    packet[10:12] = b"\0\0"
    packet[10:12] = _checksum(packet[: (packet[0] & 15) * 4]).to_bytes(2, "big")


def no_timestamps(packet: bytearray) -> None:
    """Overwrite the timestamps option by no-operations, as a middlebox does that clears it.

    The checksum follows where it was complete: an offloaded one, which was wrong before, stays wrong.
    """
    ip_len = (packet[0] & 15) * 4
    if packet[9] != 6 or len(packet) < ip_len + 20:
        return
    end = min(len(packet), ip_len + (packet[ip_len + 12] >> 4) * 4)
    at = ip_len + 20
    while at < end and packet[at]:
        if packet[at] == 1:
            at += 1
            continue
        size = packet[at + 1] if at + 1 < end else 0
        if size < 2:
            return
        if packet[at] == 8 and size == 10 and at + 10 <= end:
            old = sum(_words(packet, at, 10))
            packet[at : at + 10] = b"\1" * 10
            new = sum(_words(packet, at, 10))
            total = (~int.from_bytes(packet[ip_len + 16 : ip_len + 18], "big") & 0xFFFF) + new - old
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            packet[ip_len + 16 : ip_len + 18] = (~total & 0xFFFF).to_bytes(2, "big")
            return
        at += size


def _words(packet: bytearray, at: int, size: int) -> Iterator[int]:
    """The option's octets with the weight that they have in the checksum."""
    ip_len = (packet[0] & 15) * 4
    for position in range(at, at + size):
        yield packet[position] << (8 if (position - ip_len) % 2 == 0 else 0)


def _checksum(data: bytes | bytearray) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
