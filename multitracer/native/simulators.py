"""Traces of simulators."""

from __future__ import annotations

from collections.abc import Sequence

import multitracer._core as _core
from multitracer.native.call import Scan, scanned


def scan_ns2(path: str, *, header_bytes: int) -> Scan:
    """Tables ``frames``, ``events`` and ``energy`` of an ns-2 event trace; TCP at both ends in its facts.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, lambda name: _core.scan_ns2(name, header_bytes, True))


def scan_ns2_variables(path: str) -> Scan:
    """Table ``variables`` of what an ns-2 agent was told to trace, in the units of the file.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_ns2_variables)


def scan_ns3(path: str) -> Scan:
    """Table ``drops`` of an ns-3 ascii trace; TCP at each host in its facts.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_ns3)


def scan_ns3_series(path: str) -> Scan:
    """Table ``series``: t_ns, record and value of one variable of an ns-3 simulation.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_ns3_series)


def scan_omnetpp(path: str) -> Scan:
    """Tables ``vectors`` and ``scalars`` of a result file of OMNeT++; their names in its facts.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_omnetpp)


def scan_lena(path: str, columns: Sequence[tuple[float, float | None]]) -> Scan:
    """Table `bearer_totals` of LENA: ``record``, and the columns by their number.

    Parameters
    ----------
    path : str
    columns : sequence of (float, float or None)
        Of each column what one of its unit is, and from where on values do not fit; None keeps decimals.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, lambda name: _core.scan_lena(name, list(columns)))
