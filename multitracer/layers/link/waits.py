"""When the link's own protocol kept its sender from sending data, whatever it had: window and checkpoint."""

from __future__ import annotations

import numpy as np

from multitracer.layers.link.path import LinkPath, arrivals
from multitracer.model.arrays.intervals import Intervals, intervals
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

_NONE = np.zeros(0, dtype=np.int64)
FOREVER = int(np.iinfo(np.int64).max)


def full_window(m: Timeline, path: LinkPath) -> Intervals:
    """Times in which as many frames were unacknowledged as the link's window allows.

    The N(R) that the sender receives acknowledges frames. Where a log does not show that of every frame,
    one counts as acknowledged when it and all before it have arrived and the shortest return delay has
    passed. One that never arrived blocks all later ones until a reset, or was given up: then the link
    continued after its last attempt. A reset begins anew.

    References
    ----------
    3GPP TS 24.022, section 5.2 (N(R), window).
    """
    if path.window is None or path.receiver is None:
        return intervals()
    sent = path.first["t_ns"]
    back = _shortest_return_ns(m, path)
    received = _received_nr(m, path)
    rows = []
    low = 0
    for until in [*reset_ns(m, path.sender).tolist(), FOREVER]:
        high = int(np.searchsorted(sent, until))
        acked = _acked_ns(path.first.where(np.arange(low, high)), *received, until)
        if acked is None:
            arrived = np.where(path.arrived_ns[low:high] >= 0, path.arrived_ns[low:high] + back, until)
            given_up = np.flatnonzero(arrived[: -path.window] == until)
            over = _last_attempt_ns(path, low + given_up) + path.slot_ns + back
            arrived[given_up] = np.minimum(sent[low + given_up + path.window], over)
            acked = np.minimum(np.maximum.accumulate(arrived), until)
        last = np.arange(low + path.window - 1, high)  # the frame that fills the window
        rows.append(np.column_stack([sent[last], acked[: len(last)]]))
        low = high
    return intervals(np.concatenate(rows))


def _last_attempt_ns(path: LinkPath, rows: Array) -> Array:
    """When rows of `first` were sent for the last time: what has one offset in the stream is one frame."""
    offset, t_ns = path.sent["offset"], path.sent["t_ns"]
    order = np.argsort(offset, kind="stable")
    last = np.searchsorted(offset[order], path.first["offset"][rows], side="right") - 1
    found: Array = t_ns[order][last]
    return found


def _received_nr(m: Timeline, path: LinkPath) -> tuple[Array, Array]:
    """N(R) values that the sender received, and when.

    Returns
    -------
    t_ns, number : array of int64
        By time; empty if the sender's log has none for data frames.
    """
    entity, action = _receptions(m, path)
    times, numbers = [], []
    for name in ("link_frames", "link_events"):
        rows = m.table(name)
        mine = rows.where((rows["entity"] == entity) & _is(rows, "action", action))
        if name == "link_frames" and np.any(mine["nr"] < 0):
            return _NONE, _NONE
        known = mine["nr"] >= 0
        times.append(mine["t_ns"][known])
        numbers.append(mine["nr"][known].astype(np.int64))
    t_ns, number = np.concatenate(times), np.concatenate(numbers)
    order = np.argsort(t_ns, kind="stable")
    return t_ns[order], number[order]


def _receptions(m: Timeline, path: LinkPath) -> tuple[int, str]:
    """Where what the sender receives is logged: a capture of the air has every frame once, as it is sent."""
    if not np.any(_is(m.table("link_frames"), "action", "rcv")) and path.receiver is not None:
        return path.receiver, "snd"
    return path.sender, "rcv"


def _acked_ns(first: Table, nr_ns: Array, nr: Array, until: int) -> Array | None:
    """When each frame of a stretch without a reset was acknowledged; None if no N(R) shows it.

    N(R) is the number of the frame expected next. Numbers begin anew after the highest one, which shows in
    the log: until then nothing is ambiguous, as fewer frames are unacknowledged than there are numbers.
    """
    sent, ns = first["t_ns"], first["ns"].astype(np.int64)
    low, high = (int(np.searchsorted(nr_ns, t)) for t in (sent[0] if len(sent) else 0, until))
    if low == high or not len(sent) or np.any(ns < 0):
        return None
    wraps = ns[:-1][np.diff(ns) < 0]
    modulus = int(wraps.max()) + 1 if len(wraps) else int(ns.max()) + 2
    acked = np.full(len(sent), until, dtype=np.int64)
    done, advanced = 0, False
    out = np.searchsorted(sent, nr_ns[low:high])
    expected = np.append(ns, (ns[-1] + 1) % modulus)
    for t_ns, number, count in zip(
        nr_ns[low:high].tolist(), nr[low:high].tolist(), out.tolist(), strict=True
    ):
        up_to = done + (number - int(expected[done])) % modulus
        if up_to <= count:
            acked[done:up_to] = t_ns
            done, advanced = up_to, advanced or up_to > done
    return acked if advanced else None


def checkpoints(m: Timeline, path: LinkPath) -> Intervals:
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
    entity, action = _receptions(m, path)
    answered = events["t_ns"][
        (events["entity"] == entity) & _is(events, "action", action) & _is(events, "poll", "final")
    ]
    carried = frames["t_ns"][
        (frames["entity"] == entity) & _is(frames, "action", action) & (frames["poll"] == 1)
    ]
    ends = np.sort(np.concatenate([answered, carried, path.sent["t_ns"], reset_ns(m, path.sender)]))
    asked = np.sort(asked)
    at = np.searchsorted(ends, asked, side="right")
    known = at < len(ends)
    return intervals(np.column_stack([asked[known], ends[at[known]]]))


def reset_ns(m: Timeline, entity: int) -> Array:
    """Times at which an entity emptied its buffers for a reset."""
    events = m.table("link_events")
    mine = _is(events, "kind", "reset") & (events["entity"] == entity)
    return np.sort(events["t_ns"][mine])


def _is(rows: Table, column: str, word: str) -> Array:
    return np.asarray(rows[column] == rows.code(column, word))


def _shortest_return_ns(m: Timeline, path: LinkPath) -> int:
    """Smallest delay of a frame from the receiver to the sender; of the other direction if none is known."""
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
