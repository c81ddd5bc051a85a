"""Segments that a failed header decompressor corrupted: what they read, and what they really were.

References
----------
Paper 5.3, Figure 9: "these segments should actually have been plotted with an offset of 5 x MSS". RFC 1144.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from multitracer.layers.tcp.losses import losses
from multitracer.layers.tcp.transit import damaged
from multitracer.model.table import Table
from multitracer.plots.panel import Marks
from multitracer.plots.series.selection import Selection


class Corruption(NamedTuple):
    """Segments of one gap: those lost, and those that arrived with a wrong header.

    Attributes
    ----------
    lost : Table
        Rows at the sender that never arrived in any form.
    segments : Table
        Rows at the receiver, as read.
    true : array or None
        First byte that each corrupted segment really carried; None if the counts do not fit together.
    """

    lost: Table
    segments: Table
    true: np.ndarray[tuple[int], np.dtype[np.int64]] | None


def corruption_between(selection: Selection, start: float, end: float) -> Corruption:
    """What the gap swallowed.

    The link keeps the order, so of the segments in flight those lost come first and the corrupted ones are
    the last that were sent: that shows which segment each of these was.

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    start, end : float
        Of the gap, in seconds from the first TCP event.
    """
    m, connection = selection.measurement, selection.connection
    data = selection.segments(selection.rcv, data=True)
    t = selection.seconds(data["t_ns"])
    corrupted = data.where(damaged(data) & (t >= start) & (t <= end))
    known = losses(m, connection) if connection is not None else None
    if known is None:
        return Corruption(data.where(np.zeros(len(data), dtype=bool)), corrupted, None)
    window = (m.t0_ns + round(start * 1e9), m.t0_ns + round(end * 1e9))
    gone = known.segments.where(known.during(*window)).sorted_by("t_ns")
    gone = gone.where(
        (gone["length"] > 0) & (gone["t_ns"] < (corrupted["t_ns"][-1] if len(corrupted) else 0))
    )
    count = len(gone) - len(corrupted)
    if count < 0 or not np.array_equal(gone["length"][count:], corrupted["length"]):
        return Corruption(gone, corrupted, None)
    return Corruption(gone.where(np.arange(len(gone)) < count), corrupted, gone["seq"][count:])


def true_marks(
    selection: Selection, corruptions: Sequence[Corruption], shift: int, group: str
) -> Iterator[Marks]:
    """Corrupted segments at their true sequence numbers where known, moved up by `shift` bytes.

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    corruptions : sequence of Corruption
        One for each gap.
    shift : int
        Bytes.
    group : str
        Of the legend.

    Yields
    ------
    Marks
        One, of all gaps with known true numbers; none without.
    """
    restored = [
        (one.segments["t_ns"], one.true) for one in corruptions if one.true is not None and len(one.true)
    ]
    if not restored:
        return
    true = np.concatenate([one for _, one in restored])
    yield Marks(
        "TcpRcv_corrupted_true",
        "corrupted_true",
        selection.seconds(np.concatenate([t_ns for t_ns, _ in restored])),
        (true + shift).astype(np.float64),
        label="corrupted by header decompression (true sequence number)",
        group=group,
        details=tuple(f"really byte {seq:,}" for seq in true.tolist()),
    )
