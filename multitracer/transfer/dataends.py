"""Data segments of a connection where they left and where they arrived."""

from __future__ import annotations

from multitracer.measurement import Connection, Measurement
from multitracer.table import Table
from multitracer.transfer.transit import data_at, near_sender


def data_ends(m: Measurement, connection: Connection) -> tuple[Table, Table | None]:
    """Segments with payload at the capture next to their sender, and at the one next to their receiver.

    Data of a connection may flow against that of the others: the end that saw it first is its sender's. The
    second is None without two captures that saw data.
    """
    ends = [_data(m, connection, source) for source in (m.snd, m.rcv) if source is not None]
    seen = sorted((end for end in ends if len(end)), key=lambda end: int(end["t_ns"][0]))
    if len(seen) == 2:
        return seen[0], seen[1]
    return (seen[0] if seen else _data(m, connection, near_sender(m))), None


def _data(m: Measurement, connection: Connection, source: int | None) -> Table:
    rows = data_at(m, connection, source)
    return rows.where(rows["length"] > 0)
