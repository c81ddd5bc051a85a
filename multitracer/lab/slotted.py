"""A link whose two entities send in time slots: the clockwork that RLP and RLC-AM share."""

from __future__ import annotations

import heapq
import random
from typing import Generic, Protocol, TypeVar

from multitracer.lab.air import Air
from multitracer.lab.link import Delivery, Truth
from multitracer.lab.queue import InterfaceQueue, QueueDrops
from multitracer.lab.rlpdump_log import RlpdumpLog
from multitracer.lab.settings import AirSettings, QueueSettings

F = TypeVar("F")


class Entity(Protocol[F]):
    """One end of a slotted link."""

    def wants_slot(self) -> bool:
        """Whether the entity has something to send, or a timer that runs."""

    def on_slot(self, t_ns: int) -> list[F]:
        """Frames that it sends in the slot that begins at `t_ns`."""

    def on_frame(self, frame: F, t_ns: int) -> None:
        """Take a frame that arrived."""

    def next_ns(self) -> int | None:
        """When it has something to do by itself, apart from slots."""

    def on_time(self, t_ns: int) -> None:
        """Do it."""


class SlottedLink(Generic[F]):
    """Two entities, two airs, two interface queues; slots begin at whole multiples of their length.

    Attributes
    ----------
    truth : Truth
        What really happened.
    log : RlpdumpLog
        The link-layer log.
    queues : list of InterfaceQueue
        In front of entity 0 and 1.
    clock : str
        Name of the clock that the caller's times are on, for the log's first line.
    """

    def __init__(
        self,
        settings: QueueSettings,
        airs: tuple[AirSettings, AirSettings],
        names: tuple[str, str],
        timing: tuple[int, int, int],
        seed: int,
    ) -> None:
        self._slot_ns, self._delay_ns, self._jitter_ns = timing
        self.truth = Truth()
        self.log = RlpdumpLog(names)
        self.clock = "realtime"
        self.queues = [InterfaceQueue(settings, QueueDrops(self.truth, self.log, side)) for side in (0, 1)]
        self._airs = [Air(air, f"air {side} {seed}") for side, air in enumerate(airs)]
        self._random = random.Random(f"jitter {seed}")
        self._entities: list[Entity[F]] = []
        self._outbox: list[Delivery] = []
        self._arrivals: list[tuple[int, int, int, F]] = []
        self._order = 0
        self._now_ns = 0
        self._last_slot = -1
        self._first_slot = -1
        self._places = 1

    def send(self, side: int, packet: bytes, t_ns: int) -> bool:
        """Hand the link an IP packet that enters at `side`; False if the interface queue dropped it."""
        t_ns = max(t_ns, self._now_ns)
        self._run(t_ns, inclusive=False)
        self._now_ns = t_ns
        self.truth.count("packets_in", side)
        return self.queues[side].push(packet, t_ns)

    def advance(self, t_ns: int) -> list[Delivery]:
        """Let time pass up to and including `t_ns`; packets that came out, in time order."""
        self._run(t_ns, inclusive=True)
        self._now_ns = max(self._now_ns, t_ns)
        out, self._outbox = self._outbox, []
        return out

    def next_ns(self) -> int | None:
        """Return the next time at which something happens by itself, if any."""
        return self._now_ns if self._outbox else self._next_event_ns()

    def _next_event_ns(self) -> int | None:
        times = [self._arrivals[0][0]] if self._arrivals else []
        for entity in self._entities:
            t_ns = entity.next_ns()
            if t_ns is not None:
                times.append(t_ns)
        slot_ns = self._next_slot_ns()
        if slot_ns is not None:
            times.append(slot_ns)
        return min(times, default=None)

    def drain_log(self) -> list[str]:
        """Lines of the rlpdump log since the last call."""
        return self.log.drain()

    def deliver(self, t_ns: int, side: int, packet: bytes) -> None:
        """Let a packet leave the link at `side`.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        side : int
            0 or 1.
        packet : bytes
            From its IP header on.
        """
        self.truth.count("packets_out", 1 - side)
        self._outbox.append(Delivery(t_ns, side, packet))

    def event(self, t_ns: int, what: str, side: int, **details: object) -> None:
        """Note a fact in `truth`."""
        self.truth.events.append({"t_ns": t_ns, "what": what, "side": side, **details})

    def _next_slot_ns(self) -> int | None:
        if not any(entity.wants_slot() for entity in self._entities):
            return None
        return max(self._last_slot + 1, -(-self._now_ns // self._slot_ns)) * self._slot_ns

    def _run(self, limit_ns: int, inclusive: bool) -> None:
        while True:
            t_ns = self._next_event_ns()
            if t_ns is None or t_ns > limit_ns or (t_ns == limit_ns and not inclusive):
                return
            self._now_ns = t_ns
            while self._arrivals and self._arrivals[0][0] <= t_ns:
                _, _, side, frame = heapq.heappop(self._arrivals)
                self._entities[side].on_frame(frame, t_ns)
            for entity in self._entities:
                due_ns = entity.next_ns()
                if due_ns is not None and due_ns <= t_ns:
                    entity.on_time(t_ns)
            if self._next_slot_ns() == t_ns:
                self._slot(t_ns)

    def _slot(self, t_ns: int) -> None:
        self._last_slot = t_ns // self._slot_ns
        if self._first_slot < 0:
            self._first_slot = self._last_slot
        first_place = (self._last_slot - self._first_slot) * self._places
        for side, entity in enumerate(self._entities):
            for place, frame in enumerate(entity.on_slot(t_ns), first_place):
                self.truth.count("frames_sent", side)
                if self._airs[side].lost(place):
                    self.truth.count("frames_lost_on_air", side)
                    self.event(t_ns, "air_loss", side, slot=place)
                    continue
                late_ns = int(self._random.random() * self._jitter_ns) if self._jitter_ns else 0
                self._order += 1
                arrival = (t_ns + self._delay_ns + late_ns, self._order, 1 - side, frame)
                heapq.heappush(self._arrivals, arrival)
