"""Captures of reliable links: RLP, LTE and NR, Wi-Fi, PPP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import multitracer._core as _core
from multitracer.native.call import Scan, called, scanned, several

if TYPE_CHECKING:
    from multitracer.model.table import Array


def sniff_gsmtap(head: bytes) -> bool:
    """Whether these are the first bytes of a capture of RLP frames in GSMTAP."""
    return _core.sniff_gsmtap(head)


def read_gsmtap(path: str, *, uplink_is_mobile: bool, n2: int | None = None) -> Scan:
    """Tables `link_frames` and `link_events` of a capture of RLP frames in GSMTAP.

    Parameters
    ----------
    path : str
    uplink_is_mobile : bool
        Frames that GSMTAP marks as uplink were sent by the mobile station; it may be recorded either way.
    n2 : int, optional
        Most repetitions before a reset (N2 of TS 24.022); None: as frames show.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return scanned(path, lambda name: _core.read_gsmtap(name, uplink_is_mobile, n2))


def sniff_rlc(head: bytes) -> bool:
    """Whether these are the first bytes of a capture of LTE or NR PDUs."""
    return _core.sniff_rlc(head)


def read_rlc(path: str, *, ue: int | None = None, bearer: str | None = None, view: str | None = None) -> Scan:
    """Tables `link_frames`, `link_events` and `link_radio` of one bearer in a capture of LTE or NR PDUs.

    Parameters
    ----------
    path : str
    ue : int, optional
        UEID or C-RNTI; the busiest terminal otherwise.
    bearer : str, optional
        ``srb1``, ``drb1`` ...; the busiest otherwise.
    view : {"air", "ue", "bs"}, optional
        Who captured it; by default the names of the capture's interfaces show it.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return scanned(path, lambda name: _core.read_rlc(several(name), ue, bearer, view))


def read_rlc_pair(
    paths: tuple[str, str], choices: Sequence[tuple[int | None, str | None, str | None]]
) -> tuple[Scan, Scan] | None:
    """Two captures of one bearer, numbered as one, each as `read_rlc` gives it; None if they are not.

    Parameters
    ----------
    paths : (str, str)
    choices : two of (int or None, str or None, str or None)
        ``ue``, ``bearer`` and ``view`` of each, as for `read_rlc`.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    one, other = choices
    files = several(paths[0]), several(paths[1])
    found = called(" and ".join(paths), lambda: _core.read_rlc_pair(files, (one, other)))
    if found is None:
        return None
    first, second = found
    return scanned(paths[0], lambda _: first), scanned(paths[1], lambda _: second)


def continuation_rlc(paths: Sequence[str]) -> list[int] | None:
    """The order in which captures of LTE or NR PDUs continue each other; None if they do not.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return called(paths[0], lambda: _core.continuation_rlc(list(paths)))


def track_rlc(path: str, *, sn_bits: int, view: str, columns: Sequence[Array]) -> Scan:
    """Tables `link_frames` and `link_events` of the PDUs of one bearer, in the order of the log.

    Parameters
    ----------
    path : str
        The log, for errors.
    sn_bits : int
        Length of sequence numbers.
    view : {"air", "ue", "bs"}
        Who wrote it.
    columns : sequence of int64 arrays
        ``t_ns``, ``record``, ``kind`` (0 data, 1 status, 2 NACK, 3 re-establishment, 4 handover), ``flags``
        (1 uplink, 2 last byte of its SDU, 4 poll), ``sn``, ``start`` and ``length`` (bytes).
    """
    return scanned(path, lambda _: _core.track_rlc(sn_bits, view, *columns))


def sniff_diag(head: bytes) -> bool:
    """Whether these are the first bytes of the binary log of a Qualcomm modem."""
    return _core.sniff_diag(head)


def read_diag(path: str, *, xml: bool) -> Scan:
    """Table ``pdus`` of a Qualcomm modem's log: PDUs of all bearers in acknowledged mode, in order of time.

    Columns are ``ue`` (subscription), ``bearer`` (index of its configuration), and those of `track_rlc`.

    Parameters
    ----------
    path : str
    xml : bool
        As MobileInsight exports it; binary otherwise.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, lambda name: _core.read_diag(name, xml))


def sniff_wifi(head: bytes) -> bool:
    """Whether these are the first bytes of a capture of 802.11 frames."""
    return _core.sniff_wifi(head)


def read_wifi(path: str, *, station: bytes | None = None, retry_limit: int | None = None) -> Scan:
    """Tables `link_frames`, `link_events`, `link_radio` and `link_air` of a capture of 802.11 frames.

    Parameters
    ----------
    path : str or Parts
    station : bytes, optional
        Address of the station whose link is wanted; the busiest one otherwise.
    retry_limit : int, optional
        Retransmissions before a sender gives up; the most that is seen otherwise.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    paths = several(path)
    return scanned(path, lambda _: _core.read_wifi(paths, station, retry_limit))


def sniff_pppd(head: bytes) -> bool:
    """Whether these are the first bytes of a pppd record file."""
    return _core.sniff_pppd(head)


def scan_pppd(path: str) -> Scan:
    """Tables `link_frames` and `link_events` of a pppd record file.

    Raises
    ------
    UnreadableFile
    """
    return scanned(path, _core.scan_pppd)
