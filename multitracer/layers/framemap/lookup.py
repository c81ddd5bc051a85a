"""The map of segments to frames as tables, and questions to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multitracer.layers.framemap.placement import Entered, Placement, by_content, entered, in_doubt, place
from multitracer.layers.framemap.sizes import FRAMINGS, PLAIN, Framing
from multitracer.layers.framemap.stream import Int, Stream, streams
from multitracer.model.errors import UsageError
from multitracer.model.frozen import frozen
from multitracer.model.schema.chains import PACKET_FRAMES, PACKET_SPANS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

_TRIALS = ((40, 12), (200, 4))
"""Packets on which framings are tried, and how many of them stay."""
_AGREED = 0.8


@frozen
class FrameMap:
    """Segments and frames, both ways.

    Attributes
    ----------
    spans : Table
        `PACKET_SPANS`: one row for each TCP segment that was handed to the link.
    frames : Table
        `PACKET_FRAMES`: one row for each pair of segment and frame.
    facts : list of dict
        For each direction: how packets are framed, and how well their sizes met the anchors.
    """

    measurement: Timeline
    spans: Table
    frames: Table
    facts: list[dict[str, Any]]

    def frames_of(self, record: int, source: int | None = None) -> Table:
        """Frames that carried a packet.

        Parameters
        ----------
        record : int
            Number of the packet in the capture next to its sender.
        source : int, optional
            Index of that capture; the one next to the data sender by default.

        Raises
        ------
        UsageError
            If that packet is not on the map.
        """
        source = self.measurement.snd if source is None else source
        if not np.any((self.spans["record"] == record) & (self.spans["source"] == source)):
            raise UsageError(
                f"packet {record} of source {source} is not on the map: only TCP segments are, in the "
                "capture next to the host that sent them"
            )
        return self.frames.where((self.frames["record"] == record) & (self.frames["source"] == source))

    def lines_of(self, row: int) -> str:
        """Lines of the link log that carried the segment in a row of `spans`: first to last; or empty."""
        mine = self.frames.where(
            (self.frames["record"] == self.spans["record"][row])
            & (self.frames["source"] == self.spans["source"][row])
        )
        if not len(mine):
            return ""
        first, last = int(mine["frame_record"].min()), int(mine["last_record"].max())
        return f"{first}" if first == last else f"{first}-{last}"

    def packets_of(self, record: int, source: int | None = None) -> Table:
        """Segments that a frame carried bytes of.

        Parameters
        ----------
        record : int
            Line of any of the frame's transmissions or receptions in the link log.
        source : int, optional
            Index of that log, if there are several.

        Raises
        ------
        UsageError
            If that line is not a data frame.
        """
        rows = self.measurement.table("link_frames")
        mine = rows["record"] == record
        if source is not None:
            mine &= rows["source"] == source
        found = np.flatnonzero(mine & (rows["offset"] >= 0))
        if not len(found):
            raise UsageError(f"line {record} of the link log is not a data frame with a place in the stream")
        line = int(found[0])
        received = rows["action"][line] == rows.code("action", "rcv")
        own = self.frames["entity"] == rows["entity"][line]
        pairs = self.frames.where((self.frames["offset"] == rows["offset"][line]) & (own != bool(received)))
        keys = _keys(self.spans)
        return self.spans.where(np.isin(keys, _keys(pairs)))


def frame_map(m: Timeline) -> FrameMap:
    """Make the map of a measurement; empty tables where a link log or a capture is missing."""
    spans, frames, facts = [], [], []
    found = streams(m)
    for stream, placed_by_size in zip(found, _placed(found), strict=True):
        by_size = stream.offsets is None and m.link_type(stream.entity).observer == "monitor"
        placed = in_doubt(stream, placed_by_size) if by_size else placed_by_size
        spans.append(_spans(stream, placed))
        frames.append(_pairs(stream, placed))
        facts.append(_facts(m, stream, placed))
    return FrameMap(m, Table.concat(PACKET_SPANS, spans), Table.concat(PACKET_FRAMES, frames), facts)


def _placed(found: list[Stream]) -> list[Placement]:
    """Placements under the framing that meets most anchors in both directions; the simplest of equals."""
    if not found:
        return []
    known = [None if one.offsets is None else by_content(one, one.offsets) for one in found]
    if any(known):
        rest = iter(_placed([one for one in found if one.offsets is None]))
        return [placed if placed is not None else next(rest) for placed in known]
    if all(stream.own_frames for stream in found):
        framings: Sequence[Framing] = (PLAIN,)
    elif all(stream.whole for stream in found):
        framings = FRAMINGS
    else:  # without bytes there are no escapes to count: only the headers differ
        framings = [one for one in FRAMINGS if not (one.accm or one.vj)]
    for limit, kept in _TRIALS:
        tried = [entered(one, limit) for one in found]
        merits = [_merit(_under(framing, found, tried)) for framing in framings]
        order = sorted(range(len(framings)), key=lambda index: merits[index], reverse=True)
        framings = [framings[index] for index in order[:kept]]
    # A link's own log may call packets dropped that it gave up after sending them: those took their bytes.
    drops = any(np.any(one.dropped) for one in found)
    grounds = [[entered(one, None, too) for one in found] for too in ((False, True) if drops else (False,))]
    candidates = [_under(framing, found, ground) for framing in framings for ground in grounds]
    return max(candidates, key=_merit)


def _under(framing: Framing, found: list[Stream], known: list[Entered]) -> list[Placement]:
    """Both directions under one framing."""
    return [place(stream, framing, one) for stream, one in zip(found, known, strict=True)]


def _merit(trials: list[Placement]) -> tuple[float, float]:
    """Anchors met first; of equals, the one that depends less on chance."""
    agreement = sum(one.agreement for one in trials) / len(trials)
    loose = sum(float(one.error.sum()) for one in trials)
    return round(agreement, 2), -loose


def _spans(stream: Stream, placed: Placement) -> Table:
    rows = stream.segments
    count = len(rows)
    given: dict[str, Array] = {
        name: rows[name] for name in ("t_ns", "source", "record", "conn", "dir", "seq", "length", "ip_length")
    }
    filled = {name: np.full(count, -1, dtype=np.int64) for name in ("first", "end", "sent_ns", "complete_ns")}
    filled["first"][placed.rows], filled["end"][placed.rows] = placed.first, placed.end
    error = np.zeros(count, dtype=np.int64)
    error[placed.rows] = placed.error
    low, high = _covering(stream, placed)
    gone = _lost_bytes(stream, placed)
    sent, complete = _times(stream, low, high)
    filled["sent_ns"][placed.rows], filled["complete_ns"][placed.rows] = sent, complete
    frames, attempts, missing = (np.zeros(count, dtype=np.int64) for _ in range(3))
    frames[placed.rows] = high - low
    tries = np.concatenate([[0], np.cumsum(_attempts(stream)[0])])
    attempts[placed.rows] = tries[high] - tries[low]
    missing[placed.rows] = gone
    method = "framing" if placed.framing.hdlc else "sizes" if stream.offsets is None else "content"
    if stream.counted is not None:
        method = "order"
    if placed.agreement < _AGREED:
        method = "anchors"
    return Table.filled(
        PACKET_SPANS,
        count,
        {
            **given,
            **filled,
            "error": error,
            "entity": np.full(count, stream.entity),
            "method": np.full(count, PACKET_SPANS.code("method", method)),
            "frames": frames,
            "attempts": attempts,
            "missing": missing,
            "fate": _fates(stream, placed, gone),
            "arrived_ns": stream.arrived_ns,
        },
    )


def _fates(stream: Stream, placed: Placement, gone: Int) -> Array:
    code = PACKET_SPANS.code
    fate = np.full(len(stream.segments), code("fate", "dropped"), dtype=np.int8)
    length = placed.end - placed.first
    words = np.select(
        [gone < 0, gone == 0, gone >= length],
        [code("fate", "unknown"), code("fate", "carried"), code("fate", "flushed")],
        default=code("fate", "cut"),
    )
    if placed.framing.hdlc and placed.framing.flags == 1:
        words = np.where(_spoiled(stream, placed, gone), code("fate", "spoiled"), words)
    last = int(stream.first["offset"][-1]) + int(stream.first["length"][-1])
    fate[placed.rows] = np.where(placed.first >= last, code("fate", "waiting"), words)
    if stream.offsets is not None:
        # What a monitor did not see was sent nevertheless, unless a queue is known to have dropped it.
        fate[(stream.offsets < 0) & ~stream.dropped] = code("fate", "unknown")
    return fate


def _spoiled(stream: Stream, placed: Placement, gone: Int) -> Array:
    """Packets that came whole, but whose receiver still had the head of a cut one.

    Where two frames of PPP share a flag, nothing ends the head but the closing flag of the next packet: both
    are one frame with a wrong FCS (RFC 1662 section 4.3). After a pause a frame has a flag of its own.
    """
    found = np.zeros(len(gone), dtype=np.bool_)
    low, high = _covering(stream, placed)
    good = _delivered(stream)
    _, complete = _times(stream, low, high)
    arrived = stream.arrived_ns[placed.rows]
    came = (arrived >= 0) & (np.abs(arrived - complete) <= stream.late_ns + 5 * stream.slot_ns)
    head = False
    for row in np.flatnonzero(gone >= 0).tolist():
        if gone[row] == 0:
            found[row], head = head and not placed.opened[row] and not came[row], False
        elif low[row] < high[row] and good[low[row]]:
            head = True
    return found


def _covering(stream: Stream, placed: Placement) -> tuple[Array, Array]:
    """First frame that carried bytes of each packet, and one past the last."""
    first = stream.first
    ends = first["offset"] + first["length"]
    low = np.searchsorted(ends, placed.first, side="right")
    high = np.searchsorted(first["offset"], placed.end, side="left")
    return low, np.maximum(high, low)


def _lost_bytes(stream: Stream, placed: Placement) -> Int:
    """Bytes of each packet that no frame brought to the peer, or that its own reset threw away."""
    if stream.peer is None or not np.any(stream.received_ns >= 0):
        return np.full(len(placed.rows), -1, dtype=np.int64)
    first = stream.first
    good = _delivered(stream)
    starts, sizes = first["offset"][good], first["length"][good].astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(sizes)])

    def below(points: Int) -> Int:
        at = np.searchsorted(starts, points, side="right")
        over = np.clip(points - starts[np.maximum(at - 1, 0)], 0, sizes[np.maximum(at - 1, 0)])
        return np.asarray(np.where(at > 0, sums[np.maximum(at - 1, 0)] + over, 0), dtype=np.int64)

    if not len(starts):
        return placed.end - placed.first
    return np.asarray(placed.end - placed.first - (below(placed.end) - below(placed.first)), dtype=np.int64)


def _delivered(stream: Stream) -> Array:
    """Frames that the peer had together with all frames before them, before a reset threw them away.

    A receiver holds what came out of order; a reset empties it.
    """
    good = stream.received_ns >= 0
    if stream.own_frames:
        return np.asarray(good, dtype=np.bool_)
    never = np.full((1, 2), np.iinfo(np.int64).max)
    borders = np.concatenate([stream.flushes, never])
    low = 0
    ends = np.searchsorted(stream.first["t_ns"], borders[:, 0]).tolist()
    for high, until in zip(ends, borders[:, 1].tolist(), strict=True):
        alive = good[low:high] & (stream.received_ns[low:high] <= until)
        good[low:high] = np.logical_and.accumulate(alive)
        low = high
    return np.asarray(good, dtype=np.bool_)


def _times(stream: Stream, low: Array, high: Array) -> tuple[Int, Int]:
    never = np.full(len(low), -1, dtype=np.int64)
    some = high > low
    if not np.any(some):
        return never, never.copy()
    sent = np.where(some, np.append(stream.first["t_ns"], -1)[low], -1)
    good = _delivered(stream)
    reached = np.maximum.accumulate(np.where(good, stream.received_ns, -1))
    last = np.maximum(high - 1, 0)
    complete = np.where(some & good[last], reached[last], -1)
    return sent.astype(np.int64), complete.astype(np.int64)


def _attempts(stream: Stream) -> tuple[Int, Int, Int]:
    """For each first transmission: how often sent, when last, and in which line."""
    first, sent = stream.first, stream.sent
    at = np.searchsorted(first["offset"], sent["offset"])
    at = np.minimum(at, len(first) - 1)
    mine = first["offset"][at] == sent["offset"]
    count = np.bincount(at[mine], minlength=len(first)).astype(np.int64)
    last_ns, last_record = first["t_ns"].copy(), first["record"].copy()
    last_ns[at[mine]] = sent["t_ns"][mine]  # in time order: the last one stays
    last_record[at[mine]] = sent["record"][mine]
    return count, last_ns, last_record


def _pairs(stream: Stream, placed: Placement) -> Table:
    low, high = _covering(stream, placed)
    count = high - low
    packet = np.repeat(np.arange(len(placed.rows)), count)
    frame = np.repeat(low, count) + np.arange(len(packet)) - np.repeat(np.cumsum(count) - count, count)
    first = stream.first
    begin, end = first["offset"][frame], first["offset"][frame] + first["length"][frame]
    share = np.minimum(end, placed.end[packet]) - np.maximum(begin, placed.first[packet])
    slack = placed.error[packet]
    sure = np.minimum(end, placed.end[packet] - slack) - np.maximum(begin, placed.first[packet] + slack)
    tries, last_ns, last_record = _attempts(stream)
    rows = stream.segments
    own = {name: rows[name][placed.rows[packet]] for name in ("source", "record", "conn", "dir")}
    return Table.filled(
        PACKET_FRAMES,
        len(packet),
        {
            **own,
            "t_ns": first["t_ns"][frame],
            "offset": begin,
            "length": first["length"][frame],
            "share": share,
            "certain": (sure > 0) | (slack == 0),
            "entity": np.full(len(packet), stream.entity),
            "ns": first["ns"][frame],
            "frame_source": first["source"][frame],
            "frame_record": first["record"][frame],
            "last_record": last_record[frame],
            "attempts": tries[frame],
            "last_ns": last_ns[frame],
            "received_ns": stream.received_ns[frame],
        },
    )


def _facts(m: Timeline, stream: Stream, placed: Placement) -> dict[str, Any]:
    return {
        "entity": m.entities[stream.entity],
        "framing": _found_by(stream, placed),
        "packets": len(placed.rows),
        "dropped": int(stream.dropped.sum()),
        "exact": int(np.count_nonzero(placed.error == 0)),
        "error_bytes_max": int(placed.error.max()) if len(placed.error) else 0,
        "anchors": placed.matched + placed.missed,
        "anchors_met": placed.matched,
        "content": "whole" if all(len(data) >= length for length, data in stream.packets) else "cut",
    }


def _found_by(stream: Stream, placed: Placement) -> str:
    if stream.offsets is None:
        return placed.framing.name
    return "read in the frames" if stream.counted is None else "by length, order and arrival"


def _keys(rows: Table) -> Int:
    return np.asarray(rows["source"].astype(np.int64) << 48 | rows["record"], dtype=np.int64)
