"""The IP packets of a capture as bytes, for what depends on every byte of them.

The tables keep what analyses need; how many bytes a packet takes on a link that escapes and compresses
depends on its content.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from typing import NamedTuple

from multitracer import native
from multitracer.model.errors import MultiTracerError

MOST_PACKETS = 200_000
"""Packets kept at most; a link that needs a map of bytes is slow."""
MOST_BYTES = 256 << 20
FEW_PACKETS = 2_000
"""Captures that are no plain pcap are read packet by packet, each from the beginning."""

_MAGIC = {
    b"\xd4\xc3\xb2\xa1": "<",
    b"\x4d\x3c\xb2\xa1": "<",
    b"\xa1\xb2\xc3\xd4": ">",
    b"\xa1\xb2\x3c\x4d": ">",
}
_RAW = (12, 14, 101, 228, 229)
_SKIP = {0: 4, 108: 4, 113: 16, 276: 20}


class IpPacket(NamedTuple):
    """An IP packet as far as it was captured.

    Attributes
    ----------
    record : int
        Number in the file, from 1.
    length : int
        On the wire.
    data : bytes
        Its first bytes; all of them unless the capture cut it.
    """

    record: int
    length: int
    data: bytes


def ip_packets(path: str, records: int) -> list[IpPacket] | None:
    """All IP packets of a capture; None if they cannot be had (not a capture any more, or too many).

    Parameters
    ----------
    path : str
    records : int
        Packets that the file held when it was read.
    """
    if records > MOST_PACKETS:
        return None
    try:
        with gzip.open(path, "rb") as file:
            zipped = file.peek(1)[:1] != b""
    except OSError:
        zipped = False
    try:
        with gzip.open(path, "rb") if zipped else open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, EOFError):
        return None
    order = _MAGIC.get(content[:4])
    if len(content) > MOST_BYTES:
        return None
    found = _pcap(content, order) if order is not None else _one_by_one(path, records)
    if found is None:
        return None
    return [packet for one in found if (packet := _ip(*one)) is not None]


def _pcap(content: bytes, order: str) -> Iterator[tuple[int, int, int, bytes]]:
    if len(content) < 24:
        return
    link_type = struct.unpack_from(order + "I", content, 20)[0] & 0x0FFFFFFF
    position, record = 24, 0
    while position + 16 <= len(content) and record < MOST_PACKETS:
        kept, original = struct.unpack_from(order + "II", content, position + 8)
        position += 16
        if kept > len(content) - position:
            return
        record += 1
        yield record, link_type, original, content[position : position + kept]
        position += kept


def _one_by_one(path: str, records: int) -> list[tuple[int, int, int, bytes]] | None:
    if records > FEW_PACKETS:
        return None
    found = []
    try:
        for record in range(1, records + 1):
            raw = native.packet(path, record)
            if raw is not None:
                found.append((record, raw.link_type, raw.original_length, raw.data))
    except MultiTracerError:
        return None
    return found


def _ip(record: int, link_type: int, original: int, data: bytes) -> IpPacket | None:
    skip = _SKIP.get(link_type)
    if link_type in _RAW:
        skip = 0
    elif link_type == 1:
        skip = 14
        while data[skip - 2 : skip] in (b"\x81\x00", b"\x88\xa8"):
            skip += 4
    if skip is None or len(data) < skip + 20:
        return None
    packet, length = data[skip:], original - skip
    version = packet[0] >> 4
    if version == 4:
        length = int.from_bytes(packet[2:4], "big") or length
    elif version == 6:
        length = 40 + int.from_bytes(packet[4:6], "big")
    else:
        return None
    return IpPacket(record, length, packet[:length])
