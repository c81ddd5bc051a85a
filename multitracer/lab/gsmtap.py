"""RLP frames as a GSMTAP capture, as a protocol analyser on the radio interface would record them.

Reference: GSMTAP version 2 (osmocom libosmocore, gsmtap.h), type 0x14 for RLP; frames as in 3GPP TS 24.022.
"""

from __future__ import annotations

import socket
import struct
from fractions import Fraction
from typing import IO, Any

UDP_PORT = 4729
_TYPE_RLP = 0x14
_UPLINK = 0x4000
_ARFCN = 871
_HEADER = struct.Struct(">BBBBHbbIBBBB")
# TDMA frames last 120/26 ms (GSM 05.02); the counter is the link's clock in the header.
_TDMA_FRAME_NS = 120_000_000 // 26
_HYPERFRAME = 2715648
_LINKTYPE_RAW = 101


def gsmtap(frame: bytes, uplink: bool, t_ns: int, timeslot: int = 2) -> bytes:
    """One RLP frame after a GSMTAP header.

    Parameters
    ----------
    frame : bytes
        30 octets (240-bit frame) or 72 (576-bit).
    uplink : bool
        From the mobile side.
    t_ns : int
        Time since the start of the call, gives the TDMA frame number.
    timeslot : int
        0 to 7.

    Returns
    -------
    bytes
        The header (16 octets) and the frame.
    """
    arfcn = _ARFCN | (_UPLINK if uplink else 0)
    number = t_ns // _TDMA_FRAME_NS % _HYPERFRAME
    return _HEADER.pack(2, 4, _TYPE_RLP, timeslot, arfcn, 0, 0, number, 0, 0, 0, 0) + frame


class FrameWriter:
    """Writes frames to a pcap: UDP to port 4729 between the two entities' addresses, one packet per frame.

    Parameters
    ----------
    path : str
    addresses : tuple of str
        IPv4 addresses of side 0 (mobile) and side 1 (network).
    start_ns : int
        Begin of the call.
    """

    def __init__(self, path: str, addresses: tuple[str, str], start_ns: int) -> None:
        import dpkt

        self._file: IO[bytes] = open(path, "wb")  # noqa: SIM115 - closed in close
        self._writer: Any = dpkt.pcap.Writer(self._file, snaplen=65_535, linktype=_LINKTYPE_RAW, nano=True)
        self._hosts = [socket.inet_aton(address) for address in addresses]
        self._start_ns = start_ns
        self._dpkt: Any = dpkt
        self._ident = 0

    def write(self, t_ns: int, side: int, frame: bytes) -> None:
        """Add a frame that entity `side` sent at `t_ns`."""
        udp = self._dpkt.udp.UDP(sport=UDP_PORT, dport=UDP_PORT)
        udp.data = gsmtap(frame, side == 0, t_ns - self._start_ns)
        udp.ulen = 8 + len(udp.data)
        self._ident = (self._ident + 1) & 0xFFFF
        packet = self._dpkt.ip.IP(
            src=self._hosts[side], dst=self._hosts[1 - side], p=17, ttl=64, id=self._ident, data=udp
        )
        packet.len = 20 + udp.ulen
        # A fraction keeps every nanosecond; a float would round to some 200 ns.
        self._writer.writepkt_time(bytes(packet), Fraction(t_ns, 1_000_000_000))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def __enter__(self) -> FrameWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
