"""Clocks of links of whole packets that share one medium: a link whose times are known, and its captures."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import multitracer as mt

BEGIN_NS, MS = 1_700_000_000_000_000_000, 1_000_000
WIRE_NS, SEGMENT = 5 * MS, 1448


class Link:
    """A bulk transfer: a station's data up, every other segment acknowledged down, one medium for both.

    The log names no size of a frame. Short ones are ACKs, and wait for the medium as long ones do.
    """

    def __init__(self, seed: int, segments: int = 600) -> None:
        self.chance = np.random.default_rng(seed)
        self.captures: tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]] = ([], [])
        self.lines: list[str] = []
        self.offsets, self.numbers = [0, 0], [0, 0]
        self.free_ns, self.waiting = 0, [self._data(n) for n in range(segments)]
        self.acks: list[tuple[int, bytes]] = []
        come = 0
        while self.waiting or self.acks:
            up = bool(self.waiting) and (not self.acks or self.waiting[0][0] <= self.acks[0][0])
            t_ns, packet = (self.waiting if up else self.acks).pop(0)
            arrived = self._carry(t_ns, packet, 0 if up else 1)
            come += up
            if up and come % 2 == 0:
                self._acknowledge(arrived + 200_000, come)

    def write(self, folder: Path) -> Path:
        """The captures of both hosts, and the link's log."""
        for name, packets in zip(("snd", "rcv"), self.captures, strict=True):
            out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)]
            for t_ns, packet in sorted(packets):
                seconds, rest = divmod(BEGIN_NS + t_ns, 10**9)
                out.append(struct.pack("<IIII", seconds, rest, len(packet), len(packet)) + packet)
            (folder / f"{name}.pcap").write_bytes(b"".join(out))
        (folder / "link.log").write_text("# rlpdump 1 clock=realtime window=1 n2=7\n" + "".join(self.lines))
        return folder

    def _data(self, number: int) -> tuple[int, bytes]:
        """Bursts of ten, as a window lets them go."""
        t_ns = int((number // 10) * 40 * MS + number % 10 * 100_000 + self.chance.exponential(MS / 4))
        packet = _packet(1 + number * SEGMENT, 1, SEGMENT, number, down=False)
        self.captures[0].append((t_ns, packet))
        return t_ns + 300_000, packet

    def _acknowledge(self, t_ns: int, number: int) -> None:
        packet = _packet(1, 1 + number * SEGMENT, 0, number, down=True)
        self.captures[1].append((t_ns, packet))
        self.acks.append((t_ns + 300_000, packet))

    def _carry(self, t_ns: int, packet: bytes, side: int) -> int:
        """Send it until it gets through; when the host behind the link has it."""
        names, size = ("sta", "ap")[:: 1 if side == 0 else -1], len(packet)
        at = max(t_ns, self.free_ns)
        for attempt in range(7):
            what = f"I ns={self.numbers[side] % 4096} off={self.offsets[side]} len={size}"
            self._line(at, names[0], f"snd {what}" + (f" try={attempt}" if attempt else ""))
            at += 300_000 + size * 730
            if attempt == 6 or self.chance.random() > 0.2:
                break
        self._line(at, names[1], f"rcv {what}")
        self.free_ns = at
        self.offsets[side] += size
        self.numbers[side] += 1
        there = at + WIRE_NS + int(self.chance.exponential(50_000))
        self.captures[1 - side].append((there, packet))
        return there

    def _line(self, t_ns: int, name: str, what: str) -> None:
        seconds, rest = divmod(BEGIN_NS + t_ns, 10**9)
        self.lines.append(f"{seconds}.{rest:09d} {name} {what}\n")


def _packet(seq: int, ack: int, length: int, number: int, *, down: bool) -> bytes:
    ports, ends = (40000, 5001), (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    ports, ends = (ports[::-1], ends[::-1]) if down else (ports, ends)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, 0x10, 65535, 0, 0) + bytes(length)
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), number, 0, 64, 6, 0) + b"".join(ends) + tcp


@pytest.mark.parametrize("seed", range(3))
def test_short_frames_of_a_link_of_packets_are_no_empty_queue(seed: int, tmp_path: Path) -> None:
    """All three have one clock: none is told to be off by more than its bound."""
    m = mt.read(Link(seed).write(tmp_path))
    told = {Path(m.sources[clock.source].path).name: clock for clock in m.clocks}
    assert set(told) == {"snd.pcap", "rcv.pcap", "link.log"}
    for clock in told.values():
        assert clock.uncertainty_ns is not None
        assert abs(clock.offset_ns) <= clock.uncertainty_ns < 8 * MS
