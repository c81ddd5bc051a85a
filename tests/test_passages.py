"""Packets through the bottleneck by the core, and by a plain definition of each value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support_flows import FLOW, PAIRS, Pair, Row, laid_out, payload, valid_acks

from multitracer.model.schema import SEGMENTS
from multitracer.model.table import Table
from multitracer.native.passages import part_sent_later, passages

FULL = 3
FEW = 2


@given(PAIRS)
def test_passages_are_as_defined(connections: list[Pair]) -> None:
    segments, data, acks = laid_out(connections)
    full = np.full(len(connections), FULL, dtype=np.int64)
    found = passages(segments, data, acks, full, FEW)
    expected = [packet for pair in connections for packet in _packets(*pair)]
    expected.sort(key=lambda packet: packet[0])
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def _packets(sent: list[Row], received: list[Row]) -> list[tuple[int, int, int, float]]:
    data, acks = payload(sent), valid_acks(received)
    if len(data) < FEW or not acks:
        return []
    found = []
    for at, row in enumerate(data):
        covering = (ack["t_ns"] for ack in acks if ack["ack"] >= row["seq"] + row["length"])
        out_ns = next(covering, -1)
        out_ns = out_ns if out_ns >= row["t_ns"] else -1
        repairs = [
            one
            for one in data
            if one["duplicate"] > 0 and row["t_ns"] < one["t_ns"] < out_ns and one["seq"] <= row["seq"]
        ]
        packets = -(-row["length"] // FULL)
        size = row["length"] + 40 * packets
        again = _again(data, at) if any(one["duplicate"] > 0 for one in data) else 0.0
        found.append((row["t_ns"], -1 if repairs else out_ns, size, again))
    return found


def _again(data: list[Row], at: int) -> float:
    row = data[at]
    begin, end = row["seq"], row["seq"] + row["length"]
    if row["length"] <= FULL:
        return float(any(one["seq"] == begin for one in data[at + 1 :]))
    into = sum(one["duplicate"] for one in data if begin <= one["seq"] < end) - row["duplicate"]
    return float(min(max(into / row["length"], 0.0), 1.0))


@given(st.lists(FLOW, max_size=4))
def test_the_part_that_is_sent_later_is_as_defined(flows: list[list[Row]]) -> None:
    flows = [payload(flow) for flow in flows]
    flows = [flow for flow in flows if any(row["duplicate"] > 0 for row in flow)]
    rows = [(of, row) for of, flow in enumerate(flows) for row in flow]
    columns = (
        np.array([row[name] for _, row in rows], dtype=np.int64) for name in ("seq", "length", "duplicate")
    )
    of = np.array([of for of, _ in rows], dtype=np.int64)
    found = part_sent_later(of, *columns, np.full(len(rows), FULL))
    assert found.tolist() == [_again(flow, at) for flow in flows for at in range(len(flow))]


def test_rows_that_there_are_not_are_refused() -> None:
    segments = Table.filled(SEGMENTS, 1, {"t_ns": [0]})
    one = np.array([1], dtype=np.int64)
    with pytest.raises(ValueError, match="rows that a table does not have"):
        passages(segments, (one, one + 1), (one, one), one, FEW)
    with pytest.raises(ValueError, match="different lengths"):
        passages(segments, (one, one), (one, one), np.repeat(one, 2), FEW)
