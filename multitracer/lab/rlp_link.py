"""A GSM data call as a link: interface queue, VJ, PPP, L2R and RLP in each direction."""

from __future__ import annotations

from collections import deque
from typing import Literal

from multitracer.lab.l2r import Chunk, SendBuffer
from multitracer.lab.link import RawFrame
from multitracer.lab.ppp import hdlc
from multitracer.lab.ppp.vj import Kind, VjCompressor, VjDecompressor
from multitracer.lab.rlp.entity import AirFrame, RlpEntity
from multitracer.lab.rlpdump_log import header
from multitracer.lab.settings import RlpSettings
from multitracer.lab.slotted import SlottedLink

_PROTOCOLS: dict[str, int] = {
    "ip": hdlc.PPP_IP,
    "compressed": hdlc.PPP_VJ_COMPRESSED,
    "uncompressed": hdlc.PPP_VJ_UNCOMPRESSED,
}
_KINDS: dict[int, Kind] = {
    hdlc.PPP_IP: "ip",
    hdlc.PPP_IPV6: "ip",
    hdlc.PPP_VJ_COMPRESSED: "compressed",
    hdlc.PPP_VJ_UNCOMPRESSED: "uncompressed",
}
# As PPP drivers do: a frame gets its own opening flag if the line was idle for a second.
_IDLE_FLAG_NS = 1_000_000_000


class RlpLink(SlottedLink[AirFrame]):
    """The link of the paper's measurements (Paper 4.2, Figure 3).

    Parameters
    ----------
    settings : RlpSettings
        Documented there.
    seed : int
        Of the air.

    Attributes
    ----------
    down_cause : str
        Why the call was dropped; "" while it stands.
    """

    def __init__(self, settings: RlpSettings, seed: int) -> None:
        airs = (settings.air_up or settings.air, settings.air_down or settings.air)
        timing = (round(settings.slot_ms * 1e6), round(settings.delay_ms * 1e6), 0)
        super().__init__(settings, airs, ("ms", "iwf"), timing, seed)
        self.settings = settings
        self._raw: list[RawFrame] = []
        on_raw = self._keep_raw if settings.raw_frames else None
        self._rlp = [RlpEntity(settings, side, self, on_raw) for side in (0, 1)]
        self._entities = list(self._rlp)
        self._ppp = [_PppDirection(self, side) for side in (0, 1)]
        self.down_cause = ""

    def send(self, side: int, packet: bytes, t_ns: int) -> bool:
        """Hand the link an IP packet; False if the interface queue dropped it, or the call is over."""
        if not self.down_cause:
            return super().send(side, packet, t_ns)
        self.truth.count("packets_in", side)
        self._ppp[side].lose(t_ns, packet, "call_dropped")
        return False

    def log_header(self) -> str | None:
        """First line of the rlpdump log."""
        s = self.settings
        return header(
            self.clock,
            slot_ms=s.slot_ms,
            payload_bytes=s.payload_bytes,
            window=s.window,
            t1_ms=s.t1_ms,
            n2=s.n2,
        )

    def drain_frames(self) -> list[RawFrame]:
        """Take the RLP frames sent and received since the last call; none unless `raw_frames` is set."""
        raw, self._raw = self._raw, []
        return raw

    def _keep_raw(self, t_ns: int, side: int, direction: Literal["snd", "rcv"], frame: AirFrame) -> None:
        self._raw.append(RawFrame(t_ns, side, direction, frame.encode()))

    def flushed(self, side: int) -> None:
        """Note how far the stream from `side` had come when its entity dropped all."""
        self._ppp[side].flushed_to = self.buffer(side).end_offset

    def settle(self, t_ns: int, side: int) -> None:
        """Count what the flush at `side` took: nothing from before it can arrive any more."""
        self._ppp[side].settle(t_ns)

    def drop_call(self, t_ns: int, side: int, cause: str) -> None:
        """End the call: the network releases the channel at both ends at once."""
        self.down_cause = cause
        self.truth.count("calls_dropped", side)
        self._arrivals.clear()
        for number, entity in enumerate(self._rlp):
            entity.go_down(cause if number == side else "peer", t_ns)
            self.settle(t_ns, number)
        for number, queue in enumerate(self.queues):
            while (packet := queue.pop(t_ns)) is not None:
                self._ppp[number].lose(t_ns, packet, "call_dropped")

    def refill(self, side: int, t_ns: int) -> None:
        """Move packets from the interface queue into the entity's send buffer."""
        self._ppp[side].refill(t_ns)

    def has_packets(self, side: int) -> bool:
        """Whether the interface queue holds any."""
        return len(self.queues[side]) > 0

    def passed_on(self, side: int, t_ns: int, chunk: Chunk) -> None:
        """Take bytes that the entity at `side` passed on: they are the other direction's PPP."""
        self._ppp[1 - side].receive(t_ns, chunk)

    def buffer(self, side: int) -> SendBuffer:
        """Return the byte stream that leaves at `side`."""
        return self._rlp[side].send_buffer


