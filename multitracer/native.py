"""The Rust core, as the rest of the package sees it: typed, and with the package's errors.

Nothing else imports `multitracer._core`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from multitracer import _core
from multitracer.errors import CorruptTrace, Issue, UnreadableFile
from multitracer.parts import Parts
from multitracer.table import Array

_Result = TypeVar("_Result")

VERSION = _core.__version__
"""Of the package: Cargo.toml is where it is declared."""


def _called(path: str, work: Callable[[], _Result]) -> _Result:
    """The result of a call into the core, whose errors name the file."""
    try:
        return work()
    except OSError as error:
        raise UnreadableFile(
            f"{path}: {error.strerror or error}; check the path and its permissions"
        ) from error
    except ValueError as error:
        raise CorruptTrace(f"{path}: {error}") from error


# text logs


@dataclass(frozen=True)
class Scan:
    """What a scanner of text logs found.

    Attributes
    ----------
    tables : dict of str to dict of str to array
        Columns by the name of the schema; columns that the format does not have are left out.
    issues : list of Issue
    facts : dict
        Facts about the file; which ones depends on the format (see ``_core.pyi``).
    """

    tables: dict[str, dict[str, Array]]
    issues: list[Issue]
    facts: dict[str, Any]


def head(path: str, count: int) -> bytes:
    """The first `count` bytes of a file, after decompression (gzip, zstd, xz, bzip2, lz4: by content).

    ``-`` is standard input. What is taken from a pipe comes again when it is read, which can be done once; of
    a slow one, there may be fewer bytes.

    Raises
    ------
    UnreadableFile
        If it cannot be opened or read, or is neither a file nor a pipe.
    """
    return _called(path, lambda: _core.head(path, count))


def forget(path: str) -> None:
    """Close a pipe that `head` looked at and that is not going to be read."""
    _core.forget(path)


def scan_rlpdump(path: str) -> Scan:
    """Tables `link_frames` and `link_events` of an rlpdump.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, _core.scan_rlpdump)


def scan_ftrace(path: str) -> Scan:
    """Tables `tcp_states` and `kernel_events` of kernel tracepoints as text.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, _core.scan_ftrace)


def scan_ss(path: str) -> Scan:
    """Table `tcp_states` of a loop of ``ss -ti``.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, _core.scan_ss)


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
    return _scan(path, lambda name: _core.scan_tcpprobe(name, None if columns is None else list(columns)))


def scan_siftr(path: str) -> Scan:
    """Table `tcp_states` of FreeBSD's siftr; srtt and rto as in the file.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, _core.scan_siftr)


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
    return _scan(path, lambda name: _core.scan_csv(name, header, ord(separator), list(kinds)))


def sniff_gsmtap(head: bytes) -> bool:
    """Whether these are the first bytes of a capture of RLP frames in GSMTAP."""
    return _core.sniff_gsmtap(head)


def read_gsmtap(path: str, *, uplink_is_mobile: bool, n2: int | None = None) -> Scan:
    """Tables `link_frames` and `link_events` of a capture of RLP frames in GSMTAP.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return _scan(path, lambda name: _core.read_gsmtap(name, uplink_is_mobile, n2))


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
        Who captured it; the names of the capture's interfaces say it otherwise.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return _scan(path, lambda name: _core.read_rlc(name, ue, bearer, view))


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
    return _scan(path, lambda _: _core.track_rlc(sn_bits, view, *columns))


def sniff_wifi(head: bytes) -> bool:
    """Whether these are the first bytes of a capture of 802.11 frames."""
    return _core.sniff_wifi(head)


def read_wifi(path: str, *, station: bytes | None = None, retry_limit: int | None = None) -> Scan:
    """Tables `link_frames`, `link_events` and `link_radio` of a capture of 802.11 frames.

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
    paths = _several(path)
    return _scan(path, lambda _: _core.read_wifi(paths, station, retry_limit))


def sniff_dccp(head: bytes) -> bool:
    """Whether these are the first bytes of a capture of DCCP."""
    return _core.sniff_dccp(head)


def read_dccp(path: str) -> Scan:
    """Table `dccp_packets` of a capture.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return _scan(path, _core.read_dccp)


def scan_dccpprobe(path: str) -> Scan:
    """Table `dccp_states` of a dccp_probe log, in the units of the file.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, _core.scan_dccpprobe)


def scan_ns2(path: str, *, header_bytes: int) -> Scan:
    """Tables ``frames``, ``events`` and ``energy`` of an ns-2 event trace; TCP at both ends in its facts.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, lambda name: _core.scan_ns2(name, header_bytes, True))


def scan_ns2_variables(path: str) -> Scan:
    """Table ``variables`` of what an ns-2 agent was told to trace, in the units of the file.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, _core.scan_ns2_variables)


def scan_ns3(path: str) -> Scan:
    """Table ``drops`` of an ns-3 ascii trace; TCP at each host in its facts.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, _core.scan_ns3)


def scan_ns3_series(path: str) -> Scan:
    """Table ``series``: t_ns, record and value of one variable of an ns-3 simulation.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, _core.scan_ns3_series)


def scan_omnetpp(path: str) -> Scan:
    """Tables ``vectors`` and ``scalars`` of a result file of OMNeT++; their names in its facts.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, _core.scan_omnetpp)


def sniff_pppd(head: bytes) -> bool:
    """Whether these are the first bytes of a pppd record file."""
    return _core.sniff_pppd(head)


