"""A TUN device: what the kernel sends comes out of a descriptor, packet by packet, and back in."""

from __future__ import annotations

import fcntl
import os
import struct

from multitracer.lab.netns import DEVICE, Namespace
from multitracer.lab.requirements import LabError
from multitracer.lab.tso import HEADER_BYTES, segments

_TUNSETIFF = 0x400454CA
_TUNSETOFFLOAD = 0x400454D0
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
_TUN_F_CSUM, _TUN_F_TSO4 = 0x01, 0x02
_MAX_BYTES = 65_536 + HEADER_BYTES


class Tun:
    """The link's end of a TUN device inside a namespace.

    Parameters
    ----------
    namespace : Namespace
    offload : bool
        Let the kernel send super-segments (TSO) with unfinished checksums, as it does to a network card; they
        are cut to size here. A capture on the device sees the super-segments.
    """

    def __init__(self, namespace: Namespace, offload: bool = False) -> None:
        self.offload = offload
        self.refused = 0
        flags = _IFF_TUN | _IFF_NO_PI | (_IFF_VNET_HDR if offload else 0)
        try:
            # The device belongs to the namespace in which this is opened, and goes with the descriptor.
            with namespace.entered():
                self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            fcntl.ioctl(self.fd, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), flags))
            if offload:
                fcntl.ioctl(self.fd, _TUNSETOFFLOAD, _TUN_F_CSUM | _TUN_F_TSO4)
        except OSError as error:
            raise LabError(f"no TUN device: {error.strerror}; modprobe tun") from error

    def fileno(self) -> int:
        """For select."""
        return self.fd

    def read(self) -> list[bytes]:
        """The next packet the kernel sent, or those that one super-segment makes; empty if none waits."""
        try:
            data = os.read(self.fd, _MAX_BYTES)
        except BlockingIOError:
            return []
        return segments(data) if self.offload else [data]

    def write(self, packet: bytes) -> None:
        """Give the kernel a received packet; what it refuses (no IP version) is counted in `refused`."""
        try:
            os.write(self.fd, bytes(HEADER_BYTES) + packet if self.offload else packet)
        except OSError:
            self.refused += 1

    def close(self) -> None:
        """Remove the device."""
        os.close(self.fd)
