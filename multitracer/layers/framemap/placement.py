"""Where each packet lies in the byte stream: sizes added up, held to where the stream shows itself.

A short frame ends a packet: the send buffer ran empty. After a reset the stream continues with a new packet:
flushed bytes keep their numbers. Between two such anchors the sizes must add up; where they do, every
boundary is exact.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multitracer import native
from multitracer.layers.framemap.sizes import PLAIN, Framing, Sizes, escape_rate, sizes
from multitracer.layers.framemap.stream import Int, Stream
from multitracer.model.frozen import frozen
from multitracer.model.table import Array

_FLAG_NS = 1_000_000_000  # PPP drivers open a frame with its own flag after an idle second


@frozen
class Anchors:
    """Stream offsets that end a packet.

    Attributes
    ----------
    offset : array
    low, high : array
        How many packets at least, and at most, had entered the link by then.
    """

    offset: Int
    low: Int
    high: Int


@frozen
class Placement:
    """Byte ranges of the packets that entered the stream.

    Attributes
    ----------
    rows : array
        Rows of `Stream.segments` that entered it.
    first, end : array
        Byte range of each.
    error : array
        How far either boundary may be off, in bytes; 0: exact.
    framing : Framing
    matched, missed : int
        Anchors that the sizes met, and those that they did not.
    opened : bool array
        Packets that have, or most likely have, an opening flag of their own.
    """

    rows: Int
    first: Int
    end: Int
    error: Int
    framing: Framing
    matched: int
    missed: int
    opened: Array

    @property
    def agreement(self) -> float:
        """Share of the anchors that were met; 1 where there are none."""
        known = self.matched + self.missed
        return self.matched / known if known else 1.0


def in_doubt(stream: Stream, placed: Placement) -> Placement:
    """Packets known by their sizes alone, from the first on whose frame got through and that never arrived.

    Nothing in such a frame shows which packet it carries: one that was dropped in front of the link is taken
    for the next one of its size, and each later one may be one packet further on.
    """
    arrived = stream.arrived_ns[placed.rows] >= 0
    frame = np.searchsorted(stream.first["offset"], placed.first)
    received = np.append(stream.received_ns, -1)[frame] >= 0
    contradicted = np.flatnonzero(received & ~arrived)
    if not arrived.any() or not len(contradicted):
        return placed
    behind = np.arange(len(placed.rows)) >= contradicted[0]
    return replace(placed, error=np.where(behind, placed.end - placed.first, placed.error))


def by_content(stream: Stream, offsets: Int) -> Placement:
    """Places that a capture of the link itself shows: exact; the packets that it has not seen are left out.

    Parameters
    ----------
    stream : Stream
    offsets : array
        By segment; -1 if not seen.
    """
    rows = np.flatnonzero(offsets >= 0)
    first = offsets[rows]
    length = np.array([stream.packets[row][0] for row in rows.tolist()], dtype=np.int64)
    # Packets that were not read may be taken for their neighbours.
    exact = np.zeros(len(rows), dtype=np.int64)
    if stream.sure is not None:
        exact[~stream.sure[rows]] = stream.payload_bytes
    agreed = len(rows) if stream.counted is None else round(stream.counted * len(rows))
    opened = np.zeros(len(rows), dtype=np.bool_)
    return Placement(rows, first, first + length, exact, PLAIN, agreed, len(rows) - agreed, opened)


def anchors(stream: Stream, rows: Int) -> Anchors:
    """Short frames and resets of a stream.

    Parameters
    ----------
    stream : Stream
    rows : array
        Segments that entered it.
    """
    first = stream.first
    ends = first["offset"] + first["length"]
    short = first["length"] < stream.payload_bytes
    if stream.own_frames:
        short = np.ones(len(first), dtype=bool)
    times = stream.segments["t_ns"][rows]
    margin = stream.late_ns + stream.slot_ns // 4
    # All that had arrived by then; a link of whole packets may have more of them in its queue.
    emptied = np.searchsorted(times, first["t_ns"] - margin - stream.slot_ns)
    found = [
        (ends[short], np.where(stream.own_frames, 0, emptied[short])),
        _behind_resets(stream),
    ]
    offset = np.concatenate([part[0] for part in found])
    low = np.concatenate([part[1] for part in found])
    high = np.concatenate(
        [
            np.searchsorted(times, first["t_ns"][short] + margin, side="right"),
            np.full(len(found[1][0]), len(rows)),
        ]
    )
    order = np.argsort(offset, kind="stable")
    return Anchors(offset[order], low[order].astype(np.int64), high[order].astype(np.int64))


@frozen
class Entered:
    """Packets that entered the stream, and the anchors that hold them: the same for every framing.

    Attributes
    ----------
    rows : array
        Rows of `Stream.segments`.
    packets : list of tuple
        As `Stream.packets`.
    marks : Anchors
    """

    rows: Int
    packets: list[tuple[int, bytes]]
    marks: Anchors


def entered(stream: Stream, limit: int | None = None, dropped_too: bool = False) -> Entered:
    """What there is to be placed.

    Parameters
    ----------
    stream : Stream
    limit : int, optional
        Only so many packets, to try a framing.
    dropped_too : bool
        Packets that the log calls dropped took their bytes nevertheless: given up by the link, not a queue.
    """
    rows = np.flatnonzero(~stream.dropped | dropped_too)[:limit].astype(np.int64)
    return Entered(rows, [stream.packets[row] for row in rows.tolist()], anchors(stream, rows))


def place(stream: Stream, framing: Framing, known: Entered) -> Placement:
    """Add up the sizes under one framing.

    Parameters
    ----------
    stream : Stream
        The link's stream of bytes in one direction.
    framing : Framing
        What is assumed of the framing: address and protocol field, escapes, header compression.
    known : Entered
        Packets that entered the stream, and anchors that hold them.

    Returns
    -------
    Placement
        Where each packet lies, with its errors.
    """
    rows = known.rows
    found = sizes(framing, known.packets)
    flags = _opening_flags(stream, rows, found) if framing.hdlc else np.zeros(len(rows), dtype=np.int64)
    rate = escape_rate(framing)
    placed = _walk(stream, known, found, flags, framing, rate)
    if found.unseen.any():
        rate = _observed_rate(placed, found, rate)
        placed = _walk(stream, known, found, flags, framing, rate)
    return placed


def _walk(
    stream: Stream, entered: Entered, found: Sizes, flags: Int, framing: Framing, rate: float
) -> Placement:
    rows, marks = entered.rows, entered.marks
    bounds, error, matched, missed = native.walk_anchors(
        (found.known, found.unseen, flags), (marks.offset, marks.low, marks.high), _begin(stream, rows), rate
    )
    _clip(stream, rows, bounds, error)
    own = np.where(found.unseen > 0, flags >= _FLAG_NS, np.diff(bounds) > found.known)
    errors = np.maximum(error[:-1], error[1:])
    return Placement(rows, bounds[:-1], bounds[1:], errors, framing, matched, missed, own)


def _clip(stream: Stream, rows: Int, bounds: Int, error: Int) -> None:
    """Hold boundaries that are not exact to what the receiver had when the packet came out of the link."""
    arrived = stream.arrived_ns[rows]
    steps, reached = stream.progress
    loose = np.flatnonzero((error[1:] > stream.payload_bytes) & (arrived >= 0))
    if not len(loose) or not len(steps):
        return
    times = arrived[loose]
    now = np.searchsorted(steps, times + stream.late_ns, side="right")
    before = np.searchsorted(steps, times - stream.slot_ns - stream.late_ns)
    high = np.append(0, reached)[now]
    low = np.append(0, reached)[before] if stream.prompt else np.zeros(len(loose), dtype=np.int64)
    sane = (low < high) & (now > 0)
    loose, low, high = loose[sane] + 1, low[sane], high[sane]
    bounds[loose] = np.clip(bounds[loose], low, high)
    room = np.maximum(high - bounds[loose], bounds[loose] - low)
    error[loose] = np.minimum(error[loose], room)
    np.maximum.accumulate(bounds, out=bounds)


def _begin(stream: Stream, rows: Int) -> int:
    """Offset of the first packet: the stream may have begun long before the capture."""
    if not len(rows):
        return 0
    first = stream.first
    t_ns = int(stream.segments["t_ns"][rows[0]]) - stream.late_ns - stream.slot_ns // 4
    row = int(np.searchsorted(first["t_ns"], t_ns))
    if row >= len(first):
        return int(first["offset"][-1] + first["length"][-1])
    return int(first["offset"][row])


def _opening_flags(stream: Stream, rows: Int, found: Sizes) -> Int:
    """For each packet: the pause in front of it, if it is so long that it may have an opening flag; else 0.

    A packet is framed when the buffer in front of the frames runs low, so the frame that carries bytes some
    way ahead of it shows when that was.
    """
    places = _begin(stream, rows) + np.concatenate([[0], np.cumsum(found.known)])[:-1]
    first = stream.first
    ahead = np.searchsorted(first["offset"], places - 2 * stream.payload_bytes, side="right")
    framed = first["t_ns"][np.minimum(ahead, len(first) - 1)]
    framed = np.maximum(stream.segments["t_ns"][rows], framed)
    pause = np.diff(framed, prepend=framed[:1] - 10 * _FLAG_NS)
    return np.where(pause >= _FLAG_NS // 2, pause, 0).astype(np.int64)


def _observed_rate(placed: Placement, found: Sizes, rate: float) -> float:
    """Share of the bytes not captured that were escaped, by what the anchors left for them."""
    ends = np.flatnonzero(placed.error == 0)
    if not len(ends) or placed.matched < 3:
        return rate
    last = int(ends[-1]) + 1
    unseen = int(found.unseen[:last].sum())
    if not unseen:
        return rate
    surplus = int(placed.end[last - 1] - placed.first[0]) - int(found.known[:last].sum())
    return float(np.clip(surplus / unseen, 0.0, 1.0))


def _behind_resets(stream: Stream) -> tuple[Int, Int]:
    """Where the stream continued after each reset, and how many packets at least had entered it by then."""
    first = stream.first
    at = np.searchsorted(first["t_ns"], stream.flushes[:, 0])
    at = at[(at > 0) & (at < len(first))]
    return first["offset"][at], np.zeros(len(at), dtype=np.int64)
