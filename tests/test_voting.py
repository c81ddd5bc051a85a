"""Votes on the shift between two clocks: the fast way of counting says what the plain one says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from multitracer.alignment import voting

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
