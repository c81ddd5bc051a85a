"""For how long a link continued while the path of its data, or of the ACKs, was stalled."""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.transit import payload_at, valid_acks
from multitracer.model.timeline import Connection, Timeline

_ROUNDS = 2
"""What follows a stall is there within so many RTTs."""


def carried_on_ns(
    m: Timeline,
    connection: Connection,
    source: int,
    stall: tuple[int, int],
    rate: float,
    round_ns: int,
    *,
    before: bool = False,
) -> int:
    """For how long a link continued while the path stalled behind it, or the path of the ACKs.

    What comes at once when the stall is over, faster than the link carries it, had been carried before. What
    follows comes as much later as the link had nothing to carry.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture.
    stall : (int, int)
        Start and end in nanoseconds.
    rate : float
        Bytes of payload a second that the link carries.
    round_ns : int
        The base RTT: within two of it, what follows is there.
    before : bool
        Whether data stalled before it came to the capture, which is behind the link; else ACKs show it.
    """
    start_ns, end_ns = stall
    if before:
        rows = payload_at(m, connection, source)
        reached = rows["seq"] + rows["length"]
    else:
        rows = valid_acks(m, connection, source)
        reached = np.maximum(rows["ack"], rows["sack_high"])
    t_ns, reached = rows["t_ns"], np.maximum.accumulate(reached)
    until_ns = end_ns + min(end_ns - start_ns, _ROUNDS * round_ns)
    known, first, last = t_ns.searchsorted([start_ns + 1, end_ns, until_ns]).tolist()
    if not known or first == last or rate <= 0:
        return 0
    # A few packets may pass in the middle of a stall, and show nothing of what follows them.
    idle_ns = t_ns[first:last] - start_ns - (reached[first:last] - reached[known - 1]) / rate * 1e9
    # Up to the last of what comes at once it seems less; what follows shows how long it was.
    behind_ns = float(idle_ns[int(idle_ns.argmin()) :].max())
    return min(max(round(end_ns - start_ns - behind_ns), 0), end_ns - start_ns)
