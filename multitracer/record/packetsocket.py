"""A packet socket into pcapng: the capture where tcpdump is not installed.

Run as a process of its own (``python -m multitracer.record.packetsocket``), so that a busy recorder does not
make it late. Ends at SIGTERM or SIGINT, and then writes how many packets the kernel dropped.

Reference: packet(7); draft-ietf-opsawg-pcapng (section header, interface description, enhanced packet,
interface statistics blocks).
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import struct
import sys
import time
from typing import BinaryIO

_ETH_P_ALL = 0x0003
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_SO_TIMESTAMPNS = 35
_ETHERNET, _RAW_IP = 1, 101
_ARPHRD_ETHER, _ARPHRD_LOOPBACK = 1, 772
_FLUSH_S = 0.5


class PcapngWriter:
    """Blocks of a pcapng file with one interface; times in nanoseconds.

    Parameters
    ----------
    out : binary file
    interface : str
    link_type : int
        LINKTYPE_ number.
    snaplen : int
        Bytes kept of each packet; 0: all.
    comment : str
        About the section: host and kernel.
    """

    def __init__(self, out: BinaryIO, interface: str, link_type: int, snaplen: int, comment: str) -> None:
        self._out = out
        self._block(
            0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + _options([(1, comment.encode())])
        )
        options = _options([(2, interface.encode()), (9, b"\x09")])
        self._block(1, struct.pack("<HHI", link_type, 0, snaplen) + options)

    def packet(self, t_ns: int, data: bytes, length: int) -> None:
        """One packet of `length` bytes on the wire, of which `data` was kept.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        data : bytes
            The first bytes of the packet.
        length : int
            Bytes on the wire.
        """
        high, low = divmod(t_ns, 1 << 32)
        self._block(6, struct.pack("<IIIII", 0, high, low, len(data), length) + _padded(data))

    def statistics(self, t_ns: int, received: int, dropped: int) -> None:
        """How many packets came, and how many of them the kernel dropped.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        received : int
            Packets that passed the filter.
        dropped : int
            Those of them for which the socket's buffer had no room.
        """
        high, low = divmod(t_ns, 1 << 32)
        options = _options([(4, struct.pack("<Q", received)), (5, struct.pack("<Q", dropped))])
        self._block(5, struct.pack("<III", 0, high, low) + options)

    def _block(self, kind: int, body: bytes) -> None:
        length = struct.pack("<I", len(body) + 12)
        self._out.write(struct.pack("<I", kind) + length + body + length)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _options(options: list[tuple[int, bytes]]) -> bytes:
    body = b"".join(struct.pack("<HH", code, len(value)) + _padded(value) for code, value in options)
    return body + struct.pack("<HH", 0, 0)


def open_socket(interface: str, buffer_kib: int) -> socket.socket:
    """A bound packet socket with time stamps of the kernel.

    Raises
    ------
    OSError
        No permission (CAP_NET_RAW), or no such interface.
    """
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        force = 33  # SO_RCVBUFFORCE: beyond net.core.rmem_max, for root
        try:
            sock.setsockopt(socket.SOL_SOCKET, force, buffer_kib * 1024)
        except PermissionError:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_kib * 1024)
        sock.bind((interface, _ETH_P_ALL))
    except BaseException:
        sock.close()
        raise
    return sock


def link_type(interface: str) -> int:
    """LINKTYPE_ of an interface: Ethernet (also of the loopback), else the packet without a link header."""
    try:
        with open(f"/sys/class/net/{interface}/type", encoding="ascii") as file:
            kind = int(file.read())
    except (OSError, ValueError):
        return _ETHERNET
    return _ETHERNET if kind in (_ARPHRD_ETHER, _ARPHRD_LOOPBACK) else _RAW_IP


def record(sock: socket.socket, writer: PcapngWriter, out: BinaryIO, snaplen: int, wake: int) -> None:
    """Write packets until `wake` can be read, then the counts.

    Parameters
    ----------
    sock : socket.socket
        A packet socket that is bound, with its filter and time stamps switched on.
    writer : PcapngWriter
        Writes records to `out`.
    out : BinaryIO
    snaplen : int
        Bytes that are kept of each packet; 0: 262,144.
    wake : int
        A file descriptor.
    """
    sock.setblocking(False)
    keep = snaplen or 262_144
    buffer = bytearray(keep)
    space = socket.CMSG_SPACE(16)
    loopback = sock.getsockname()[3] == _ARPHRD_LOOPBACK
    flushed = time.monotonic()
    ending = False
    while True:
        try:
            size, ancillary, _, address = sock.recvmsg_into([buffer], space, socket.MSG_TRUNC)
        except BlockingIOError:
            if ending:
                break
            out.flush()
            ready, _, _ = select.select([sock.fileno(), wake], [], [], _FLUSH_S)
            ending = wake in ready
            continue
        # A looped packet is seen when it is sent and when it is received: once is enough.
        if loopback and address[2] == socket.PACKET_OUTGOING:
            continue
        writer.packet(_stamp(ancillary), bytes(buffer[: min(size, keep)]), size)
        if not ending and (now := time.monotonic()) - flushed > _FLUSH_S:
            out.flush()
            flushed = now
            ending = bool(select.select([wake], [], [], 0)[0])
    received, dropped = struct.unpack("II", sock.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
    writer.statistics(time.time_ns(), received, dropped)
    out.flush()


def _stamp(ancillary: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if (
            level == socket.SOL_SOCKET
            and kind == _SO_TIMESTAMPNS
            and len(data) >= 2 * ctypes.sizeof(ctypes.c_long)
        ):
            seconds, nanoseconds = struct.unpack("ll", data[: 2 * ctypes.sizeof(ctypes.c_long)])
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return time.time_ns()


def main(arguments: list[str]) -> int:
    """``INTERFACE PATH SNAPLEN BUFFER_KIB COMMENT``; says ``listening on`` when it does."""
    interface, path, snaplen, buffer_kib, comment = arguments
    wake, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    try:
        with open_socket(interface, int(buffer_kib)) as sock, open(path, "wb") as out:
            writer = PcapngWriter(out, interface, link_type(interface), int(snaplen), comment)
            sys.stderr.write(f"listening on {interface}\n")
            sys.stderr.flush()
            record(sock, writer, out, int(snaplen), wake)
    except OSError as error:
        sys.stderr.write(f"{error.strerror or error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
