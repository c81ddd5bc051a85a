"""One packet whole: the core finds its bytes, dpkt decodes them.

The core keeps of a packet only what the analyses need. For a look at everything in it (a hover, a report, a
notebook) dpkt takes it apart; it is also the independent decoder that the tests hold the core against.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpkt

from multitracer import native
from multitracer.model.errors import CorruptTrace, UsageError

_RAW = (12, 14, 101, 228, 229)


def decode(path: str, record: int) -> Any:
    """A packet of a capture as a dpkt object.

    Parameters
    ----------
    path : str
    record : int
        Its number in the file, from 1.

    Returns
    -------
    dpkt.Packet
        The link-layer frame, or the IP packet where the link type has no header of its own.

    Raises
    ------
    UsageError
        If there is no such record, or dpkt does not know the link type.
    CorruptTrace
        If the packet cannot be decoded.
    UnreadableFile
    """
    raw = native.packet(path, record)
    if raw is None:
        raise UsageError(f"{path}: no packet number {record}")
    try:
        return decoder(raw.link_type, raw.data)(raw.data)
    except (dpkt.UnpackError, IndexError, ValueError) as error:
        raise CorruptTrace(f"{path}: packet {record}: {error or 'cut short'}") from error


def decoder(link_type: int, data: bytes) -> Callable[[bytes], Any]:
    """The dpkt class for a link type; for raw IP, the version in the first byte decides.

    Raises
    ------
    UsageError
        If dpkt has none.
    """
    if link_type == 1:
        return dpkt.ethernet.Ethernet  # type: ignore[no-any-return]
    if link_type in _RAW:
        version6 = bool(data) and data[0] >> 4 == 6
        return dpkt.ip6.IP6 if version6 else dpkt.ip.IP  # type: ignore[no-any-return]
    if link_type in (0, 108):
        return dpkt.loopback.Loopback  # type: ignore[no-any-return]
    if link_type == 113:
        return dpkt.sll.SLL  # type: ignore[no-any-return]
    if link_type == 276:
        return dpkt.sll2.SLL2  # type: ignore[no-any-return]
    raise UsageError(f"dpkt cannot decode link type {link_type}")
