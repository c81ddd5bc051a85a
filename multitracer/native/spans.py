"""From the first data segment of connections to the ACK of their last byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import multitracer._core as _core
from multitracer.native.flow_rows import bounds

if TYPE_CHECKING:
    from multitracer.model.table import Array, Table
    from multitracer.native.flow_rows import Bounds


def spans(segments: Table, data: Bounds, acks: Bounds) -> tuple[Array, Array, Array]:
    """When the transfer of each connection began and ended.

    Parameters
    ----------
    segments : Table
        All segments, flow after flow, each in order of time.
    data, acks : two arrays of int64, shape (n,)
        The flow of the data of each connection, and that of the ACKs for it: its first row, and the one
        behind its last.

    Returns
    -------
    begin_ns, end_ns : array of int64, shape (n,)
        Without an ACK the end is the last data segment; both are 0 without data.
    carrying : array of bool, shape (n,)
        Which have data.

    Raises
    ------
    ValueError
        Bounds of different lengths, or rows that there are not.
    """
    columns = (segments["t_ns"], segments["seq"], segments["ack"], segments["length"], segments["checksum"])
    return _core.data_spans(columns, bounds(data), bounds(acks))
