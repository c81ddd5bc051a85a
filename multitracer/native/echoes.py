"""RTTs by timestamps: from the first segment with a stamp to the ACK that echoes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import multitracer._core as _core
from multitracer.native.flow_rows import bounds

if TYPE_CHECKING:
    from multitracer.model.table import Array, Table
    from multitracer.native.flow_rows import Bounds


class Echoes(NamedTuple):
    """Samples of ACKs that advance.

    Attributes
    ----------
    row : array of int64
        Which ACK, among the valid ones of all connections.
    rtt_ns : array of int64
        From the first segment that carried the stamp that it echoes.
    stamped : array of bool
        Whether both ends of each connection used the option.
    """

    row: Array
    rtt_ns: Array
    stamped: Array


def echoes(segments: Table, data: Bounds, acks: Bounds) -> Echoes:
    """RTTs of connections by the timestamps option.

    Parameters
    ----------
    segments : Table
        All segments, flow after flow, each in order of time.
    data, acks : two arrays of int64, shape (n,)
        The flow of the data of each connection, and that of the ACKs for it: its first row, and the one
        behind its last.

    Returns
    -------
    Echoes

    Raises
    ------
    ValueError
        Bounds of different lengths, or rows that there are not.

    References
    ----------
    RFC 7323 section 4.
    """
    columns = (
        segments["t_ns"],
        segments["ack"],
        segments["ts_val"],
        segments["ts_ecr"],
        segments["checksum"],
    )
    return Echoes(*_core.timestamp_echoes(columns, bounds(data), bounds(acks)))
