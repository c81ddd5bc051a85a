"""The parts of alignment by themselves: votes, constraints, number spaces, matches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from multitracer.alignment import captures, flows, graph, roles
from multitracer.alignment.connections import Merged
from multitracer.alignment.voting import best_shift, vote
from multitracer.model import schema
from multitracer.model.table import Table
from multitracer.model.trace import Flow

S = 1_000_000_000
MS = 1_000_000
ENDPOINTS = (("10.0.0.1", 4000), ("10.0.0.2", 5001))


def segments(**columns: Any) -> Table:
    rows = len(columns["t_ns"])
    given = {"record": np.arange(1, rows + 1), "conn": np.zeros(rows), "dir": np.zeros(rows), **columns}
    return Table.filled(schema.SEGMENTS, rows, given)


@settings(max_examples=40, deadline=None)
@given(shift=st.integers(-10_000 * S, 10_000 * S), seed=st.integers(0, 1000), lost=st.floats(0, 0.5))
def test_vote_finds_the_shift(shift: int, seed: int, lost: float) -> None:
    random = np.random.default_rng(seed)
    events = np.sort(random.uniform(0, 100 * S, 80)).astype(np.int64)
    heard = random.uniform(size=80) >= lost
    others = events[heard] + shift + random.integers(0, MS, heard.sum())
    others = np.sort(np.concatenate([others, random.integers(shift, shift + 100 * S, 20)]))
    found = best_shift(events, others, before_ns=0, after_ns=MS)
    assert found is not None
    assert abs(found - shift) <= MS


def test_vote_without_pattern_finds_nothing() -> None:
    regular = np.arange(100, dtype=np.int64) * S  # every shift by a second fits nearly as well
    assert best_shift(regular, regular[:50], 0, MS) is None
    assert best_shift(regular[:2], regular[:2], 0, MS) is None
    assert vote([(regular[:0], regular, 0, MS)]) is None


def test_vote_looks_only_where_it_is_told() -> None:
    random = np.random.default_rng(0)
    events = np.sort(random.uniform(0, 100 * S, 50)).astype(np.int64)
    found = vote([(events, events + 7 * S, 0, MS)], near_ns=(6 * S, 8 * S))
    assert found is not None
    assert found.low_ns <= 7 * S <= found.high_ns
    elsewhere = vote([(events, events + 7 * S, 0, MS)], near_ns=(-S, S))
    assert elsewhere is None or elsewhere.votes < 25


@given(
    start=st.integers(0, 2**32 - 1),
    steps=st.lists(st.integers(-(2**20), 2**29), min_size=1, max_size=60),
    base=st.integers(0, 2**32 - 1),
    wraps=st.integers(0, 5),
)
def test_relative_numbers_unwrap(start: int, steps: list[int], base: int, wraps: int) -> None:
    true = (start - base) % 2**32 + wraps * 2**32 + np.cumsum(np.array([0, *steps], dtype=np.int64))
    raw = (true + base) % 2**32
    found = flows.relative(raw, base, first_guess=int(true[0]))
    assert found.tolist() == true.tolist()


def test_relative_numbers_keep_absent() -> None:
    assert flows.relative(np.array([-1, 5, -1, 7]), 5).tolist() == [-1, 0, -1, 2]
    assert flows.relative(np.array([-1, -1]), 5).tolist() == [-1, -1]


@settings(max_examples=50)
@given(st.lists(st.integers(-(10**9), 10**9), min_size=3, max_size=6), st.integers(0, 2**30))
def test_constraints_hold_the_truth(values: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    truth = np.array(values, dtype=np.float64) - values[0]
    w = np.full((len(truth), len(truth)), np.inf)
    np.fill_diagonal(w, 0.0)
    for _ in range(2 * len(truth)):
        i, j = random.integers(0, len(truth), 2)
        if i != j:
            w[i, j] = min(w[i, j], truth[i] - truth[j] + random.exponential(1e6))
    closed = graph.closed(w)
    assert closed is not None
    for i, interval in graph.intervals(closed, 0).items():
        assert interval.low - 1 <= truth[i] <= interval.high + 1
    middle = {i: each.middle for i, each in graph.intervals(closed, 0).items() if each.known}
    for i, j in ((i, j) for i in middle for j in middle):  # middles never break a constraint
        assert middle[i] - middle[j] <= w[i, j] + 1


def test_contradiction_closes_to_none() -> None:
    assert graph.closed(np.array([[0.0, -5.0], [4.0, 0.0]])) is None


def test_pinning_moves_what_is_tied() -> None:
    w = np.array([[0.0, 10.0, np.inf], [10.0, 0.0, 1.0], [np.inf, 1.0, 0.0]])
    closed = graph.closed(w)
    assert closed is not None
    tied = graph.pinned(closed, 0, {1: 7.0})[2]
    assert (tied.low, tied.high) == (6.0, 8.0)


def test_keys_that_occur_twice_do_not_match() -> None:
    seq = np.array([1, 101, 201, 101, 301])
    table = segments(t_ns=np.arange(5) * MS, seq_raw=seq, length=np.full(5, 100), ip_id=np.zeros(5))
    found = captures.match(table, table.replace(t_ns=table["t_ns"] + 3))
    assert table["seq_raw"][found.first].tolist() == [1, 201, 301]


def test_ip_id_tells_retransmissions_apart() -> None:
    seq = np.array([1, 101, 101])
    table = segments(t_ns=np.arange(3) * MS, seq_raw=seq, length=np.full(3, 100), ip_id=np.array([7, 8, 9]))
    assert len(captures.match(table, table)) == 3


def test_damaged_segments_do_not_match() -> None:
    table = segments(t_ns=np.arange(3) * MS, seq_raw=np.arange(3), checksum=np.array([1, 2, 1]))
    assert captures.match(table, table).first.tolist() == [0, 2]


def test_offload_matches_at_the_start_of_a_super_segment() -> None:
    starts = np.arange(20) * 2896 + 1
    big = segments(t_ns=np.arange(20) * MS, seq_raw=starts, length=np.full(20, 2896), ip_id=np.arange(1, 21))
    wire = np.arange(40) * 1448 + 1
    small = segments(
        t_ns=np.arange(40) * MS // 2, seq_raw=wire, length=np.full(40, 1448), ip_id=np.arange(1, 41)
    )
    found = captures.match(big, small)
    assert big["seq_raw"][found.first].tolist() == small["seq_raw"][found.second].tolist()
    assert len(found) == 20


def test_identical_needs_the_same_records() -> None:
    table = segments(t_ns=np.arange(5) * MS, seq_raw=np.arange(5))
    assert captures.identical(table, table)
    assert captures.identical(table, table.replace(t_ns=table["t_ns"] + 5 * S))
    jitter = table["t_ns"] + np.array([0, 1, 0, 2, 0])
    assert not captures.identical(table, table.replace(t_ns=jitter))
    assert not captures.identical(table, table.where(np.arange(4)))
    assert not captures.identical(Table.empty(schema.SEGMENTS), Table.empty(schema.SEGMENTS))


@pytest.mark.parametrize(("far_ms", "near_ms", "point"), [(80, 1, "snd"), (1, 80, "rcv"), (40, 40, "mid")])
def test_split_of_the_round_trip(far_ms: int, near_ms: int, point: str) -> None:
    count = 30
    data = np.arange(count, dtype=np.int64) * (far_ms + near_ms) * MS
    table = Table.concat(
        schema.SEGMENTS,
        [
            segments(t_ns=data, seq=np.arange(count) * 100, length=np.full(count, 100)),
            segments(
                t_ns=data + far_ms * MS,
                ack=np.arange(1, count + 1) * 100,
                dir=np.ones(count),
                length=np.zeros(count),
            ),
        ],
    ).sorted_by("t_ns")
    split = roles.split_of_rtt(table, 0, 0)
    assert split is not None
    assert split.point == point
    assert f"{far_ms:.3f} ms" in split.words()


def test_split_needs_data_and_acks() -> None:
    assert roles.split_of_rtt(Table.empty(schema.SEGMENTS), 0, 0) is None


def merged(endpoints: tuple[tuple[str, int], tuple[str, int]] = ENDPOINTS) -> Merged:
    return Merged(endpoints, (0, 0), [0, 0], [(0, 1), (0, 1)])


def test_sockets_become_connections() -> None:
    again = merged()
    other = merged((("10.0.0.1", 4001), ("10.0.0.2", 5001)))
    sockets = [
        Flow("10.0.0.1", 4000, "10.0.0.2", 5001),
        Flow("10.0.0.2", 5001, "10.0.0.1", 4000),
        Flow("10.0.0.9", 1, "10.0.0.2", 5001),
        Flow("10.0.0.1", 4001, "10.0.0.2", 5001),
    ]
    given = {"t_ns": np.array([5, 95, 5, 5, 50]), "flow": np.array([0, 1, 2, 3, 0])}
    table = Table.filled(schema.TCP_STATES, 5, given)
    conn, direction = flows.assign(table, sockets, [merged(), again, other], [(0, 40), (60, 100), (0, 9)])
    assert conn.tolist() == [0, 1, -1, 2, 0]  # time decides between two uses of one port
    assert direction.tolist() == [0, 1, 0, 0, 0]


def test_socket_without_a_port_yet() -> None:
    sockets = [Flow("10.0.0.1", 0, "10.0.0.2", 5001)]
    table = Table.filled(schema.KERNEL_EVENTS, 1, {"t_ns": np.array([0]), "flow": np.array([0])})
    assert flows.assign(table, sockets, [merged()], [(0, 1)])[0].tolist() == [0]
    two = [merged(), merged((("10.0.0.1", 4001), ("10.0.0.2", 5001)))]
    assert flows.assign(table, sockets, two, [(0, 1), (0, 1)])[0].tolist() == [-1]
