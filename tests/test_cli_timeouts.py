"""The line on timeouts: as many as the line on retransmissions tells, those without a verdict named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support_conversation import SYN, Conversation
from support_entries import entry

from multitracer.cli import loss_words
from multitracer.cli.main import group
from multitracer.output.observed import known_point
from multitracer.output.rtt import idle_before_s


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
    assert loss_words.timeouts(connection) == text


@pytest.mark.parametrize("point", ["snd", "mid"])
def test_no_timeout_is_certain_at_a_sender_where_any_segment_may_be_that_of_one(point: str) -> None:
    """Where its first flight was lost in the sender's own queue, a capture beside it may seem elsewhere."""
    one = _connection(0, 0, 0, point) | {"losses": {"upstream": 0, "downstream": 0, "possible": 3}}
    one["observation"] = {"point": "mid", "grade": "guess", "evidence": {}}
    expected = {"snd": "none for certain", "mid": "none seen; only a capture at the sender shows all of them"}
    assert loss_words.timeouts(one) == expected[point]


@pytest.mark.parametrize(("silence_s", "known"), [(9e-6, False), (0.31, True)])
def test_a_path_that_let_through_what_had_waited_shows_no_silence(silence_s: float, known: bool) -> None:
    event = {"silence_s": silence_s}
    assert idle_before_s(event, at_sender=False) == (silence_s if known else None)
    assert idle_before_s(event, at_sender=True) == silence_s


@pytest.mark.parametrize(
    ("t", "silence_s", "upstream", "known"),
    [
        (2.074, 0.971493, True, False),
        (2.177, 0.103, True, False),
        (2.385, 0.208, True, True),
        (1.102506, 0.5, True, True),
        (2.074, 0.971493, False, True),
    ],
)
def test_what_a_stalled_path_held_up_shows_no_silence(
    t: float, silence_s: float, upstream: bool, known: bool
) -> None:
    stall = {"start": 1.102507, "length_s": 0.650493, "silence_s": 0.971493, "upstream": upstream}
    event = {"t": t, "silence_s": silence_s}
    assert idle_before_s(event, at_sender=False, standstills=[stall]) == (silence_s if known else None)
    assert idle_before_s(event, at_sender=True, standstills=[stall]) == silence_s


@pytest.mark.parametrize(
    ("connection", "text"),
    [
        (
            _connection(1, 6, 10),
            "5 others have no row: no copy had passed this capture before the one that they sent",
        ),
        (
            _connection(2, 3, 7),
            "1 other has no row: no copy had passed this capture before the one that it sent",
        ),
        (_connection(2, 3, 0), ""),
        (_connection(2, 2, 7), ""),
    ],
)
def test_timeouts_without_a_row_are_told(connection: dict[str, Any], text: str) -> None:
    assert loss_words.unlisted_timeouts(connection) == text


@pytest.mark.parametrize(
    ("retransmissions", "text"),
    [
        ({"total": 0}, "none seen"),
        (
            {"total": 3, "fast": 3, "inferred": 3},
            "at least 3 segments, all inferred; causes inferred: 3 fast retransmit",
        ),
        (
            {"total": 3, "fast": 3, "inferred": 3, "unseen": 2},
            "at least 3 segments, all inferred; causes inferred: 3 fast retransmit; 2 more by IP "
            "identifications, lost before this capture or arrived in order",
        ),
    ],
)
def test_retransmissions_away_from_the_sender(retransmissions: dict[str, int], text: str) -> None:
    losses = {"upstream": retransmissions["total"]}
    one = {"point": "rcv", "packets": {"received": 1}, "losses": losses, "retransmissions": retransmissions}
    assert loss_words.retransmitted(one) == text


@pytest.mark.parametrize(
    ("losses", "point", "text"),
    [
        (
            {"upstream": 4},
            "rcv",
            "3 timeouts by inference: 2 genuine, 1 without a verdict; more may not show here",
        ),
        ({"upstream": 0}, "rcv", "3 timeouts by inference: 2 genuine, 1 without a verdict"),
        (
            {"upstream": 0, "possible": 2},
            "mid",
            "3 timeouts by inference: 2 genuine, 1 without a verdict; more may not show here",
        ),
        ({"upstream": 0, "possible": 2}, "snd", "at least 2 timeouts: 2 genuine"),
    ],
)
def test_where_some_are_lost_before_the_capture_the_number_is_a_lower_bound(
    losses: dict[str, int], point: str, text: str
) -> None:
    one = _connection(2, 3, 0, point)
    one["timeouts"] |= {"genuine": 2, "inconclusive": 0}
    assert loss_words.timeouts(one | {"losses": losses}) == text


def test_none_is_not_claimed_where_a_timer_may_have_sent_what_came_in_order() -> None:
    one = _connection(0, 0, 0, "snd") | {"losses": {"upstream": 0, "possible": 10}}
    assert loss_words.timeouts(one) == "none for certain"


@pytest.mark.parametrize(
    ("total", "possible", "begin"),
    [
        (0, 10, "none for certain; 10 segments in order may be retransmissions (IP identifications"),
        (0, 1, "none for certain; 1 segment in order may be a retransmission (IP identifications"),
        (2, 3, "at least 2 segments; causes inferred: 2 RTO; 3 segments in order may be retransmissions ("),
        (2, 0, "2 segments; causes inferred: 2 RTO"),
    ],
)
def test_what_may_be_a_retransmission_is_told(total: int, possible: int, begin: str) -> None:
    one = _connection(0, total, 0) | {"losses": {"upstream": 0, "possible": possible}}
    one["retransmissions"]["total"] = total
    assert loss_words.retransmitted(one).startswith(begin)


@pytest.mark.parametrize(
    ("point", "grade", "known"),
    [("snd", "certain", True), ("snd", "guess", False), ("mid", "certain", False), ("rcv", "likely", False)],
)
def test_the_timer_is_known_at_the_sender_alone(point: str, grade: str, known: bool) -> None:
    assert (known_point({"point": point, "observation": {"grade": grade}}) == "snd") == known


def test_the_timeout_of_a_syn_is_said_to_be_that(tmp_path: Path) -> None:
    """It is a retransmission and a timeout, as the kernel counts, but nothing of the data."""
    made = Conversation()
    made.segment(0, True, 0, None, SYN)
    made.handshake(1000, 20)
    made.rounds(1021, 1, 3, 20.0)
    path = made.write(tmp_path / "one.pcap")
    told = CliRunner().invoke(group, ["analyze", str(path)], env={"COLUMNS": "80"}).output
    assert "Retransmitted   1 segment: 1 RTO (SYN)" in told
    assert "segments were lost" not in told
    row = next(line for line in told.splitlines() if line.strip().startswith("1.000 s"))
    assert " SYN " in row


def test_what_an_own_queue_refused_was_sent_as_new() -> None:
    """Losses of a queue of the sender's own, and no retransmission: Linux sends later what was refused."""
    one = entry(point="snd") | {"losses": {"upstream": 0, "downstream": 0, "acks": None, "refused": 41}}
    assert loss_words.retransmitted(one).startswith(
        "no segments; Linux later sends segments that its own queue refused"
    )
