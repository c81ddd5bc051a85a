"""A plain link: rate, delay, jitter, loss, reordering, duplication, a policer and pauses, per direction."""

from __future__ import annotations

import heapq
import random
from typing import Any

from multitracer.lab.air import Air
from multitracer.lab.link import Delivery, Truth
from multitracer.lab.queue import InterfaceQueue, QueueDrops
from multitracer.lab.settings import PlainDirection, PlainSettings


class PlainLink:
    """A link that keeps no log, made for TCP ground truth at megabits per second.

    Parameters
    ----------
    settings : PlainSettings
        Of both directions.
    seed : int
        Of everything random.
    """

    def __init__(self, settings: PlainSettings, seed: int) -> None:
        self.settings = settings
        self.truth = Truth()
        self._now_ns = 0
        self._directions = [
            _Direction(direction, side, self.truth, f"{side} {seed}")
            for side, direction in enumerate((settings.up, settings.down))
        ]

    @property
    def queues(self) -> list[InterfaceQueue]:
        """The interface queues at side 0 and 1."""
        return [direction.queue for direction in self._directions]

    def send(self, side: int, packet: bytes, t_ns: int) -> bool:
        """Hand the link an IP packet that enters at `side`; False if the interface queue dropped it."""
        self._now_ns = max(t_ns, self._now_ns)
        self._serve()
        return self._directions[side].send(packet, self._now_ns)

    def advance(self, t_ns: int) -> list[Delivery]:
        """Let time pass up to and including `t_ns`; packets that came out, in time order."""
        self._now_ns = max(t_ns, self._now_ns)
        self._serve()
        up, down = (direction.advance(self._now_ns) for direction in self._directions)
        return sorted(up + down, key=lambda delivery: delivery.t_ns) if up and down else up + down

    def _serve(self) -> None:
        """Bring both directions to now, so that the truth stays in time order."""
        events = self.truth.events
        known = len(events)
        for direction in self._directions:
            direction.serve(self._now_ns)
        if len(events) > known + 1:
            events[known:] = sorted(events[known:], key=lambda event: int(event["t_ns"]))

    def next_ns(self) -> int | None:
        """Return the next time at which something happens by itself, if any."""
        times = [t_ns for d in self._directions if (t_ns := d.next_ns()) is not None]
        return min(times, default=None)

    def drain_log(self) -> list[str]:
        """Nothing: a plain link keeps no log."""
        return []

    def log_header(self) -> str | None:
        """Nothing: a plain link keeps no log."""
        return None


