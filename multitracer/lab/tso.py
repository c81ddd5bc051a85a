"""TCP segmentation offload as a network card does it: one super-segment in, packets of one MSS out.

Reference: virtio 1.2 section 5.1.6 (the header in front of each packet), RFC 9293 section 3.1.
"""

from __future__ import annotations

import array
import struct
import sys

HEADER_BYTES = 10
_NEEDS_CSUM = 1
_GSO_TCPV4 = 1
_FIN, _PSH, _CWR = 0x01, 0x08, 0x80
_VNET = struct.Struct("=BBHHHH")


def checksum(data: bytes, start: int = 0) -> int:
    """The Internet checksum (RFC 1071) of `data`, on top of a partial sum `start`."""
    if len(data) % 2:
        data += b"\0"
    words = array.array("H", data)
    if sys.byteorder == "little":
        words.byteswap()
    total = start + sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def segments(data: bytes) -> list[bytes]:
    """IP packets with finished checksums out of one read from a device with offloads.

    Parameters
    ----------
    data : bytes
        A virtio-net header of `HEADER_BYTES`, then an IPv4 packet.
    """
    flags, gso_type, _header_len, gso_size, csum_start, csum_offset = _VNET.unpack_from(data)
    packet = data[HEADER_BYTES:]
    if gso_type & 0x7F == _GSO_TCPV4 and gso_size:
        return _split(packet, gso_size)
    if flags & _NEEDS_CSUM:
        at = csum_start + csum_offset
        # The field holds the sum over the pseudo header; completing it is adding up the rest.
        value = checksum(packet[csum_start:])
        return [packet[:at] + value.to_bytes(2, "big") + packet[at + 2 :]]
    return [packet]


def _split(packet: bytes, mss: int) -> list[bytes]:
    ip_len = (packet[0] & 15) * 4
    tcp_len = (packet[ip_len + 12] >> 4) * 4
    ip_header, tcp_header = packet[:ip_len], packet[ip_len : ip_len + tcp_len]
    payload = packet[ip_len + tcp_len :]
    ident = int.from_bytes(ip_header[4:6], "big")
    seq = int.from_bytes(tcp_header[4:8], "big")
    out = []
    for index, start in enumerate(range(0, len(payload), mss)):
        chunk = payload[start : start + mss]
        tcp_flags = tcp_header[13]
        if start + mss < len(payload):
            tcp_flags &= ~(_FIN | _PSH)  # of the last packet only
        if index:
            tcp_flags &= ~_CWR  # of the first packet only (RFC 3168 section 6.1.2)
        ip = bytearray(ip_header)
        ip[2:4] = (ip_len + tcp_len + len(chunk)).to_bytes(2, "big")
        ip[4:6] = (ident + index & 0xFFFF).to_bytes(2, "big")
        ip[10:12] = b"\0\0"
        ip[10:12] = checksum(bytes(ip)).to_bytes(2, "big")
        tcp = bytearray(tcp_header)
        tcp[4:8] = (seq + start & 0xFFFFFFFF).to_bytes(4, "big")
        tcp[13] = tcp_flags
        tcp[16:18] = b"\0\0"
        body = bytes(tcp) + chunk
        pseudo = bytes(ip[12:20]) + b"\0\x06" + len(body).to_bytes(2, "big")
        tcp[16:18] = checksum(pseudo + body).to_bytes(2, "big")
        out.append(bytes(ip) + bytes(tcp) + chunk)
    return out
