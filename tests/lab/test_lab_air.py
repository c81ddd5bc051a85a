from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from multitracer.lab.air import Air
from multitracer.lab.settings import AirSettings

FADING = AirSettings(
    kind="gilbert_elliott", loss_good=0.01, loss_bad=0.7, p_good_to_bad=0.01, p_bad_to_good=0.04
)


def test_the_pattern_depends_on_seed_and_slot_only() -> None:
    all_slots = Air(FADING, "a")
    pattern = [all_slots.lost(slot) for slot in range(3000)]
    some = Air(FADING, "a")
    assert [some.lost(slot) for slot in range(0, 3000, 7)] == pattern[::7]
    other = Air(FADING, "b")
    assert [other.lost(slot) for slot in range(3000)] != pattern


def test_gilbert_elliott_meets_its_stationary_loss() -> None:
    air = Air(FADING, "seed")
    slots = 200_000
    share = sum(air.lost(slot) for slot in range(slots)) / slots
    bad = 0.01 / (0.01 + 0.04)
    assert share == pytest.approx(bad * 0.7 + (1 - bad) * 0.01, rel=0.1)


def test_losses_come_in_bursts() -> None:
    air = Air(FADING, "seed")
    lost = [air.lost(slot) for slot in range(100_000)]
    after_loss = [b for a, b in itertools.pairwise(lost) if a]
    assert sum(after_loss) / len(after_loss) > 3 * sum(lost) / len(lost)


def test_a_very_long_silence_is_skipped() -> None:
    air = Air(FADING, "seed")
    assert air.lost(10**15) in (True, False)
    assert air.lost(10**15 + 1) in (True, False)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=50), st.booleans())
def test_a_trace_is_replayed(trace, repeat) -> None:
    air = Air(AirSettings(kind="trace", trace=tuple(trace), repeat=repeat), "")
    played = [int(air.lost(slot)) for slot in range(2 * len(trace))]
    assert played == trace + (trace if repeat else [0] * len(trace))


def test_listed_slots() -> None:
    air = Air(AirSettings(kind="list", lost_slots=(2, 5)), "")
    assert [slot for slot in range(9) if air.lost(slot)] == [2, 5]


def test_slots_by_time_or_by_count() -> None:
    by_time = Air(AirSettings(kind="list", lost_slots=(1,), slot_ms=10), "")
    assert [by_time.lost_at(t * 1_000_000) for t in (0, 9, 10, 19, 20)] == [False, False, True, True, False]
    by_count = Air(AirSettings(kind="list", lost_slots=(1,)), "")
    assert [by_count.lost_at(0) for _ in range(3)] == [False, True, False]
