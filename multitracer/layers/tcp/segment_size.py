"""Payload of full segments, as the handshake agreed on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from multitracer.layers.packet_size import HEADERS_BYTES, PACKET_BYTES, TIMESTAMPS_BYTES
from multitracer.model.timeline import Connection


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
