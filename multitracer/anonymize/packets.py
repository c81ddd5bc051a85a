"""One packet without its addresses and payload; TCP's headers remain as they are.

What is not understood is cut away: ARP, neighbour discovery, tunnels, routing headers. Lengths in headers and
the length on the wire stay, so that the packet reads as one of which only headers were captured.

References
----------
RFC 1624 (checksum by difference), RFC 6235 4.2, RFC 9293 3.1, RFC 8200 4.
"""

from __future__ import annotations

from multitracer.anonymize.mapping import Mapping

LINKS = {0: 4, 1: 14, 101: 0, 108: 4, 113: 16, 228: 0, 229: 0, 276: 20}
"""LINKTYPE_ numbers that are understood, and the bytes of their headers."""

_VLANS = frozenset({0x8100, 0x88A8, 0x9100})
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP, _UDP, _ICMP, _ICMPV6 = 6, 17, 1, 58
_CHECKSUM_AT = {_TCP: 16, _UDP: 6, _ICMP: 2, _ICMPV6: 2}
# End, NOP, MSS, window scale, SACK-permitted, SACK, timestamps: none of them identifies a host.
_TCP_OPTIONS = frozenset({2, 3, 4, 5, 8})
_WITH_PACKET = {_ICMP: frozenset({3, 11, 12}), _ICMPV6: frozenset({1, 2, 3, 4})}
_HOP_BY_HOP, _FRAGMENT, _OPTIONS = 0, 44, 60
_MOST_HEADERS = 8


def anonymous(data: bytes, link_type: int, mapping: Mapping) -> bytes:
    """What may be given away of a packet: headers up to TCP's, UDP's or ICMP's.

    Parameters
    ----------
    data : bytes
        From the link header on, as far as captured.
    link_type : int
        One of `LINKS`.
    mapping : Mapping

    Returns
    -------
    bytes
        At most as long as `data`.
    """
    size = LINKS[link_type]
    if len(data) < size:
        return b""
    head = bytearray(data[:size])
    at, kind = _link(head, data, link_type, mapping)
    if len(data) <= at:
        return bytes(head)
    if not kind:
        kind = {4: _IPV4, 6: _IPV6}.get(data[at] >> 4, -1)
    if kind not in (_IPV4, _IPV6):
        return bytes(head)
    return bytes(head) + _ip(bytearray(data[at:]), mapping, 0)


def _link(head: bytearray, data: bytes, link_type: int, mapping: Mapping) -> tuple[int, int]:
    """Mask the addresses of a link header; its end, and the EtherType (0: by the packet's version)."""
    if link_type == 1:
        head[0:6], head[6:12] = mapping.ethernet(bytes(head[0:6])), mapping.ethernet(bytes(head[6:12]))
        kind, at = int.from_bytes(head[12:14], "big"), 14
        while kind in _VLANS and len(data) >= at + 4:
            head += data[at : at + 4]
            kind, at = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
        return at, kind if kind else -1
    if link_type in (113, 276):
        place, length = (6, int.from_bytes(head[4:6], "big")) if link_type == 113 else (12, head[11])
        if length == 6:
            head[place : place + 6] = mapping.ethernet(bytes(head[place : place + 6]))
            head[place + 6 : place + 8] = bytes(2)
        else:
            head[place : place + 8] = bytes(8)
        kind = int.from_bytes(head[14:16] if link_type == 113 else head[0:2], "big")
        return len(head), kind if kind else -1
    return len(head), 0


def _ip(packet: bytearray, mapping: Mapping, depth: int) -> bytes:
    """An IP packet from its header on; empty if it is cut before the end of its addresses."""
    if packet[0] >> 4 == 4:
        return _ipv4(packet, mapping, depth)
    return _ipv6(packet, mapping, depth) if packet[0] >> 4 == 6 else b""


def _ipv4(packet: bytearray, mapping: Mapping, depth: int) -> bytes:
    size = 4 * (packet[0] & 0x0F)
    if len(packet) < 20 or size < 20:
        return b""
    before = bytes(packet[: min(size, len(packet))])
    packet[12:16], packet[16:20] = mapping.ip(bytes(packet[12:16])), mapping.ip(bytes(packet[16:20]))
    for place in range(20, min(size, len(packet))):
        packet[place] = 1  # options record routes: no operation instead
    header = packet[: min(size, len(packet))]
    if len(packet) < size:
        return bytes(header)
    _mend(packet, 10, before, bytes(header))
    fragment = int.from_bytes(packet[6:8], "big") & 0x1FFF
    if fragment:
        return bytes(packet[:size])
    rest = _transport(packet[size:], packet[9], before[12:20], packet[12:20], mapping, depth)
    return bytes(packet[:size]) + rest


