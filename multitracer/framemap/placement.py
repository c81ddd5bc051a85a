"""Where each packet lies in the byte stream: sizes added up, held to where the stream shows itself.

A short frame ends a packet: the send buffer ran empty. Behind a reset the stream goes on with a new packet:
flushed bytes keep their numbers. Between two such anchors the sizes must add up; where they do, every
boundary is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from multitracer.framemap.stream import Int, Stream
from multitracer.ppp.sizes import PLAIN, Framing, Sizes, escape_rate, sizes
from multitracer.table import Array

_FLAG_NS = 1_000_000_000  # PPP drivers open a frame with a flag of its own after a second of silence
_NEVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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

    Nothing in such a frame says which packet it carries: one that was dropped in front of the link is taken
    for the next one of its size, and each behind it may lie one packet further on.
    """
    arrived = stream.arrived_ns[placed.rows] >= 0
    frame = np.searchsorted(stream.first["offset"], placed.first)
    heard = np.append(stream.heard_ns, -1)[frame] >= 0
    contradicted = np.flatnonzero(heard & ~arrived)
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
    # Counted packets may be taken for their neighbours.
    exact = np.full(len(rows), 0 if stream.counted is None else stream.payload_bytes, dtype=np.int64)
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
    # All that had come by then; a link of whole packets may have more of them in its queue.
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


def place(stream: Stream, framing: Framing, limit: int | None = None, dropped_too: bool = False) -> Placement:
    """Add up the sizes under one framing.

    Parameters
    ----------
    stream : Stream
    framing : Framing
    limit : int, optional
        Only so many packets, to try a framing.
    dropped_too : bool
        Packets that the log calls dropped took their bytes nevertheless: given up by the link, not a queue.
    """
    rows = np.flatnonzero(~stream.dropped | dropped_too)[:limit].astype(np.int64)
    marks = anchors(stream, rows)
    found = sizes(framing, [stream.packets[row] for row in rows.tolist()])
    flags = _opening_flags(stream, rows, found) if framing.hdlc else np.zeros(len(rows), dtype=np.int64)
    rate = escape_rate(framing)
    placed = _walk(stream, rows, found, flags, marks, framing, rate)
    if any(one.unseen for one in found):
        rate = _observed_rate(placed, found, flags, rate)
        placed = _walk(stream, rows, found, flags, marks, framing, rate)
    return placed


def _walk(
    stream: Stream,
    rows: Int,
    found: list[Sizes],
    flags: Int,
    marks: Anchors,
    framing: Framing,
    rate: float,
) -> Placement:
    known = np.array([one.known for one in found], dtype=np.int64)
    unseen = np.array([one.unseen for one in found], dtype=np.int64)
    sums = np.concatenate([[0], np.cumsum(known)])
    blind = np.concatenate([[0], np.cumsum(unseen)])
    opened = np.concatenate([[0], np.cumsum(flags > 0)])
    guess = sums + np.round(blind * rate).astype(np.int64)
    bounds = np.full(len(rows) + 1, -1, dtype=np.int64)
    error = np.zeros(len(rows) + 1, dtype=np.int64)
    at = _begin(stream, rows)
    start, bounds[0] = 0, at
    matched = missed = 0
    for offset, low, high in zip(marks.offset.tolist(), marks.low.tolist(), marks.high.tolist(), strict=True):
        if start >= len(rows) or low > len(rows):
            break
        if offset <= at:
            continue
        low, high = max(low, start + 1), min(high, len(rows))
        span = offset - at
        least = sums[low : high + 1] - sums[start]
        hidden = blind[low : high + 1] - blind[start]
        most = least + opened[low : high + 1] - opened[start] + _most(hidden, rate)
        fits = np.flatnonzero((least <= span) & (span <= most))
        if not len(fits):
            missed += low <= high
            continue
        away = np.abs(guess[low : high + 1] - guess[start] - span)[fits]
        here = low + int(fits[np.argmin(away)])
        _fill(bounds, error, start, here, at, offset, known, unseen, flags, rate)
        matched += 1
        start, at = here, offset
    _tail(bounds, error, start, at, known, unseen, flags, rate)
    _clip(stream, rows, bounds, error)
    own = np.where(unseen > 0, flags >= _FLAG_NS, np.diff(bounds) > known)
    errors = np.maximum(error[:-1], error[1:])
    return Placement(rows, bounds[:-1], bounds[1:], errors, framing, matched, missed, own)


