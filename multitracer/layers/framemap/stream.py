"""One direction of the link: the packets that entered it in order, and the frames that carried its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from multitracer import native
from multitracer.layers.framemap.inside import seen_inside
from multitracer.layers.framemap.order import in_order
from multitracer.layers.link.path import LinkPath, arrivals, first_rows, link_path, setting
from multitracer.layers.link.resetlog import flushes, handshakes
from multitracer.layers.link.sendings import sendings
from multitracer.layers.tcp.losses import arrival_ns, queue_drops
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.arrays.statistics import medians
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.errors import MultiTracerError
from multitracer.model.frozen import frozen
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline
from multitracer.native import IpPacket

if TYPE_CHECKING:
    import numpy.typing as npt

Int: TypeAlias = "npt.NDArray[np.int64]"

_LARGE = 256  # frames of links that cut a stream are smaller; larger ones hold packets


@frozen
class Stream:
    """What entered one end of the link, and what the link did with it.

    Attributes
    ----------
    source : int
        The capture at that end.
    entity : int
        The link entity there.
    peer : int or None
    packets : list of tuple
        For each row of `segments`: length on the wire and captured bytes.
    segments : Table
        The TCP segments of that host, in the order of the capture.
    dropped : bool array
        Those that a queue in front of the link dropped: they never became part of the stream.
    arrived_ns : array
        When each passed the other capture; -1 if it did not, or there is none.
    sent : Table
        Frames of the entity, all transmissions, in time order.
    first : Table
        Of them, the first transmissions.
    received_ns : array
        For each row of `first`: when the peer received it; -1 if never seen.
    progress : tuple of array
        When the peer had how much of the stream in order: times, and the next offset expected.
    flushes : array
        One row for each time the entity emptied its buffers for a reset: that time, and when its peer did
        (what the peer had by then, it had).
    payload_bytes : int
    slot_ns : int
    late_ns : int
        Joint uncertainty of the clocks of the log and the capture.
    whole : bool
        Whether bytes of the packets are known; otherwise only their lengths.
    own_frames : bool
        Each packet is a frame of its own: the link has no frame size.
    prompt : bool
        Packets leave the link as their last frame comes in. With flow control they may wait behind it.
    offsets : array or None
        For each row of `segments`, its first byte in the stream where a capture of the link has the packet
        itself; -1 where that did not see it. None without one.
    counted : float or None
        `offsets` of frames that cannot be read were found by length, order and arrival: the share that
        agreed. None otherwise.
    sure : bool array or None
        With `counted`, for each row of `segments`: no other frame agrees as well.
    """

    source: int
    entity: int
    peer: int | None
    packets: list[tuple[int, bytes]]
    segments: Table
    dropped: npt.NDArray[np.bool_]
    arrived_ns: Int
    sent: Table
    first: Table
    received_ns: Int
    progress: tuple[Int, Int]
    flushes: Int
    payload_bytes: int
    slot_ns: int
    late_ns: int
    whole: bool
    own_frames: bool
    prompt: bool
    offsets: Int | None
    counted: float | None
    sure: npt.NDArray[np.bool_] | None


def streams(m: Timeline) -> list[Stream]:
    """Both directions of the link, as far as captures at its ends and a log of their frames exist."""
    path = link_path(m)
    if path is None or not len(m.table("segments")):
        return []
    ends = (
        (m.snd, m.rcv, path.sender, path.receiver, False),
        (m.rcv, m.snd, path.receiver, path.sender, True),
    )
    found = []
    for source, other, entity, peer, reverse in ends:
        if source is None or entity is None:
            continue
        stream = _stream(m, path, source, other, entity, peer, reverse)
        if stream is not None and other is not None and _arrives(stream):
            # This host sends most, but what is called the sender's capture is at the other one.
            stream = _stream(m, path, other, source, entity, peer, reverse)
        if stream is not None:
            found.append(stream)
    return found


def _stream(
    m: Timeline,
    path: LinkPath,
    source: int,
    other: int | None,
    entity: int,
    peer: int | None,
    reverse: bool,
) -> Stream | None:
    frames = m.table("link_frames").sorted_by("t_ns")
    sent = sendings(m, frames)
    sent = sent.where(
        (sent["entity"] == entity)
        & (sent["action"] == sent.code("action", "snd"))
        & (sent["offset"] >= 0)
        & (sent["length"] > 0)
    )
    first = sent.where(first_rows(m, sent))
    rows = m.table("segments")
    rows = rows.where((rows["source"] == source) & _from_host(m, rows, reverse))
    # The order of the file is the order in which the kernel handed packets on; times may be equal.
    rows = rows.sorted_by("record")
    if not len(first) or not len(rows):
        return None
    raw = {packet.record: packet for packet in _ip_packets(m, source) or ()}
    drops = [d.segment["record"] for d in queue_drops(m, path) if d.segment and d.entity == entity]
    flushed = _flushes(m, entity, peer)
    received_ns = arrivals(first, frames, peer)
    arrived = _arrived(m, rows, other)
    offsets, counted, sure = seen_inside(m, rows, first), None, None
    if offsets is None and other is not None and _monitored(m, entity):
        offsets, counted, sure = in_order(
            first, sent, received_ns, rows["ip_length"].astype(np.int64), arrived
        )
    return Stream(
        source,
        entity,
        peer,
        _bytes(rows, raw),
        rows,
        np.asarray(np.isin(rows["record"], np.array(drops, dtype=np.int64)), dtype=np.bool_),
        arrived,
        sent,
        first,
        received_ns,
        _progress(first, received_ns, flushed),
        flushed,
        path.payload_bytes,
        path.slot_ns,
        _joint_ns(m, source),
        bool(raw),
        setting(m, "payload_bytes") is None
        and (path.payload_bytes > _LARGE or holds_packets(first["length"], rows["ip_length"])),
        not np.any(m.table("link_events")["kind"] == m.table("link_events").code("kind", "RNR")),
        offsets,
        counted,
        sure,
    )


def holds_packets(frame_bytes: Int, packet_bytes: Int) -> bool:
    """Whether every frame is as long as one of the packets: a stream cut into frames leaves other lengths."""
    return bool(np.isin(frame_bytes, packet_bytes).all())


def _monitored(m: Timeline, entity: int) -> bool:
    """Whether a monitor saw the frames of an entity, each with a packet of its own."""
    kind = m.link_type(entity)
    return kind.unit == "packet" and kind.observer == "monitor"


def _from_host(m: Timeline, rows: Table, reverse: bool) -> Array:
    """Segments that the host at one end of the link sent: of the sender of the bulk, or of its peer."""
    known = rows["conn"] >= 0
    count = 1 + max((one.index for one in m.connections), default=0)
    bytes_of = np.zeros(count, dtype=np.int64)
    np.add.at(bytes_of, rows["conn"][known], rows["length"][known])
    best = max(m.connections, key=lambda one: int(bytes_of[one.index]), default=None)
    if best is None:
        return np.zeros(len(rows), dtype=bool)
    host = best.endpoints[1 - best.data_dir if reverse else best.data_dir][0]
    sends = np.zeros((count, 2), dtype=np.bool_)
    for connection in m.connections:
        if best.leaving >= 0 and connection.leaving >= 0:  # its own packets show more than its addresses
            side = connection.leaving if best.leaving == best.data_dir else 1 - connection.leaving
            sends[connection.index, 1 - side if reverse else side] = True
            continue
        sends[connection.index] = [address == host for address, _ in connection.endpoints]
    return np.asarray(known & sends[np.maximum(rows["conn"], 0), rows["dir"]])


def _arrives(stream: Stream) -> bool:
    """Whether packets pass this capture after the other one."""
    known = stream.arrived_ns >= 0
    return bool(np.any(known)) and bool(
        medians(stream.arrived_ns[known] - stream.segments["t_ns"][known]) < 0
    )


def _bytes(rows: Table, raw: dict[int, IpPacket]) -> list[tuple[int, bytes]]:
    found = []
    for record, length in zip(rows["record"].tolist(), rows["ip_length"].tolist(), strict=True):
        packet = raw.get(record)
        # A format without the packet's length has -1.
        found.append((packet.length, packet.data) if packet is not None else (max(length, 0), b""))
    return found


def _arrived(m: Timeline, rows: Table, other: int | None) -> Int:
    found = np.full(len(rows), -1, dtype=np.int64)
    if other is None:
        return found
    mine = Grouped(rows["conn"], rows["dir"])
    for conn in sorted_unique(rows["conn"]).tolist():
        for direction in (0, 1):
            own = mine.rows(conn, direction)
            if len(own):
                found[own] = arrival_ns(rows.where(own), m.flow(conn, direction, other))
    return found


def _ip_packets(m: Timeline, source: int) -> list[IpPacket] | None:
    """The IP packets of a capture as bytes; None if there are too many, or they cannot be read again."""
    capture = m.sources[source]
    if capture.format not in ("pcap", "pcapng"):
        return None
    try:
        return native.ip_packets(capture.path, m.traces[source].piped)
    except MultiTracerError:
        return None


def _flushes(m: Timeline, entity: int, peer: int | None) -> Int:
    if not m.link_type(entity).tells("flushes"):
        return np.zeros((0, 2), dtype=np.int64)
    found = handshakes(m)
    own, other = flushes(m, found, entity), flushes(m, found, peer)
    pairs = [(t_ns, max(theirs)) for mine, theirs in zip(own, other, strict=True) for t_ns in mine]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _progress(first: Table, received_ns: Int, flushed: Int) -> tuple[Int, Int]:
    """In-order delivery to the peer, as its receptions show it."""
    got = np.flatnonzero(received_ns >= 0)
    if not len(got):
        return received_ns[:0], received_ns[:0]
    # A frame is in order once all before it came; those that a reset took need not be waited for.
    when = received_ns[got].copy()
    edges = np.searchsorted(first["t_ns"][got], flushed[:, 0])
    for part in np.split(when, edges):
        np.maximum.accumulate(part, out=part)
    ends = (first["offset"] + first["length"])[got]
    order = np.argsort(when, kind="stable")
    return when[order], np.maximum.accumulate(ends[order])


def _joint_ns(m: Timeline, source: int) -> int:
    """How far a frame and a packet may be out of order on the timeline."""
    known = [clock.uncertainty_ns or 0 for clock in m.clocks if clock.source == source]
    known += [clock.uncertainty_ns or 0 for clock in m.clocks if m.sources[clock.source].layer == "link"]
    return sum(sorted(known)[-2:])
