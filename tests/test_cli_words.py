"""Numbers of connections as the terminal prints them."""

from __future__ import annotations

import pytest

from multitracer.cli import words


@pytest.mark.parametrize(
    ("point", "judged", "resent", "said"),
    [
        ("snd", 0, 0, "no timeouts"),
        ("snd", 1, 3, "1 timeout: 1 inconclusive"),
        ("rcv", 0, 0, "unknown from the receiver's capture"),
        ("rcv", 1, 1, "1 timeout: 1 inconclusive"),
        ("rcv", 1, 10, "10 timeouts by the retransmissions; judged: 1 inconclusive"),
        ("mid", 0, 2, "2 timeouts by the retransmissions; judged: none"),
    ],
)
def test_timeouts_and_retransmissions_tell_the_same(point: str, judged: int, resent: int, said: str) -> None:
    connection = {
        "point": point,
        "timeouts": {"total": judged, "spurious": 0, "genuine": 0, "inconclusive": judged},
        "retransmissions": {"timeout": resent},
    }
    assert words.timeouts(connection) == said
