"""Round trips by timestamps by the core, and by a plain definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from support_flows import PAIRS, Pair, laid_out, valid_acks

from multitracer.native.echoes import echoes

DAY_NS = 86_400 * 10**9
STAMPS = st.tuples(st.integers(-1, 4), st.integers(-1, 4))


@given(PAIRS, st.sampled_from([1, DAY_NS // 6]), st.data())
def test_round_trips_are_as_defined(connections: list[Pair], clock_ns: int, drawn: st.DataObject) -> None:
    segments, data, acks = laid_out(connections, clock_ns)
    rows = [row for pair in connections for flow in pair for row in flow]
    for row in rows:
        row["ts_val"], row["ts_ecr"] = drawn.draw(STAMPS)
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in ("ts_val", "ts_ecr")}
    found = echoes(segments.replace(**columns), data, acks)
    samples, stamped, before = [], [], 0
    for sent, received in connections:
        valid = valid_acks(received)
        for at, row in enumerate(valid):
            first = next((one for one in sent if one["ts_val"] == row["ts_ecr"] >= 0), None)
            advances = all(one["ack"] < row["ack"] for one in valid[:at])
            if first is not None and advances:
                rtt_ns = (row["t_ns"] - first["t_ns"]) * clock_ns
                samples += [(before + at, rtt_ns)] if 0 < rtt_ns <= DAY_NS else []
        stamps = [row["ts_val"] >= 0 for row in sent], [row["ts_ecr"] >= 0 for row in valid]
        stamped.append(all(map(any, stamps)))
        before += len(valid)
    assert list(zip(found.row.tolist(), found.rtt_ns.tolist(), strict=True)) == samples
    assert found.stamped.tolist() == stamped
