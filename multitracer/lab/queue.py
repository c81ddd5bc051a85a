"""The interface queue: drop-tail, or CoDel (RFC 8289) with ECN marking (RFC 3168)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from multitracer.lab.link import Truth
from multitracer.lab.rlpdump_log import RlpdumpLog
from multitracer.lab.settings import QueueSettings

DropFn = Callable[[int, bytes, str], None]


class InterfaceQueue:
    """A queue of IP packets in front of a link.

    Parameters
    ----------
    settings : QueueSettings
        Limits and discipline.
    on_drop : callable
        Called with time, packet and reason ("full" or "codel") for every packet dropped.

    Attributes
    ----------
    marked : int
        Packets that got the CE mark.
    entered_ns : int
        When the packet that was taken last had come.
    """

    def __init__(self, settings: QueueSettings, on_drop: DropFn) -> None:
        self.settings = settings
        self.marked = 0
        self.entered_ns = 0
        self._on_drop = on_drop
        self._queue: deque[tuple[int, bytes]] = deque()
        self._bytes = 0
        self._codel = settings.queue_discipline == "codel"
        self._target_ns = round(settings.codel_target_ms * 1e6)
        self._interval_ns = round(settings.codel_interval_ms * 1e6)
        self._max_packet = 0
        self._first_above_ns = 0
        self._drop_next_ns = 0
        self._count = 0
        self._last_count = 0
        self._dropping = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def size_bytes(self) -> int:
        """Bytes waiting."""
        return self._bytes

    def push(self, packet: bytes, t_ns: int) -> bool:
        """Append a packet; False if the queue is full and dropped it."""
        settings = self.settings
        if (settings.queue_packets and len(self._queue) >= settings.queue_packets) or (
            settings.queue_bytes and self._bytes + len(packet) > settings.queue_bytes
        ):
            self._on_drop(t_ns, packet, "full")
            return False
        self._queue.append((t_ns, packet))
        self._bytes += len(packet)
        return True

    def pop(self, t_ns: int) -> bytes | None:
        """Take the next packet to send; None if there is none (CoDel may drop some before it)."""
        if not self._codel:
            if not self._queue:
                return None
            self.entered_ns, packet = self._queue.popleft()
            self._bytes -= len(packet)
            return packet
        return self._codel_dequeue(t_ns)

    def _do_dequeue(self, t_ns: int) -> tuple[bytes | None, bool]:
        """Take one packet and return whether it may be dropped (RFC 8289 section 5.5, dodequeue)."""
        if not self._queue:
            self._first_above_ns = 0
            return None, False
        self.entered_ns, packet = self._queue.popleft()
        self._bytes -= len(packet)
        self._max_packet = max(self._max_packet, len(packet))
        if t_ns - self.entered_ns < self._target_ns or self._bytes <= self._max_packet:
            self._first_above_ns = 0
            return packet, False
        if self._first_above_ns == 0:
            self._first_above_ns = t_ns + self._interval_ns
            return packet, False
        return packet, t_ns >= self._first_above_ns

    def _control_law(self, t_ns: int) -> int:
        return t_ns + round(self._interval_ns / math.sqrt(self._count))

    def _codel_dequeue(self, t_ns: int) -> bytes | None:
        """RFC 8289 section 5.5, dequeue, with ECN marking in place of dropping where the packet allows it."""
        packet, ok_to_drop = self._do_dequeue(t_ns)
        if packet is None:
            self._dropping = False
            return None
        if self._dropping:
            if not ok_to_drop:
                self._dropping = False
            while self._dropping and t_ns >= self._drop_next_ns:
                self._count += 1
                marked = self._drop_or_mark(packet, t_ns)
                if marked is not None:
                    self._drop_next_ns = self._control_law(self._drop_next_ns)
                    return marked
                packet, ok_to_drop = self._do_dequeue(t_ns)
                if packet is None:
                    self._dropping = False
                    return None
                if not ok_to_drop:
                    self._dropping = False
                else:
                    self._drop_next_ns = self._control_law(self._drop_next_ns)
            return packet
        if ok_to_drop:
            self._dropping = True
            marked = self._drop_or_mark(packet, t_ns)
            # Resume near the last drop rate if the last dropping state ended only recently (section 5.4).
            delta = self._count - self._last_count
            recently = t_ns - self._drop_next_ns < 16 * self._interval_ns
            self._count = delta if delta > 1 and recently else 1
            self._last_count = self._count
            self._drop_next_ns = self._control_law(t_ns)
            if marked is not None:
                return marked
            packet, _ = self._do_dequeue(t_ns)
            if packet is None:
                self._dropping = False
        return packet

    def _drop_or_mark(self, packet: bytes, t_ns: int) -> bytes | None:
        if self.settings.ecn:
            marked = set_ce(packet)
            if marked is not None:
                self.marked += 1
                return marked
        self._on_drop(t_ns, packet, "codel")
        return None


class QueueDrops:
    """Notes what an interface queue dropped, in the truth and in the log."""

    def __init__(self, truth: Truth, log: RlpdumpLog | None, side: int) -> None:
        self._truth, self._log, self._side = truth, log, side

    def __call__(self, t_ns: int, packet: bytes, reason: str) -> None:
        """Note one packet."""
        self._truth.count("queue_drops", self._side)
        self._truth.events.append(
            {"t_ns": t_ns, "what": "queue_drop", "side": self._side, "reason": reason, "length": len(packet)}
        )
        if self._log is not None:
            self._log.drop(t_ns, self._side, len(packet))


def set_ce(packet: bytes) -> bytes | None:
    """Set Congestion Experienced in an IP packet; None if the packet is not ECN-capable (RFC 3168 section 5).

    The IPv4 header checksum is updated as in RFC 1624.
    """
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20:
        if packet[1] & 3 == 0:
            return None
        changed = bytearray(packet)
        old = (packet[0] << 8) | packet[1]
        changed[1] |= 3
        new = (changed[0] << 8) | changed[1]
        checksum = (packet[10] << 8) | packet[11]
        total = (~checksum & 0xFFFF) + (~old & 0xFFFF) + new
        total = (total & 0xFFFF) + (total >> 16)
        total = (total & 0xFFFF) + (total >> 16)
        changed[10:12] = (~total & 0xFFFF).to_bytes(2, "big")
        return bytes(changed)
    if version == 6 and len(packet) >= 40:
        if (packet[1] >> 4) & 3 == 0:
            return None
        changed = bytearray(packet)
        changed[1] |= 0x30
        return bytes(changed)
    return None
