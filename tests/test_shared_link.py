"""The rate of a link that connections share: all that crossed it counts, and a share of it is no rate."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import multitracer as mt
from tests.support_conversation import Conversation

PAYLOAD, HEADERS = 1000, 40


class Receivers:
    """Connections as their receiver's capture has them: each segment is acknowledged at once.

    Parameters
    ----------
    starts_ms : sequence of float
        When each opens; 30 ms before its first data.
    """

    def __init__(self, starts_ms: Sequence[float]) -> None:
        self.talks = [Conversation(port_a=5000 + number) for number in range(len(starts_ms))]
        self.next = [1] * len(starts_ms)
        for talk, start_ms in zip(self.talks, starts_ms, strict=True):
            # The SYN+ACK leaves at once, and the path to the sender and back takes 20 ms.
            talk.handshake(start_ms - 30, 0.02)
            (at_ms, packet) = talk.packets.pop()
            talk.packets.append((at_ms + 20, packet))

    def arrives(self, t_ms: float, number: int, *, length: int = PAYLOAD, again: bool = False) -> None:
        """New data of a connection, or what came last once more."""
        talk, seq = self.talks[number], self.next[number]
        if again:
            talk.data(t_ms, seq - length, length)
            talk.ack(t_ms + 0.02, seq, [(seq - length, seq)])
            return
        talk.data(t_ms, seq, length)
        self.next[number] = seq + length
        talk.ack(t_ms + 0.02, seq + length)

    def analysed(self, path: Path) -> list[dict[str, Any]]:
        """`bottleneck` of each, in the order of their ports."""
        whole = Conversation()
        whole.packets = sorted(
            (packet for talk in self.talks for packet in talk.packets), key=lambda it: it[0]
        )
        summary = mt.analyze(mt.read(whole.write(path)), only=["connections"]).results["connections"].summary
        entries = sorted(summary["connections"], key=lambda entry: str(entry["endpoints"]))
        assert len(entries) == len(self.talks)
        return [entry["bottleneck"] for entry in entries]


def _drawn(
    rng: random.Random, counts: Sequence[int], starts_ms: Sequence[float]
) -> Iterator[tuple[float, int]]:
    """One segment a millisecond, of those that have begun and have data left, by fits and starts."""
    left, weights = list(counts), [1.0] * len(counts)
    for t_ms in range(10, 100_000):
        if not any(left):
            return
        if t_ms % 12 == 0:
            weights = [rng.choice([0.2, 1.0, 3.0]) for _ in counts]
        there = [number for number, rest in enumerate(left) if rest and starts_ms[number] <= t_ms]
        if there:
            number = rng.choices(there, [weights[number] for number in there])[0]
            left[number] -= 1
            yield float(t_ms), number


def _rates(found: Sequence[dict[str, Any]]) -> list[float]:
    """Megabits a second of payload, of those that show the link by what all bring."""
    together = [entry for entry in found if "constant_sum" in entry["evidence"]]
    return [entry["rate_bps"] / 1e6 * PAYLOAD / (PAYLOAD + HEADERS) for entry in together]


def test_the_first_segments_of_short_connections_crossed_the_link(tmp_path: Path) -> None:
    rng = random.Random(5)
    starts_ms = [9.0 + 12 * number for number in range(40)]
    link = Receivers(starts_ms)
    for t_ms, number in _drawn(rng, [18 + rng.randrange(10) for _ in starts_ms], starts_ms):
        link.arrives(t_ms, number)
    rates = _rates(link.analysed(tmp_path / "rcv.pcap"))
    assert len(rates) > 10
    assert all(rate == pytest.approx(8.0, rel=0.02) for rate in rates), rates


def test_a_control_connection_is_none_of_those_that_share_the_link(tmp_path: Path) -> None:
    """Three share it for 12 s; a fourth has a few bytes to say now and then."""
    rng = random.Random(9)
    link = Receivers([9.0] * 4)
    for t_ms, number in _drawn(rng, [4_000] * 3, [9.0] * 3):
        if t_ms % 150 == 0:
            link.arrives(t_ms - 0.4, 3, length=40)
        link.arrives(t_ms, number)
    *three, control = link.analysed(tmp_path / "rcv.pcap")
    assert [one["shared_with"] for one in three] == [2, 2, 2]
    assert control["shared_with"] == 3


def test_what_arrived_twice_was_carried_twice(tmp_path: Path) -> None:
    rng = random.Random(6)
    starts_ms = [9.0, 9.0, 9.0, 9.0]
    link = Receivers(starts_ms)
    for place, (t_ms, number) in enumerate(_drawn(rng, [300] * 4, starts_ms)):
        link.arrives(t_ms, number, again=place % 8 == 7 and link.next[number] > 1)
    rates = _rates(link.analysed(tmp_path / "rcv.pcap"))
    assert len(rates) == 4
    assert all(rate == pytest.approx(8.0, rel=0.02) for rate in rates), rates


def test_a_share_of_a_link_is_not_its_rate(tmp_path: Path) -> None:
    rng = random.Random(7)
    link = Receivers([9.0] * 4)
    busy_until = 0
    for t_ms in range(10, 3000):
        if t_ms % 8 == 0:
            link.arrives(float(t_ms), 0)
            continue
        # The others come and go, so that all of them together bring no constant sum.
        if t_ms % 150 == 0:
            busy_until = t_ms + rng.randrange(100, 150)
        if t_ms < busy_until:
            link.arrives(float(t_ms), rng.randrange(1, 4))
    first = link.analysed(tmp_path / "rcv.pcap")[0]
    assert "constant_sum" not in first["evidence"]
    assert first["rate_bps"] is None or first["rate_bps"] > 7e6, first
    # The same one alone comes at the rate of its link, as far as anything shows.
    alone = Receivers([9.0])
    for t_ms in range(16, 3000, 8):
        alone.arrives(float(t_ms), 0)
    (found,) = alone.analysed(tmp_path / "alone.pcap")
    assert found["rate_bps"] == pytest.approx(1.04e6, rel=0.03)


def test_a_long_segment_becomes_packets_with_headers(tmp_path: Path) -> None:
    link = Receivers([9.0] * 2)
    rng = random.Random(8)
    for t_ms, number in _drawn(rng, [400, 400], [9.0, 9.0]):
        link.arrives(t_ms, number, length=PAYLOAD if t_ms % 3 else 4 * PAYLOAD)
    rates = [entry["rate_bps"] / 1e6 for entry in link.analysed(tmp_path / "rcv.pcap") if entry["rate_bps"]]
    assert rates
    assert all(rate == pytest.approx(16.0 * (PAYLOAD + HEADERS) / PAYLOAD, rel=0.02) for rate in rates), rates


def test_who_had_the_link_alone_before_the_others_filled_it(tmp_path: Path) -> None:
    """And a connection between the same hosts that brought half of that did not."""
    rng = random.Random(9)
    starts_ms = [9.0, 500.0, 500.0, 500.0, 500.0, 2600.0]
    link = Receivers(starts_ms)
    for t_ms in range(10, 460):
        link.arrives(float(t_ms), 0)
    for t_ms, number in _drawn(rng, [0, 400, 400, 400, 400, 0], starts_ms):
        link.arrives(t_ms + 500, number)
    for t_ms in range(2620, 3400, 2):
        link.arrives(float(t_ms), 5)
    first, *others, slow = link.analysed(tmp_path / "rcv.pcap")
    assert all("constant_sum" in entry["evidence"] for entry in others)
    assert "constant_sum" in first["evidence"]
    assert first["rate_bps"] == pytest.approx(others[0]["rate_bps"], rel=0.02)
    assert first["full_share"] > 0.9
    assert "constant_sum" not in slow["evidence"]
