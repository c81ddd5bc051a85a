"""A radio bearer in acknowledged mode: PDUs, polls, status reports, reordering, re-establishment.

After 3GPP TS 36.322 (LTE RLC AM), with PDUs of fixed size as in TS 25.322. In the log a status report is an
RR whose N(R) is ACK_SN and one SREJ per NACK_SN; the handshake of a re-establishment is SABM and UA.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from multitracer.lab.handover import Handovers
from multitracer.lab.l2r import Chunk, SendBuffer
from multitracer.lab.link import RawFrame
from multitracer.lab.rlc_pdus import PduCoder
from multitracer.lab.rlpdump_log import header
from multitracer.lab.settings import RlcAmSettings
from multitracer.lab.slotted import SlottedLink

MODULUS = 4096


@dataclass(frozen=True)
class Pdu:
    """What one place of a transmission interval carries.

    Attributes
    ----------
    kind : str
        "data", "status", "reset" or "reset_ack".
    sn : int
        Sequence number of data, ACK_SN of a status report.
    poll : bool
        A status report is asked for.
    chunk : Chunk
        User bytes and their place in the stream.
    nacks : tuple of int
        Missing PDUs, in a status report.
    epoch : int
        Re-establishments before it; what was under way during one is dropped by lower layers.
    """

    kind: Literal["data", "status", "reset", "reset_ack"]
    sn: int = 0
    poll: bool = False
    chunk: Chunk | None = None
    nacks: tuple[int, ...] = ()
    epoch: int = 0


@dataclass
class _Outstanding:
    chunk: Chunk
    retransmissions: int = 0


class _Packet(NamedTuple):
    """A packet in the byte stream of one direction, and its PDCP number."""

    begin: int
    end: int
    data: bytes
    number: int


class _Recorder:
    """PDUs as bytes, as both ends hand them to a capture."""

    def __init__(self, settings: RlcAmSettings) -> None:
        self._coder = PduCoder(settings.window, settings.payload_bytes)
        self._frames: list[RawFrame] = []
        # By side: where packets begin and end in the stream, in order.
        self._begins: tuple[list[int], list[int]] = ([], [])
        self._ends: tuple[list[int], list[int]] = ([], [])
        self._known = False

    def drain(self) -> list[RawFrame]:
        """Take what was noted since the last call."""
        frames, self._frames = self._frames, []
        return frames

    def packet(self, side: int, begin: int, end: int) -> None:
        """A packet entered the stream of `side`."""
        self._begins[side].append(begin)
        self._ends[side].append(end)

    def arrival(self, t_ns: int, cell: int) -> None:
        """The terminal is in another cell, which both ends see."""
        frame = self._coder.arrival(cell)
        self._frames += [RawFrame(t_ns, 0, "snd", frame), RawFrame(t_ns, 1, "rcv", frame)]

    def note(self, t_ns: int, side: int, direction: Literal["snd", "rcv"], pdu: Pdu) -> None:
        """An entity sent or received a PDU."""
        if not self._known:
            self._known = True
            self.arrival(t_ns, 0)
        sender = side if direction == "snd" else 1 - side
        if pdu.kind == "reset" and sender == 1:
            return  # a base station that gives a bearer up waits for the terminal to come back
        self._frames.append(RawFrame(t_ns, side, direction, self._encoded(sender, pdu)))

    def _encoded(self, sender: int, pdu: Pdu) -> bytes:
        if pdu.kind == "status":
            return self._coder.bearer(sender == 0, self._coder.status(pdu.sn, pdu.nacks))
        if pdu.chunk is None:
            return self._coder.reestablishment(sender == 0)
        begin, data = pdu.chunk
        end = begin + len(data)
        begins, ends = self._begins[sender], self._ends[sender]
        inside = ends[bisect_right(ends, begin) : bisect_left(ends, end)]
        coded = self._coder.data(
            pdu.sn,
            pdu.poll,
            data,
            [place - begin for place in inside],
            _has(begins, begin),
            _has(ends, end),
        )
        return self._coder.bearer(sender == 0, coded)


def _has(places: list[int], place: int) -> bool:
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place


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
        self._packets: list[deque[_Packet]] = [deque(), deque()]
        self._numbers = [0, 0]
        self.handovers = Handovers(settings.handover_at_s, round(settings.handover_ms * 1e6))
        self._recorder = _Recorder(settings) if settings.capture else None
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
        """When the next handover begins, or the one under way ends."""
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


class RlcEntity:
    """One end of the bearer: both halves."""

    def __init__(self, settings: RlcAmSettings, side: int, link: RlcAmLink) -> None:
        self._settings = settings
        self._side = side
        self._link = link
        self._log: Callable[[int, int, str], None] = link.log.line
        self._buffer = SendBuffer()
        self._poll_retransmit_ns = round(settings.poll_retransmit_ms * 1e6)
        self._prohibit_ns = round(settings.status_prohibit_ms * 1e6)
        self._reordering_ns = round(settings.reordering_ms * 1e6)
        self._epoch = 0
        self._awaiting_ack = False
        self._reset_at_ns = 0
        self._reset_ack_due = False
        self._last_status_ns = -(10**18)
        self._empty = True
        self._clear()

    def _clear(self) -> None:
        self._va = self._vs = 0
        self._outstanding: dict[int, _Outstanding] = {}
        self._marked: deque[int] = deque()
        self._since_poll = 0
        self._polls = 0
        self._poll_at_ns: int | None = None
        self._vr = 0
        self._held: dict[int, Chunk] = {}
        self._highest = -1
        self._missing: dict[int, int] = {}
        self._status_due = False

    # --- sending

    def wants_slot(self) -> bool:
        """Whether something is to be sent or a timer runs."""
        return not self._link.handovers.is_under_way and bool(
            self._awaiting_ack
            or self._reset_ack_due
            or self._status_due
            or self._missing
            or self._outstanding
            or len(self._buffer)
            or self._link.has_packets(self._side)
        )

    def on_slot(self, t_ns: int) -> list[Pdu]:
        """Fill the places of an interval: control first, then retransmissions, then new data."""
        pdus: list[Pdu] = []
        if self._reset_ack_due:
            self._reset_ack_due = False
            self._log(t_ns, self._side, "snd UA")
            pdus.append(Pdu("reset_ack", epoch=self._epoch))
        if not self._awaiting_ack:
            status = self._status(t_ns)
            pdus += [status] if status is not None else []
            while len(pdus) < self._settings.pdus_per_tti:
                pdu = self._data(t_ns)
                if pdu is None:
                    break
                pdus.append(pdu)
        room = len(pdus) < self._settings.pdus_per_tti
        if self._awaiting_ack and t_ns >= self._reset_at_ns and room:
            self._reset_at_ns = t_ns + self._poll_retransmit_ns
            self._log(t_ns, self._side, "snd SABM")
            pdus.append(Pdu("reset", epoch=self._epoch))
        for pdu in pdus:
            self._link.record(t_ns, self._side, "snd", pdu)
        self.note_backlog(t_ns)
        return pdus

    def note_backlog(self, t_ns: int) -> None:
        """Note in the truth when nothing new is left to be sent, and when something is again."""
        empty = not (len(self._buffer) or self._link.has_packets(self._side))
        if empty != self._empty:
            self._empty = empty
            self._link.event(t_ns, "emptied" if empty else "filled", self._side)

    def _status(self, t_ns: int) -> Pdu | None:
        late = sorted(sn for sn, since_ns in self._missing.items() if t_ns - since_ns >= self._reordering_ns)
        if not (self._status_due or late) or t_ns - self._last_status_ns < self._prohibit_ns:
            return None
        # A PDU that may still be on its way is neither acknowledged nor reported missing.
        ack_sn = min((sn for sn in self._missing if sn not in late), default=max(self._highest + 1, self._vr))
        nacks = tuple(sn for sn in late if sn < ack_sn)
        self._status_due = False
        self._last_status_ns = t_ns
        self._log(t_ns, self._side, f"snd RR nr={ack_sn % MODULUS}")
        for sn in nacks:
            self._log(t_ns, self._side, f"snd SREJ nr={sn % MODULUS}")
        return Pdu("status", ack_sn, nacks=nacks, epoch=self._epoch)

    def _data(self, t_ns: int) -> Pdu | None:
        poll_again = self._poll_at_ns is not None and t_ns >= self._poll_at_ns
        if poll_again and self._polls >= self._settings.max_retransmissions:
            self._fail(t_ns)
            return None
        sn = self._choose(t_ns)
        if sn is None and poll_again and self._outstanding:
            sn = self._vs - 1 if self._vs - 1 in self._outstanding else self._va
            self._outstanding[sn].retransmissions += 1
        if sn is None or self._awaiting_ack:
            return None
        frame = self._outstanding[sn]
        more = self._marked or len(self._buffer) or self._link.has_packets(self._side)
        closed = self._vs - self._va >= self._settings.window
        self._since_poll += 1
        poll = poll_again or not more or closed or self._since_poll >= self._settings.poll_pdus
        if poll:
            self._since_poll = 0
            self._polls += 1 if poll_again else 0
            self._poll_at_ns = t_ns + self._poll_retransmit_ns
        text = f"snd I ns={sn % MODULUS} off={frame.chunk.offset} len={len(frame.chunk.data)}"
        if frame.retransmissions:
            text += f" try={frame.retransmissions}"
            self._link.truth.count("link_retransmissions", self._side)
        self._log(t_ns, self._side, text + (" pf=1" if poll else ""))
        return Pdu("data", sn, poll, frame.chunk, epoch=self._epoch)

    def _choose(self, t_ns: int) -> int | None:
        while self._marked:
            sn = self._marked.popleft()
            frame = self._outstanding[sn]
            if frame.retransmissions >= self._settings.max_retransmissions:
                self._fail(t_ns)
                return None
            frame.retransmissions += 1
            return sn
        if self._vs - self._va >= self._settings.window:
            return None
        self._link.refill(self._side, t_ns, self._buffer)
        if not len(self._buffer):
            return None
        self._outstanding[self._vs] = _Outstanding(self._buffer.take(self._settings.payload_bytes))
        self._vs += 1
        return self._vs - 1

    # --- reception

    def on_frame(self, frame: Pdu, t_ns: int) -> None:
        """Take a PDU that arrived intact."""
        if self._link.handovers.is_under_way:
            self._link.truth.count("frames_ignored", self._side)
        elif frame.kind == "reset":
            self._log(t_ns, self._side, "rcv SABM")
            self._link.record(t_ns, self._side, "rcv", frame)
            self._reset_ack_due = True
            if frame.epoch > self._epoch:
                self._reset("peer", t_ns)
                self._epoch = frame.epoch
            self._awaiting_ack = self._awaiting_ack and frame.epoch < self._epoch
        elif frame.kind == "reset_ack":
            self._log(t_ns, self._side, "rcv UA")
            self._link.record(t_ns, self._side, "rcv", frame)
            if self._side == 1:  # on the air: the terminal's request, and this is the answer
                self._link.record(t_ns, self._side, "snd", Pdu("reset_ack"))
            self._awaiting_ack = self._awaiting_ack and frame.epoch != self._epoch
        elif self._awaiting_ack or frame.epoch != self._epoch:
            self._link.truth.count("frames_ignored", self._side)
        elif frame.kind == "status":
            self._link.record(t_ns, self._side, "rcv", frame)
            self._on_status(frame, t_ns)
        elif frame.chunk is not None:
            self._link.record(t_ns, self._side, "rcv", frame)
            self._on_data(frame, frame.chunk, t_ns)

    def _on_status(self, frame: Pdu, t_ns: int) -> None:
        self._log(t_ns, self._side, f"rcv RR nr={frame.sn % MODULUS}")
        for sn in frame.nacks:
            self._log(t_ns, self._side, f"rcv SREJ nr={sn % MODULUS}")
            if sn in self._outstanding and sn not in self._marked:
                self._marked.append(sn)
        for sn in [sn for sn in self._outstanding if sn < frame.sn and sn not in frame.nacks]:
            del self._outstanding[sn]
        self._marked = deque(sn for sn in self._marked if sn in self._outstanding)
        self._va = min(self._outstanding, default=self._vs)
        self._polls = 0
        self._poll_at_ns = t_ns + self._poll_retransmit_ns if self._outstanding else None

    def _on_data(self, frame: Pdu, chunk: Chunk, t_ns: int) -> None:
        sn = frame.sn
        duplicate = sn < self._vr or sn in self._held
        text = f"rcv I ns={sn % MODULUS} off={chunk.offset} len={len(chunk.data)}"
        self._log(t_ns, self._side, text + (" pf=1" if frame.poll else "") + (" dup=1" if duplicate else ""))
        self._status_due = self._status_due or frame.poll
        if duplicate:
            return
        self._held[sn] = chunk
        self._missing.pop(sn, None)
        for gap in range(max(self._vr, self._highest + 1), sn):
            self._missing[gap] = t_ns
        self._highest = max(self._highest, sn)
        while self._vr in self._held:
            self._link.passed_on(self._side, t_ns, self._held.pop(self._vr))
            self._vr += 1

    def next_ns(self) -> int | None:
        """When a handover begins or ends; its own timers are looked at in slots."""
        return self._link.next_handover_ns() if self._side == 1 else None

    def on_time(self, t_ns: int) -> None:
        """The base station decides on handovers."""
        self._link.hand_over(t_ns)

    # --- re-establishment

    @property
    def epoch(self) -> int:
        """Re-establishments so far."""
        return self._epoch

    def hand_over(self, t_ns: int, epoch: int, forwards: bool) -> None:
        """Begin anew in another cell; `forwards`: with the packets that have not been delivered."""
        self._reset("handover" if self._side == 1 else "peer", t_ns)
        self._awaiting_ack = self._reset_ack_due = False
        self._epoch = epoch
        if forwards:
            self._link.forward(self._side, self._buffer)
        self.note_backlog(t_ns)

    def _fail(self, t_ns: int) -> None:
        self._reset("n2", t_ns)
        self._epoch += 1
        self._awaiting_ack = True
        self._reset_at_ns = t_ns

    def _reset(self, cause: str, t_ns: int) -> None:
        unacknowledged = sum(len(frame.chunk.data) for frame in self._outstanding.values())
        flush_tx = unacknowledged + self._buffer.flush()
        flush_rx = sum(len(chunk.data) for chunk in self._held.values())
        self._clear()
        truth = self._link.truth
        truth.count("resets", self._side)
        truth.count("bytes_flushed", self._side, flush_tx + flush_rx)
        self._link.event(t_ns, "reset", self._side, cause=cause, flush_tx=flush_tx, flush_rx=flush_rx)
        self._link.log.reset(t_ns, self._side, cause, flush_tx, flush_rx)
        self.note_backlog(t_ns)
