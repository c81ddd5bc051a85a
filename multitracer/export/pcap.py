"""A pcap of some packets of a capture: of a connection, of a time window, of a verdict."""

from __future__ import annotations

from collections.abc import Iterator

import dpkt
import numpy as np

from multitracer import native
from multitracer.anonymize.mapping import Mapping
from multitracer.anonymize.packets import LINKS, anonymous
from multitracer.export.files import writing
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.errors import UnreadableFile, UsageError
from multitracer.model.table import Array
from multitracer.model.timeline import Timeline
from multitracer.native import RawPacket
from multitracer.output.results import Answers

VERDICTS = ("spurious", "genuine", "inconclusive", "retransmitted", "damaged")
LARGEST = 1 << 18
_CAPTURES = frozenset({"pcap", "pcapng", "gsmtap", "rlc", "dccp", "wifi"})


def write(
    analysis: Answers,
    path: str,
    *,
    point: str = "snd",
    conn: int | None = None,
    window_ns: tuple[int, int] = (-(2**62), 2**62),
    verdict: str | None = None,
    mapping: Mapping | None = None,
) -> int:
    """Write the packets that fit all conditions, as they were captured, with nanoseconds.

    Parameters
    ----------
    path : str
        The file to be written.
    analysis : Answers
    point : {"snd", "rcv"}
        Which capture.
    conn : int, optional
        Connection; all by default.
    window_ns : tuple of int
        Times on the reference timeline.
    verdict : str, optional
        One of `VERDICTS`: segments of timeouts with this verdict, all retransmissions, or all with a wrong
        checksum.
    mapping : Mapping, optional
        Write headers only, with addresses so mapped.

    Returns
    -------
    int
        Packets written.

    Raises
    ------
    UsageError
        No such capture, no packet fits, or the file cannot be written.
    UnreadableFile
        If the capture is no longer what was read.
    """
    m = analysis.measurement
    source = capture_at(m, point)
    records = _records(analysis, source, conn, window_ns, verdict)
    if not len(records):
        raise UsageError("no packet fits the selection")
    origin = m.sources[source].path
    packets = _packets(origin, records)
    first = next(packets, None)
    if first is None:
        raise UnreadableFile(f"{origin}: has changed since it was read")
    if mapping is not None and first.link_type not in LINKS:
        raise UsageError(f"{origin}: packets of link type {first.link_type} cannot be anonymized")
    with writing(path, binary=True) as file:
        header = dpkt.pcap.FileHdr(
            magic=dpkt.pcap.TCPDUMP_MAGIC_NANO, snaplen=LARGEST, linktype=first.link_type
        )
        file.write(bytes(header))
        count = 0
        for packet in _with(first, packets):
            seconds, nanoseconds = divmod(packet.t_ns, 10**9)
            data = packet.data if mapping is None else anonymous(packet.data, packet.link_type, mapping)
            record = dpkt.pcap.PktHdr(
                tv_sec=seconds % 2**32,
                tv_usec=nanoseconds,
                caplen=len(data),
                len=max(packet.original_length, len(packet.data)),
            )
            file.write(bytes(record) + data)
            count += 1
    return count


def capture_at(m: Timeline, point: str) -> int:
    """The number of the source that holds the packets of an end; the only capture stands for the sender's.

    Raises
    ------
    UsageError
        No such capture, or it is no capture of packets.
    """
    source = m.snd if point == "snd" else m.rcv
    captures = [index for index, one in enumerate(m.sources) if one.layer == "tcp"]
    if source is None and len(captures) == 1 and point == "snd":
        source = captures[0]
    if source is None:
        raise UsageError(f"no capture at point {point}")
    if m.sources[source].format not in _CAPTURES:
        path = m.sources[source].path
        raise UsageError(f"{path} is a trace of a simulation, which holds no packets to copy; see --to csv")
    return source


def _records(
    analysis: Answers, source: int, conn: int | None, window_ns: tuple[int, int], verdict: str | None
) -> Array:
    """Numbers of the packets, ascending."""
    rows = analysis.measurement.table("segments")
    keep = (rows["source"] == source) & (rows["t_ns"] >= window_ns[0]) & (rows["t_ns"] < window_ns[1])
    if conn is not None:
        if conn not in {one.index for one in analysis.measurement.connections}:
            raise UsageError(f"connection {conn} does not exist")
        keep &= rows["conn"] == conn
    if verdict == "retransmitted":
        keep &= rows["duplicate"] > 0
    elif verdict == "damaged":
        keep &= rows["checksum"] == rows.code("checksum", "bad")
    elif verdict is not None:
        result = analysis.results.get("timeouts")
        judged = result.tables.get("timeouts") if result is not None else None
        if judged is None:
            raise UsageError("timeouts were not judged: the analysis is inconclusive")
        keep &= np.isin(rows["record"], judged["record"][judged.words("verdict") == verdict])
    return sorted_unique(rows["record"][keep])


def _with(first: RawPacket, others: Iterator[RawPacket]) -> Iterator[RawPacket]:
    yield first
    yield from others


def _packets(path: str, records: Array) -> Iterator[RawPacket]:
    """The packets of these numbers."""
    for _, packet in native.packets(path, records.tolist()):
        yield packet
