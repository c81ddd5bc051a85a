"""How fast an application writes at the beginning, while no window holds it yet."""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.transit import payload_at
from multitracer.model.timeline import Connection, Timeline

FEW = 6
"""With fewer segments after the first, the result is unknown."""
_LAST = 0.95
"""After this part of an RTT ACKs may have released what comes."""
_LONG = 0.6
"""A sender that paces its first window has sent it earlier: at twice a window in each RTT, or faster."""


def first_writes_bps(m: Timeline, connection: Connection, source: int, base_ns: int) -> float | None:
    """Bits of payload a second in the first RTT, before any ACK counts; None if all came sooner than that.

    Who has all to send sends its first window at once (RFC 6928), which a link before the capture stretches.

    Parameters
    ----------
    m : Timeline
        With segments.
    connection : Connection
    source : int
        The capture.
    base_ns : int
        The smallest RTT of the whole path.
    """
    rows = payload_at(m, connection, source)
    if not len(rows) or int(rows["seq"][0]) != 1:
        return None
    t_ns = rows["t_ns"]
    first = slice(0, int(t_ns.searchsorted(t_ns[0] + _LAST * base_ns)))
    ends = np.maximum.accumulate((rows["seq"] + rows["length"])[first])
    new = np.flatnonzero(np.diff(ends) > 0) + 1
    if len(new) < FEW:
        return None
    took_ns = int(t_ns[new[-1]] - t_ns[0])
    return None if took_ns < _LONG * base_ns else 8e9 * int(ends[-1] - ends[0]) / took_ns
