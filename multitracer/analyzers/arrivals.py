"""What each out-of-order data segment was: a retransmission, reordered, or a network duplicate.

The core gives the verdicts as it reads (docs/arrivals.md); here they become a table, of the capture that
`connections` counts.

Reference: Jaiswal et al., Measurement and classification of out-of-sequence packets in a tier-1 IP backbone,
IEEE/ACM Transactions on Networking 15 (2007).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.vantage import vantage
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.schema import DIRECTIONS
from multitracer.model.schema.results import ARRIVALS
from multitracer.model.schema.tcp import ARRIVALS_ARE
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline


def run(measurement: Timeline, results: Mapping[str, Result]) -> Result:
    """List them for each connection, as seen by the capture that sees its data best."""
    rows = measurement.table("arrivals")
    # By connection; the last place is for segments of none.
    most = max((one.index for one in measurement.connections), default=-1)
    chosen = np.full(max(most, int(rows["conn"].max(initial=-1))) + 2, -1, dtype=np.int64)
    for one in measurement.connections:
        chosen[one.index] = vantage(measurement, one)
    rows = rows.where(rows["source"] == chosen[rows["conn"]])
    table = Table(
        ARRIVALS,
        {
            "conn": rows["conn"],
            "direction": rows["dir"],
            "record": rows["record"],
            "t_s": (rows["t_ns"] - measurement.t0_ns) / 1e9,
            "seq": rows["seq"],
            "length": rows["length"],
            "verdict": rows["verdict"],
            "cause": rows["cause"],
            "evidence": rows["evidence"],
        },
    )
    counted = np.bincount(rows["verdict"])
    counts = {ARRIVALS_ARE[code]: int(counted[code]) for code in dict.fromkeys(rows["verdict"].tolist())}
    by_direction = {
        name: int(np.count_nonzero(rows["dir"] == place)) for place, name in enumerate(DIRECTIONS)
    }
    return Result("arrivals", {"verdicts": counts, "directions": by_direction}, {"arrivals": table})


ANALYZER = Analyzer(
    name="arrivals",
    question="What was each out-of-order arrival: retransmission, reordered, or network duplicate?",
    run=run,
    **QUESTIONS["arrivals"]._asdict(),
)
