"""When the sender of the link had nothing to send: evidence from the link log and the sender's capture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitracer.intervals import Intervals, intersect, intervals, longer_than, subtract, union
from multitracer.linkpath import LinkPath, arrivals
from multitracer.measurement import Measurement
from multitracer.transit import data_at

FOREVER = int(np.iinfo(np.int64).max)
EVIDENCE = ("short frame", "buffer flushed", "next frame carried data sent after it")


@dataclass(frozen=True)
class Silence:
    """Times in which the sending entity put no frame on the link, and what they were.

    Attributes
    ----------
    silent : Intervals
        All of them: no frame for longer than a slot and its tolerance, without the slot of the last frame.
    idle : Intervals
        The buffer was empty and the link would have taken data.
    full_window : Intervals
        The link's own window was closed: the oldest frame was not acknowledged yet.
    """

    silent: Intervals
    idle: Intervals
    full_window: Intervals


def find_silence(m: Measurement, path: LinkPath, span: Intervals, blocked: Intervals) -> Silence:
    """Tell idle times from those in which the link only waits.

    A sender that has data uses every slot, unless it is held off (`blocked`: XOFF, reset handshake) or its
    window is closed. A silent slot is idle only where the buffer is known to have been empty as well.

    Parameters
    ----------
    m : Measurement
    path : LinkPath
    span : Intervals
        The transfer.
    blocked : Intervals
        Times in which the link took no data.
    """
    silent = intersect(_silent(path, span), span)
    closed = full_window(m, path)
    empty = union(*empty_times(m, path, silent))
    open_ = subtract(subtract(silent, blocked), closed)
    idle = longer_than(intersect(open_, empty), path.tolerance_ns)
    return Silence(silent, idle, closed)


def empty_times(m: Measurement, path: LinkPath, silent: Intervals) -> tuple[Intervals, ...]:
    """Times in which the send buffer was empty, one set for each kind of `EVIDENCE`.

    It became empty with a frame that is not full, or with a flush, and stayed so until the next first
    transmission, or until TCP handed the link a packet: that would have left in the next slot.
    """
    times = path.first["t_ns"]
    handed = handed_ns(m, path)
    short = times[path.first["length"] < path.payload_bytes]
    flushed = reset_ns(m, path.sender)
    found = []
    for begin in (short, flushed):
        arrival = _next(handed, begin)
        taken = np.where(arrival < FOREVER, arrival + path.slot_ns + path.tolerance_ns, FOREVER)
        found.append(intervals(np.column_stack([begin, np.minimum(_next(times, begin), taken)])))
    # A stream may end exactly with a full frame. Then the next frame follows the next packet within a slot;
    # not so behind a flush, which leaves a frame waiting for the next packet whatever there was before.
    begin = silent[:, 0]
    arrival, frame = _next(handed, begin - path.slot_ns), _next(times, begin)
    fed = (arrival <= frame) & (frame - arrival <= path.slot_ns + path.tolerance_ns)
    fed &= (frame < FOREVER) & (_next(flushed, begin) > frame)
    found.append(intervals(np.column_stack([begin, frame])[fed]))
    return tuple(found)


def full_window(m: Measurement, path: LinkPath) -> Intervals:
    """Times in which as many frames were outstanding as the link's window allows.

    Acknowledgements are not in every log. A frame counts as acknowledged when it and all before it have
    arrived and the shortest way back is over; a reset begins anew.
    """
    if path.window is None or path.receiver is None:
        return intervals()
    sent = path.first["t_ns"]
    back = _shortest_way_back(m, path)
    rows = []
    low = 0
    for until in [*reset_ns(m, path.sender).tolist(), FOREVER]:
        high = int(np.searchsorted(sent, until))
        arrived = np.where(path.arrived_ns[low:high] >= 0, path.arrived_ns[low:high] + back, until)
        acked = np.minimum(np.maximum.accumulate(arrived), until)
        last = np.arange(low + path.window - 1, high)  # the frame that fills the window
        rows.append(np.column_stack([sent[last], acked[: len(last)]]))
        low = high
    return intervals(np.concatenate(rows))


def handed_ns(m: Measurement, path: LinkPath) -> npt.NDArray[np.int64]:
    """Times at which TCP handed packets to the link's sender: all segments of the data direction."""
    if m.snd is None:
        return np.zeros(0, dtype=np.int64)
    parts = [data_at(m, connection, m.snd)["t_ns"] for connection in m.connections]
    return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))


def reset_ns(m: Measurement, entity: int) -> npt.NDArray[np.int64]:
    """Times at which an entity emptied its buffers for a reset."""
    events = m.table("link_events")
    mine = (events["kind"] == events.code("kind", "reset")) & (events["entity"] == entity)
    return np.sort(events["t_ns"][mine])


def _silent(path: LinkPath, span: Intervals) -> Intervals:
    """Between frames that are more than a slot and the tolerance apart, and after the last one."""
    times = path.reports_ns
    end = int(span[-1, 1]) if len(span) else 0
    times = np.append(times, max(end, int(times[-1])))
    wide = np.diff(times) > path.slot_ns + path.tolerance_ns
    return intervals(np.column_stack([times[:-1] + path.slot_ns, times[1:]])[wide])


def _shortest_way_back(m: Measurement, path: LinkPath) -> int:
    """Smallest delay of a frame from the receiver to the sender; of the other way if none is known."""
    frames = m.table("link_frames").sorted_by("t_ns")
    back = frames.where(
        (frames["entity"] == path.receiver)
        & (frames["action"] == frames.code("action", "snd"))
        & (frames["attempt"] == 0)
    )
    for first, arrived in ((back, arrivals(back, frames, path.sender)), (path.first, path.arrived_ns)):
        delays = (arrived - first["t_ns"])[arrived >= 0]
        if len(delays):
            return max(int(delays.min()), 0)
    return 0


def _next(times: npt.NDArray[np.int64], after: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each time: the first of `times` (ascending) that is later; `FOREVER` if none is."""
    return np.append(times, FOREVER)[np.searchsorted(times, after, side="right")]