def _fill(
    bounds: Int,
    error: Int,
    start: int,
    end: int,
    at: int,
    offset: int,
    known: Int,
    unseen: Int,
    flags: Int,
    rate: float,
) -> None:
    """Boundaries between two anchors: bounded from both sides."""
    span = slice(start, end)
    surplus = offset - at - int(known[span].sum())
    extra = np.zeros(end - start, dtype=np.int64)
    hidden, pauses = np.cumsum(unseen[span]), flags[span]
    # Opening flags: behind the longest pauses. Where they are not is never quite certain.
    likely = np.argsort(-pauses, kind="stable")
    likely = likely[pauses[likely] >= (_FLAG_NS if hidden[-1] else 0)][:surplus]
    extra[likely] = 1
    escaped = surplus - len(likely)
    if escaped and hidden[-1]:
        extra += np.diff(np.round(hidden / hidden[-1] * escaped).astype(np.int64), prepend=0)
    bounds[start + 1 : end + 1] = at + np.cumsum(known[span] + extra)
    # A boundary is off by at most what may hide in front of it, or behind it.
    if hidden[-1]:
        opened = np.cumsum(pauses > 0)
        before, behind = _most(hidden, rate) + opened, _most(hidden[-1] - hidden, rate) + opened[-1] - opened
        slack = np.minimum(np.minimum(before, behind), surplus)
    else:
        slack = np.full(end - start, min(1, surplus))
    error[start + 1 : end] = slack[:-1]


def _tail(
    bounds: Int, error: Int, start: int, at: int, known: Int, unseen: Int, flags: Int, rate: float
) -> None:
    """Boundaries behind the last anchor: they drift."""
    rest = slice(start, len(known))
    hidden = np.cumsum(unseen[rest])
    bounds[start + 1 :] = at + np.cumsum(known[rest]) + np.round(hidden * rate).astype(np.int64)
    error[start + 1 :] = _most(hidden, rate) + np.cumsum(flags[rest] > 0)


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


def _most(unseen: Array, rate: float) -> Int:
    spread = np.where(unseen > 0, 5.0 * np.sqrt(unseen * rate * (1 - rate)) + 2, 0)
    return np.ceil(unseen * rate + spread).astype(np.int64)


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


def _opening_flags(stream: Stream, rows: Int, found: list[Sizes]) -> Int:
    """For each packet: the pause in front of it, if it is so long that it may have an opening flag; else 0.

    A packet is framed when the buffer in front of the frames runs low, so the frame that carries bytes
    some way ahead of it tells when that was.
    """
    places = _begin(stream, rows) + np.concatenate([[0], np.cumsum([one.known for one in found])])[:-1]
    first = stream.first
    ahead = np.searchsorted(first["offset"], places - 2 * stream.payload_bytes, side="right")
    framed = first["t_ns"][np.minimum(ahead, len(first) - 1)]
    framed = np.maximum(stream.segments["t_ns"][rows], framed)
    pause = np.diff(framed, prepend=framed[:1] - 10 * _FLAG_NS)
    return np.where(pause >= _FLAG_NS // 2, pause, 0).astype(np.int64)


def _observed_rate(placed: Placement, found: list[Sizes], flags: Int, rate: float) -> float:
    """Share of the bytes not captured that were escaped, by what the anchors left for them."""
    exact = placed.error == 0
    ends = np.flatnonzero(exact)
    if not len(ends) or placed.matched < 3:
        return rate
    last = int(ends[-1]) + 1
    unseen = sum(one.unseen for one in found[:last])
    if not unseen:
        return rate
    known = sum(one.known for one in found[:last])
    surplus = int(placed.end[last - 1] - placed.first[0]) - known
    return float(np.clip(surplus / unseen, 0.0, 1.0))


def _behind_resets(stream: Stream) -> tuple[Int, Int]:
    """Where the stream went on behind each reset, and how many packets at least had entered it by then."""
    first = stream.first
    at = np.searchsorted(first["t_ns"], stream.flushes[:, 0])
    at = at[(at > 0) & (at < len(first))]
    return first["offset"][at], np.zeros(len(at), dtype=np.int64)
