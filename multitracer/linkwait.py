"""When the link's own protocol kept its sender from sending data, whatever it had: window and checkpoint."""

from __future__ import annotations

import numpy as np

from multitracer.intervals import Intervals, intervals
from multitracer.linkpath import LinkPath, arrivals
from multitracer.measurement import Measurement
from multitracer.table import Array, Table

FOREVER = int(np.iinfo(np.int64).max)


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


def checkpoints(m: Measurement, path: LinkPath) -> Intervals:
    """Times in which the sender had polled and awaited the answer: until then it may not send data.

    From the first command with the P bit to the response with the F bit, to data that it sent nevertheless,
    or to a reset. Empty for logs that do not show these bits.

    References
    ----------
    3GPP TS 24.022, section 5.3 (T1, checkpointing); Paper 3.2.
    """
    events, frames = m.table("link_events"), m.table("link_frames")
    asked = events["t_ns"][
        (events["entity"] == path.sender) & _is(events, "action", "snd") & _is(events, "poll", "poll")
    ]
    # A capture of the air has every frame once, as it is sent.
    heard, action = (path.sender, "rcv")
    if not np.any(_is(frames, "action", "rcv")) and path.receiver is not None:
        heard, action = (path.receiver, "snd")
    answered = events["t_ns"][
        (events["entity"] == heard) & _is(events, "action", action) & _is(events, "poll", "final")
    ]
    carried = frames["t_ns"][
        (frames["entity"] == heard) & _is(frames, "action", action) & (frames["poll"] == 1)
    ]
    ends = np.sort(np.concatenate([answered, carried, path.sent["t_ns"], reset_ns(m, path.sender)]))
    asked = np.sort(asked)
    at = np.searchsorted(ends, asked, side="right")
    known = at < len(ends)
    return intervals(np.column_stack([asked[known], ends[at[known]]]))


def reset_ns(m: Measurement, entity: int) -> Array:
    """Times at which an entity emptied its buffers for a reset."""
    events = m.table("link_events")
    mine = _is(events, "kind", "reset") & (events["entity"] == entity)
    return np.sort(events["t_ns"][mine])


def _is(rows: Table, column: str, word: str) -> Array:
    return np.asarray(rows[column] == rows.code(column, word))


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
