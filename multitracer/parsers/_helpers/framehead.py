"""The first headers of an Ethernet frame that a log holds: whose packet it is.

References
----------
IEEE 802.1Q; RFC 791; RFC 8200 (4, extension headers); RFC 9293 (3.1).
"""

from __future__ import annotations

import base64
import socket
import struct
from functools import lru_cache
from typing import Any, NamedTuple

_MOST_TEXT = 4096
_VLANS = (0x8100, 0x88A8, 0x9100)
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP = 6
_EXTENSIONS = (0, 43, 60)  # hop-by-hop, routing, destination options; after a fragment header may be no TCP
_MOST_HEADERS = 8


class FrameHead(NamedTuple):
    """What the headers of a frame contain.

    Attributes
    ----------
    link_bytes : int
        Bytes of the link header, with VLAN tags.
    ether_type : int
        Of what it carries.
    source, target : (str, int) or None
        Address and port of both ends; None if it is no TCP, or not its first fragment.
    """

    link_bytes: int
    ether_type: int
    source: tuple[str, int] | None = None
    target: tuple[str, int] | None = None


def of_base64(text: Any) -> FrameHead | None:
    """The headers of a frame in base64; None if it is none."""
    return _of_text(text[:_MOST_TEXT]) if isinstance(text, str) else None


@lru_cache(maxsize=4096)
def _of_text(text: str) -> FrameHead | None:
    try:
        return of(base64.b64decode(text[: len(text) // 4 * 4], validate=True))
    except ValueError:
        return None


def of(frame: bytes) -> FrameHead | None:
    """The headers of a frame; None if it is too short for one."""
    at = 12
    for _ in range(_MOST_HEADERS):
        if len(frame) < at + 2:
            return None
        ether_type = struct.unpack_from(">H", frame, at)[0]
        if ether_type not in _VLANS:
            break
        at += 4
    else:
        return None
    link = at + 2
    ends = _ends(frame[link:], ether_type)
    return FrameHead(link, ether_type, *ends) if ends else FrameHead(link, ether_type)


def _ends(packet: bytes, ether_type: int) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """Address and port of both ends of a TCP packet."""
    if ether_type == _IPV4 and len(packet) >= 20 and packet[0] >> 4 == 4:
        fragment = struct.unpack_from(">H", packet, 6)[0] & 0x1FFF
        if packet[9] != _TCP or fragment:
            return None
        family, addresses, at = socket.AF_INET, (packet[12:16], packet[16:20]), (packet[0] & 15) * 4
    elif ether_type == _IPV6 and len(packet) >= 40 and packet[0] >> 4 == 6:
        found = _behind_extensions(packet)
        if found is None:
            return None
        family, addresses, at = socket.AF_INET6, (packet[8:24], packet[24:40]), found
    else:
        return None
    if at < 20 or len(packet) < at + 4:
        return None
    ports = struct.unpack_from(">HH", packet, at)
    source, target = (socket.inet_ntop(family, one) for one in addresses)
    return (source, ports[0]), (target, ports[1])


def _behind_extensions(packet: bytes) -> int | None:
    """Where the TCP header of an IPv6 packet is; None if there is none."""
    kind, at = packet[6], 40
    for _ in range(_MOST_HEADERS):
        if kind == _TCP:
            return at
        if kind not in _EXTENSIONS or len(packet) < at + 2:
            return None
        kind, at = packet[at], at + 8 + packet[at + 1] * 8
    return None
