"""Text logs of hosts and of links."""

from __future__ import annotations

from collections.abc import Sequence

import multitracer._core as _core
from multitracer.native.call import Scan, scanned


def scan_rlpdump(path: str) -> Scan:
    """Tables `link_frames` and `link_events` of an rlpdump.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_rlpdump)


def scan_ftrace(path: str) -> Scan:
    """Tables `tcp_states` and `kernel_events` of kernel tracepoints as text.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_ftrace)


def scan_ss(path: str) -> Scan:
    """Table `tcp_states` of a loop of ``ss -ti``.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_ss)


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


def scan_siftr(path: str) -> Scan:
    """Table `tcp_states` of FreeBSD's siftr; srtt and rto as in the file.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_siftr)


def scan_bcc(path: str) -> Scan:
    """Table `kernel_events` of tcpretrans or tcpstates.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_bcc)


def scan_tcpinfo(path: str) -> Scan:
    """Table `tcp_states` of M-Lab's tcp-info.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_tcpinfo)


def scan_iperf3(path: str) -> Scan:
    """Table `tcp_states` of a stream of events of iperf3.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_iperf3)


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


def scan_srsran(path: str) -> Scan:
    """PDUs of the RLC layer in a log of srsRAN Project's base station, by bearer in `facts`.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_srsran)


def scan_dccpprobe(path: str) -> Scan:
    """Table `dccp_states` of a dccp_probe log, in the units of the file.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_dccpprobe)
