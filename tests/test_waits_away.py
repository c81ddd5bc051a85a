"""What a sender waits for, seen away from it: its pace, its application, and ACKs that wait in a queue."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support_conversation import PSH, SYN, Conversation

import multitracer as mt

Object = dict[str, Any]
RTT_MS, SIZE = 45.0, 1448
TICKS_OF_B = 500_000


def stamps(own: float, echo: float) -> bytes:
    """Both timestamps, in whole milliseconds."""
    return b"\x01\x01" + struct.pack(">BBII", 8, 10, int(own), int(echo))


class PathOfTwo:
    """Two hosts at `RTT_MS`, and a capture that a packet of A reaches after `part` of its way."""

    def __init__(self, part: float) -> None:
        self.said, self.part = Conversation(scale=7, timestamps=True), part
        self.ids = [1000, 7000]

    def pass_by(
        self, sent_ms: float, from_a: bool, seq: int, ack: int | None, echo: float, **more: Any
    ) -> float:
        """A packet passes; when it is at the other end, later by `late_ms`."""
        late_ms, size, flags = more.get("late_ms", 0.0), more.get("size", 0), more.get("flags", 0)
        options = stamps(sent_ms + (0 if from_a else TICKS_OF_B), echo)
        if flags == SYN:
            options += struct.pack(">BBHBBBB", 2, 4, SIZE + 12, 1, 3, 3, 7)
        there_ms = sent_ms + RTT_MS / 2 + late_ms
        at_ms = sent_ms + (self.part if from_a else 1 - self.part) * RTT_MS / 2
        self.ids[from_a] += 1
        self.said.segment(at_ms, from_a, seq, ack, flags, bytes(size), 5000, options, ident=self.ids[from_a])
        return there_ms

    def open(self) -> float:
        """The handshake; when the data may begin."""
        there_ms = self.pass_by(0.0, True, 0, None, 0, flags=SYN)
        back_ms = self.pass_by(there_ms, False, 0, 1, 0, flags=SYN)
        self.pass_by(back_ms, True, 1, 1, there_ms + TICKS_OF_B)
        return back_ms

    def analysed(self, path: Path) -> tuple[Object, list[str]]:
        """The connection, and the sentences."""
        self.said.packets.sort(key=lambda one: one[0])
        found = mt.analyze(mt.read(self.said.write(path / "one.pcap"))).to_dict()
        return found["connections"][0], [one["text"] for one in found["diagnosis"]]


def written(path: PathOfTwo, times_ms: Iterator[float], size: int = SIZE, flags: int = PSH) -> None:
    """A writes a segment at each of these times, and B acknowledges each."""
    waiting = [(at_ms, 0, number) for number, at_ms in enumerate(times_ms)]
    heapq.heapify(waiting)
    echo = RTT_MS / 2 + TICKS_OF_B
    while waiting:
        now_ms, kind, number = heapq.heappop(waiting)
        if kind == 0:
            there_ms = path.pass_by(now_ms, True, 1 + size * number, 1, echo, size=size, flags=flags)
            heapq.heappush(waiting, (there_ms, 1, number))
        elif kind == 1:
            acked = 1 + size * (number + 1)
            back_ms = path.pass_by(now_ms, False, 1, acked, now_ms - RTT_MS / 2)
            heapq.heappush(waiting, (back_ms, 2, int(now_ms)))
        else:
            echo = number + TICKS_OF_B


@pytest.mark.parametrize("part", [0.4, 0.98])
@pytest.mark.parametrize(("gap", "segments"), [(0.3, 30), (0.85, 49), (0.5, 200)])
def test_a_writer_that_never_filled_a_window_is_the_application(
    part: float, gap: float, segments: int, tmp_path: Path
) -> None:
    """A segment at a time, less than an RTT apart: data is always in flight, and what waits is no RTT."""
    path = PathOfTwo(part)
    begin_ms = path.open() + 2
    written(path, (begin_ms + gap * RTT_MS * number for number in range(segments)))
    found, _ = path.analysed(tmp_path)
    assert found["limits"]["application"] > 0.75
    median_ms = found["rtt"]["median_ms"]
    assert median_ms is None or median_ms == pytest.approx(RTT_MS, abs=2.5)


def test_one_rate_with_a_flat_rtt_is_the_sender_s_pace_and_no_full_link(tmp_path: Path) -> None:
    """Two segments each 8 ms for six seconds, and nothing lost: any window would have outgrown that."""
    path = PathOfTwo(0.98)
    begin_ms = path.open() + 2
    written(path, (begin_ms + 8 * (number // 2) + 0.4 * (number % 2) for number in range(1500)), flags=0)
    found, said = path.analysed(tmp_path)
    assert found["bottleneck"]["rate_bps"] is None
    assert found["limits"]["bandwidth"] < 0.05
    assert found["limits"]["congestion_window_paced"] > 0.9
    assert said[0].startswith("the sender paced its segments, or its application wrote no faster")
