"""When the sender of the link had nothing to send: evidence from the link log and the sender's capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.layers import framemap
from multitracer.layers.link.path import LinkPath
from multitracer.layers.link.waits import FOREVER, checkpoints, full_window, reset_ns
from multitracer.layers.tcp.flow_batch import flows
from multitracer.model.arrays.intervals import Intervals, intersect, intervals, longer_than, subtract, union
from multitracer.model.frozen import frozen
from multitracer.model.timeline import Timeline

if TYPE_CHECKING:
    import numpy.typing as npt

EVIDENCE = (
    "short frame",
    "buffer flushed",
    "next frame carried data sent after it",
    "the frames of all packets before it were sent",
)


@frozen
class Silence:
    """Times in which the sending entity put no data on the link, and what they were.

    Attributes
    ----------
    silent : Intervals
        All of them: no data frame for longer than a slot and its tolerance, without the slot of the last one.
        A supervisory frame alone in its slot shows that there was no data to carry it.
    idle : Intervals
        The buffer was empty and the link would have taken data.
    full_window : Intervals
        The link's own window was closed: the oldest frame was not acknowledged yet.
    checkpoint : Intervals
        The link had polled and awaited the answer; it may not send data before that.
    """

    silent: Intervals
    idle: Intervals
    full_window: Intervals
    checkpoint: Intervals


def find_silence(m: Timeline, path: LinkPath, span: Intervals, blocked: Intervals) -> Silence:
    """Distinguish idle times from those in which the link only waits.

    A sender that has data uses every slot, unless it is stopped (`blocked`: XOFF, reset handshake), its
    window is closed, or it waits for the answer to a poll. A slot without a frame is idle only where the
    buffer is known to have been empty as well.

    Parameters
    ----------
    m : Timeline
    path : LinkPath
    span : Intervals
        The transfer.
    blocked : Intervals
        Times in which the link took no data.
    """
    silent = intersect(_silent(path, span), span)
    closed, polling = full_window(m, path), checkpoints(m, path)
    empty = union(*empty_times(m, path, silent))
    open_ = subtract(silent, union(blocked, closed, polling))
    idle = longer_than(intersect(open_, empty), path.tolerance_ns)
    return Silence(silent, idle, closed, polling)


def empty_times(m: Timeline, path: LinkPath, silent: Intervals) -> tuple[Intervals, ...]:
    """Times in which the send buffer was empty, one set for each kind of `EVIDENCE`.

    It became empty with a frame that is not full, or with a flush, and stayed so until the next first
    transmission, or until TCP handed the link a packet: that would have left in the next slot.

    Parameters
    ----------
    m : Timeline
    path : LinkPath
        The link in the direction of the data.
    silent : Intervals
        Times without a first transmission.

    Returns
    -------
    tuple of Intervals
        In the order of `EVIDENCE`.
    """
    times = path.first["t_ns"]
    handed = handed_ns(m, path)
    short = times[path.first["length"] < path.payload_bytes]
    # Its length is the packet's, or the grant's, independent of what waits behind it.
    if path.kind.unit == "packet" or not path.has_full_frames:
        short = times[:0]
    flushed = reset_ns(m, path.sender)
    found = []
    for begin in (short, flushed):
        arrival = _next(handed, begin)
        taken = np.where(arrival < FOREVER, arrival + path.slot_ns + path.tolerance_ns, FOREVER)
        found.append(intervals(np.column_stack([begin, np.minimum(_next(times, begin), taken)])))
    # A stream may end exactly with a full frame. Then the next frame follows the next packet within a slot;
    # not so after a flush, which always leaves a frame waiting for the next packet.
    begin = silent[:, 0]
    arrival, frame = _next(handed, begin - path.slot_ns), _next(times, begin)
    fed = (arrival <= frame) & (frame - arrival <= path.slot_ns + path.tolerance_ns)
    fed &= (frame < FOREVER) & (_next(flushed, begin) > frame)
    placed = _nothing_placed(m, path, flushed)
    # Nothing of that is known of a link that waits for its turn on a shared medium, if the map is complete.
    fed &= not (path.kind.shared and len(placed))
    found.append(intervals(np.column_stack([begin, frame])[fed]))
    found.append(placed)
    return tuple(found)


def _nothing_placed(m: Timeline, path: LinkPath, flushed: npt.NDArray[np.int64]) -> Intervals:
    """Times between a packet's last frame, by the map of packets to frames, and the next packet."""
    spans = framemap.of(m).spans
    mine = spans.where(
        (spans["entity"] == path.sender)
        & (spans["first"] >= 0)
        & (spans["method"] != spans.code("method", "anchors"))
    )
    if not len(mine):
        return intervals()
    ends = path.first["offset"] + path.first["length"]
    # A byte or two missing on the map would have had the next slot: an empty slot shows that there were none.
    last = np.searchsorted(ends, mine["end"] - mine["error"])
    left = np.append(path.first["t_ns"], FOREVER)[last]
    # What was in the buffer at a flush never leaves; what waited in front of it does.
    begun = np.where(mine["sent_ns"] >= 0, mine["sent_ns"], mine["t_ns"])
    left = np.minimum(left, _next(flushed, begun))
    busy = np.column_stack([mine["t_ns"], np.maximum(left, mine["t_ns"])])
    return subtract(intervals([(int(mine["t_ns"].min()), FOREVER)]), intervals(busy))


def handed_ns(m: Timeline, path: LinkPath) -> npt.NDArray[np.int64]:
    """Times at which TCP handed packets to the link's sender: all segments of the data direction."""
    if m.snd is None:
        return np.zeros(0, dtype=np.int64)
    return np.sort(flows(m, m.connections, m.snd)["t_ns"])


def _silent(path: LinkPath, span: Intervals) -> Intervals:
    """Between data frames that are more than a slot and the tolerance apart, and after the last one."""
    times = path.sent["t_ns"]
    end = int(span[-1, 1]) if len(span) else 0
    times = np.append(times, max(end, int(times[-1])))
    wide = np.diff(times) > path.slot_ns + path.tolerance_ns
    # A frame takes the slot that begins with it; received on a shared medium, it is over at its time.
    used_ns = 0 if path.kind.shared else path.slot_ns
    return intervals(np.column_stack([times[:-1] + used_ns, times[1:]])[wide])


def _next(times: npt.NDArray[np.int64], after: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each time: the first of `times` (ascending) that is later; `FOREVER` if none is."""
    return np.append(times, FOREVER)[np.searchsorted(times, after, side="right")]
