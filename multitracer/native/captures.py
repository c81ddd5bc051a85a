"""Captures of packets: TCP tracked, DCCP, single records, and what is read while it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import multitracer._core as _core
from multitracer.model.errors import TooManyConnections
from multitracer.model.lazy import load_next, np
from multitracer.model.table import Array
from multitracer.native import memory
from multitracer.native.call import Scan, called, named, scanned, several
from multitracer.native.columns import Columns

_BATCH_BYTES = 1 << 20


class RawPacket(NamedTuple):
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


class IpPacket(NamedTuple):
    """An IP packet as far as it was captured.

    Attributes
    ----------
    record : int
        Number in the capture, from 1.
    length : int
        Bytes on the wire, from the IP header on.
    data : bytes
        The first of them; all unless the capture cut it.
    """

    record: int
    length: int
    data: bytes


def capture_format(head: bytes) -> str | None:
    """The format of a capture that `read_capture` takes, by its first bytes; None if it is none."""
    return _core.capture_format(head)


def read_capture(
    path: str,
    *,
    keep_segments: bool,
    report: Callable[[int], None] | None = None,
    skip: Sequence[int] = (),
    most: int | None = None,
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
        Records that are left out: packets that a radio link retransmitted.
    most : int, optional
        Connections that it may hold: reading ends early where there are more.

    Returns
    -------
    dict
        ``info``, ``issues`` (code, count, first record, detail), ``connections`` (without `keep_segments` a
        sequence that makes each dictionary when it is asked for); with `keep_segments` also
        the columns of ``segments``, ``retransmissions``, ``timeouts``, ``episodes`` and ``icmp_errors``, and
        ``piped``: the bytes of a file that came through a pipe and cannot be read again (None if it can, or
        if they are more than 256 MiB).

    Raises
    ------
    UnreadableFile, CorruptTrace
    TooManyConnections
        More than `most`.
    """
    paths = several(path)
    # Tables need NumPy: it is loaded while the core reads, and what the answers need after it.
    meanwhile = load_next if keep_segments else None
    found = called(
        named(paths),
        lambda: _core.read_capture(paths, keep_segments, report, list(skip), most, meanwhile),
    )
    if found is None:
        raise TooManyConnections
    if keep_segments:
        found["segments"] = Columns(found["segments"])
        if len(found["segments"]["t_ns"]) >= memory.MANY:
            memory.give_back()
    return found


class Follow:
    """A capture that is read, on a thread of its own, while it is written: a pipe, or a file that grows.

    Parameters
    ----------
    path : str
        ``-`` is standard input.
    keep_segments : bool
        As of `read_capture`; nothing is given up then.
    connections : int
        How many connections are kept at most; beyond, those that were idle for longest are given up.
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
        return called(self._path, self._core.finish)

    def close(self) -> None:
        """Give up at once, if it has not ended."""
        self._core.close()


def continuation(paths: Sequence[str]) -> list[int] | None:
    """The order in which captures continue each other; None if they do not.

    They do if each begins when the one before has ended, on the same kind of link, and a connection of it
    continues.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return called(named(paths), lambda: _core.continuation(list(paths)))


def packet(path: str, record: int) -> RawPacket | None:
    """One record of a capture by its number from 1; None if there are fewer.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    paths = several(path)
    found = called(named(paths), lambda: _core.packet(paths, record))
    return None if found is None else RawPacket(*found)


def packets(path: str, wanted: Sequence[int] | None = None) -> Iterator[tuple[int, RawPacket]]:
    """The records of a capture with their numbers from 1, as they were captured; streams.

    They end at the end of the capture, or at the first damage in it.

    Parameters
    ----------
    path : str or Parts
    wanted : sequence of int, optional
        Only records of these numbers.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    paths = several(path)
    reader = _core.RawPackets(paths, None if wanted is None else list(wanted))
    while batch := called(named(paths), lambda: reader.batch(_BATCH_BYTES)):
        for number, t_ns, original_length, data, link_type in batch:
            yield number, RawPacket(t_ns, original_length, data, link_type)


def ip_packets(path: str, piped: bytes | None = None) -> list[IpPacket] | None:
    """The outermost IP packets of a capture, in its order; None beyond 200,000 records or 256 MiB.

    Parameters
    ----------
    path : str or Parts
    piped : bytes, optional
        The content of the file, where that came through a pipe.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    paths = several(path)
    found = called(named(paths), lambda: _core.ip_packets(paths, piped))
    return None if found is None else [IpPacket(*one) for one in found]


def bytes_covered_before(first: Array, length: Array) -> Array:
    """Of each stretch of bytes, in order, how many of its bytes an earlier one had.

    Parameters
    ----------
    first, length : int64 array
        First byte and number of bytes of each.

    Returns
    -------
    int64 array
    """
    return _core.bytes_covered_before(
        np.ascontiguousarray(first, dtype=np.int64), np.ascontiguousarray(length, dtype=np.int64)
    )


def sniff_dccp(head: bytes) -> bool:
    """Whether these are the first bytes of a capture of DCCP."""
    return _core.sniff_dccp(head)


def read_dccp(path: str) -> Scan:
    """Table `dccp_packets` of a capture.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return scanned(path, _core.read_dccp)
