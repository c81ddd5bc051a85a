"""Data segments through the bottleneck, and which of them are sent once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import multitracer._core as _core
from multitracer.model.lazy import np
from multitracer.native.flow_rows import bounds
from multitracer.native.grouped import whole

if TYPE_CHECKING:
    import numpy.typing as npt

    from multitracer.model.table import Array, Table
    from multitracer.native.flow_rows import Bounds


class Passed(NamedTuple):
    """Packets with data, in the order in which they were handed over.

    Attributes
    ----------
    in_ns, out_ns : array of int64
        When each was handed over, and when its ACK came; `out_ns` is -1 if none shows anything about it.
    size : array of int64
        Bytes of its IP packets.
    again : array of float64
        Part of its bytes that is sent once more later, 0 to 1.
    """

    in_ns: Array
    out_ns: Array
    size: Array
    again: npt.NDArray[np.float64]


def passages(segments: Table, data: Bounds, acks: Bounds, full: Array, few: int) -> Passed:
    """How the data of connections passed the bottleneck, as their ACKs show it.

    How each is found: ``rust/core/src/segments/passages.rs``.

    Parameters
    ----------
    segments : Table
        All segments, flow after flow, each in order of time.
    data, acks : two arrays of int64, shape (n,)
        The flow of the data of each connection, and that of the ACKs for it: its first row, and the one
        behind its last.
    full : array of int64, shape (n,)
        Payload of a full segment of each connection.
    few : int
        Connections with fewer segments with payload are left out, and those without ACKs.

    Returns
    -------
    Passed

    Raises
    ------
    ValueError
        Bounds of different lengths, or rows that there are not.
    """
    columns = (
        segments["t_ns"],
        segments["seq"],
        segments["ack"],
        segments["length"],
        segments["duplicate"],
        segments["ip_length"],
        segments["checksum"],
    )
    return Passed(*_core.bottleneck_passages(columns, bounds(data), bounds(acks), whole(full), few))


def part_sent_later(
    of: Array, seq: Array, length: Array, duplicate: Array, full: Array
) -> npt.NDArray[np.float64]:
    """Part of each data segment that is sent once more later, in the same flow.

    All of one whose first byte is. Of those that the sender's interface divides, the bytes of retransmissions
    into them: they are retransmitted in parts.

    Parameters
    ----------
    of : array of int64, shape (n,)
        The flow of each, ascending; those of a flow are in order of time.
    seq, length, duplicate : array of int, shape (n,)
        As in ``segments``.
    full : array of int64, shape (n,)
        Payload of a full segment; longer ones are divided.

    Returns
    -------
    array of float64, shape (n,)
        0 to 1.

    Raises
    ------
    ValueError
        Columns of different lengths.
    """
    lengths = np.ascontiguousarray(length, dtype=np.int32)
    duplicates = np.ascontiguousarray(duplicate, dtype=np.int32)
    return _core.part_sent_later(whole(of), whole(seq), lengths, duplicates, whole(full))
