"""Silences that are left out before anybody asks what ended them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from multitracer.layers.tcp.standstill import _moved, _moved_anyway

BEGIN = 1_700_000_000_000_000_000


@given(came=st.lists(st.integers(-5, 60), max_size=8), length=st.integers(2, 50), least=st.integers(1, 49))
def test_a_silence_that_is_left_out_is_none_whenever_it_began(
    came: list[int], length: int, least: int
) -> None:
    came_ns = BEGIN + np.sort(np.array(came, dtype=np.int64))
    acks_ns = BEGIN + np.array([0, length], dtype=np.int64)
    if _moved_anyway(came_ns, acks_ns, np.array([0]), least)[0]:
        starts = range(max(length - least, 0))
        assert all(_moved(came_ns, BEGIN + start, BEGIN + length) for start in starts)


def test_a_silence_in_which_others_always_went_on_is_left_out() -> None:
    busy, still = BEGIN + np.arange(0, 1000, 10), BEGIN + np.array([0, 1000])
    acks_ns = BEGIN + np.array([0, 1000])
    assert _moved_anyway(busy, acks_ns, np.array([0]), 500).tolist() == [True]
    assert _moved_anyway(still, acks_ns, np.array([0]), 500).tolist() == [False]
