"""A per-packet ARQ link in the manner of Wi-Fi: attempt, acknowledgement, backoff, retry limit."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass

from multitracer.lab.air import Air
from multitracer.lab.link import Delivery, RawFrame, Truth
from multitracer.lab.monitor import Monitor
from multitracer.lab.queue import InterfaceQueue, QueueDrops
from multitracer.lab.rlpdump_log import RlpdumpLog, header
from multitracer.lab.settings import ArqSettings

# 802.11 numbers frames modulo 4096 (IEEE 802.11 section 9.2.4.4)
MODULUS = 4096


@dataclass
class _Station:
    """One end: its queue, the packet on the air, and its numbers."""

    queue: InterfaceQueue
    air: Air
    packet: bytes | None = None
    attempts: int = 0
    received: bool = False
    number: int = 0
    offset: int = 0
    idle_ns: int | None = None


class ArqLink:
    """Stop and wait in each direction, over one medium or two.

    Parameters
    ----------
    settings : ArqSettings
        Documented there.
    seed : int
        Of air and backoff.
    """

    def __init__(self, settings: ArqSettings, seed: int) -> None:
        self.settings = settings
        self.truth = Truth()
        self.log = RlpdumpLog(("sta", "ap"))
        self.clock = "realtime"
        airs = (settings.air_up or settings.air, settings.air_down or settings.air)
        queues = [InterfaceQueue(settings, QueueDrops(self.truth, self.log, side)) for side in (0, 1)]
        self._stations = [
            _Station(queues[side], Air(air, f"air {side} {seed}")) for side, air in enumerate(airs)
        ]
        self._random = random.Random(f"backoff {seed}")
        self._delay_ns = round(settings.delay_ms * 1e6)
        self._now_ns = 0
        self._begin_ns: int | None = None
        self._last_turn = 1
        # (end of the attempt, side); at most one attempt per medium
        self._attempts: list[tuple[int, int]] = []
        self._under_way: list[tuple[int, int, int, bytes]] = []
        self._order = 0
        self._leaves = sorted(settings.leave_at_s)
        self._back_ns: int | None = None
        self.monitor = Monitor(settings, self.truth, seed) if settings.radiotap else None

    @property
    def queues(self) -> list[InterfaceQueue]:
        """The interface queues at side 0 and 1."""
        return [station.queue for station in self._stations]

    def send(self, side: int, packet: bytes, t_ns: int) -> bool:
        """Hand the link an IP packet that enters at `side`; False if the interface queue dropped it."""
        t_ns = max(t_ns, self._now_ns)
        self._run(t_ns)
        self._now_ns = t_ns
        if self._begin_ns is None:
            self._begin_ns = t_ns
        self.truth.count("packets_in", side)
        station = self._stations[side]
        if station.idle_ns is not None:
            idle = {"t_ns": t_ns, "what": "idle_until", "side": side, "since_ns": station.idle_ns}
            self.truth.events.append(idle)
            station.idle_ns = None
        accepted = self._stations[side].queue.push(packet, t_ns)
        self._begin_attempts(t_ns)
        return accepted

    def advance(self, t_ns: int) -> list[Delivery]:
        """Let time pass up to and including `t_ns`; packets that came out, in time order."""
        self._run(t_ns)
        self._now_ns = max(t_ns, self._now_ns)
        out: list[Delivery] = []
        while self._under_way and self._under_way[0][0] <= t_ns:
            exit_ns, _, side, packet = heapq.heappop(self._under_way)
            self.truth.count("packets_out", 1 - side)
            out.append(Delivery(exit_ns, side, packet))
        return out

    def next_ns(self) -> int | None:
        """Return the next time at which something happens by itself, if any."""
        times = [end_ns for end_ns, _ in self._attempts[:1]]
        times += [exit_ns for exit_ns, _, _, _ in self._under_way[:1]]
        times += [due_ns for due_ns in (self._leave_ns(), self._back_ns) if due_ns is not None]
        return min(times, default=None)

    def drain_frames(self) -> list[RawFrame]:
        """Take the frames that a monitor received since the last call; none unless `radiotap` is set."""
        return [] if self.monitor is None else self.monitor.drain()

    def drain_log(self) -> list[str]:
        """Lines of the rlpdump log since the last call."""
        return self.log.drain()

    def log_header(self) -> str | None:
        """First line of the rlpdump log; frames have no fixed payload and no slots."""
        return header(self.clock, window=1, n2=self.settings.retry_limit)

    def _run(self, limit_ns: int) -> None:
        while True:
            if self._attempts:
                if self._attempts[0][0] > limit_ns:
                    return
                end_ns, side = heapq.heappop(self._attempts)
                self._now_ns = end_ns
                self._end_attempt(side, end_ns)
                self._begin_attempts(end_ns)
                continue
            due_ns = self._leave_ns() if self._back_ns is None else self._back_ns
            if due_ns is None or due_ns > limit_ns:
                return
            self._now_ns = max(self._now_ns, due_ns)
            self._begin_attempts(self._now_ns)

    def _leave_ns(self) -> int | None:
        """When the station leaves next, if it is there; what is on the air goes to its end first."""
        if not self._leaves or self._begin_ns is None or self._back_ns is not None:
            return None
        wanted_ns = self._begin_ns + round(self._leaves[0] * 1e9)
        return max([wanted_ns, *(end_ns for end_ns, _ in self._attempts)])

    def _away(self, t_ns: int) -> bool:
        """Whether the station is away, or has to leave now."""
        roam = self.settings.leave_cause == "roam"
        if self._back_ns is not None and t_ns >= self._back_ns:
            if self.monitor is not None:
                self.monitor.back(self._back_ns, roam)
            self._back_ns = None
        leave_ns = self._leave_ns()
        if leave_ns is not None and t_ns >= leave_ns:
            del self._leaves[0]
            self._back_ns = t_ns + round(self.settings.away_ms * 1e6)
            self.log.reset(t_ns, 0, self.settings.leave_cause, 0, 0)
            fact = {"what": "reset", "side": 0, "cause": self.settings.leave_cause}
            self.truth.events.append({"t_ns": t_ns, **fact, "until_ns": self._back_ns})
            if self.monitor is not None:
                self.monitor.leave(t_ns, roam)
        return self._back_ns is not None

    def _begin_attempts(self, t_ns: int) -> None:
        if self._away(t_ns):
            return
        if not self.settings.half_duplex:
            for side in (0, 1):
                if not any(busy == side for _, busy in self._attempts):
                    self._begin_attempt(side, t_ns)
            return
        # Stations take turns: in the long run that is what contention gives two of them.
        for side in (1 - self._last_turn, self._last_turn):
            if not self._attempts and self._begin_attempt(side, t_ns):
                self._last_turn = side

    def _begin_attempt(self, side: int, t_ns: int) -> bool:
        station = self._stations[side]
        if station.packet is None:
            station.packet = station.queue.pop(t_ns)
            if station.packet is None:
                return False
            station.attempts, station.received = 0, False
        settings, length = self.settings, len(station.packet)
        backoff_us = self._random.random() * settings.backoff_us * 2 ** min(station.attempts, 10)
        end_ns = t_ns + round((backoff_us + settings.overhead_us) * 1e3 + length * 8e9 / settings.rate_bps)
        text = f"snd I ns={station.number % MODULUS} off={station.offset} len={length}"
        if station.attempts:
            text += f" try={station.attempts}"
            self.truth.count("link_retransmissions", side)
        self.log.line(t_ns, side, text)
        self.truth.count("frames_sent", side)
        heapq.heappush(self._attempts, (end_ns, side))
        return True

    def _end_attempt(self, side: int, t_ns: int) -> None:
        station, other = self._stations[side], self._stations[1 - side]
        packet = station.packet
        if packet is None:
            return
        since_ns = t_ns - (self._begin_ns or 0)
        acknowledged = False
        lost = station.air.lost_at(since_ns)
        if self.monitor is not None:
            retry = station.attempts > 0
            self.monitor.attempt(t_ns, side, packet, station.number, retry=retry, answered=not lost)
        if lost:
            self._note(t_ns, "air_loss", "frames_lost_on_air", side, length=len(packet))
        else:
            duplicate = " dup=1" if station.received else ""
            text = f"rcv I ns={station.number % MODULUS} off={station.offset} len={len(packet)}{duplicate}"
            self.log.line(t_ns, 1 - side, text)
            if not station.received:
                station.received = True
                self._order += 1
                heapq.heappush(self._under_way, (t_ns + self._delay_ns, self._order, 1 - side, packet))
            acknowledged = not (self.settings.lost_acks and other.air.lost_at(since_ns))
            if not acknowledged:
                self._note(t_ns, "ack_loss", "acks_lost_on_air", 1 - side)
        if not acknowledged and station.attempts < self.settings.retry_limit:
            station.attempts += 1
            return
        if not acknowledged:
            self.truth.count("packets_given_up", side)
            self.log.line(t_ns, side, f"evt discard len={len(packet)}")
            if not station.received:
                self._note(t_ns, "packet_lost", "packets_lost", side, cause="retry_limit", length=len(packet))
        station.number += 1
        station.offset += len(packet)
        station.packet = None
        station.idle_ns = None if len(station.queue) else t_ns

    def _note(self, t_ns: int, what: str, counted: str, side: int, **details: object) -> None:
        self.truth.count(counted, side)
        self.truth.events.append({"t_ns": t_ns, "what": what, "side": side, **details})
