"""The real-time loop: packets between two TUN devices and a link model, on the realtime clock.

One thread, one select: nothing here blocks or starts processes while traffic runs, so that the link keeps its
time to a fraction of a millisecond on an idle machine. How late it was is measured and reported.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import IO, Any

from multitracer.lab.link import FrameSink, Link
from multitracer.lab.tun import Tun

_BATCH = 64
_LATE_NS = 5_000_000
_NICENESS = -15
_BAD_MS = 100.0
_BAD_SHARE = 0.2


@dataclass
class Lateness:
    """How well the loop kept the link's time.

    Attributes
    ----------
    events : int
        Times at which the link wanted to be woken.
    late : int
        Of them, served more than 5 ms late.
    max_ms : float
        The worst.
    clock_step_s : float
        By how much the realtime clock moved against the monotonic one during the run.
    """

    events: int = 0
    late: int = 0
    max_ms: float = 0.0
    clock_step_s: float = 0.0

    @property
    def bad(self) -> bool:
        """Whether the machine was too busy for the link's times to be accurate."""
        return self.max_ms > _BAD_MS or self.late > self.events * _BAD_SHARE

    def to_dict(self) -> dict[str, Any]:
        """For ``truth.json``."""
        return asdict(self)


class Pump:
    """Moves packets.

    Parameters
    ----------
    link : Link
    tuns : tuple of Tun
        Devices of side 0 and side 1.
    log : file or None
        Takes the link's log lines.
    frames : FrameSink or None
        Takes the link's raw frames.
    """

    def __init__(
        self, link: Link, tuns: tuple[Tun, Tun], log: IO[str] | None, frames: FrameSink | None
    ) -> None:
        self._link, self._tuns, self._log, self._frames = link, tuns, log, frames
        self._drain_frames: Any = getattr(link, "drain_frames", None)
        self._both_ends = getattr(frames, "both_ends", False)
        self.lateness = Lateness()
        # Not to be late on a busy machine; the packets' senders and recorders stay as they are.
        self._niceness = os.getpriority(os.PRIO_PROCESS, 0)
        _set_niceness(min(self._niceness, _NICENESS))
        self._clock_gap_ns = time.time_ns() - time.monotonic_ns()
        self.now_ns = self.last_packet_ns = time.time_ns()

    def step(self, watched: Sequence[Any], longest_s: float) -> list[Any]:
        """Wait for a packet, the link's next event, a watched descriptor or `longest_s`; serve the link.

        Returns
        -------
        list
            Those of `watched` that are readable.
        """
        wait = longest_s
        due = self._link.next_ns()
        if due is not None:
            wait = min(wait, max(0.0, (due - time.time_ns()) / 1e9))
        ready, _, _ = select.select([*self._tuns, *watched], [], [], wait)
        now = self._advance()
        if due is not None and now >= due:
            self._note_lateness(now - due)
        others = []
        for item in ready:
            if item is self._tuns[0]:
                self._take(0)
            elif item is self._tuns[1]:
                self._take(1)
            else:
                others.append(item)
        return others

    def finish(self) -> None:
        """Take the last lines and settle the clock check."""
        self._advance()
        gap = time.time_ns() - time.monotonic_ns() - self._clock_gap_ns
        self.lateness.clock_step_s = round(gap / 1e9, 6)

    def release(self) -> None:
        """Give the priority back."""
        _set_niceness(self._niceness)

    def _advance(self) -> int:
        # A clock set back must not move the link's time backward.
        self.now_ns = max(self.now_ns, time.time_ns())
        for delivery in self._link.advance(self.now_ns):
            self._tuns[delivery.side].write(delivery.packet)
            self.last_packet_ns = self.now_ns
        self._drain()
        return self.now_ns

    def _take(self, side: int) -> None:
        for _ in range(_BATCH):
            packets = self._tuns[side].read()
            if not packets:
                return
            self.now_ns = max(self.now_ns, time.time_ns())
            self.last_packet_ns = self.now_ns
            for packet in packets:
                self._link.send(side, packet, self.now_ns)

    def _drain(self) -> None:
        lines = self._link.drain_log()
        if lines and self._log is not None:
            self._log.write("\n".join(lines) + "\n")
        if self._drain_frames is not None:
            for frame in self._drain_frames():
                # An analyser on the air records every frame once, as sent; an end what it receives, too.
                if self._frames is not None and (self._both_ends or frame.direction == "snd"):
                    self._frames.write(frame.t_ns, frame.side, frame.data)

    def _note_lateness(self, late_ns: int) -> None:
        self.lateness.events += 1
        self.lateness.late += late_ns > _LATE_NS
        self.lateness.max_ms = max(self.lateness.max_ms, round(late_ns / 1e6, 3))


def _set_niceness(value: int) -> None:
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, value)