class _PppDirection:
    """PPP from one side to the other, with what became of every packet."""

    def __init__(self, link: RlpLink, side: int) -> None:
        settings = link.settings
        self._link = link
        self._side = side
        self._vj = settings.vj
        self._compressor = VjCompressor(settings.vj_slots, settings.vj_compress_slot)
        self._decompressor = VjDecompressor(settings.vj_slots)
        self._decoder = hdlc.HdlcDecoder()
        self._in_flight: deque[tuple[int, bytes]] = deque()
        self.flushed_to = -1
        self._last_put_ns: int | None = None

    def refill(self, t_ns: int) -> None:
        buffer = self._link.buffer(self._side)
        while len(buffer) < self._link.settings.send_buffer_bytes:
            packet = self._link.queues[self._side].pop(t_ns)
            if packet is None:
                return
            kind, information = self._compressor.compress(packet) if self._vj else ("ip", packet)
            protocol = hdlc.PPP_IPV6 if kind == "ip" and packet[:1] >= b"\x60" else _PROTOCOLS[kind]
            idle = self._last_put_ns is None or t_ns - self._last_put_ns >= _IDLE_FLAG_NS
            first = buffer.end_offset
            buffer.put(hdlc.encode(protocol, information, self._link.settings.accm, idle))
            self._link.event(
                t_ns, "packet", self._side, first=first, end=buffer.end_offset, **_identity(packet), vj=kind
            )
            self._last_put_ns = t_ns
            self._in_flight.append((buffer.end_offset, packet))

    def receive(self, t_ns: int, chunk: Chunk) -> None:
        for frame in self._decoder.feed(chunk.data, chunk.offset):
            self._lost_before(frame.end, t_ns, "flushed")
            original = self._in_flight.popleft()[1] if self._ends_at(frame.end) else None
            restored, cause = self._restore(frame)
            if restored is None:
                if original is not None:
                    self._lost(t_ns, original, frame.end, cause)
                continue
            if restored != original:
                self._link.truth.count("packets_ruined", self._side)
                self._link.event(t_ns, "packet_ruined", self._side, length=len(restored), end=frame.end)
            self._link.deliver(t_ns, 1 - self._side, restored)
        self._lost_before(chunk.offset + len(chunk.data) + 1, t_ns, "flushed")

    def settle(self, t_ns: int) -> None:
        self._lost_before(self.flushed_to + 1, t_ns, "flushed")

    def lose(self, t_ns: int, packet: bytes, cause: str) -> None:
        """Note a packet that never had a place in the stream."""
        self._link.truth.count("packets_lost", self._side)
        self._link.event(t_ns, "packet_lost", self._side, cause=cause, **_identity(packet))

    def _restore(self, frame: hdlc.PppFrame) -> tuple[bytes | None, str]:
        truth = self._link.truth
        if frame.protocol == -1:
            truth.count("ppp_bad_fcs", self._side)
            self._decompressor.error()
            return None, "bad_fcs"
        kind = _KINDS.get(frame.protocol)
        if kind is None:
            truth.count("ppp_unknown_protocol", self._side)
            return None, "protocol"
        restored = self._decompressor.decompress(kind, frame.information)
        if restored is None:
            truth.count("vj_dropped", self._side)
        return restored, "vj_toss"

    def _ends_at(self, offset: int) -> bool:
        return bool(self._in_flight) and self._in_flight[0][0] == offset

    def _lost_before(self, offset: int, t_ns: int, cause: str) -> None:
        while self._in_flight and self._in_flight[0][0] < offset:
            end, packet = self._in_flight.popleft()
            self._lost(t_ns, packet, end, cause)

    def _lost(self, t_ns: int, packet: bytes, end: int, cause: str) -> None:
        self._link.truth.count("packets_lost", self._side)
        self._link.event(t_ns, "packet_lost", self._side, cause=cause, length=len(packet), end=end)


def _identity(packet: bytes) -> dict[str, int]:
    """What a capture knows the packet by: its IPv4 identification and its length."""
    ip_id = int.from_bytes(packet[4:6], "big") if packet[:1] < b"\x60" else -1
    return {"ip_id": ip_id, "length": len(packet)}
