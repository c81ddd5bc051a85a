"""Numbers in words."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from multitracer.model.quantities import duration, rate


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 s"),
        (1e-6, "1 us"),
        (0.9996e-3, "1 ms"),
        (0.9999, "1.00 s"),
        (1.0, "1.00 s"),
        (139.0, "139 s"),
    ],
)
def test_a_time_span_is_written_in_the_unit_that_suits_it(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@given(st.floats(1e-6, 1e6))
def test_no_time_span_has_an_exponent(seconds: float) -> None:
    assert "e" not in duration(seconds)


@given(st.floats(1, 1e14))
def test_no_rate_has_an_exponent(bits_per_s: float) -> None:
    assert "e" not in rate(bits_per_s)


def test_a_rate_that_is_rounded_up_to_the_next_unit_is_in_that() -> None:
    assert [rate(bps) for bps in (999_400.0, 999_600.0, 2.5e6)] == ["999 kbit/s", "1 Mbit/s", "2.5 Mbit/s"]
