"""Questions about all connections at once: each is answered as it would be alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support_measurement import ENDPOINTS, measurement

from multitracer.analyzers import acks, observation, round_trips
from multitracer.api.measurement import Measurement
from multitracer.diagnosis.findings.arrivals import arrivals
from multitracer.layers.tcp import flow_batch
from multitracer.layers.tcp.two_way import quantiles, two_way_batches
from multitracer.model import schema
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.table import Table
from multitracer.model.timeline import Connection

MS = 1_000_000
RUNS = (round_trips.run, acks.run, observation.run)


def rows(rng: np.random.Generator, count: int, connections: int) -> Table:
    """Segments that contradict each other as they like, of a few bytes so that they often meet."""
    length = np.where(rng.random(count) < 0.6, rng.integers(0, 9, count), 0)
    given: dict[str, Any] = {
        "t_ns": np.sort(rng.integers(0, 400, count)) * MS,
        "source": np.zeros(count),
        "record": np.arange(1, count + 1),
        "conn": rng.integers(0, connections, count),
        "dir": rng.integers(0, 2, count),
        "seq": rng.integers(0, 60, count),
        "ack": rng.integers(-1, 60, count),
        "length": length,
        "duplicate": np.where(rng.random(count) < 0.2, length, 0),
        "flags": np.where(rng.random(count) < 0.05, 0x11, 0x10),
        "window": rng.choice([-1, 0, 0, 500, 900], count),
        "ack_kind": rng.integers(0, len(schema.ACK_KINDS), count),
        "rtt_ns": np.where(rng.random(count) < 0.4, rng.integers(1, 90 * MS, count), -1),
        "ts_val": rng.integers(-1, 6, count),
        "ts_ecr": rng.integers(-1, 6, count),
        "checksum": rng.choice([0, 1, 1, 1, 2], count),
    }
    return Table.filled(schema.SEGMENTS, count, given)


def of(table: Table, turned: list[int]) -> Measurement:
    """A measurement of these segments, by one capture."""
    counts = {"segments": 1, "syn": True, "out_of_order": 0, "duplicate_bytes": 0}
    m = measurement(table, rcv=None)
    m.connections = [
        Connection(index, ENDPOINTS, way, {0: {"forward": counts, "reverse": counts}})
        for index, way in enumerate(turned)
    ]
    return m


CASES = (st.integers(0, 2**32), st.integers(1, 120), st.lists(st.integers(0, 1), min_size=1, max_size=5))


@settings(max_examples=80, deadline=None)
@given(*CASES, st.sampled_from([2**62, 200, 1]))
def test_each_is_answered_as_alone(seed: int, count: int, turned: list[int], countable: int) -> None:
    table = rows(np.random.default_rng(seed), count, len(turned))
    whole = of(table, turned)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_batch, "_COUNTABLE", countable)
        answers = [run(whole, {}) for run in RUNS]
    for run, answer in zip(RUNS, answers, strict=True):
        entries: list[dict[str, Any]] = []
        parts: dict[str, list[Table]] = {name: [] for name in answer.tables}
        for index, way in enumerate(turned):
            mine = table.where(table["conn"] == index)
            alone = of(mine.replace(conn=np.zeros(len(mine))), [way])
            alone.t0_ns = whole.t0_ns
            found = run(alone, {})
            for listed in found.summary.values():
                entries += [entry | {"conn": index} for entry in listed]
            for name, part in found.tables.items():
                parts[name].append(part.replace(conn=np.full(len(part), index)))
        assert [entry for listed in answer.summary.values() for entry in listed] == entries
        for name, part in answer.tables.items():
            expected = Table.concat(part.schema, parts[name])
            for column in part:
                np.testing.assert_array_equal(part[column], expected[column])


@settings(max_examples=80, deadline=None)
@given(*CASES)
def test_bytes_that_were_never_seen(seed: int, count: int, turned: list[int]) -> None:
    table = rows(np.random.default_rng(seed), count, len(turned))
    (both,) = two_way_batches(of(table, turned))
    missing = observation._unseen_bytes(both)
    for index in range(len(turned)):
        data, back = both.data.where(both.data_of == index), both.acks.where(both.acks_of == index)
        ends = data["seq"] + data["length"]
        carried = data["length"] > 0
        expected = 0
        if carried.any() and len(back):
            closing = ends[(data["flags"] & 1) > 0]
            reached = min([int(back["ack"].max()), *closing.tolist()])
            pairs = zip(data["seq"].tolist(), ends.tolist(), strict=True)
            seen = {byte for start, end in pairs for byte in range(start, end)}
            expected = len(set(range(int(data["seq"][carried].min()), reached)) - seen)
        assert missing[index] == expected


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 10**13)), min_size=1, max_size=40))
def test_quantiles_are_those_of_numpy(pairs: list[tuple[int, int]]) -> None:
    group, values = (np.array(column, dtype=np.int64) for column in zip(*sorted(pairs), strict=True))
    shares = (0, 0.5, 0.95, 1)
    expected = [np.quantile(values[group == one], shares) for one in np.unique(group)]
    np.testing.assert_array_equal(quantiles(values, group, 5, shares), expected)


@given(st.lists(st.tuples(st.integers(-3, 5), st.integers(0, 1)), max_size=40))
def test_rows_of_a_group_are_in_their_order(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1))
    found = Grouped(first, second)
    for one in range(-4, 7):
        for other in (-1, 0, 1, 2):
            expected = np.flatnonzero((first == one) & (second == other))
            np.testing.assert_array_equal(found.rows(one, other), expected)


def test_a_finding_is_of_its_own_connection() -> None:
    """Of two connections at a receiver, the second one had no data for two seconds."""
    count = 8
    times = np.array([0, 10, 20, 30, 5, 15, 25, 2025]) * MS
    given: dict[str, Any] = {
        "t_ns": times,
        "source": np.zeros(count),
        "dir": np.zeros(count),
        "record": np.arange(1, count + 1),
        "conn": np.repeat([0, 1], 4),
        "seq": np.tile(1 + 60 * np.arange(4), 2),
        "length": np.full(count, 60),
    }
    m = of(Table.filled(schema.SEGMENTS, count, given).sorted_by("t_ns"), [0, 0])
    entries = [
        {"index": one, "damaged_segments": 0, "bytes": {"duplicate": 0, "sent": 240}, "start": 0, "end": 2}
        for one in (0, 1)
    ]
    (found,) = arrivals(m, entries)
    assert "no data came for 2.0 s" in found.text
