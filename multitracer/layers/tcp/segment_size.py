"""Payload of full segments, as the handshake agreed on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from multitracer.model.packet_size import HEADERS_BYTES, PACKET_BYTES, TIMESTAMPS_BYTES
from multitracer.model.timeline import Connection


def segment_bytes(connections: Sequence[Connection], source: int | None) -> npt.NDArray[np.int64]:
    """Payload of a full segment of each connection's data.

    What the handshake agreed on, else that of `PACKET_BYTES`.

    Parameters
    ----------
    connections : sequence of Connection
    source : int or None
        The capture whose summaries show it, if there is one.

    Returns
    -------
    array of int64
        One or more byte each.
    """
    usual = PACKET_BYTES - HEADERS_BYTES + TIMESTAMPS_BYTES
    found = []
    for connection in connections:
        summary = connection.summaries.get(-1 if source is None else source, {})
        found.append(agreed_bytes(summary, usual))
    return np.asarray(found, dtype=np.int64)


def agreed_bytes(summary: Mapping[str, Any], usual: int = 0) -> int:
    """Payload of a full segment by the smaller MSS of both SYNs, less the option of timestamps.

    Parameters
    ----------
    summary : mapping
        The tracker's, of one connection in one capture.
    usual : int
        The MSS where a SYN offers none.
    """
    sides = [summary.get(name) or {} for name in ("forward", "reverse")]
    mss = min(int(side.get("mss") or 0) for side in sides) or usual
    return max(mss - (TIMESTAMPS_BYTES if all(side.get("timestamps") for side in sides) else 0), 1)
