"""What held the sender of each connection back, in each pause between two of its data segments."""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.flow_batch import both_bounds
from multitracer.layers.tcp.transit import spans_of
from multitracer.model.schema.results import LIMIT_PHASES
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline
from multitracer.native import limits
from multitracer.native.limits import Flows, Held as Held, Phases


def longest(m: Timeline, most: int) -> Held | None:
    """The longest phases of each connection, and what all of its phases are.

    None without its sender's capture.

    Parameters
    ----------
    m : Timeline
    most : int
        Phases of each connection.
    """
    flows = _flows(m)
    return None if flows is None else limits.longest(m.segments_by_flow, flows, most)


def phases(m: Timeline) -> Table:
    """All phases: rows of `LIMIT_PHASES`, connection after connection."""
    flows = _flows(m)
    if flows is None:
        return Table.empty(LIMIT_PHASES)
    found = limits.phases(m.segments_by_flow, flows)
    conn = np.array([one.index for one in m.connections], dtype=np.int32)[found.of]
    columns = {name: getattr(found, name) for name in Phases._fields if name != "of"}
    return Table(LIMIT_PHASES, columns | {"conn": conn})


def _flows(m: Timeline) -> Flows | None:
    """Data and ACKs of all connections at their sender."""
    if m.snd is None:
        return None
    data, acks = both_bounds(m, m.connections, m.snd)
    spans, _ = spans_of(m, m.connections)
    return Flows(data, acks, spans[:, 1])
