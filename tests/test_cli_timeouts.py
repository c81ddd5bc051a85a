"""The line on timeouts: as many as the line on retransmissions tells, those without a verdict named."""

from __future__ import annotations

from typing import Any

import pytest

from multitracer.cli import words


def _connection(total: int, rto: int, inferred: int, point: str = "rcv") -> dict[str, Any]:
    counts = {"total": total, "spurious": 0, "genuine": 0, "inconclusive": total}
    again = {"timeout": rto, "inferred": inferred}
    return {"timeouts": counts, "retransmissions": again, "point": point, "packets": {"received": 1}}


@pytest.mark.parametrize(
    ("connection", "text"),
    [
        (_connection(1, 10, 183), "10 timeouts by inference: 1 inconclusive, 9 without a verdict"),
        (_connection(0, 3, 5), "3 timeouts by inference: 3 without a verdict"),
        (_connection(0, 0, 5), "none seen; only a capture at the sender shows all of them"),
        (_connection(2, 2, 0, "snd"), "2 timeouts: 2 inconclusive"),
        (_connection(1, 4, 0, "snd"), "1 timeout: 1 inconclusive"),
        (_connection(2, 1, 7, "mid"), "2 timeouts by inference: 2 inconclusive"),
    ],
)
def test_inferred_timeouts_are_told(connection: dict[str, Any], text: str) -> None:
    assert words.timeouts(connection) == text
