"""A radio bearer in acknowledged mode: PDUs, polls, status reports, reordering, re-establishment.

After 3GPP TS 36.322 (LTE RLC AM), with PDUs of fixed size as in TS 25.322. In the log a status report is an
RR whose N(R) is ACK_SN and one SREJ per NACK_SN; the handshake of a re-establishment is SABM and UA.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, NamedTuple

from multitracer.lab.handover import Handovers
from multitracer.lab.l2r import Chunk, SendBuffer
from multitracer.lab.link import RawFrame
from multitracer.lab.rlc_entity import RlcEntity
from multitracer.lab.rlc_frames import Pdu
from multitracer.lab.rlc_recorder import Recorder
from multitracer.lab.rlpdump_log import header
from multitracer.lab.settings import RlcAmSettings
from multitracer.lab.slotted import SlottedLink


class _Packet(NamedTuple):
    """A packet in the byte stream of one direction, and its PDCP number."""

    begin: int
    end: int
    data: bytes
    number: int


class RlcAmLink(SlottedLink[Pdu]):
    """A bearer between a mobile (``ue``) and its base station (``bs``).

    Parameters
    ----------
    settings : RlcAmSettings
        Documented there.
    seed : int
        Of air and jitter.
    """

    def __init__(self, settings: RlcAmSettings, seed: int) -> None:
        airs = (settings.air_up or settings.air, settings.air_down or settings.air)
        timing = tuple(
            round(ms * 1e6) for ms in (settings.tti_ms, settings.delay_ms, settings.harq_jitter_ms)
        )
        super().__init__(settings, airs, ("ue", "bs"), (timing[0], timing[1], timing[2]), seed)
        self.settings = settings
        self._places = settings.pdus_per_tti
        self._discard_ns = round(settings.discard_ms * 1e6)
        self._packets: list[deque[_Packet]] = [deque(), deque()]
        self._numbers = [0, 0]
        self.handovers = Handovers(settings.handover_at_s, round(settings.handover_ms * 1e6))
        self._recorder = Recorder(settings) if settings.capture else None
        self._in_order_from = [0, 0]
        self._in_order_to = [0, 0]
        self._ends = [RlcEntity(settings, side, self) for side in (0, 1)]
        self._entities = [*self._ends]

    @property
    def is_recorded(self) -> bool:
        """Whether its PDUs are kept for a capture."""
        return self._recorder is not None

    def drain_frames(self) -> list[RawFrame]:
        """Take the PDUs sent and received since the last call; none unless `capture` is set."""
        return self._recorder.drain() if self._recorder is not None else []

    def record(self, t_ns: int, side: int, direction: Literal["snd", "rcv"], pdu: Pdu) -> None:
        """Note what an entity sent or received."""
        if self._recorder is not None:
            self._recorder.note(t_ns, side, direction, pdu)

    def log_header(self) -> str | None:
        """First line of the rlpdump log."""
        s = self.settings
        return header(
            self.clock,
            tti_ms=s.tti_ms,
            pdus_per_tti=s.pdus_per_tti,
            payload_bytes=s.payload_bytes,
            window=s.window,
            n2=s.max_retransmissions,
        )

    def send(self, side: int, packet: bytes, t_ns: int) -> bool:
        """As of every link; the truth notes when a sender that had nothing has something again."""
        taken = super().send(side, packet, t_ns)
        self._ends[side].note_backlog(t_ns)
        return taken

    def refill(self, side: int, t_ns: int, buffer: SendBuffer) -> None:
        """Move packets from the interface queue into the entity's send buffer until a PDU is full."""
        while len(buffer) < self.settings.payload_bytes:
            packet = self.queues[side].pop(t_ns)
            if packet is None:
                return
            number = self._numbers[side]
            self._numbers[side] += 1
            if 0 < self._discard_ns < t_ns - self.queues[side].entered_ns:
                self.truth.count("packets_discarded", side)
                self.event(t_ns, "packet_discarded", side, number=number, length=len(packet))
                continue
            self._enqueue(side, buffer, packet, number)

    def _enqueue(self, side: int, buffer: SendBuffer, packet: bytes, number: int) -> None:
        begin = buffer.end_offset
        # PDCP numbers of 12 bits, data.
        header = (0x8000 | number % 4096).to_bytes(2, "big") if self._recorder is not None else b""
        buffer.put(header + packet)
        self._packets[side].append(_Packet(begin, buffer.end_offset, packet, number))
        if self._recorder is not None:
            self._recorder.packet(side, begin, buffer.end_offset)

    def forward(self, side: int, buffer: SendBuffer) -> None:
        """Hand the packets that have not been delivered to the entity anew, in order, with their numbers."""
        waiting, self._packets[side] = self._packets[side], deque()
        for packet in waiting:
            self._enqueue(side, buffer, packet.data, packet.number)

    def hand_over(self, t_ns: int) -> None:
        """Begin or end a handover that is due."""
        arrived = self.handovers.step(t_ns, self._start_ns)
        if arrived is None:
            return
        if arrived:
            self.event(t_ns, "handover_end", 1)
            if self._recorder is not None:
                self._recorder.arrival(t_ns, self.handovers.done)
            return
        epoch = 1 + max(entity.epoch for entity in self._ends)
        for side in (1, 0):
            self._ends[side].hand_over(t_ns, epoch, self.settings.handover_forwards)

    def next_handover_ns(self) -> int | None:
        """When the next handover begins, or the current one ends."""
        return self.handovers.next_ns(self._start_ns)

    @property
    def _start_ns(self) -> int | None:
        return self._first_slot * self._slot_ns if self._first_slot >= 0 else None

    def has_packets(self, side: int) -> bool:
        """Whether the interface queue holds any."""
        return len(self.queues[side]) > 0

    def passed_on(self, side: int, t_ns: int, chunk: Chunk) -> None:
        """Take bytes that arrived in order at `side`, and reassemble packets."""
        sender = 1 - side
        if chunk.offset != self._in_order_to[sender]:
            self._in_order_from[sender] = chunk.offset
        self._in_order_to[sender] = chunk.offset + len(chunk.data)
        packets = self._packets[sender]
        while packets and packets[0].end <= self._in_order_to[sender]:
            packet = packets.popleft()
            if packet.begin >= self._in_order_from[sender]:
                self.deliver(t_ns, side, packet.data)
            else:
                self.truth.count("packets_lost", sender)
                self.event(t_ns, "packet_lost", sender, cause="flushed", length=len(packet.data))