def scan_pppd(path: str) -> Scan:
    """Tables `link_frames` and `link_events` of a pppd record file.

    Raises
    ------
    UnreadableFile
    """
    return _scan(path, _core.scan_pppd)


class Lines:
    """The lines of a file with their numbers, from 1; streams.

    Parameters
    ----------
    path : str
    longest : int, optional
        Bytes beyond which a line is skipped, with an issue; 64 KiB by default.

    Raises
    ------
    UnreadableFile
    """

    _BATCH = 1 << 18

    def __init__(self, path: str, longest: int | None = None) -> None:
        self._path = path
        self._lines = _called(path, lambda: _core.TextLines(path, longest))

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        while batch := _called(self._path, lambda: self._lines.batch(self._BATCH)):
            yield from batch

    @property
    def issues(self) -> list[Issue]:
        """Damage so far."""
        return [
            Issue(code, count, record, detail, self._path)
            for code, count, record, detail in self._lines.issues()
        ]


def _scan(path: str, scanner: Callable[[str], _core.TextScan]) -> Scan:
    tables, issues, facts = _called(path, lambda: scanner(path))
    return Scan(
        tables, [Issue(code, count, record, detail, path) for code, count, record, detail in issues], facts
    )


# captures


@dataclass(frozen=True)
class RawPacket:
    """One record of a capture.

    Attributes
    ----------
    t_ns : int
    original_length : int
        Bytes of the packet on the wire.
    data : bytes
        The bytes that were kept, link header included.
    link_type : int
        LINKTYPE_ number.
    """

    t_ns: int
    original_length: int
    data: bytes
    link_type: int


def capture_format(head: bytes) -> str | None:
    """The format of a capture that `read_capture` takes, by its first bytes; None if it is none."""
    return _core.capture_format(head)


def read_capture(
    path: str,
    *,
    keep_segments: bool,
    report: Callable[[int], None] | None = None,
    skip: Sequence[int] = (),
) -> dict[str, Any]:
    """Decode a capture and track its TCP connections, in one pass.

    Parameters
    ----------
    path : str or Parts
        One file, or the files of one capture: they are read as one, with records counted through.
    keep_segments : bool
        Whether to keep the tables; without them, memory is in proportion to connections.
    report : callable, optional
        Called with the bytes read so far, some twenty times a second.
    skip : sequence of int
        Records that are left out: packets that a radio link sent again.

    Returns
    -------
    dict
        ``info``, ``issues`` (code, count, first record, detail), ``connections`` (without `keep_segments` a
        sequence that makes each dictionary when it is asked for); with `keep_segments` also
        the columns of ``segments``, ``retransmissions``, ``timeouts``, ``episodes`` and ``icmp_errors``.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    paths = _several(path)
    return _called(_named(paths), lambda: _core.read_capture(paths, keep_segments, report, list(skip)))


class Follow:
    """A capture that is read, on a thread of its own, while it is written: a pipe, or a file that grows.

    Parameters
    ----------
    path : str
        ``-`` is standard input.
    keep_segments : bool
        As of `read_capture`; nothing is given up then.
    connections : int
        How many connections are kept at most; beyond, those that were silent for longest are given up.
    """

    def __init__(self, path: str, *, keep_segments: bool, connections: int) -> None:
        self._path = path
        self._core = _core.Follow(path, keep_segments, connections)

    def wait(self, seconds: float) -> bool:
        """Wait for the end, so long at most, answering signals; whether it has come."""
        return self._core.wait(seconds)

    def stop(self) -> None:
        """End with what is there; of a pipe, with what comes within a second."""
        self._core.stop()

    def snapshot(self, busiest: int) -> dict[str, Any]:
        """How it goes: counts since the begin, and the connections that sent most since the last snapshot.

        Returns
        -------
        dict
            ``records``, ``tcp_segments``, ``bytes_read``, ``first_ns`` and ``last_ns`` (time stamps, or
            None), ``sums`` (over all connections, both directions), ``forgotten`` (connections given up), and
            since the last snapshot ``active`` (connections), ``new_bytes`` and ``busiest``.
        """
        return self._core.snapshot(busiest)

    def finish(self) -> dict[str, Any]:
        """Wait for the end; what it came to, as `read_capture` returns it. Once.

        Raises
        ------
        UnreadableFile, CorruptTrace
        """
        return _called(self._path, self._core.finish)

    def close(self) -> None:
        """Give up at once, if it has not ended."""
        self._core.close()


def json_text(value: Any, level: int = 0) -> str:
    """A plain value as ``json.dumps(value, indent=2, allow_nan=False)``, for a place `level` steps inside.

    Raises
    ------
    TypeError, ValueError
        What has no place in JSON: an object of another type, NaN, infinity.
    """
    return _core.json_text(value, level)


def continuation(paths: Sequence[str]) -> list[int] | None:
    """The order in which captures continue each other; None if they do not.

    They do if each begins when the one before has ended, on the same kind of link, and a connection of it
    goes on.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return _called(_named(paths), lambda: _core.continuation(list(paths)))


def packet(path: str, record: int) -> RawPacket | None:
    """One record of a capture by its number from 1; None if there are fewer.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    paths = _several(path)
    found = _called(_named(paths), lambda: _core.packet(paths, record))
    return None if found is None else RawPacket(*found)


def _several(path: str) -> list[str]:
    return list(path.files) if isinstance(path, Parts) else [path]


def _named(paths: Sequence[str]) -> str:
    """How errors call the files of one capture."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} to {paths[-1]}"
