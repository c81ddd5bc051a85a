"""The size of an IP packet of most networks, and of what is in it beside data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from multitracer.model.timeline import Connection

PACKET_BYTES = 1500
"""The largest IP packet of most networks (the MTU of Ethernet)."""

TIMESTAMPS_BYTES = 12
"""The option of timestamps, with what fills it up (RFC 7323, appendix A)."""

HEADERS_BYTES = 40 + TIMESTAMPS_BYTES
"""The headers of IPv4 and of TCP with timestamps."""


def segment_bytes(connections: Sequence[Connection], source: int | None) -> npt.NDArray[np.int64]:
    """Payload of a full segment of each connection's data.

    What the handshake agreed on, else that of `PACKET_BYTES`.

    Parameters
    ----------
    connections : sequence of Connection
    source : int or None
        The capture whose summaries tell, if there is one.

    Returns
    -------
    array of int64
        One or more byte each.
    """
    found = []
    for connection in connections:
        summary = connection.summaries.get(-1 if source is None else source, {})
        sides = [summary.get(name) or {} for name in ("forward", "reverse")]
        offered = [int(side.get("mss") or 0) for side in sides]
        stamped = all(side.get("timestamps") for side in sides)
        known = min(offered) if min(offered) > 0 else PACKET_BYTES - HEADERS_BYTES + TIMESTAMPS_BYTES
        found.append(max(known - (TIMESTAMPS_BYTES if stamped else 0), 1))
    return np.asarray(found, dtype=np.int64)
