"""Figures as data: lengths, ranges and words."""

from __future__ import annotations

import numpy as np
import pytest

from multitracer.model.arrays.regression import FittedLine
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Series, Spans, duration_words
from multitracer.plots.series import trends


def arrays(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def test_columns_must_be_of_equal_length():
    with pytest.raises(ValueError, match="different lengths"):
        Series("s", "snd_data", arrays(1, 2), arrays(1))
    with pytest.raises(ValueError, match="different lengths"):
        Marks("m", "timeout", arrays(1, 2), arrays(1, 2), texts=("one",))
    with pytest.raises(ValueError, match="different lengths"):
        Spans("s", "reset_gap", arrays(1, 2), arrays(1))


def test_limits_follow_the_window_and_what_steps_carry_into_it():
    points = Series("p", "snd_data", arrays(0, 5, 10), arrays(0, 50, 1000))
    panel = Panel("p", Axis("y", "bytes"), (points,))
    low, high = panel.limits((4.0, 6.0))
    assert low < 50 < high < 100
    steps = Series("s", "snd_ack", arrays(0, 10), arrays(7, 9), kind="steps")
    low, high = Panel("p", Axis("y", "bytes"), (steps,)).limits((4.0, 6.0))
    assert low < 7 < high < 9


def test_limits_begin_at_zero_where_asked_and_skip_what_may_leave():
    tall = Series("t", "rwnd", arrays(1), arrays(1e9), in_limits=False)
    short = Series("s", "cwnd", arrays(1), arrays(100))
    panel = Panel("p", Axis("y", "bytes"), (tall, short), zero=True)
    assert panel.limits((0.0, 2.0)) == (0.0, 105.0)


def test_limits_of_nothing_are_a_range_all_the_same():
    assert Panel("p", Axis("y", "bytes")).limits((0.0, 1.0)) == (0.0, 1.0)


def test_words_count_what_the_window_shows():
    marks = Marks("m", "timeout", arrays(1, 2, 30), label="timeouts")
    assert marks.words((0.0, 10.0)) == "timeouts (2)"
    assert marks.words((5.0, 10.0)) == ""
    spans = Spans("s", "flow_control", arrays(0, 10), arrays(1, 12), label="XOFF")
    assert spans.words((0.0, 20.0)) == "XOFF (2, mean 1.5 s)", "no span is 1.5 s long"
    even = Spans("s", "flow_control", arrays(0, 10), arrays(1.11, 11.12), label="XOFF")
    assert even.words((0.0, 20.0)) == "XOFF (2 × 1.1 s)"
    assert spans.words((0.5, 2.0)) == "XOFF (1.0 s)"
    line = Series("l", "snd_ack", arrays(0, 10), arrays(0, 1), kind="steps", label="ACKs")
    assert line.words((4.0, 5.0)) == "ACKs"
    assert line.words((11.0, 12.0)) == ""


def test_a_panel_is_found_by_name():
    panel = Panel("p", Axis("y", "bytes"))
    figure = Figure("f", "t", (panel,), (0.0, 1.0))
    assert figure.panel("p") is panel
    with pytest.raises(KeyError):
        figure.panel("q")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0, "0 ms"), (24e-6, "24 µs"), (0.4, "400 ms"), (0.9999, "1.0 s"), (12.34, "12.3 s")],
)
def test_duration_words(seconds, said):
    assert duration_words(seconds) == said


@pytest.mark.parametrize(
    ("rate", "said"),
    [(848.2, "6.79 kbit/s"), (25_430.0, "203 kbit/s"), (3.21e8, "2.57 Gbit/s")],
)
def test_rate_words(rate, said):
    assert trends.rate_words(rate) == said


def test_a_trend_is_drawn_on_if_asked():
    line = FittedLine(rate=960.0, level=5.0, start=2.0, end=4.0, points=10)
    drawn = trends.series("t", line, "trend", label="trend", group="", until=5.0)
    assert drawn.x.tolist() == [2.0, 5.0]
    assert drawn.y.tolist() == [5.0, 5.0 + 3 * 960.0]
    assert not drawn.in_limits
