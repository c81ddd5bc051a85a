"""Losses of a token bucket, of a drop-tail queue and of chance: only the first are a policer's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support_entries import entry

from multitracer.diagnosis.field.saying import sentences
from multitracer.layers.tcp.policer import Policer, token_bucket

PACKET = 1500
RTT = 0.03


def sent(rate_bps: float, seconds: float, seed: int) -> np.ndarray[Any, Any]:
    """Times at which a window that grows and is halved sends packets, in bursts of one RTT."""
    rng, times, window, now = np.random.default_rng(seed), [], 10.0, 0.0
    most = 1.6 * rate_bps / 8 / PACKET * RTT
    while now < seconds:
        burst = round(window)
        times += [now + number * RTT / (2 * burst) for number in range(burst)]
        now += RTT * rng.uniform(1.0, 1.1)
        window = window / 2 if window > most else window + 1
    return np.array(times)


def bucket(times: np.ndarray[Any, Any], rate_bps: float, burst: float) -> np.ndarray[Any, Any]:
    """Which packets a token bucket lets pass."""
    tokens, last, passed = burst, 0.0, []
    for now in times.tolist():
        tokens = min(burst, tokens + (now - last) * rate_bps / 8)
        last = now
        passed.append(tokens >= PACKET)
        tokens -= PACKET * passed[-1]
    return np.array(passed)


def found(times: np.ndarray[Any, Any], passed: np.ndarray[Any, Any], most_ms: float) -> Policer | None:
    t_ns = (times * 1e9).astype(np.int64)
    size = np.full(int(passed.sum()), PACKET)
    return token_bucket(t_ns[passed], size, t_ns[~passed], (1e3 * RTT, most_ms))


@pytest.mark.parametrize(("rate_bps", "burst"), [(6e6, 40_000), (3e6, 20_000), (10e6, 90_000)])
def test_a_token_bucket_is_found(rate_bps: float, burst: int) -> None:
    times = sent(rate_bps, 12.0, 1)
    passed = bucket(times, rate_bps, burst)
    assert np.count_nonzero(~passed) >= 15
    policer = found(times, passed, 32.0)
    assert policer is not None
    assert policer.rate_bps == pytest.approx(rate_bps, rel=0.05)
    assert policer.burst_bytes == pytest.approx(burst, abs=3 * PACKET)
    assert policer.losses >= 0.85 * policer.of
    assert policer.of == np.count_nonzero(~passed)


def test_where_packets_wait_it_is_a_queue() -> None:
    times = sent(6e6, 12.0, 2)
    passed = bucket(times, 6e6, 40_000)
    # 40,000 bytes take 53 ms.
    policer = found(times, passed, 30.0 + 45.0)
    assert policer is None or policer.losses < 0.6 * policer.of


def test_losses_by_chance_are_none() -> None:
    times = sent(6e6, 12.0, 3)
    for seed in range(20):
        passed = np.random.default_rng(seed).random(len(times)) > 0.02
        policer = found(times, passed, 32.0)
        assert policer is None or policer.losses < 0.6 * policer.of


def test_few_losses_and_one_burst_tell_nothing() -> None:
    times = sent(6e6, 12.0, 4)
    few = np.ones(len(times), dtype=bool)
    few[100:110] = False
    assert found(times, few, 32.0) is None
    few[100:140] = False
    assert found(times, few, 32.0) is None


@given(
    times=st.lists(st.integers(0, 10**12), min_size=1, max_size=60),
    lost=st.lists(st.integers(0, 10**12), max_size=60),
    size=st.integers(0, 65_535),
    most_ms=st.floats(0, 1e5),
)
def test_any_packets_have_an_answer(times: list[int], lost: list[int], size: int, most_ms: float) -> None:
    t_ns = np.array(times, dtype=np.int64)
    policer = token_bucket(t_ns, np.full(len(t_ns), size), np.array(lost, dtype=np.int64), (0.0, most_ms))
    assert policer is None or 0 <= policer.losses <= policer.of == len(lost)


def test_it_is_said_with_the_losses() -> None:
    policed = {"rate_bps": 5.96e6, "burst_bytes": 42_258, "losses": 90, "of": 136, "rate_at_least": False}
    one = entry(loss_recovery=0.2, congestion_window=0.8, lost=(158, 0), again={"fast": 142}, policer=policed)
    assert (
        "; this fits a policer: 90 of 136 losses occurred when a token bucket of about 5.96 Mbit/s and "
        "about 42,258 bytes was empty, and no queue added to the RTT; loss recovery"
    ) in sentences([one])[0].text
