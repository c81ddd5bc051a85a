"""Energy: what the nodes of a network used for each million bits delivered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.schema.studies import NODE_ENERGY
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Energy that all nodes used between their first and their last report, by the payload delivered.

    Delivered is what receivers got, each byte once (`goodput`); without a capture there, what they
    acknowledged. A million bits (10^6) is one Mbit. What a node used before its first report is not in its
    trace and not counted.

    References
    ----------
    D. Mehta (docs/studies/manet-tcp.md). ns-2.35 ``mobile/energy-model.cc``.
    """
    rows = m.table("energy")
    places = [
        (source, node)
        for source in np.unique(rows["source"]).tolist()
        for node in np.unique(rows["node"][rows["source"] == source]).tolist()
    ]
    nodes: dict[str, list[Any]] = {"node": [], "first": [], "last": []}
    for source, node in places:
        left = rows["left"][(rows["source"] == source) & (rows["node"] == node)]
        for name, value in (("node", node), ("first", left[0]), ("last", left[-1])):
            nodes[name].append(value)
    first, last = np.array(nodes["first"]), np.array(nodes["last"])
    table = Table(NODE_ENERGY, nodes | {"used": first - last})
    used = float(table["used"].sum())
    basis, delivered = _delivered(results)
    summary = {
        "value": round(used / (8e-6 * delivered), 6) if delivered else None,
        "unit": "J/Mbit",
        "used_j": round(used, 6),
        "delivered_bytes": delivered,
        "basis": basis,
        "span_s": round(int(rows["t_ns"][-1] - rows["t_ns"][0]) / 1e9, 6),
        "nodes": [
            {
                "node": int(table["node"][row]),
                "first_j": round(float(table["first"][row]), 6),
                "last_j": round(float(table["last"][row]), 6),
                "used_j": round(float(table["used"][row]), 6),
            }
            for row in range(len(table))
        ],
    }
    return Result("energy", summary, {"node_energy": table})


def _delivered(results: Mapping[str, Result]) -> tuple[str, int]:
    goodput = results.get("goodput")
    if goodput is not None and goodput.inconclusive is None:
        return "received", int(goodput.summary["received_bytes"])
    known = results.get("connections")
    entries = known.summary["connections"] if known is not None and known.inconclusive is None else []
    return "acknowledged", sum(int(entry["bytes"]["acked"]) for entry in entries)


ANALYZER = Analyzer(
    name="energy",
    question="How much energy did the nodes use for each million bits delivered?",
    run=run,
    **QUESTIONS["energy"]._asdict(),
)
