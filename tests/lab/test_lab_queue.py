from __future__ import annotations

import itertools
import math

import pytest
from support_lab import payload, tcp

from multitracer.lab.ppp.vj import ip_checksum
from multitracer.lab.queue import InterfaceQueue, set_ce
from multitracer.lab.settings import QueueSettings

MS = 1_000_000


class Drops(list):
    def __call__(self, t_ns: int, packet: bytes, reason: str) -> None:
        self.append((t_ns, packet, reason))


def test_drop_tail_in_packets() -> None:
    drops = Drops()
    queue = InterfaceQueue(QueueSettings(queue_packets=3), drops)
    accepted = [queue.push(payload(i, 100), i) for i in range(5)]
    assert accepted == [True] * 3 + [False] * 2
    assert [(t, reason) for t, _, reason in drops] == [(3, "full"), (4, "full")]
    assert [queue.pop(9) for _ in range(4)] == [*(payload(i, 100) for i in range(3)), None]


def test_drop_tail_in_bytes() -> None:
    queue = InterfaceQueue(QueueSettings(queue_packets=0, queue_bytes=250), Drops())
    assert [queue.push(payload(i, size), 0) for i, size in enumerate((100, 100, 100, 50))] == [
        True,
        True,
        False,
        True,
    ]
    assert queue.size_bytes == 250


def overload(
    ecn: bool, tos: int, seconds: float = 3.0
) -> tuple[InterfaceQueue, Drops, list[tuple[int, bytes]]]:
    """A standing queue: twenty packets wait at any time, one leaves every 10 ms."""
    drops, out = Drops(), []
    settings = QueueSettings(queue_packets=0, queue_discipline="codel", ecn=ecn)
    queue = InterfaceQueue(settings, drops)
    packet = tcp(1, 1, b"x" * 460, tos=tos)
    t_ns = 0
    while t_ns < seconds * 1000 * MS:
        while len(queue) < 20:
            queue.push(packet, t_ns)
        taken = queue.pop(t_ns)
        assert taken is not None
        out.append((t_ns, taken))
        t_ns += 10 * MS
    return queue, drops, out


def test_codel_waits_an_interval_and_then_follows_the_control_law() -> None:
    """RFC 8289 section 5.2: a first drop after an interval above target, then interval / sqrt(count)."""
    _, drops, _ = overload(ecn=False, tos=0)
    times = [t_ns for t_ns, _, reason in drops if reason == "codel"]
    # Sojourn passes 5 ms at t = 10 ms, and has been above it for 100 ms at t = 110 ms.
    assert times[0] == 110 * MS
    for count, (a, b) in enumerate(itertools.pairwise(times), 1):
        assert b - a == pytest.approx(100 * MS / math.sqrt(count), abs=10.1 * MS)
    assert len(times) > 50


def test_codel_marks_instead_of_dropping() -> None:
    queue, drops, out = overload(ecn=True, tos=2)
    marked = [packet for _, packet in out if packet[1] & 3 == 3]
    assert not drops
    assert queue.marked == len(marked) > 50
    assert all(ip_checksum(packet[:20]) == 0 for packet in marked)


def test_codel_drops_what_cannot_be_marked() -> None:
    queue, drops, _ = overload(ecn=True, tos=0)
    assert queue.marked == 0
    assert drops


def test_codel_leaves_a_short_queue_alone() -> None:
    drops = Drops()
    queue = InterfaceQueue(QueueSettings(queue_discipline="codel"), drops)
    for i in range(500):
        queue.push(payload(i, 500), i * 10 * MS)
        assert queue.pop(i * 10 * MS + 4 * MS) == payload(i, 500)
    assert not drops


@pytest.mark.parametrize("tos", range(256))
def test_ce_keeps_the_rest_of_the_packet_and_its_checksum(tos: int) -> None:
    packet = tcp(7, 9, b"abc", tos=tos)
    marked = set_ce(packet)
    if tos & 3 == 0:
        assert marked is None
        return
    assert marked is not None
    assert marked[1] == tos | 3
    assert ip_checksum(marked[:20]) == 0
    assert (marked[:1], marked[2:10], marked[12:]) == (packet[:1], packet[2:10], packet[12:])


def test_ce_in_ipv6() -> None:
    packet = bytes((0x60, 0x20)) + bytes(38)
    assert set_ce(packet) == bytes((0x60, 0x30)) + bytes(38)
    assert set_ce(bytes((0x60, 0x00)) + bytes(38)) is None
    assert set_ce(b"") is None
