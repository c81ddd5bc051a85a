"""How often a receiver closed its window, and for how long."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from multitracer.layers.tcp.transit import valid_acks
from multitracer.layers.vantage import vantage
from multitracer.model.timeline import Connection, Timeline


class WindowClosures(TypedDict):
    """Times in which a zero window was advertised."""

    count: int
    longest_s: float
    total_s: float


NONE: WindowClosures = {"count": 0, "longest_s": 0.0, "total_s": 0.0}
"""Of a window that was never closed."""


def window_closures(m: Timeline, connection: Connection) -> WindowClosures:
    """Closures of the window of the side that receives the data (RFC 9293 section 3.8.6).

    Each lasts from the first zero window to the next window that is none, as the capture next to the data
    shows them; one that never opened again, until the last ACK.
    """
    acks = valid_acks(m, connection, vantage(m, connection))
    closed = acks["window"] == 0
    begin = np.flatnonzero(closed & ~np.concatenate([[False], closed[:-1]]))
    if not len(begin):
        return NONE.copy()
    opened = np.flatnonzero(~closed)
    at = np.searchsorted(opened, begin)
    until = np.where(at < len(opened), np.append(opened, len(acks) - 1)[at], len(acks) - 1)
    lengths_ns = acks["t_ns"][until] - acks["t_ns"][begin]
    return {
        "count": len(begin),
        "longest_s": round(int(lengths_ns.max()) / 1e9, 6),
        "total_s": round(int(lengths_ns.sum()) / 1e9, 6),
    }
