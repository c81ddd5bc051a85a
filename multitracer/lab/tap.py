"""Captures in the middle of a simulated path: raw IP packets, with every nanosecond of their times."""

from __future__ import annotations

import struct
from typing import IO

_MAGIC_NS = 0xA1B23C4D
_LINKTYPE_RAW = 101
_WHOLE = 262_144


class TapWriter:
    """A pcap file of the packets that pass a tap.

    Parameters
    ----------
    path : str
    snaplen : int
        Bytes kept of each packet; 0: all.
    """

    def __init__(self, path: str, snaplen: int) -> None:
        self._snaplen = snaplen or _WHOLE
        self._file: IO[bytes] = open(path, "wb", buffering=1 << 18)  # noqa: SIM115 - closed in close
        self._file.write(struct.pack("<IHHiIII", _MAGIC_NS, 2, 4, 0, 0, self._snaplen, _LINKTYPE_RAW))
        self.packets = 0

    def write(self, t_ns: int, packet: bytes) -> None:
        """Add a packet that passed at `t_ns` (since 1970)."""
        kept = packet[: self._snaplen]
        self._file.write(
            struct.pack("<IIII", t_ns // 1_000_000_000, t_ns % 1_000_000_000, len(kept), len(packet)) + kept
        )
        self.packets += 1

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
