"""A long text becomes sentences, and words of a report say what is known."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from multitracer.cli import words
from multitracer.diagnosis.findings.finding import MOST_WORDS, in_sentences

_CLAUSE = st.lists(st.sampled_from(["a", "word", "(b; c)", "3"]), min_size=1, max_size=30).map(" ".join)


@given(st.lists(_CLAUSE, min_size=1, max_size=6))
def test_breaking_keeps_every_word_in_its_order(clauses: list[str]) -> None:
    text = "; ".join(clauses)
    broken = in_sentences(text)
    bare = broken.replace(". ", " ").replace("; ", " ").casefold().split()
    assert bare == text.replace("; ", " ").casefold().split()
    for sentence in broken.split(". "):
        assert len(sentence.split()) <= max(MOST_WORDS, *(len(one.split()) for one in clauses))


def test_a_short_text_stays_one_sentence() -> None:
    assert in_sentences("one thing; another") == "one thing; another"


def _connection(**facts: Any) -> dict[str, Any]:
    timeouts = {"total": 0, "spurious": 0, "genuine": 0, "inconclusive": 0}
    return {
        "point": "rcv",
        "packets": {"received": 5},
        "timeouts": timeouts | facts.pop("timeouts", {}),
        "retransmissions": {"timeout": 0},
        **facts,
    }


def test_timeouts_are_as_many_as_their_retransmissions() -> None:
    seen = {"total": 1, "inconclusive": 1}
    one = _connection(timeouts=seen, retransmissions={"timeout": 10, "inferred": 9})
    assert words.timeouts(one) == "10 timeouts by inference: 1 inconclusive, 9 without a verdict"
    assert words.timeouts(_connection()) == "none seen; only a capture at the sender shows all of them"
    one_way = _connection(point=None, packets={"received": 0})
    assert words.timeouts(one_way) == "unknown: only one direction was captured"


def test_one_segment_has_no_rate() -> None:
    one = {"throughput_bps": 45e6, "goodput_bps": 45e6, "data_s": 40e-6, "packets": {"data": 1}}
    assert words.rates(one) == "unknown: one segment, acknowledged 40 us later"


def test_the_wait_for_the_last_ack_is_no_fault_of_the_application() -> None:
    phase = {"cause": "application", "because": "all data was sent; only its ACK was awaited"}
    assert words.idle(phase) == "wait for the last ACK"
    assert words.idle({"cause": "timeout_wait", "because": "its timer"}) == "timeout wait"


def test_what_never_came_by_is_no_duplicate() -> None:
    counts = {"unique": 10, "acked": 10, "duplicate": 0}
    assert words.data(counts).endswith("no bytes retransmitted that had passed before")
    assert words.data(counts, all_sent=True).endswith("no bytes retransmitted")
