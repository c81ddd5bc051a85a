"""Text logs: each through its scanner of the core, by name."""

from __future__ import annotations

from collections.abc import Sequence

import multitracer._core as _core
from multitracer.native.call import Scan, scanned

SCANNERS = tuple(_core.TEXT_SCANNERS)
"""Names that `scan` takes: one for each row of the core's table (``rust/core/src/text/mod.rs``)."""


def scan(scanner: str, path: str) -> Scan:
    """What a scanner of the core finds in a log, read with usual settings.

    Parameters
    ----------
    scanner : str
        One of `SCANNERS`; its file in ``rust/core/src/text/`` says which tables and facts it gives.
    path : str

    Raises
    ------
    UnreadableFile
    ValueError
        If no scanner has this name.
    """
    if scanner not in SCANNERS:
        raise ValueError(f"no scanner is named {scanner!r}: {', '.join(SCANNERS)}")
    return scanned(path, lambda name: _core.scan_text(scanner, name))


def scan_tcpprobe(path: str, columns: Sequence[str] | None = None) -> Scan:
    """Table `tcp_states` of ``/proc/net/tcpprobe``; srtt, rttvar and rto as in the file.

    Parameters
    ----------
    path : str
    columns : sequence of str, optional
        What the columns are, where their number does not tell.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, lambda name: _core.scan_tcpprobe(name, None if columns is None else list(columns)))


def read_iperf3(path: str, text: bytes) -> Scan:
    """Table `tcp_states` of the text of iperf3's documents.

    Parameters
    ----------
    path : str
        The file, for issues.
    text : bytes
    """
    return scanned(path, lambda _: _core.read_iperf3(text))


def read_ndt7(path: str, text: bytes) -> Scan:
    """Columns of `tcp_states` in the text of a result of NDT7, with which test, since when, and whose socket.

    Parameters
    ----------
    path : str
        The file, for errors.
    text : bytes
    """
    return scanned(path, lambda _: _core.read_ndt7(text))


def scan_csv(path: str, header: int, separator: str, kinds: Sequence[str]) -> Scan:
    """Table ``csv`` of comma-separated values: ``t_ns``, ``record``, and the columns read by their number.

    Parameters
    ----------
    path : str
    header : int
        Line of the column names; what is before it is passed over.
    separator : str
    kinds : sequence of str
        By column: ``time:<decimals of its unit>``, ``number``, ``word``, ``skip``.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, lambda name: _core.scan_csv(name, header, ord(separator), list(kinds)))


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
