"""Losses of a full queue come when it is longest; those of a radio link come at any time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support_entries import entry

from multitracer.diagnosis.field.saying import sentences
from multitracer.layers.tcp.loss_times import lost_before, lost_behind, needless
from multitracer.layers.tcp.queue_at_losses import Delays, by_acks, by_timestamps, compared
from multitracer.model.schema.columns import Schema
from multitracer.model.schema.tcp import ARRIVALS, RETRANSMISSIONS, SEGMENTS
from multitracer.model.table import Table

MS = 1_000_000
NEAR_NS = 40 * MS


def sawtooth(longest_ms: float, periods: int = 20, each: int = 100) -> Delays:
    """A queue that fills up and empties again, a packet each millisecond."""
    queue = np.tile(np.linspace(0.0, longest_ms, each), periods)
    return Delays(np.arange(len(queue), dtype=np.int64) * MS, (queue * MS).astype(np.int64))


def between(delays: Delays, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return delays.t_ns[rows] + MS // 2


def test_what_a_full_queue_drops_comes_when_it_is_longest() -> None:
    delays = sawtooth(50.0)
    ends = np.arange(20) * 100 + 98
    found = compared(delays, between(delays, ends), NEAR_NS)
    assert found is not None
    assert (found.of, found.at_longest, found.empty, found.dropped) == (20, 20, 0, True)
    assert found.longest_ns == pytest.approx(49 * MS, rel=0.02)
    # Hardly any packet waits as long as those beside what is dropped.
    assert found.dropping_ns == pytest.approx(50 * MS, rel=0.02)


def test_what_is_lost_at_any_time_is_no_queues() -> None:
    delays = sawtooth(50.0)
    rows = np.sort(np.random.default_rng(3).choice(1990, 60, replace=False))
    found = compared(delays, between(delays, rows), NEAR_NS)
    assert found is not None
    assert found.dropped is None
    empty = np.arange(20) * 100 + 5
    found = compared(delays, between(delays, empty), NEAR_NS)
    assert found is not None
    assert (found.empty, found.dropped) == (20, False)


def test_a_queue_that_always_stands_proves_nothing_by_a_few_losses() -> None:
    """Half of all packets meet it at its longest: five losses do with a chance of 3%."""
    queue = np.where(np.arange(1000) % 2 == 0, 50, 10) * MS
    delays = Delays(np.arange(1000, dtype=np.int64) * MS, queue.astype(np.int64))
    few = compared(delays, between(delays, np.arange(5) * 200), NEAR_NS)
    many = compared(delays, between(delays, np.arange(40) * 20), NEAR_NS)
    assert few is not None
    assert many is not None
    assert (few.at_longest, few.dropped) == (5, None)
    assert (many.at_longest, many.dropped) == (40, True)


def test_a_few_that_waited_long_are_no_queue() -> None:
    """Three ACKs of 100 were withheld, each beside several losses."""
    queue = np.where(np.arange(100) % 40 == 10, 45 * MS, MS).astype(np.int64)
    few = Delays(np.arange(100, dtype=np.int64) * 50 * MS, queue)
    lost_ns = np.sort(np.concatenate([few.t_ns[[10, 50, 90]] + MS * at for at in range(1, 9)]))
    assert few.longest_ns == 45 * MS
    assert compared(few, lost_ns, NEAR_NS) is None


@pytest.mark.parametrize("before", [True, False])
def test_what_a_stall_of_the_path_delayed_is_no_queue(before: bool) -> None:
    """A hundred segments waited up to a second for its end: beside that, a queue of 50 ms looks empty."""
    teeth, waited = sawtooth(50.0), np.linspace(1_000.0, 0.0, 100) * MS
    stalled_ns = teeth.t_ns[-1] + MS + np.arange(100) * MS
    arrived = before * waited.astype(np.int64)
    delays = Delays(
        np.concatenate([teeth.t_ns, stalled_ns + arrived]),
        np.concatenate([teeth.queue_ns, waited.astype(np.int64)]),
    )
    lost_ns = between(teeth, np.arange(20) * 100 + 98)
    mistaken = compared(delays, lost_ns, NEAR_NS)
    assert mistaken is not None
    assert mistaken.dropped is False
    stall = (int(stalled_ns[0]) + 60 * MS, int(stalled_ns[0]) + 1_000 * MS)
    found = compared(delays.without([stall], 5 * MS, before=before), lost_ns, NEAR_NS)
    assert found is not None
    assert (found.of, found.at_longest, found.dropped) == (20, 20, True)


def test_no_more_is_said_than_shows() -> None:
    delays, ends = sawtooth(50.0), np.arange(20) * 100 + 98
    assert compared(None, between(delays, ends), NEAR_NS) is None
    assert compared(delays, between(delays, ends[:2]), NEAR_NS) is None
    short = sawtooth(4.0)
    assert compared(short, between(short, ends), NEAR_NS) is None
    assert compared(delays, between(delays, ends), NEAR_NS, least_ns=60 * MS) is None
    # Beside most of them no segment passed near enough.
    far = delays.t_ns[-1] + np.arange(1, 30) * 1_000 * MS
    assert compared(delays, np.concatenate([between(delays, ends), far]), NEAR_NS) is None


@given(
    st.lists(st.integers(0, 10**12), max_size=50),
    st.lists(st.integers(0, 10**12), max_size=50),
    st.lists(st.integers(0, 10**10), min_size=50, max_size=50),
)
def test_whatever_the_times_the_counts_agree(sent: list[int], lost: list[int], queue: list[int]) -> None:
    delays = Delays(np.sort(np.array(sent, dtype=np.int64)), np.array(queue[: len(sent)], dtype=np.int64))
    found = compared(delays, np.sort(np.array(lost, dtype=np.int64)), NEAR_NS)
    if found is not None:
        assert 0 <= found.at_longest + found.empty <= found.of <= len(lost)
        assert found.longest_ns >= 5 * MS
        assert not (found.dropped and found.empty > found.at_longest)


def table(schema: Schema = SEGMENTS, **columns: Any) -> Table:
    """Rows of a table; what is not named is 0."""
    rows = len(next(iter(columns.values())))
    filled = {one.name: columns.get(one.name, np.zeros(rows)) for one in schema.columns}
    return Table(schema, {name: np.asarray(values) for name, values in filled.items()})


def test_delays_by_acks_and_sack_blocks() -> None:
    """Segments of 100 bytes: the third is lost; a SACK block shows the fourth, the last ACK the third."""
    data = table(
        t_ns=[0, 10 * MS, 20 * MS, 30 * MS, 90 * MS],
        seq=[1, 101, 201, 301, 201],
        length=[100] * 5,
        duplicate=[0, 0, 0, 0, 100],
    )
    acks = table(
        t_ns=[40 * MS, 55 * MS, 80 * MS, 130 * MS],
        ack=[101, 201, 201, 401],
        sack_high=[-1, -1, 401, -1],
        rtt_ns=[40 * MS, 45 * MS, -1, -1],
    )
    delays = by_acks(data, acks)
    assert delays is not None
    assert delays.t_ns.tolist() == [10 * MS, 30 * MS]
    assert delays.queue_ns.tolist() == [0, 5 * MS]
    arrived, lost_ns = lost_behind(data)
    assert arrived.tolist() == [True, True, False, True, True]
    assert lost_ns.tolist() == [20 * MS]
    assert by_acks(data, acks.where(acks["t_ns"] < 0)) is None


def test_a_copy_that_had_arrived_is_no_loss() -> None:
    """Two segments are sent again; an answer shows that the first copy of the second had arrived."""
    data = table(
        record=[1, 2, 3, 4, 5], t_ns=[0, 10 * MS, 20 * MS, 90 * MS, 95 * MS], seq=[1, 101, 201, 101, 201],
        length=[100] * 5, duplicate=[0, 0, 0, 100, 100],
    )  # fmt: skip
    rows = table(
        RETRANSMISSIONS, conn=[0] * 3, source=[0, 0, 1], dir=[0] * 3, record=[4, 5, 4], verdict=[0, 1, 1]
    )
    m: Any = SimpleNamespace(table=lambda _: rows)
    connection: Any = SimpleNamespace(index=0, data_dir=0)
    vain = needless(m, connection, 0, data)
    assert vain.tolist() == [False, False, False, False, True]
    arrived, lost_ns = lost_behind(data, vain)
    assert arrived.tolist() == [True, False, True, True, True]
    assert lost_ns.tolist() == [10 * MS]
    assert lost_behind(data)[1].tolist() == [10 * MS, 20 * MS]


def test_delays_by_timestamps_need_a_known_clock() -> None:
    """One tick each millisecond; packets wait for up to 50 ms."""
    times = np.arange(200, dtype=np.int64) * MS
    waited = np.tile(np.arange(50, dtype=np.int64), 4) * MS
    stamps = 7_000 + np.arange(200, dtype=np.int64)
    delays = by_timestamps(table(t_ns=times + waited, ts_val=stamps))
    assert delays is not None
    assert delays.queue_ns.tolist() == waited.tolist()
    unknown = table(t_ns=times + waited, ts_val=7_000 + 40 * np.arange(200))
    assert by_timestamps(unknown) is None
    assert by_timestamps(table(t_ns=times, ts_val=np.full(200, -1))) is None
    # Ticks of 100 ms say nothing of 50.
    coarse = table(t_ns=times + waited, ts_val=np.arange(200) // 100)
    assert by_timestamps(coarse) is None


def test_what_was_reordered_was_not_lost() -> None:
    data = table(t_ns=[1, 2, 3, 4, 5], seq=[1, 301, 201, 401, 101], length=[100] * 5)
    arrivals = table(ARRIVALS, seq=[201, 101], verdict=[2, 1], fresh=[1, 1], in_order=[0, 0])
    since_ns, until_ns = lost_before(data, arrivals)
    assert (since_ns.tolist(), until_ns.tolist()) == ([1], [2])


def test_a_retransmission_is_not_what_passed_before_a_loss() -> None:
    """What was sent before the tail of a burst is the last new segment, not a repair that came meanwhile."""
    data = table(t_ns=[1, 2, 3, 9], seq=[1, 201, 101, 401], length=[100] * 4)
    arrivals = table(ARRIVALS, seq=[101, 301], verdict=[1, 1], fresh=[1, 1], in_order=[0, 0])
    since_ns, until_ns = lost_before(data, arrivals)
    assert (since_ns.tolist(), until_ns.tolist()) == ([1, 2], [2, 9])


def test_the_queue_behind_the_tail_of_a_burst_is_not_that_of_its_losses() -> None:
    """A burst fills the queue, its tail is dropped, and nothing passes until the queue is long empty."""
    delays = sawtooth(50.0, periods=5)
    times = np.concatenate([delays.t_ns[:500] + 500 * MS * (np.arange(500) // 100)])
    bursts = Delays(times, delays.queue_ns[:500])
    last, first = times[np.arange(4) * 100 + 99], times[np.arange(1, 5) * 100]
    wrong = compared(bursts, first, NEAR_NS)
    assert wrong is not None
    assert (wrong.empty, wrong.dropped) == (4, False), "as if they had met the next burst's empty queue"
    assert compared(bursts, first, NEAR_NS, since_ns=last) is None, "when they were lost is not known"
    # Both segments around a loss met the longest queue.
    steady = Delays(times, np.full(500, 50 * MS, dtype=np.int64))
    found = compared(steady, first, NEAR_NS, since_ns=last)
    assert found is not None
    assert (found.of, found.at_longest) == (4, 4)


def told(**facts: Any) -> str:
    mine: Any = {"loss_recovery": 0.2, "congestion_window": 0.8, "again": {"fast": 30}, "lost": (30, 0)}
    (first, *_) = sentences([entry(**mine, **facts)])
    return first.text


def test_the_sentence_says_what_dropped_them_only_where_that_is_sure() -> None:
    queue = {"longest_ms": 16.3, "dropping_ms": 17.0, "of": 30, "at_longest": 29, "empty": 0, "dropped": True}
    words = "; at least 29 of 30 losses occurred when the delay was close to its maximum (17 ms above the"
    assert words in told(queue_at_losses=queue)
    fewer = queue | {"of": 20, "at_longest": 20}
    assert "; all 20 losses with a known delay occurred when the delay was close to its maximum" in told(
        queue_at_losses=fewer
    )
    none = queue | {"at_longest": 1, "empty": 25, "dropped": False}
    words = "; 25 of 30 losses occurred while packets were delayed far less than at other times, unlike"
    assert words in told(queue_at_losses=none)
    for unsure in (queue | {"dropped": None}, queue | {"of": 10, "at_longest": 10}, None):
        assert "losses" not in told(queue_at_losses=unsure)
    # Much of what was retransmitted had not been lost.
    assert "losses" not in told(queue_at_losses=queue, needless_retransmissions=10)
    bucket = {"rate_bps": 6e6, "rate_at_least": False, "burst_bytes": 30_000, "losses": 28, "of": 30}
    both = told(queue_at_losses=none, policer=bucket)
    assert "this fits a policer" in both
    assert "hardly" not in both
