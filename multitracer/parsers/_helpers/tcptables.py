"""Tables of what the core's tracker made of the segments of one place, whichever format they came in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.model import schema
from multitracer.model.lazy import np
from multitracer.model.table import Sparse, Table

TRACKED = (
    schema.SEGMENTS,
    schema.RETRANSMISSIONS,
    schema.ARRIVALS,
    schema.TIMEOUTS,
    schema.EPISODES,
    schema.ICMP_ERRORS,
    schema.MPTCP,
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
    if schema.SEGMENTS.name in tables:
        tables[schema.SEGMENTS.name] = _without_unfilled(tables[schema.SEGMENTS.name])
    return tables


def _without_unfilled(segments: Table) -> Table:
    """Wrong checksums of a sender that never has a right one verify nothing.

    They were left to the network card, or to a translator of addresses; segments damaged in transit are among
    others that are right.
    """
    checksum = segments["checksum"]
    bad = checksum == segments.code("checksum", "bad")
    if not bad.any():
        return segments
    flow = segments["conn"] * np.int32(2)
    flow += segments["dir"]
    # The last two places, -2 and -1, are of segments of no connection, of which nothing is known.
    verified = np.zeros(int(flow.max()) + 3, dtype=np.bool_)
    verified[flow[checksum == segments.code("checksum", "good")]] = True
    verified[-2:] = True
    unfilled = bad & ~verified[flow]
    if not unfilled.any():
        return segments
    checksum = checksum.copy()
    checksum[unfilled] = segments.code("checksum", "unverified")
    return segments.replace(checksum=checksum)
