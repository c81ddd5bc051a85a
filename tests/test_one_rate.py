"""One rate and one queueing delay of a bottleneck, whichever part of the results has it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support_samples import SAMPLES

import multitracer as mt
from multitracer.cli.loss_words import duplicated

LINK_BPS = {"backoff": 9600, "bbr": 10_000_000, "call-dropped": 9600, "link-burst": 9600}
QUEUED = ("call-dropped", "flow-control", "link-resets-sack", "link-resets-vj", "local-drops")


@pytest.fixture(scope="module")
def contracts() -> dict[str, dict[str, Any]]:
    names = {*LINK_BPS, *QUEUED}
    return {name: mt.analyze(mt.read(SAMPLES / name)).to_dict() for name in names}


@pytest.mark.parametrize("name", sorted({*LINK_BPS, *QUEUED}))
def test_the_rate_is_the_same_everywhere(name: str, contracts: dict[str, dict[str, Any]]) -> None:
    found = contracts[name]
    rate_bps = found["connections"][0]["bottleneck"]["rate_bps"]
    assert found["queueing"]["rate_bytes_per_s"] * 8 == pytest.approx(rate_bps, rel=1e-3)
    assert rate_bps <= LINK_BPS.get(name, rate_bps)


def test_arrivals_show_more_of_the_rate_than_acks(contracts: dict[str, dict[str, Any]]) -> None:
    """ACKs alone suggest 12.6 kbit/s on a link of 9.6 kbit/s."""
    both = contracts["call-dropped"]["connections"][0]["bottleneck"]
    alone = mt.analyze(mt.read(SAMPLES / "call-dropped" / "snd.pcap")).to_dict()["connections"][0]
    assert alone["bottleneck"]["rate_bps"] > 12_000
    assert both["rate_bps"] == pytest.approx(9311, rel=0.01)


@pytest.mark.parametrize("name", QUEUED)
def test_base_and_queue_are_the_median_rtt(name: str, contracts: dict[str, dict[str, Any]]) -> None:
    found = contracts[name]
    entry, queueing = found["connections"][0], found["queueing"]["connections"][0]
    link, queue = entry["bottleneck"], entry["bottleneck"]["standing_queue_ms"]["median"]
    assert link["full_base_rtt_ms"] + queue == pytest.approx(entry["rtt"]["median_ms"], abs=0.01)
    assert link["full_base_rtt_ms"] > 1.5 * link["base_rtt_ms"]
    assert queueing["queueing_delay_s"]["median"] * 1e3 == pytest.approx(queue, abs=0.01)
    # One segment of 512 bytes takes 0.4 s of the base RTT: two of them fill the path.
    assert queueing["pipe_capacity_bytes"] == pytest.approx(
        queueing["base_rtt_s"] * found["queueing"]["rate_bytes_per_s"] * 472 / 512, rel=0.05
    )
    (text,) = [one["text"] for one in found["diagnosis"] if one["kind"] == "queue"]
    assert re.search(r"to a base RTT of \d+ ms \(full segment; \d+ ms for a SYN\)", text)


def test_what_a_full_queue_dropped_was_no_duplicate_on_the_link(
    contracts: dict[str, dict[str, Any]],
) -> None:
    """All 51 losses of this path of 10 Mbit/s came at a full queue: no byte arrived twice."""
    used = contracts["bbr"]["utilization"]
    assert used["duplicates_certain"]
    assert used["duplicate_bytes"] == 73_848
    assert used["carried_twice_bytes"] == 0
    assert duplicated(contracts["bbr"]).startswith(
        "0.0% of the bytes on the link, by retransmission (capture"
    )
    # Segments that a link reset flushed had been on the link.
    assert not contracts["link-resets-vj"]["utilization"]["estimate"]["duplicates_certain"]
