"""Questions that two captures answer, of all connections at once: each is answered as it would be alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support_measurement import ENDPOINTS, measurement

from multitracer.analyzers import acks, flight, goodput, limits, losses_certain, rtt_deviation, throughput
from multitracer.api.measurement import Measurement
from multitracer.layers.tcp import flow_batch
from multitracer.layers.tcp.flow_batch import FlowBatch, GroupedSearch, covered, flows, highest
from multitracer.layers.tcp.losses import arrival_ns, arrivals_ns
from multitracer.layers.tcp.transit import data_spans, spans_of
from multitracer.model import schema
from multitracer.model.table import Table
from multitracer.model.timeline import Connection

MS = 1_000_000
RUNS = {
    module.ANALYZER.name: module.run
    for module in (acks, flight, goodput, limits, losses_certain, rtt_deviation, throughput)
}


def seen_twice(rng: np.random.Generator, count: int, connections: int) -> Table:
    """Segments that contradict each other as they like; most of them pass the other capture, too."""
    length = np.where(rng.random(count) < 0.6, rng.integers(0, 9, count), 0)
    given: dict[str, Any] = {
        "t_ns": np.sort(rng.integers(0, 400, count)) * MS,
        "source": rng.integers(0, 2, count),
        "conn": rng.integers(0, connections, count),
        "dir": rng.integers(0, 2, count),
        "seq": rng.integers(0, 60, count),
        "ack": rng.integers(-1, 60, count),
        "length": length,
        "ip_length": length + 40,
        "ip_id": rng.integers(0, 4, count) * int(rng.random() < 0.8),
        "duplicate": np.where(rng.random(count) < 0.2, length, 0),
        "flags": rng.choice([0x10, 0x10, 0x10, 0x11, 0x02, 0x12, 0xC2, 0x52, 0x90], count),
        "window": rng.choice([-1, 0, 0, 5, 900], count),
        "ack_kind": rng.integers(0, len(schema.ACK_KINDS), count),
        "cause": rng.integers(0, len(schema.CAUSES), count),
        "rtt_ns": np.where(rng.random(count) < 0.4, rng.integers(1, 90 * MS, count), -1),
        "ts_val": rng.integers(-1, 6, count),
        "checksum": rng.choice([0, 1, 1, 1, 2], count),
        "sack_high": np.where(rng.random(count) < 0.2, rng.integers(0, 60, count), -1),
        "sack_count": np.where(rng.random(count) < 0.1, 1, 0),
    }
    first = Table.filled(schema.SEGMENTS, count, given)
    passed = first.where(rng.random(count) < 0.7)
    later = rng.integers(-2 if rng.random() < 0.2 else 0, 30, len(passed)) * MS
    second = passed.replace(t_ns=passed["t_ns"] + later, source=1 - passed["source"])
    both = Table.concat(schema.SEGMENTS, [first, second]).sorted_by("t_ns")
    return both.replace(record=np.arange(1, len(both) + 1))


def of(table: Table, connections: list[Connection], t0_ns: int) -> Measurement:
    m = measurement(table)
    m.connections, m.t0_ns = connections, t0_ns
    return m


def cases(seed: int, count: int, turned: list[int]) -> tuple[Table, list[Connection]]:
    rng = np.random.default_rng(seed)
    table = seen_twice(rng, count, len(turned))

    def side() -> dict[str, Any]:
        return {"mss": int(rng.choice([0, 4, 20])), "timestamps": bool(rng.random() < 0.5)}

    summaries = [
        {
            source: {"forward": side(), "reverse": side(), "handshake": bool(rng.random() < 0.5)}
            for source in (0, 1)
            if rng.random() < 0.9
        }
        for _ in turned
    ]
    known = [
        Connection(index, ENDPOINTS, way, seen)
        for index, (way, seen) in enumerate(zip(turned, summaries, strict=True))
    ]
    return table, known


CASES = (st.integers(0, 2**32), st.integers(1, 120), st.lists(st.integers(0, 1), min_size=1, max_size=5))


@pytest.mark.parametrize("name", RUNS)
@settings(max_examples=25, deadline=None)
@given(*CASES, st.sampled_from([2**62, 1]), st.sampled_from([2**19, 40]))
def test_each_is_answered_as_alone(
    name: str, seed: int, count: int, turned: list[int], countable: int, most: int
) -> None:
    table, connections = cases(seed, count, turned)
    whole = of(table, connections, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_batch, "_COUNTABLE", countable)
        patch.setattr(flow_batch, "_ROWS", most)
        answer = RUNS[name](whole, {})
    entries: dict[str, list[Any]] = {}
    tables: dict[str, list[Table]] = {table_name: [] for table_name in answer.tables}
    for one in connections:
        # With the others' segments out of the way.
        mine = table.where(table["conn"] == one.index)
        found = RUNS[name](of(mine, [one], 0), {})
        for key, listed in found.summary.items():
            if isinstance(listed, list):
                entries.setdefault(key, []).extend(listed)
        for table_name, part in found.tables.items():
            tables.setdefault(table_name, []).append(part)
    assert {key: value for key, value in answer.summary.items() if isinstance(value, list)} == entries
    for table_name, part in answer.tables.items():
        expected = Table.concat(part.schema, tables[table_name])
        for column in part:
            np.testing.assert_array_equal(part[column], expected[column])


@settings(max_examples=60, deadline=None)
@given(*CASES)
def test_flows_are_those_of_each(seed: int, count: int, turned: list[int]) -> None:
    table, connections = cases(seed, count, turned)
    m = of(table, connections, 0)
    for source in (0, 1, 5, None):
        for reverse in (False, True):
            found = flows(m, connections, source, reverse)
            for at, one in enumerate(connections):
                direction = 1 - one.data_dir if reverse else one.data_dir
                expected = m.flow(one.index, direction, source)
                np.testing.assert_array_equal(found.one(at)["record"], expected["record"])
    for one in connections:
        sent, heard = (m.flow(one.index, one.data_dir, source) for source in (0, 1))
        places = [at for at, other in enumerate(connections) if other is one]
        ends = [flows(m, connections, source).chosen(np.array(places)) for source in (0, 1)]
        np.testing.assert_array_equal(arrivals_ns(*ends), arrival_ns(sent, heard))
    alone = [spans_of(m, [one]) for one in connections]
    spans = [span for found, carrying in alone for span in found[carrying].tolist()]
    inside = {t for start, end in spans for t in range(start // MS, end // MS)}
    assert sum(int(end - start) for start, end in data_spans(m)) == len(inside) * MS


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9)), max_size=40), st.booleans(), st.data())
def test_a_line_finds_what_each_would_find(
    pairs: list[tuple[int, int]], far: bool, draw: st.DataObject
) -> None:
    """Numbers that are too far apart to be counted through, too."""
    scale = 2**57 if far else 1
    of_, numbers = (np.array([p[i] for p in sorted(pairs)], dtype=np.int64) for i in (0, 1))
    numbers = numbers * scale
    line = GroupedSearch(4, numbers)
    for right in (False, True):
        flow, wanted = draw.draw(st.integers(0, 3)), draw.draw(st.integers(-10, 10)) * scale
        (found,) = line.search((of_, numbers), (np.array([flow]), np.array([wanted])), right=right)
        expected = int(np.searchsorted(numbers[of_ == flow], wanted, side="right" if right else "left"))
        assert found == int(np.searchsorted(of_, flow)) + expected
    top = highest(of_, numbers)
    for flow in range(4):
        np.testing.assert_array_equal(top[of_ == flow], np.maximum.accumulate(numbers[of_ == flow]))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 9)), max_size=30))
def test_bytes_that_segments_cover(rows: list[tuple[int, int, int]]) -> None:
    ordered = sorted(rows, key=lambda row: row[0])
    columns = {"seq": [row[1] for row in ordered], "length": [row[2] for row in ordered]}
    table = Table.filled(schema.SEGMENTS, len(rows), columns)
    found = covered(FlowBatch(table, np.array([row[0] for row in ordered], dtype=np.int64), 3))
    for flow in range(3):
        mine = [set(range(start, start + length)) for of_, start, length in rows if of_ == flow]
        assert found[flow] == len(set().union(*mine))