class _Direction:
    """From one side to the other: a queue, a server of fixed rate, and packets in transit."""

    def __init__(self, settings: PlainDirection, side: int, truth: Truth, seed: str) -> None:
        self._settings = settings
        self._side = side
        self._truth = truth
        self.queue = InterfaceQueue(settings, QueueDrops(truth, None, side))
        self._air = Air(settings.air, f"air {seed}")
        self._random = random.Random(f"plain {seed}")
        self._ns_per_byte = 8e9 / settings.rate_bps if settings.rate_bps else 0.0
        self._delay_ns = round(settings.delay_ms * 1e6)
        self._jitter_ns = settings.jitter_ms * 1e6
        self._fifo = not settings.jitter_reorders
        self._pauses = sorted((round(a * 1e9), round((a + b) * 1e9)) for a, b in settings.pauses_s)
        self._serving: bytes | None = None
        self._served_ns = 0
        self._last_exit_ns = 0
        self._under_way: list[tuple[int, int, bytes]] = []
        self._order = 0
        self._begin_ns: int | None = None
        self._tokens = float(settings.police_bytes)
        self._filled_ns = 0

    def send(self, packet: bytes, t_ns: int) -> bool:
        self._truth.count("packets_in", self._side)
        if self._begin_ns is None:
            self._begin_ns = self._filled_ns = t_ns
        if self._settings.police_bps and not self._conforms(len(packet), t_ns):
            self._note(t_ns, "packet_lost", packet, cause="policer")
            return True
        accepted = self.queue.push(packet, t_ns)
        if self._serving is None:
            self._start(t_ns)
        return accepted

    def _conforms(self, size: int, t_ns: int) -> bool:
        """Whether a token bucket has enough for a packet (RFC 2475 section 2.3.3.3)."""
        added = (t_ns - self._filled_ns) / 8e9 * self._settings.police_bps
        self._tokens, self._filled_ns = min(self._tokens + added, self._settings.police_bytes), t_ns
        if self._tokens < size:
            return False
        self._tokens -= size
        return True

    def next_ns(self) -> int | None:
        served = self._served_ns if self._serving is not None else None
        if not self._under_way:
            return served
        exits = self._under_way[0][0]
        return exits if served is None or exits < served else served

    def advance(self, t_ns: int) -> list[Delivery]:
        out: list[Delivery] = []
        under_way, to = self._under_way, 1 - self._side
        while under_way and under_way[0][0] <= t_ns:
            exit_ns, _, packet = heapq.heappop(under_way)
            out.append(Delivery(exit_ns, to, packet))
        if out:
            self._truth.count("packets_out", self._side, len(out))
        return out

    def serve(self, t_ns: int) -> None:
        """Finish what the server has sent by `t_ns`, and start what waits."""
        while self._serving is not None and self._served_ns <= t_ns:
            packet, self._serving = self._serving, None
            self._leave(packet, self._served_ns)
            self._start(self._served_ns)

    def _start(self, t_ns: int) -> None:
        packet = self.queue.pop(t_ns)
        if packet is None:
            return
        self._serving = packet
        self._served_ns = self._not_paused(t_ns) + round(len(packet) * self._ns_per_byte)

    def _not_paused(self, t_ns: int) -> int:
        since_ns = t_ns - (self._begin_ns or 0)
        while self._pauses and self._pauses[0][1] <= since_ns:
            self._pauses.pop(0)
        if self._pauses and self._pauses[0][0] <= since_ns:
            return t_ns - since_ns + self._pauses[0][1]
        return t_ns

    def _leave(self, packet: bytes, t_ns: int) -> None:
        settings, draw = self._settings, self._random.random
        lost = self._air.lost_at(t_ns - (self._begin_ns or 0))
        if lost or (settings.loss and draw() < settings.loss):
            self._note(t_ns, "packet_lost", packet, cause="air" if lost else "loss")
            return
        exit_ns = t_ns + self._delay_ns
        if self._jitter_ns:
            exit_ns += int(draw() * self._jitter_ns)
        if settings.reorder and draw() < settings.reorder:
            exit_ns += round(settings.reorder_ms * 1e6)
            self._note(t_ns, "packet_reordered", packet)
        elif self._fifo:
            # Packets held back on purpose are overtaken; among the others jitter changes no order.
            exit_ns = self._last_exit_ns = max(exit_ns, self._last_exit_ns)
        if settings.corrupt and draw() < settings.corrupt:
            packet = self._flip_bit(packet)
            self._note(t_ns, "packet_ruined", packet)
        if settings.routers:
            packet = routed(packet, settings.routers)
        self._push(exit_ns, packet)
        if settings.duplicate and draw() < settings.duplicate:
            self._note(t_ns, "packet_duplicated", packet)
            self._push(exit_ns + round(settings.duplicate_ms * 1e6), packet)

    def _push(self, exit_ns: int, packet: bytes) -> None:
        self._order += 1
        heapq.heappush(self._under_way, (exit_ns, self._order, packet))

    def _flip_bit(self, packet: bytes) -> bytes:
        """Flip one bit after the IP header, where only the TCP checksum can find it."""
        begin = (packet[0] & 15) * 4 if packet[0] >> 4 == 4 else 40
        bit = self._random.randrange(min(begin, len(packet) - 1) * 8, len(packet) * 8)
        changed = bytearray(packet)
        changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed)

    def _note(self, t_ns: int, what: str, packet: bytes, **details: Any) -> None:
        self._truth.count(what.replace("packet_", "packets_"), self._side)
        self._truth.events.append(
            {"t_ns": t_ns, "what": what, "side": self._side, "length": len(packet), **details}
        )


def routed(packet: bytes, routers: int) -> bytes:
    """An IPv4 packet whose time to live `routers` routers have reduced (to 1 at least); others as they are.

    The header checksum is updated as in RFC 1624.
    """
    if len(packet) < 20 or packet[0] >> 4 != 4 or packet[8] <= 1:
        return packet
    changed = bytearray(packet)
    changed[8] = max(1, packet[8] - routers)
    total = (
        (~int.from_bytes(packet[10:12], "big") & 0xFFFF) + (~(packet[8] << 8) & 0xFFFF) + (changed[8] << 8)
    )
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    changed[10:12] = (~total & 0xFFFF).to_bytes(2, "big")
    return bytes(changed)
