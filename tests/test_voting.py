"""Votes on the shift between two clocks: the fast way of counting says what the plain one says."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from multitracer.alignment import voting

Times = npt.NDArray[np.int64]
INTERVALS = st.lists(st.tuples(st.integers(-60, 60), st.integers(0, 20)), min_size=1, max_size=60)


@given(INTERVALS, st.sampled_from([1, -(10**12), 10**17]))
def test_heights_are_those_of_a_sort_by_two_keys(intervals: list[tuple[int, int]], scale: int) -> None:
    low = np.array([start * scale for start, _ in intervals], dtype=np.int64)
    high = low + np.array([length for _, length in intervals], dtype=np.int64)
    fast = voting._heights(low, high)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voting, "_SORTED_BY_TWICE", 0)
        plain = voting._heights(low, high)
    for one, other in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_times_that_cannot_be_doubled() -> None:
    low = np.array([-(2**62), 0], dtype=np.int64)
    edges, height = voting._heights(low, low + 5)
    assert edges.tolist() == [-(2**62), -(2**62) + 5, 0, 5]
    assert height.tolist() == [1, 0, 1, 0]


TIMES = st.lists(st.integers(0, 3_000), min_size=1, max_size=30).map(lambda found: np.array(found, np.int64))
KINDS = st.lists(st.tuples(TIMES, TIMES, st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=2)


def told(
    kinds: list[tuple[Times, Times, int, int]], least: int, near: tuple[int, int] | None
) -> tuple[int, int] | None:
    """Where most agree first, and how many: the stretches of every event, a step at each end."""
    steps: list[tuple[int, int]] = []
    for events, others, before, after in kinds:
        for event in events.tolist():
            stretches: list[list[int]] = []
            for other in sorted(others.tolist()):
                low, high = other - event - after, other - event + before
                if stretches and low <= stretches[-1][1]:
                    stretches[-1][1] = high
                else:
                    stretches.append([low, high])
            for low, high in stretches:
                if near is not None:
                    low, high = max(low, near[0]), min(high, near[1])
                if low <= high:
                    steps += [(low, 1), (high, -1)]
    steps.sort(key=lambda step: (step[0], -step[1]))
    height, heights = 0, []
    for _, change in steps:
        height += change
        heights.append(height)
    votes = max(heights, default=0)
    if votes < max(3, least):
        return None
    first = steps[heights.index(votes)][0]
    width = max(before + after for *_, before, after in kinds)
    far = [
        height
        for (shift, _), height in zip(steps, heights, strict=True)
        if not first - 2 * width <= shift <= first + 3 * width
    ]
    return None if near is None and max(far, default=0) > 0.8 * votes else (first, votes)


@settings(max_examples=200, deadline=None)
@given(KINDS, st.integers(-(10**15), 10**15), st.floats(0, 0.6), st.booleans())
def test_votes_counted_in_bins_first_are_those_of_every_shift(
    kinds: list[tuple[Times, Times, int, int]], apart: int, least: float, close: bool
) -> None:
    near = (apart - 500, apart + 700) if close else None
    moved = [(events - apart, others, before, after) for events, others, before, after in kinds]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"_FEW_PAIRS": 0, "_BLOCK": 16, "_WORTH": 2, "_MOST_BINS": 300}.items():
            patch.setattr(voting, name, value)
        found = voting.vote(moved, near, least)
        stretches = voting.agreeing(moved, 7, least)
    expected = told(moved, int(least * sum(len(events) for events, *_ in kinds)), near)
    assert (None if found is None else (found.low_ns, found.votes)) == expected
    if expected is not None and near is None:
        assert stretches is None or any(low - 7 <= expected[0] <= high + 7 for low, high in stretches)
        again = voting.vote(moved, None, least, stretches)
        assert again is not None
        assert (again.low_ns, again.votes) == expected
