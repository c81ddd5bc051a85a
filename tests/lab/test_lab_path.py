"""Paths of several hops, what a tap between them sees, and parts of captures."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path
from typing import Any

import dpkt
import pytest
from hypothesis import given, settings, strategies as st
from support_lab import SECOND, Outcome, payload, tcp

from multitracer.lab.cutting import cut
from multitracer.lab.models import build_link
from multitracer.lab.plain import routed
from multitracer.lab.ppp.vj import ip_checksum
from multitracer.lab.qdisc import commands
from multitracer.lab.requirements import LabError
from multitracer.lab.settings import QdiscSettings
from multitracer.lab.tap import TapWriter

CLEAN = {"rate_bps": 0, "delay_ms": 10, "queue_packets": 0}


def tapped(hops: list[dict[str, Any]], count: int, seed: int = 1) -> tuple[Outcome, list[Any]]:
    """Packets of both sides over a path, and what passed its taps."""
    link: Any = build_link({"model": "path", "hop": hops}, seed)
    outcome, passed = Outcome(link), []
    link.on_tap = lambda number, t_ns, packet: passed.append((number, t_ns, packet))
    for index in range(count):
        t_ns = index * SECOND // 100
        outcome.deliveries += link.advance(t_ns)
        packet = payload(index, 300)
        link.send(index % 2, packet, t_ns)
        outcome.sent[index % 2].append(packet)
    outcome.deliveries += link.advance(1000 * SECOND)
    return outcome, passed


def test_delays_add_up_and_the_tap_is_where_it_is() -> None:
    outcome, passed = tapped([CLEAN, {**CLEAN, "delay_ms": 30}], 2)
    assert [(d.t_ns, d.side) for d in outcome.deliveries] == [(40_000_000, 1), (50_000_000, 0)]
    # From side 0 after 10 ms, from side 1 (10 ms later) after 30 ms.
    assert [(number, t_ns) for number, t_ns, _ in passed] == [(0, 10_000_000), (0, 40_000_000)]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_the_tap_stands_between_the_losses(seed: int) -> None:
    lossy = {**CLEAN, "loss": 0.2}
    outcome, passed = tapped([{**lossy, "duplicate": 0.1, "duplicate_ms": 3}, lossy], 60, seed)
    times = [t_ns for _, t_ns, _ in passed]
    assert times == sorted(times)
    seen = Counter(packet for _, _, packet in passed)
    truth = outcome.link.truth
    for side in (0, 1):
        near, far = (0, 1) if side == 0 else (1, 0)

        def events(what: str, hop: int, side: int = side) -> int:
            return sum(e["what"] == what and e["hop"] == hop and e["side"] == side for e in truth.events)

        sent = Counter(outcome.sent[side])
        at_tap = Counter({packet: count for packet, count in seen.items() if packet in sent})
        lost = events("packet_lost", near)
        assert at_tap.total() == sent.total() - lost + events("packet_duplicated", near)
        arrived = Counter(outcome.received(side))
        assert arrived.total() == at_tap.total() - events("packet_lost", far) + events(
            "packet_duplicated", far
        )
    assert truth.counts["packets_in"] == [30, 30]
    assert truth.counts["packets_out"] == [len(outcome.received(0)), len(outcome.received(1))]


@given(st.integers(0, 255), st.integers(0, 63), st.integers(0, 65_535))
def test_routers_lower_the_time_to_live(ttl: int, routers: int, ip_id: int) -> None:
    packet = bytearray(tcp(1, 1, b"data", ip_id=ip_id))
    packet[8], packet[10:12] = ttl, b"\0\0"
    packet[10:12] = ip_checksum(bytes(packet[:20])).to_bytes(2, "big")
    passed = routed(bytes(packet), routers)
    assert passed[8] == (max(1, ttl - routers) if ttl > 1 else ttl)
    assert ip_checksum(passed[:20]) == 0
    assert passed[12:] == bytes(packet[12:])


def test_what_is_no_ipv4_is_not_routed() -> None:
    for packet in (b"", b"\x45", bytes([0x60]) + bytes(60)):
        assert routed(packet, 3) == packet


def test_a_tap_writes_every_nanosecond_and_cuts(tmp_path: Path) -> None:
    file = tmp_path / "mid.pcap"
    tap = TapWriter(str(file), 60)
    for index in range(10):
        tap.write(1_700_000_000_000_000_001 + index * SECOND, tcp(index, 1, bytes(100)))
    tap.close()
    with file.open("rb") as stream:
        packets = list(dpkt.pcap.Reader(stream))
    assert [len(data) for _, data in packets] == [60] * 10
    assert struct.unpack_from("<IIII", file.read_bytes(), 24) == (1_700_000_000, 1, 60, 140)
    # A capture that began three packets late and ended two early.
    part = tmp_path / "part.pcap"
    begin_ns = 1_700_000_003_000_000_001
    assert cut(file, part, begin_ns, begin_ns + 5 * SECOND) == 5
    with part.open("rb") as stream:
        assert [data for _, data in dpkt.pcap.Reader(stream)] == [data for _, data in packets[3:8]]
    part.write_bytes(b"no capture at all, but long enough")
    with pytest.raises(LabError, match="no pcap"):
        cut(part, tmp_path / "none", 0, 1)


@pytest.mark.parametrize("kind", ["tbf", "htb", "fq_codel"])
def test_a_queue_has_its_rate_and_its_limit(kind: str) -> None:
    words = commands("mt0", QdiscSettings(kind=kind, rate_bps=15e6, limit_bytes=40_000))
    flat = [" ".join(command) for command in words]
    assert all("dev mt0" in command for command in flat)
    assert sum("15000000bit" in command for command in flat) == 1
    assert sum("limit 40000" in command for command in flat) == 1
    assert flat[0].endswith("limit 40000") == (kind == "tbf")
