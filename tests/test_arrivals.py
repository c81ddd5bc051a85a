"""Arrivals from one capture (docs/arrivals.md), against what both ends of the same transfers show."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support_conversation import SYN, Conversation

import multitracer

SHARED = os.environ.get("MULTITRACER_SHARED")
needs_shared = pytest.mark.skipif(not SHARED, reason="MULTITRACER_SHARED names no folder of measurements")


def connections(path: Path) -> list[dict[str, object]]:
    results = multitracer.analyze(multitracer.read(path), only=["connections"]).results
    return list(results["connections"].summary["connections"])


@needs_shared
@pytest.mark.parametrize(("end", "inferred"), [("snd", 0), ("mid", 0), ("rcv", 40)])
def test_a_routers_queue_drops(end: str, inferred: int) -> None:
    """40 segments lost at a router, as TcpRetransSegs says: seen twice before it, inferred behind it."""
    (one,) = connections(Path(SHARED or "") / "everyday" / "router-drop" / f"{end}.pcap.gz")
    assert one["retransmissions"]["total"] == 40  # type: ignore[index]
    assert one["retransmissions"]["inferred"] == inferred  # type: ignore[index]
    side = "upstream" if end == "rcv" else "downstream"
    assert one["losses"][side] == 40  # type: ignore[index]


@needs_shared
@pytest.mark.parametrize("end", ["snd", "mid", "rcv"])
def test_the_senders_own_queue_drops(end: str) -> None:
    """49 first copies died before every tap; TcpRetransSegs - TCPRetransFail = 49."""
    found = connections(Path(SHARED or "") / "everyday" / "qdisc-flows" / f"{end}.pcap.gz")
    assert sum(one["retransmissions"]["inferred"] for one in found) == 49  # type: ignore[index]


def at_receiver(tmp_path: Path, tell: Callable[[Conversation], None]) -> dict[str, int]:
    """Arrivals at a receiver 20 ms from its sender, without identifications and timestamps."""
    c = Conversation()
    c.segment(0, True, 0, None, SYN, options=b"\x02\x04\x03\xe8\x04\x02", ident=0)
    c.segment(0.01, False, 0, 1, SYN, options=b"\x02\x04\x03\xe8\x04\x02", ident=0)
    c.segment(20, True, 1, 1, ident=0)
    tell(c)
    (one,) = connections(c.write(tmp_path / "rcv.pcap"))
    return dict(one["arrivals"])  # type: ignore[call-overload]


def test_a_copy_that_nothing_asked_for_is_the_networks(tmp_path: Path) -> None:
    """30 ms after its ACK: later than a round trip, sooner than any timer, and no ACK reports a loss."""

    def tell(c: Conversation) -> None:
        for i in range(30):
            c.data(30 + 20 * i, 1 + 1000 * i, ident=0)
            c.ack(30.1 + 20 * i, 1001 + 1000 * i)
            if i in (10, 20):
                c.data(40 + 20 * i, 1 + 1000 * (i - 1), ident=0)
                c.ack(40.1 + 20 * i, 1001 + 1000 * i)

    found = at_receiver(tmp_path, tell)
    assert (found["network_duplicate"], found["retransmission"]) == (2, 0)


@pytest.mark.parametrize("silent_ms", [250, 900])
def test_a_copy_after_a_timer_is_the_senders(tmp_path: Path, silent_ms: float) -> None:
    def tell(c: Conversation) -> None:
        for i in range(20):
            c.data(30 + 20 * i, 1 + 1000 * i, ident=0)
            c.ack(30.1 + 20 * i, 1001 + 1000 * i)
        c.data(410 + silent_ms, 18_001, ident=0)
        c.ack(410.1 + silent_ms, 20_001)

    found = at_receiver(tmp_path, tell)
    assert (found["network_duplicate"], found["retransmission"]) == (0, 1)


def test_a_single_gap_filled_a_round_trip_later_is_a_retransmission(tmp_path: Path) -> None:
    def tell(c: Conversation) -> None:
        for i in range(10):
            c.data(30 + 20 * i, 1 + 1000 * i, ident=0)
            c.ack(30.1 + 20 * i, 1001 + 1000 * i)
        for place, seq in enumerate((11_001, 12_001, 13_001)):
            c.data(230 + place, seq, ident=0)
            c.ack(230.1 + place, 10_001, [(11_001, seq + 1000)])
        c.data(253, 10_001, ident=0)
        c.ack(253.1, 14_001)

    found = at_receiver(tmp_path, tell)
    assert (found["reordered"], found["undecided"], found["retransmission"]) == (0, 0, 1)


def test_a_number_that_an_ack_took_makes_no_retransmissions(tmp_path: Path) -> None:
    """Short messages, and one ACK lost before this point: its identification is missing, nothing else."""
    c = Conversation()
    c.segment(0, True, 0, None, SYN, options=b"\x02\x04\x05\xb4\x04\x02", ident=100)
    c.segment(0.01, False, 0, 1, SYN, options=b"\x02\x04\x05\xb4\x04\x02", ident=0)
    c.segment(20, True, 1, 1, ident=101)
    ident = 102
    for i in range(12):
        ident += i == 4
        c.data(100 * (i + 1), 1 + 20 * i, 20, ident=ident)
        c.ack(100 * (i + 1) + 0.1, 21 + 20 * i)
        ident += 1
    (one,) = connections(c.write(tmp_path / "rcv.pcap"))
    assert one["retransmissions"]["total"] == 0  # type: ignore[index]
    assert one["losses"]["upstream"] == 0  # type: ignore[index]
