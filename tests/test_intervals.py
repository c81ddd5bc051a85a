from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from multitracer.model.arrays.intervals import (
    contains,
    covered,
    intersect,
    intervals,
    longer_than,
    measure,
    overlap,
    subtract,
    total,
    union,
)
from multitracer.model.arrays.unique import sorted_unique

LIMIT = 40
pairs = st.lists(st.tuples(st.integers(-5, LIMIT), st.integers(-5, LIMIT)), max_size=8)


def points(rows: list[tuple[int, int]] | np.ndarray) -> set[int]:
    return {x for start, end in rows for x in range(start, end)}


def normal(found: np.ndarray) -> bool:
    flat = found.ravel()
    return found.dtype == np.int64 and found.shape[1:] == (2,) and bool(np.all(np.diff(flat) > 0))


@given(pairs, pairs)
def test_sets_are_sets_of_points(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    left, right = intervals(a), intervals(b)
    for found, wanted in (
        (left, points(a)),
        (union(left, right), points(a) | points(b)),
        (intersect(left, right), points(a) & points(b)),
        (subtract(left, right), points(a) - points(b)),
    ):
        assert normal(found)
        assert points(found) == wanted
        assert total(found) == len(wanted)


@given(pairs)
def test_starts_and_ends_are_intervals_too(a: list[tuple[int, int]]) -> None:
    starts, ends = np.array(a, dtype=np.int64).reshape(-1, 2).T
    found = covered(starts, ends)
    assert normal(found)
    assert points(found) == points(a)


@given(pairs, pairs)
def test_overlap_is_counted_row_by_row(rows: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    found = overlap(np.array(rows, dtype=np.int64).reshape(-1, 2), intervals(b))
    assert found.tolist() == [len(points([row]) & points(b)) for row in rows]


@given(pairs, st.lists(st.integers(-8, LIMIT + 3), max_size=10))
def test_measure_and_contains_agree_with_points(b: list[tuple[int, int]], at: list[int]) -> None:
    where = np.array(at, dtype=np.int64)
    assert contains(intervals(b), where).tolist() == [x in points(b) for x in at]
    assert measure(where, intervals(b)).tolist() == [len({y for y in points(b) if y < x}) for x in at]


def test_touching_intervals_become_one_and_empty_ones_vanish() -> None:
    assert intervals([(5, 9), (1, 5), (20, 20), (30, 25)]).tolist() == [[1, 9]]


def test_unnormalised_input_is_accepted_everywhere() -> None:
    raw = np.array([[5, 9], [1, 6]])
    assert total(raw) == 8
    assert subtract(raw, np.array([[2, 3]])).tolist() == [[1, 2], [3, 9]]
    assert longer_than(raw, 7).tolist() == [[1, 9]]
    assert longer_than(raw, 8).tolist() == []


def test_union_of_nothing_is_empty() -> None:
    assert union().shape == (0, 2)
    assert intersect(intervals(), intervals([(1, 2)])).shape == (0, 2)


@pytest.mark.parametrize("scale", [1, 10**9])
def test_nanosecond_epochs_stay_exact(scale: int) -> None:
    start = 1_795_249_751 * scale
    assert total(subtract(intervals([(start, start + 10)]), intervals([(start + 3, start + 4)]))) == 9


def test_distinct_whatever_the_steps() -> None:
    for step in (1, 1448, 2_000_000, 1 << 40):
        values = np.arange(1000, dtype=np.int64)[::-1].repeat(2) * step
        assert sorted_unique(values).tolist() == [at * step for at in range(1000)]
    assert sorted_unique(np.empty(0, dtype=np.int64)).tolist() == []
