"""What is said of a link and its queue in a line."""

from __future__ import annotations

import pytest

from multitracer.cli import words


@pytest.mark.parametrize(
    ("times", "said"),
    [((), ""), ((0.31, 1.5), ", at 0.3, 1.5 s"), ((0.31, 0.4, 1.5), ", from 0.3 to 1.5 s")],
)
def test_many_drops_are_said_by_the_first_and_the_last(times: tuple[float, ...], said: str) -> None:
    assert words.drop_times([{"t": t} for t in times], 2) == said


def test_the_rate_of_a_link_is_that_of_its_regression_line() -> None:
    found = {"frames": 50, "retransmitted": 3, "rate_bytes_per_s": 1200.4}
    assert words.entity(found) == "50 frames, 3 retransmitted; 1,200 bytes/s of new data, by regression"
