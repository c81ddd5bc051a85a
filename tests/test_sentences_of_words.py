"""A long text becomes sentences, and words of a report say what is known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from support_entries import entry

from multitracer.cli import loss_words, words
from multitracer.diagnosis.findings.finding import MOST_WORDS, in_sentences
from multitracer.output.losses import says_little
from multitracer.output.used import unplaced_s

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
    assert loss_words.timeouts(one) == "10 timeouts by inference: 1 inconclusive, 9 without a verdict"
    assert loss_words.timeouts(_connection()) == "none seen; only a capture at the sender shows all of them"
    one_way = _connection(point=None, packets={"received": 0})
    assert loss_words.timeouts(one_way) == "unknown: only one direction was captured"


def test_one_segment_has_no_rate() -> None:
    one = {"throughput_bps": 45e6, "goodput_bps": 45e6, "data_s": 40e-6, "packets": {"data": 1}}
    assert words.rates(one) == "unknown: one segment, acknowledged 40 us later"


@pytest.mark.parametrize(("part", "seen"), [(0.2, "seen (400 ms after the handshake) "), (0.04, "")])
def test_rates_of_what_was_seen_say_when_that_began(part: float, seen: str) -> None:
    """Of 2 s, the data that came by took 1 s; what was sent before that was lost."""
    one = entry(
        seconds=2.0,
        parts={"loss_recovery_before_data": part},
        throughput_bps=8e6,
        goodput_bps=8e6,
        data_s=1.0,
    )
    assert words.rates(one).endswith(f", over 1.00 s from the first data segment {seen}to the last ACK")


def test_a_transfer_that_broke_off_has_no_rate_of_all_its_time() -> None:
    one = {
        "throughput_bps": 5e6,
        "goodput_bps": 4.9e6,
        "data_s": 0.157,
        "packets": {"data": 198},
        "bytes": {"unique": 100_232, "acked": 95_944},
        "start": 0.0,
        "end": 27.615,
        "limits": {"handshake": 0.0, "seconds": 27.6},
    }
    ended = "over 157 ms from the first data segment to the last ACK"
    assert words.rates(one).endswith(f"{ended} of new data; none was acknowledged in the 27.46 s after that")
    assert words.rates(one | {"end": 0.8}).endswith(ended)
    assert words.rates(one | {"bytes": {"unique": 95_944, "acked": 95_944}}).endswith(ended)


def test_what_is_in_no_phase_has_a_line_of_its_own() -> None:
    found = {"basis": "estimate from captures", "idle_share": 0.3, "span_s": 10.0, "idle_high": 0.32}
    assert unplaced_s(found | {"idle_low": 0.28}, 2.5) == ("about ", pytest.approx(0.5))
    assert unplaced_s(found | {"idle_low": 0.28}, 2.99) == ("about ", 0.0)
    assert unplaced_s(found | {"idle_low": 0.1}, 2.5) == ("at most ", pytest.approx(0.7))
    # By a log of the link it was idle for 0.3 of the 8 s in which it could carry data, all of it in phases.
    logged = {"basis": "link log", "idle_share": 0.3, "span_s": 10.0, "available_s": 8.0, "idle_s": 2.4}
    assert unplaced_s(logged, 2.4) == ("", 0.0)


def test_a_bound_of_losses_that_needless_retransmissions_are_in_is_not_shown() -> None:
    assert not says_little(20, 100)
    assert says_little(21, 100)
    assert not says_little(0, 0)


def test_the_wait_for_the_last_ack_is_no_fault_of_the_application() -> None:
    phase = {"cause": "application", "because": "all data was sent; only its ACK was awaited"}
    assert words.idle(phase) == "wait for the last ACK"
    assert words.idle({"cause": "timeout_wait", "because": "its timer"}) == "timeout wait"


def test_what_never_came_by_is_no_duplicate() -> None:
    counts = {"unique": 10, "acked": 10, "duplicate": 0}
    assert words.data(counts).endswith("no bytes passed more than once")
    assert words.data(counts, all_sent=True).endswith("no bytes retransmitted")
    assert words.data(counts, copied=2).endswith(
        "no bytes passed more than once (2 network duplicates apart)"
    )


def test_what_is_inferred_is_not_known_to_a_hundredth_of_the_time() -> None:
    shares = {"bandwidth": 0.96, "receiver_window": 0.015, "handshake": 0.01, "congestion_window": 0.015}
    assert words.limits(entry(**shares)) == "bandwidth 96%, handshake 1% of 20.00 s (inferred)"
    counted = entry(**shares)
    counted["limits"]["method"] = "kernel"
    assert "receiver window 2%" in words.limits(counted)