def _ipv6(packet: bytearray, mapping: Mapping, depth: int) -> bytes:
    if len(packet) < 40:
        return b""
    before = bytes(packet[8:40])
    packet[8:24], packet[24:40] = mapping.ip(bytes(packet[8:24])), mapping.ip(bytes(packet[24:40]))
    at, kind = 40, packet[6]
    for _ in range(_MOST_HEADERS):
        if kind not in (_HOP_BY_HOP, _OPTIONS, _FRAGMENT) or len(packet) < at + 8:
            break
        size = 8 if kind == _FRAGMENT else 8 * (packet[at + 1] + 1)
        if len(packet) < at + size:
            return bytes(packet[:at])
        if kind == _FRAGMENT and int.from_bytes(packet[at + 2 : at + 4], "big") & 0xFFF8:
            return bytes(packet[: at + size])
        if kind != _FRAGMENT:
            packet[at + 2 : at + size] = bytes(size - 2)  # options: Pad1 instead
        kind, at = packet[at], at + size
    return bytes(packet[:at]) + _transport(packet[at:], kind, before, packet[8:40], mapping, depth)


def _transport(
    rest: bytearray, kind: int, before: bytes, after: bytearray, mapping: Mapping, depth: int
) -> bytes:
    """The header of TCP, UDP or ICMP, its checksum mended for the addresses `before` that are now `after`."""
    if kind == _TCP:
        return _tcp(rest, before, bytes(after))
    if kind == _UDP:
        if len(rest) >= 8 and any(rest[6:8]):
            _mend(rest, 6, before, bytes(after))
            if not any(rest[6:8]):
                rest[6:8] = b"\xff\xff"  # none at all would be zero (RFC 768)
        return bytes(rest[:8])
    if kind in _WITH_PACKET and len(rest) >= 4:
        return _icmp(rest, kind, before, bytes(after), mapping, depth)
    return b""


def _tcp(rest: bytearray, before: bytes, after: bytes) -> bytes:
    if len(rest) < 13:
        return bytes(rest)  # ports and sequence number, in the packet of an ICMP error
    size = max(4 * (rest[12] >> 4), 20)
    head = rest[: min(size, len(rest))]
    old = bytes(head)
    _mask_options(head)
    if len(head) >= 18:
        _mend(head, 16, before + old, after + bytes(head))
    return bytes(head)


def _mask_options(head: bytearray) -> None:
    """Options that could name a host (MPTCP, Fast Open, unknown ones) become no operation."""
    at = 20
    while at < len(head) and head[at] != 0:
        if head[at] == 1:
            at += 1
            continue
        size = head[at + 1] if at + 1 < len(head) else 0
        if size < 2 or at + size > len(head):
            # Cut or damaged: nothing after it can be judged.
            if size < 2 or head[at] not in _TCP_OPTIONS:
                head[at:] = b"\x01" * (len(head) - at)
            return
        if head[at] not in _TCP_OPTIONS:
            head[at : at + size] = b"\x01" * size
        at += size
    head[at:] = bytes(max(len(head) - at, 0))


def _icmp(rest: bytearray, kind: int, before: bytes, after: bytes, mapping: Mapping, depth: int) -> bytes:
    """Type, code, checksum; of an error also the headers of the packet that it is about."""
    addresses = (before, after) if kind == _ICMPV6 else (b"", b"")
    if rest[0] not in _WITH_PACKET[kind] or depth:
        head = rest[:4]
        _mend(head, 2, *addresses)
        return bytes(head)
    inner = _ip(bytearray(rest[8:]), mapping, depth + 1) if len(rest) > 8 else b""
    head = rest[: 8 + len(inner)]
    old = bytes(head)
    head[8:] = inner
    _mend(head, 2, addresses[0] + old, addresses[1] + bytes(head))
    return bytes(head)


def _mend(header: bytearray, at: int, before: bytes, after: bytes) -> None:
    """Change a checksum for what it covers having changed: HC' = ~(~HC + ~m + m') (RFC 1624, equation 3).

    A checksum that was wrong stays wrong by as much. The checksum itself may be in both.
    """
    total = (~int.from_bytes(header[at : at + 2], "big") & 0xFFFF) + _sum(after) - _sum(before)
    total = total % 0xFFFF or 0xFFFF  # what is summed is never all zero
    header[at : at + 2] = (~total & 0xFFFF).to_bytes(2, "big")


def _sum(data: bytes) -> int:
    """The sum of 16-bit words."""
    if len(data) & 1:
        data += b"\0"
    return sum(data[0::2]) * 256 + sum(data[1::2])
