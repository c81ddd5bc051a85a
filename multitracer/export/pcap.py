"""A pcap of some packets of a capture: of a connection, of a time window, of a verdict."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator

import dpkt
import numpy as np

from multitracer import native
from multitracer.export.files import writing
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.errors import UnreadableFile, UsageError
from multitracer.model.table import Array
from multitracer.native import RawPacket
from multitracer.output.results import Answers

VERDICTS = ("spurious", "genuine", "inconclusive", "retransmitted", "damaged")
FEW = 2_000  # packets of a capture that is no plain pcap: each is read from its beginning
LARGEST = 1 << 18
_CAPTURES = frozenset({"pcap", "pcapng", "gsmtap", "rlc", "dccp", "wifi"})
_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}


def write(
    analysis: Answers,
    path: str,
    *,
    point: str = "snd",
    conn: int | None = None,
    window_ns: tuple[int, int] = (-(2**62), 2**62),
    verdict: str | None = None,
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
        One of `VERDICTS`: segments of timeouts so judged, all that were sent again, or all with a wrong
        checksum.

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
    source = m.snd if point == "snd" else m.rcv
    captures = [index for index, one in enumerate(m.sources) if one.layer == "tcp"]
    if source is None and len(captures) == 1 and point == "snd":
        source = captures[0]
    if source is None:
        raise UsageError(f"no capture at point {point}")
    records = _records(analysis, source, conn, window_ns, verdict)
    if not len(records):
        raise UsageError("no packet fits the selection")
    origin = m.sources[source].path
    if m.sources[source].format not in _CAPTURES:
        raise UsageError(f"{origin} is a trace of a simulation, which holds no packets to copy; see --to csv")
    packets = _packets(origin, records)
    first = next(packets, None)
    if first is None:
        raise UnreadableFile(f"{origin}: is not the capture any more that was read")
    with writing(path, binary=True) as file:
        header = dpkt.pcap.FileHdr(
            magic=dpkt.pcap.TCPDUMP_MAGIC_NANO, snaplen=LARGEST, linktype=first.link_type
        )
        file.write(bytes(header))
        count = 0
        for packet in _with(first, packets):
            seconds, nanoseconds = divmod(packet.t_ns, 10**9)
            record = dpkt.pcap.PktHdr(
                tv_sec=seconds % 2**32,
                tv_usec=nanoseconds,
                caplen=len(packet.data),
                len=max(packet.original_length, len(packet.data)),
            )
            file.write(bytes(record) + packet.data)
            count += 1
    return count


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
    try:
        with open(path, "rb") as plain:
            zipped = plain.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if zipped else open(path, "rb") as file:
            header = file.read(24)
            if header[:4] in _MAGIC and len(header) == 24:
                yield from _pcap(file, *_MAGIC[header[:4]], header, set(records.tolist()))
                return
    except (OSError, EOFError) as error:
        raise UnreadableFile(f"{path}: {error}") from error
    if len(records) > FEW:
        raise UsageError(
            f"{path}: is no plain pcap; at most {FEW:,} of its packets can be exported; editcap -F pcap first"
        )
    for record in records.tolist():
        packet = native.packet(path, record)
        if packet is not None:
            yield packet


def _pcap(file: object, order: str, unit_ns: int, header: bytes, wanted: set[int]) -> Iterator[RawPacket]:
    link_type = struct.unpack_from(order + "I", header, 20)[0] & 0x0FFFFFFF
    read = file.read  # type: ignore[attr-defined]
    last, number = max(wanted), 0
    while number < last:
        head = read(16)
        if len(head) < 16:
            return
        seconds, fraction, kept, original = struct.unpack(order + "4I", head)
        if kept > LARGEST:
            return
        data = read(kept)
        number += 1
        if number in wanted and len(data) == kept:
            yield RawPacket(seconds * 10**9 + fraction * unit_ns, original, data, link_type)
