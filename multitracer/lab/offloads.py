"""Offloads of a network device, as `ethtool -K` sets them.

Reference: linux/ethtool.h (SIOCETHTOOL, struct ethtool_value).
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

from multitracer.lab.netns import Namespace
from multitracer.lab.requirements import LabError

_SIOCETHTOOL = 0x8946
SET_COMMANDS = {"tx_checksum": 0x17, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}
"""ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO."""


def set_offloads(namespace: Namespace, device: str, **wanted: bool) -> None:
    """Switch offloads of a device on or off: ``tx_checksum``, ``tso``, ``gso``, ``gro``.

    Checksums switched off take segmentation with them, as the kernel requires it.

    Parameters
    ----------
    namespace : Namespace
    device : str
        Its name.
    **wanted : bool
        By name of the offload: on or off; those not named stay as they are.

    Raises
    ------
    LabError
        The device does not do it.
    """
    with namespace.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for name, on in wanted.items():
            value = ctypes.create_string_buffer(struct.pack("=II", SET_COMMANDS[name], on), 8)
            request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(sock, _SIOCETHTOOL, request)
            except OSError as error:
                raise LabError(f"{device}: {name} cannot be switched: {error.strerror}") from error
