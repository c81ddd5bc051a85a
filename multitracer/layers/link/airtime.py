"""Which transmissions on a link got through: each frame sent, matched to its reception.

A frame crosses a link in a constant time, and a receiver logs it when it is woken: a reception belongs to the
transmission of the same frame whose time fits. Copies that arrive twice are often logged by N(S) alone, so
that, and no place in the stream, is what names a frame; it comes again after 64 slots and more.
"""

from __future__ import annotations

import numpy as np

from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.table import Array
from multitracer.model.timeline import Timeline

LATE_SLOTS = 4  # how far from its time a reception may be logged


UNNUMBERED = ("SABM", "UA", "DISC", "DM", "XID", "UI", "TEST", "NULL")


def lines(
    m: Timeline, entity: int, action: str, *, signals: bool = True, unnumbered: bool = True
) -> tuple[Array, Array]:
    """Times of the frames that an entity sent, or that others received, and a number that names each.

    Parameters
    ----------
    m : Timeline
    entity : int
    action : {"snd", "rcv"}
    signals : bool
        Supervisory and unnumbered frames too.
    unnumbered : bool
        Unnumbered frames too, where signals are asked for.

    Returns
    -------
    t_ns : int64 array
        By time.
    key : int64 array
        The same number for each transmission of a frame; as long as `t_ns`.
    """
    times, keys = [], []
    for name in ("link_frames", "link_events")[: 1 + signals]:
        rows = m.table(name)
        from_it = rows["entity"] == entity
        rows = rows.where((rows["action"] == rows.code("action", action)) & (from_it == (action == "snd")))
        if name == "link_events" and not unnumbered:
            rows = rows.where(~np.isin(rows.words("kind").astype(str), UNNUMBERED))
        number = rows["ns"] if name == "link_frames" else rows["nr"]
        kind = 0 if name == "link_frames" else 1 + rows["kind"].astype(np.int64)
        times.append(rows["t_ns"])
        keys.append(kind * 2**20 + np.clip(number, -1, 2**19).astype(np.int64))
    t_ns, key = np.concatenate(times), np.concatenate(keys)
    order = np.argsort(t_ns, kind="stable")
    return t_ns[order], key[order]


def usual_delay_ns(sent_ns: Array, sent_key: Array, arrived_ns: Array, arrived_key: Array) -> int | None:
    """From sending to reception: the usual time from a reception back to the last sending of that frame.

    Parameters
    ----------
    sent_ns : array
        When frames were sent, in nanoseconds.
    sent_key : array
        The number that names each.
    arrived_ns : array
        When frames were received.
    arrived_key : array
        The number that names each, as in `sent_key`.

    Returns
    -------
    int or None
        The median; None if nothing that was sent was received.
    """
    order = np.lexsort((sent_ns, sent_key))
    keys, times = sent_key[order], sent_ns[order]
    # The latest sending of the same frame that is older, by key and time at once.
    steps = sorted_unique(sent_ns)
    rank = np.searchsorted(steps, times) + keys * (len(steps) + 1)
    wanted = np.searchsorted(steps, arrived_ns) + arrived_key * (len(steps) + 1)
    at = np.searchsorted(rank, wanted, side="left") - 1
    fits = at >= 0
    fits[fits] = keys[at[fits]] == arrived_key[fits]
    delays = arrived_ns[fits] - times[at[fits]]
    return int(np.median(delays)) if len(delays) else None


def received_ns(
    sent_ns: Array, sent_key: Array, arrived_ns: Array, arrived_key: Array, slot_ns: int
) -> Array:
    """For each transmission: when it was received; -1 if it was not.

    Parameters
    ----------
    sent_ns, sent_key, arrived_ns, arrived_key : arrays
        As `lines` gives them.
    slot_ns : int
        Time between two frames.

    Returns
    -------
    int64 array
        As long as `sent_ns`, in nanoseconds.
    """
    found = np.full(len(sent_ns), -1, dtype=np.int64)
    delay = usual_delay_ns(sent_ns, sent_key, arrived_ns, arrived_key)
    if delay is None:
        return found
    for key in np.unique(arrived_key).tolist():
        mine = np.flatnonzero(sent_key == key)
        if not len(mine):
            continue
        expected = sent_ns[mine] + delay
        times = arrived_ns[arrived_key == key]
        after = np.searchsorted(expected, times)
        near = np.stack([np.maximum(after - 1, 0), np.minimum(after, len(mine) - 1)])
        best = near[np.argmin(np.abs(expected[near] - times), axis=0), np.arange(len(times))]
        fits = np.abs(expected[best] - times) <= LATE_SLOTS * slot_ns
        found[mine[best[fits]]] = times[fits]
    return found
