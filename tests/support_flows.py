"""Flows of random segments, one behind the other in a table, and some of what is defined over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from multitracer.model.schema import SEGMENTS
from multitracer.model.table import Array, Table

BAD = 2

Row = dict[str, Any]
Pair = tuple[list[Row], list[Row]]
"""Segments of the data direction of a connection, and of the other."""

_ROW = st.fixed_dictionaries(
    {
        "t_ns": st.integers(0, 12),
        "seq": st.integers(1, 9),
        "ack": st.integers(0, 12),
        "length": st.integers(0, 7),
        "duplicate": st.sampled_from([0, 0, 1, 3]),
        "window": st.sampled_from([-1, 0, 2, 4, 9]),
        "checksum": st.sampled_from([0, 0, 1, BAD]),
    }
)
FLOW = st.lists(_ROW, max_size=12).map(lambda rows: sorted(rows, key=lambda row: int(row["t_ns"])))
PAIRS = st.lists(st.tuples(FLOW, FLOW), max_size=4)


def laid_out(pairs: list[Pair], clock_ns: int = 1) -> tuple[Table, tuple[Array, Array], tuple[Array, Array]]:
    """All segments in a table, with the bounds of the flows of data and of ACKs."""
    flows = [flow for pair in pairs for flow in pair]
    sizes = [len(flow) for flow in flows]
    ends = np.cumsum(sizes, dtype=np.int64)
    rows = [row for flow in flows for row in flow]
    for record, row in enumerate(rows, start=1):
        row["record"] = record
    names = ("t_ns", "record", "seq", "ack", "length", "duplicate", "window", "checksum")
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in names}
    columns["t_ns"] *= clock_ns
    columns["ip_length"] = columns["length"] + 40
    segments = Table.filled(SEGMENTS, len(rows), {"source": np.zeros(len(rows)), **columns})
    data, acks = ((ends[side::2] - sizes[side::2], ends[side::2]) for side in (0, 1))
    return segments, data, acks


def payload(flow: list[Row]) -> list[Row]:
    """Segments with data."""
    return [row for row in flow if row["length"] > 0]


def valid_acks(flow: list[Row]) -> list[Row]:
    """Segments with an ACK that were not damaged, unless most seem to be."""
    bad = [row for row in flow if row["checksum"] == BAD]
    damaged = bad if 2 * len(bad) <= len(flow) else []
    return [row for row in flow if row["ack"] > 0 and row not in damaged]
