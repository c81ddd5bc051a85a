"""Two logs of the two ends of one link: a frame is received after it was sent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from multitracer.alignment.clocks import Int, fit
from multitracer.alignment.relation import NO_TIMES, Pairs, Relation
from multitracer.model.table import Array, Table
from multitracer.model.trace import Trace

_SENT, _RECEIVED = 0, 1


def join(
    a: int, b: int, first: Trace, second: Trace, mapped: Callable[[Int, Int], Int], span_ns: tuple[int, int]
) -> Relation | None:
    """Join two logs of the two ends of one link: a frame is received after it was sent.

    Frames are distinguished by entity direction and stream offset; only frames sent once and received once
    count.

    Parameters
    ----------
    a, b : int
        The logs among the sources.
    first, second : Trace
        The logs, in the same order.
    span_ns : (int, int)
        First and last time of the second log, as stamped.
    mapped : callable
        ``mapped(t_ns, record)``: times of the first log on the reference timeline.

    Returns
    -------
    Relation or None
        None if fewer than three frames each way can be distinguished in both.
    """
    frames_a, frames_b = first.tables["link_frames"], second.tables["link_frames"]
    there = _once(frames_a, _SENT), _once(frames_b, _RECEIVED)
    back = _once(frames_a, _RECEIVED), _once(frames_b, _SENT)

    def paired(rows: tuple[Array, Array]) -> Pairs:
        _, i, j = np.intersect1d(
            frames_a["offset"][rows[0]], frames_b["offset"][rows[1]], assume_unique=True, return_indices=True
        )
        x, y = rows[0][i], rows[1][j]
        return Pairs(frames_a["t_ns"][x], frames_b["t_ns"][y], frames_a["record"][x], frames_b["record"][y])

    a_first, b_first = paired(there), paired(back)
    if len(a_first) < 3 or len(b_first) < 3:
        return None
    fitted = fit(
        a_first.points(mapped(a_first.t_a, a_first.record_a)),
        b_first.points(mapped(b_first.t_a, b_first.record_a)),
        span_ns,
    )
    if fitted.bound_ns is None or fitted.violations_ns:
        return None
    return Relation(a, b, a_first, b_first, "hull", fitted, None, dict(fitted.evidence))


def _once(frames: Table, action: int) -> Array:
    """Rows of frames that were sent (or received) exactly once."""
    rows = np.flatnonzero((frames["action"] == action) & (frames["offset"] >= 0))
    _, at, count = np.unique(frames["offset"][rows], return_index=True, return_counts=True)
    return rows[at[count == 1]] if len(rows) else NO_TIMES
