"""Silences that are left out before anybody asks what ended them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from multitracer.layers.tcp.standstill.data import _lateness_ns
from multitracer.layers.tcp.standstill.others import moved, moved_anyway

BEGIN = 1_700_000_000_000_000_000


@given(came=st.lists(st.integers(-5, 60), max_size=8), length=st.integers(2, 50), least=st.integers(1, 49))
def test_a_silence_that_is_left_out_is_none_whenever_it_began(
    came: list[int], length: int, least: int
) -> None:
    came_ns = BEGIN + np.sort(np.array(came, dtype=np.int64))
    acks_ns = BEGIN + np.array([0, length], dtype=np.int64)
    if moved_anyway(came_ns, acks_ns, np.array([0]), least)[0]:
        starts = range(max(length - least, 0))
        assert all(moved(came_ns, BEGIN + start, BEGIN + length) for start in starts)


def test_a_silence_in_which_others_always_went_on_is_left_out() -> None:
    busy, still = BEGIN + np.arange(0, 1000, 10), BEGIN + np.array([0, 1000])
    acks_ns = BEGIN + np.array([0, 1000])
    assert moved_anyway(busy, acks_ns, np.array([0]), 500).tolist() == [True]
    assert moved_anyway(still, acks_ns, np.array([0]), 500).tolist() == [False]


@pytest.mark.parametrize("tick_ns", [1_000_000, 4_000_000, 10_000_000])
@pytest.mark.parametrize("grows", [0.0, 0.25])
def test_the_clock_of_a_sender_is_known_while_a_queue_grows(tick_ns: int, grows: float) -> None:
    """Segments each 10 ms, each later than the one before by a part of that."""
    sent_ns = np.arange(0, 4_000_000_000, 10_000_000)
    came_ns = BEGIN + sent_ns + (grows * sent_ns).astype(np.int64)
    late_ns = _lateness_ns(came_ns, 77 + sent_ns // tick_ns)
    assert late_ns is not None
    assert np.abs(late_ns - grows * sent_ns).max() <= tick_ns
