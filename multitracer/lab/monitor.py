"""What a monitor on the channel of the ARQ link receives, frame by frame."""

from __future__ import annotations

import random

from multitracer.lab.link import RawFrame, Truth
from multitracer.lab.radiotap import Frames, airtime_us
from multitracer.lab.settings import ArqSettings

_EXCHANGE_NS = 1_000_000  # between two frames of authentication and association


class Monitor:
    """Collects frames in time order, and in the truth how long they were on the air and which it missed.

    Parameters
    ----------
    settings : ArqSettings
    truth : Truth
        Takes ``airtime_ns`` of data frames, and ``monitor_missed_first`` (transmissions), ``_retries`` and
        ``_acks``.
    seed : int
        Of what it misses.
    """

    def __init__(self, settings: ArqSettings, truth: Truth, seed: int) -> None:
        self.frames = Frames(settings.rate_bps)
        self._truth, self._loss = truth, settings.monitor_loss
        self._random = random.Random(f"monitor {seed}")
        self._frames: list[RawFrame] = []

    def attempt(
        self, end_ns: int, side: int, packet: bytes, number: int, *, retry: bool, answered: bool
    ) -> None:
        """A transmission from `side` whose answer, if the other side sent one, was over at `end_ns`.

        Parameters
        ----------
        end_ns : int
            Since the epoch.
        side : int
            0 the station, 1 the access point.
        packet : bytes
            From its IP header on.
        number : int
            Sequence number of the frame (IEEE 802.11 9.2.4.4), taken modulo 4096.
        retry : bool
            Not the first transmission of the frame.
        answered : bool
            The other side acknowledged it.
        """
        frame = self.frames.data(side, packet, number, retry)
        self._truth.count("airtime_ns", side, round(airtime_us(len(frame), self.frames.rate_bps) * 1e3))
        missed = "monitor_missed_retries" if retry else "monitor_missed_first"
        self._hear(end_ns - self.frames.answer_ns, side, frame, missed)
        if answered:
            self._hear(end_ns, 1 - side, self.frames.ack(side), "monitor_missed_acks")

    def leave(self, t_ns: int, roam: bool) -> None:
        """The station leaves; a roaming one just does not answer any more."""
        if not roam:
            self._hear(t_ns, 0, self.frames.deauthentication(0), None)
            self._hear(t_ns + self.frames.answer_ns, 1, self.frames.ack(0), None)

    def back(self, t_ns: int, roam: bool) -> None:
        """The station is back at `t_ns`, after what comes before data."""
        exchange = self.frames.association(roam)
        begin_ns = t_ns - len(exchange) // 2 * _EXCHANGE_NS
        for place, (side, frame) in enumerate(exchange):
            answer_ns = self.frames.answer_ns if place % 2 else 0
            self._hear(begin_ns + place // 2 * _EXCHANGE_NS + answer_ns, side, frame, None)

    def drain(self) -> list[RawFrame]:
        """Take the frames received since the last call."""
        received, self._frames = self._frames, []
        return received

    def _hear(self, t_ns: int, side: int, frame: bytes, counted: str | None) -> None:
        if counted and self._random.random() < self._loss:
            self._truth.count(counted, side)
        else:
            self._frames.append(RawFrame(t_ns, side, "snd", frame))
