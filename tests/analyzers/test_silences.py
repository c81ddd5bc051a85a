"""Silences that are left out before anybody asks what ended them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support_conversation import SYN, Conversation

import multitracer as mt
from multitracer.layers.tcp.standstill.data import _lateness_ns, stamped_before
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


def stalls(said: Conversation, path: Path) -> list[tuple[float, float]]:
    """When the path of A stood still, and for how long, in milliseconds; as the sender's capture has it."""
    (one,) = mt.analyze(mt.read(said.write(path / "one.pcap"), point="snd")).to_dict()["connections"]
    return [(round(1e3 * stall["start"]), round(1e3 * stall["length_s"])) for stall in one["standstills"]]


def goes_on(said: Conversation, t_ms: float, seq: int) -> None:
    """Ten RTTs of 20 ms, so that a silence is rare."""
    said.rounds(t_ms, seq, 10, 20.0)


@pytest.mark.parametrize("repeated", [False, True])
def test_a_syn_ack_that_comes_again_ends_no_silence(tmp_path: Path, repeated: bool) -> None:
    said = Conversation()
    said.handshake(0, 20)
    for number in range(10):
        said.data(21, 1 + 1000 * number)
    if repeated:
        said.segment(820, False, 0, 1, SYN)
    for number in range(1, 11):
        said.ack(821 + 0.1 * number, 1 + 1000 * number)
    goes_on(said, 842, 10_001)
    ((start_ms, length_ms),) = stalls(said, tmp_path)
    assert start_ms == pytest.approx(41, abs=3)
    assert length_ms == pytest.approx(780, abs=3)


@pytest.mark.parametrize("lost", [0, 5])
def test_an_ack_of_all_that_waited_was_due_when_its_first_segments_were(tmp_path: Path, lost: int) -> None:
    """A probe in the silence is answered with all the rest, at once; or the ACKs before that were lost."""
    said = Conversation()
    said.handshake(0, 20)
    t_ms, seq = said.rounds(21, 1, 10, 20.0)
    for number in range(10):
        said.data(t_ms, seq + 1000 * number)
    said.data(t_ms + 80, seq + 10_000)
    said.idents[1] += lost
    said.ack(t_ms + 160, seq + 11_000)
    goes_on(said, t_ms + 161, seq + 11_000)
    found = stalls(said, tmp_path)
    if lost:
        assert not found
    else:
        ((_, length_ms),) = found
        assert length_ms == pytest.approx(140, abs=5)


def test_no_ack_answers_a_copy_sooner_than_the_smallest_rtt(tmp_path: Path) -> None:
    """Two timeouts in a stall; the ACKs that end it are those of the originals, one after the other."""
    said = Conversation(sack=False)
    said.handshake(0, 20)
    t_ms, seq = said.rounds(21, 1, 10, 20.0)
    for number in range(10):
        said.data(t_ms, seq + 1000 * number)
    said.data(t_ms + 230, seq)
    said.data(t_ms + 700, seq)
    said.ack(t_ms + 800, seq + 1000)
    for number in range(1, 10):
        said.data(t_ms + 800 + number, seq + 1000 * number)
        said.ack(t_ms + 800.5 + number, seq + 1000 * (number + 1))
    goes_on(said, t_ms + 840, seq + 10_000)
    ((_, length_ms),) = stalls(said, tmp_path)
    assert length_ms == pytest.approx(780, abs=5)


@pytest.mark.parametrize("waited", [True, False])
def test_a_stall_goes_on_where_one_packet_passes_in_its_middle(tmp_path: Path, waited: bool) -> None:
    """What ends the second silence, of 90 ms, was in flight since before the first; or is sent in between."""
    said = Conversation()
    said.handshake(0, 20)
    t_ms, seq = said.rounds(21, 1, 10, 20.0)
    for number in range(10 if waited else 2):
        said.data(t_ms, seq + 1000 * number)
    said.ack(t_ms + 420, seq + 2000)
    if not waited:
        for number in range(2, 10):
            said.data(t_ms + 490, seq + 1000 * number)
    for number in range(2, 10):
        said.ack(t_ms + 510 + 0.1 * number, seq + 1000 * (number + 1))
    goes_on(said, t_ms + 540, seq + 10_000)
    ((_, length_ms),) = stalls(said, tmp_path)
    assert length_ms == pytest.approx(490 if waited else 400, abs=5)


@pytest.mark.parametrize("waited", [True, False])
def test_so_does_one_that_timestamps_show(waited: bool) -> None:
    """Segments each 10 ms; from 1 s on one waits for 400 ms, and the rest for 90 ms more, or is sent then."""
    sent_ms = np.arange(0, 2000, 10)
    came_ms = np.where((sent_ms > 1000) & (sent_ms < 1490), 1490, sent_ms)
    came_ms[sent_ms == 1000] = 1400
    if not waited:
        sent_ms = np.where(sent_ms > 1000, came_ms, sent_ms)
    rows: Any = {
        "t_ns": BEGIN + came_ms * 1_000_000,
        "ts_val": 77 + sent_ms,
        "record": np.arange(len(sent_ms)),
    }
    (found,) = stamped_before(rows, 20_000_000)
    assert found.length_ns / 1e6 == (500 if waited else 410)
