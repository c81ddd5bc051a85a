"""A whole capture, packet by packet, as `multitracer record` writes it: pcap, or pcapng."""

from __future__ import annotations

import struct
from typing import BinaryIO

from multitracer.anonymize.mapping import Mapping
from multitracer.anonymize.packets import LINKS, anonymous
from multitracer.model.errors import UnreadableFile

_ORDERS = {
    b"\xd4\xc3\xb2\xa1": "<",
    b"\x4d\x3c\xb2\xa1": "<",
    b"\xa1\xb2\xc3\xd4": ">",
    b"\xa1\xb2\x3c\x4d": ">",
}
_SECTION, _INTERFACE, _PACKET, _STATISTICS = 0x0A0D0D0A, 1, 6, 5
_LARGEST = 1 << 24


def anonymize_capture(source: BinaryIO, target: BinaryIO, mapping: Mapping) -> int:
    """Write a capture again without addresses and payload.

    Parameters
    ----------
    source : binary file
        The capture, from its beginning; not compressed.
    target : binary file
        Where it is written.
    mapping : Mapping
        Of addresses.

    Returns
    -------
    int
        Packets written; those after damage are not.

    Raises
    ------
    UnreadableFile
        It is no pcap or pcapng file, or of a link type that is not understood: nothing is copied unread.
    """
    head = source.read(4)
    if head in _ORDERS:
        return _pcap(head, _ORDERS[head], source, target, mapping)
    if head == struct.pack("<I", _SECTION):
        return _pcapng(source, target, mapping)
    raise UnreadableFile("no pcap or little-endian pcapng file: it is not anonymized")


def _understood(link_type: int) -> int:
    if link_type not in LINKS:
        raise UnreadableFile(f"link type {link_type} is not understood: it is not anonymized")
    return link_type


def _pcap(magic: bytes, order: str, source: BinaryIO, target: BinaryIO, mapping: Mapping) -> int:
    header = magic + source.read(20)
    if len(header) < 24:
        raise UnreadableFile("the header of the capture is cut")
    link_type = _understood(struct.unpack_from(order + "I", header, 20)[0] & 0x0FFFFFFF)
    target.write(header)
    count = 0
    while len(head := source.read(16)) == 16:
        seconds, fraction, kept, length = struct.unpack(order + "4I", head)
        data = source.read(kept) if kept <= _LARGEST else b""
        if len(data) < kept or kept > _LARGEST:
            break
        less = anonymous(data, link_type, mapping)
        target.write(struct.pack(order + "4I", seconds, fraction, len(less), length) + less)
        count += 1
    return count


def _pcapng(source: BinaryIO, target: BinaryIO, mapping: Mapping) -> int:
    """Section, interfaces without options but the time's unit, packets, and the count of drops."""
    rest = source.read(4)
    kind, count = _SECTION, 0
    links: list[int] = []
    while len(rest) == 4:
        length = struct.unpack("<I", rest)[0]
        if not 12 <= length <= _LARGEST or length % 4:
            break
        body = source.read(length - 12)
        if len(body) < length - 12 or len(source.read(4)) < 4:
            break
        if kind == _SECTION and body[:4] == struct.pack("<I", 0x1A2B3C4D):
            links.clear()
            _block(target, kind, body[:8] + b"\xff" * 8)
        elif kind == _SECTION:
            break
        elif kind == _INTERFACE and len(body) >= 8:
            links.append(_understood(struct.unpack_from("<H", body)[0]))
            _block(target, kind, body[:8] + _resolution(body[8:]))
        elif kind == _PACKET and len(body) >= 20:
            interface, high, low, kept, wire = struct.unpack_from("<5I", body)
            if interface >= len(links) or kept > len(body) - 20:
                break
            less = anonymous(body[20 : 20 + kept], links[interface], mapping)
            fixed = struct.pack("<5I", interface, high, low, len(less), wire)
            _block(target, kind, fixed + less + bytes(-len(less) % 4))
            count += 1
        elif kind == _STATISTICS:
            _block(target, kind, body)
        head = source.read(8)
        if len(head) < 8:
            break
        kind, rest = struct.unpack_from("<I", head)[0], head[4:]
    return count


def _resolution(options: bytes) -> bytes:
    """if_tsresol of an interface, if it is there, and the end of options."""
    at = 0
    while at + 4 <= len(options):
        code, size = struct.unpack_from("<HH", options, at)
        if code == 0:
            break
        if code == 9 and size == 1:
            return options[at : at + 8].ljust(8, b"\0") + bytes(4)
        at += 4 + size + -size % 4
    return b""


def _block(target: BinaryIO, kind: int, body: bytes) -> None:
    length = struct.pack("<I", len(body) + 12)
    target.write(struct.pack("<I", kind) + length + body + length)
