"""Tables of what the core's tracker made of the segments of one place, whichever format they came in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.model import schema
from multitracer.model.table import Sparse, Table

TRACKED = (
    schema.SEGMENTS,
    schema.RETRANSMISSIONS,
    schema.ARRIVALS,
    schema.TIMEOUTS,
    schema.EPISODES,
    schema.ICMP_ERRORS,
)


def tcp_tables(found: Mapping[str, Any]) -> dict[str, Table]:
    """The tables of `TRACKED` that are among the core's results, their rows of source 0 until it is known.

    Parameters
    ----------
    found : mapping
        Columns by the name of their table, as in the results of `native.read_capture`; other keys are left.
    """
    tables = {}
    for declared in TRACKED:
        columns = found.get(declared.name)
        if columns is not None:
            rows = len(columns["t_ns"])
            given = {name: Sparse.of_core(column) for name, column in columns.items()}
            given["source"] = Sparse(0)
            tables[declared.name] = Table.filled(declared, rows, given)
    return tables
