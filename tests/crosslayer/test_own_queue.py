"""A recording on the data sender's host: its own queue drops, and its capture lies behind that queue."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support_samples import SAMPLES

import multitracer as mt
from multitracer.output.digest import LIMITS

Object = dict[str, Any]


@pytest.fixture(scope="module")
def contract() -> Object:
    found: Object = json.loads(mt.analyze(mt.read(SAMPLES / "host-queue")).to_json())
    return found


def test_the_recorded_host_tells_the_point(contract: Object) -> None:
    observed = contract["connections"][0]["observation"]
    assert (observed["point"], observed["grade"]) == ("snd", "certain")
    assert observed["evidence"]["recorded_host"] == "snd"


def test_the_kernels_drops_are_the_first_sentence(contract: Object) -> None:
    """The queue dropped 337 packets; 361 retransmissions less 196 that it refused are 165 on the wire."""
    first = next(one for one in contract["diagnosis"] if one["kind"] != "utilization")
    assert first["kind"] == "local_drop"
    assert "dropped 337 packets" in first["text"]
    assert first["evidence"]
    kinds = [one["kind"] for one in contract["diagnosis"]]
    # Retransmissions in order, of segments that the queue dropped, look like new data: the kernel overrules.
    (told,) = contract["connections"]
    assert told["retransmissions"]["total"] <= 165
    assert ("kernel_count" in kinds) == (told["retransmissions"]["total"] < 165)
    assert "host_drops" not in kinds, "said by the first sentence"
    assert contract["host"]["retransmissions"]["counted"] == 165


def test_no_idle_time_behind_the_bottleneck(contract: Object) -> None:
    """Packets had waited before the capture: their ACKs come at once, and tell nothing of an idle link."""
    for name in ("idle_phases", "idle_losses", "queueing"):
        assert not contract[name]
    assert "sender's own queue" in contract["inconclusive"]["idle_phases"]
    # What the link carried, of what its rate allows, is known all the same: it was paced by tbf at 10 Mbit/s.
    used = contract["utilization"]
    assert used["told_from"] == "rate of the full link"
    by_settings = 8 * 480_000 * 1500 / 1448 / (10e6 * used["span_s"])
    assert used["low"] <= by_settings <= used["high"]
    assert used["value"] == pytest.approx(by_settings, abs=0.03)


def test_the_kernels_last_sample_is_older_than_the_end(contract: Object) -> None:
    """`ss` last saw the socket busy for 0.400 s of 0.403 s; the pause of 75 ms came after that.

    By its recorded calls the application had nothing for TCP to send for 103 ms of 482 ms.
    """
    limits = contract["connections"][0]["limits"]
    assert limits["method"] == "kernel"
    assert 0.21 <= limits["application"] <= 0.23  # those, and the last ACK awaited
    shares = [limits[name] for name in LIMITS]
    assert sum(shares) == pytest.approx(1, abs=1e-5)
