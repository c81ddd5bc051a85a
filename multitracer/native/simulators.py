"""Traces of simulators, whose TCP is tracked as that of captures."""

from __future__ import annotations

import multitracer._core as _core
from multitracer.native.call import Scan, scanned


def scan_ns2(path: str, *, header_bytes: int) -> Scan:
    """Tables ``frames``, ``events`` and ``energy`` of an ns-2 event trace; TCP at both ends in its facts.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, lambda name: _core.scan_ns2(name, header_bytes, True))


def scan_ns3(path: str) -> Scan:
    """Table ``drops`` of an ns-3 ascii trace; TCP at each host in its facts.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_ns3)
