"""One RLP entity: both halves, the supervisory frames between them, and link resets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from multitracer.lab.l2r import Chunk, DrainBuffer, SendBuffer
from multitracer.lab.link import Truth
from multitracer.lab.rlp import frames
from multitracer.lab.rlp.receiver import RlpReceiver
from multitracer.lab.rlp.sender import LinkFailure, RlpSender
from multitracer.lab.rlpdump_log import RlpdumpLog
from multitracer.lab.settings import RlpSettings

_NO_DATA = Chunk(0, b"")


@dataclass(frozen=True)
class AirFrame:
    """A frame between the entities: its fields as on the air, and its user bytes' place in the stream."""

    kind: Literal["I", "S", "U"]
    word: str
    command: bool
    pf: bool = False
    ns: int = 0
    nr: int = 0
    chunk: Chunk = _NO_DATA

    def encode(self) -> bytes:
        """Build the 30 octets."""
        information = frames.pack_user(self.chunk.data) if self.kind == "I" else b""
        return frames.encode(
            frames.RlpFrame(self.kind, self.word, self.command, self.pf, self.ns, self.nr, information)
        )


class Surroundings(Protocol):
    """What an entity needs of its link."""

    truth: Truth
    log: RlpdumpLog

    def refill(self, side: int, t_ns: int) -> None:
        """Move packets from the interface queue into the entity's send buffer."""

    def has_packets(self, side: int) -> bool:
        """Whether the interface queue holds any."""

    def passed_on(self, side: int, t_ns: int, chunk: Chunk) -> None:
        """Take bytes that the entity passed on to PPP."""

    def event(self, t_ns: int, what: str, side: int, **details: object) -> None:
        """Note a fact in the truth."""

    def flushed(self, side: int) -> None:
        """Take note that the entity at `side` dropped what it had not got through."""

    def settle(self, t_ns: int, side: int) -> None:
        """Take note that nothing from before the flush at `side` can arrive any more."""

    def drop_call(self, t_ns: int, side: int, cause: str) -> None:
        """End the call at both ends.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        side : int
            The one that gives up.
        cause : str
            The word in the log's line.
        """


class RlpEntity:
    """One end of the data call.

    Parameters
    ----------
    settings : RlpSettings
        Of the link.
    side : int
        0 (ms) or 1 (iwf).
    link : Surroundings
        The link around it.
    on_raw : callable, optional
        Called with time, side, "snd" or "rcv", and the frame.
    """

    def __init__(
        self,
        settings: RlpSettings,
        side: int,
        link: Surroundings,
        on_raw: Callable[[int, int, Literal["snd", "rcv"], AirFrame], None] | None = None,
    ) -> None:
        self._settings = settings
        self._side = side
        self._link = link
        self._log = link.log
        self._on_raw = on_raw
        self._t1_ns = round(settings.t1_ms * 1e6)
        self.send_buffer = SendBuffer()
        slow = settings.drain_sides in ("both", ("ms", "iwf")[side])
        self.drain = DrainBuffer(settings.drain_bps if slow else 0.0, settings.xoff_bytes, settings.xon_bytes)
        self.sender = RlpSender(settings)
        self.receiver = RlpReceiver(settings)
        self._awaiting_ua = False
        self._sabm_at_ns = 0
        self._sabms = 0
        self._down = False
        self._ua_due = False
        self._final_due = False
        self._ack_due = False
        self._was_busy = False
        self._busy_shown = {"snd": False, "rcv": False}

    # --- the slot

    def wants_slot(self) -> bool:
        """Whether something is to be sent or a timer runs."""
        if self._down:
            return False
        if self._ua_due or self._awaiting_ua or self._final_due or self._ack_due:
            return True
        if self.sender.waiting or self.receiver.waiting:
            return True
        return len(self.send_buffer) > 0 or self._link.has_packets(self._side)

    def on_slot(self, t_ns: int) -> list[AirFrame]:
        """Choose the frame of this slot: SABM or UA, answer to a poll, poll, SREJ, data, RR."""
        frame = self._unnumbered(t_ns)
        if frame is None and not self._awaiting_ua and not self._down:
            try:
                frame = self._numbered(t_ns)
            except LinkFailure as failure:
                self.fail(failure.cause, t_ns)
                frame = self._unnumbered(t_ns)
        if frame is None:
            return []
        if self._on_raw is not None:
            self._on_raw(t_ns, self._side, "snd", frame)
        return [frame]

    def _unnumbered(self, t_ns: int) -> AirFrame | None:
        if self._ua_due:
            self._ua_due = False
            self._log.line(t_ns, self._side, "snd UA")
            return AirFrame("U", "UA", command=False, pf=True)
        if self._awaiting_ua and t_ns >= self._sabm_at_ns:
            if self._sabms > self._settings.n2 and self._settings.on_failure == "reset":
                self._link.drop_call(t_ns, self._side, "sabm")
                return None
            self._sabms += 1
            self._sabm_at_ns = t_ns + self._t1_ns
            self._log.line(t_ns, self._side, "snd SABM")
            return AirFrame("U", "SABM", command=True, pf=True)
        return None

    def _numbered(self, t_ns: int) -> AirFrame | None:
        ready = "RNR" if self.drain.busy else "RR"
        nr = self.receiver.vr % frames.MODULUS
        final, self._final_due = self._final_due, False
        if not final and self.sender.poll_due(t_ns):
            self.sender.poll_sent(t_ns)
            self._ack_due = False
            return self._sent_s(t_ns, AirFrame("S", ready, command=True, pf=True, nr=nr))
        reject = None if final else self.receiver.next_reject(t_ns)
        word, nr = reject if reject is not None else (ready, nr)
        if self.sender.wants_new_data():
            self._link.refill(self._side, t_ns)
        chosen = self.sender.next_frame(t_ns, self.send_buffer)
        acknowledges = word != "SREJ"
        if chosen is None:
            if not (final or reject is not None or self._ack_due):
                return None
            self._ack_due = self._ack_due and not acknowledges
            return self._sent_s(t_ns, AirFrame("S", word, command=not final, pf=final, nr=nr))
        self._ack_due = self._ack_due and not acknowledges
        number, outstanding = chosen
        ns = number % frames.MODULUS
        chunk = outstanding.chunk
        text = f"snd I ns={ns} off={chunk.offset} len={len(chunk.data)}"
        if acknowledges:
            text += f" nr={nr}"
        if outstanding.attempts:
            text += f" try={outstanding.attempts}"
            self._link.truth.count("link_retransmissions", self._side)
        self._log.line(t_ns, self._side, text + (" pf=1" if final else ""))
        if word in ("SREJ", "REJ"):
            self._log.line(t_ns, self._side, f"snd {word} nr={nr}")
        else:
            self._log_readiness(t_ns, "snd", word, nr)
        return AirFrame("I", word, not final, final, ns, nr, chunk)

    def _sent_s(self, t_ns: int, frame: AirFrame) -> AirFrame:
        self._log_s(t_ns, "snd", frame)
        return frame

    # --- reception

    def on_frame(self, frame: AirFrame, t_ns: int) -> None:
        """Take a frame that arrived intact."""
        if self._on_raw is not None:
            self._on_raw(t_ns, self._side, "rcv", frame)
        if frame.kind == "U":
            self._on_unnumbered(frame, t_ns)
            return
        if self._awaiting_ua:
            # Until the peer has reset its numbers, theirs mean nothing.
            self._link.truth.count("frames_ignored", self._side)
            return
        try:
            if frame.kind == "S":
                self._log_s(t_ns, "rcv", frame)
            else:
                self._on_information(frame, t_ns)
            if frame.pf and frame.command:
                self.receiver.checkpoint()
                self._final_due = True
            self.sender.supervisory(frame.word, frame.nr, frame.pf and not frame.command, t_ns)
        except LinkFailure as failure:
            self.fail(failure.cause, t_ns)

    def _on_information(self, frame: AirFrame, t_ns: int) -> None:
        chunk = frame.chunk
        outcome, in_order = self.receiver.information(frame.ns, chunk)
        if outcome == "ignored":
            self._link.truth.count("frames_ignored", self._side)
        else:
            text = f"rcv I ns={frame.ns} off={chunk.offset} len={len(chunk.data)}"
            text += " pf=1" if frame.pf else ""
            self._log.line(t_ns, self._side, text + (" dup=1" if outcome == "dup" else ""))
        if frame.word in ("SREJ", "REJ"):
            self._log.line(t_ns, self._side, f"rcv {frame.word} nr={frame.nr}")
        else:
            self._log_readiness(t_ns, "rcv", frame.word, frame.nr)
        self._ack_due = True
        for part in in_order:
            self.drain.put(t_ns, part)
        self.on_time(t_ns)

    def next_ns(self) -> int | None:
        """When the next bytes are passed on to PPP."""
        return self.drain.next_ns()

    def on_time(self, t_ns: int) -> None:
        """Pass bytes on to PPP, and stop or start the peer."""
        if self.drain.busy and not self._was_busy:
            self._was_busy = self._ack_due = True
            self._link.event(t_ns, "xoff", self._side, backlog=len(self.drain))
        while (chunk := self.drain.take(t_ns)) is not None:
            self._link.passed_on(self._side, t_ns, chunk)
        if self._was_busy and not self.drain.busy:
            self._was_busy = False
            self._ack_due = True
            self._link.event(t_ns, "xon", self._side, backlog=len(self.drain))

    # --- link reset

    def _on_unnumbered(self, frame: AirFrame, t_ns: int) -> None:
        self._log.line(t_ns, self._side, f"rcv {frame.word}")
        if frame.word == "SABM":
            self._ua_due = True
            if self._awaiting_ua:
                # Both gave up at once: both have flushed already.
                self._awaiting_ua = False
            else:
                self._reset("peer", t_ns)
            # The peer ignores everything but the UA: what was in transit to it is lost.
            self._link.settle(t_ns, self._side)
            # Frames keep their order: what the peer sent ahead of the SABM has arrived, or never will.
            self._link.settle(t_ns, 1 - self._side)
        elif frame.word == "UA" and self._awaiting_ua:
            self._awaiting_ua = False

    def fail(self, cause: str, t_ns: int) -> None:
        """Give up: flush, and send SABM until the peer answers; or let the call be dropped."""
        if self._settings.on_failure == "drop_call":
            self._link.drop_call(t_ns, self._side, cause)
            return
        self._reset(cause, t_ns)
        self._awaiting_ua = True
        self._sabm_at_ns = t_ns
        self._sabms = 0

    def go_down(self, cause: str, t_ns: int) -> None:
        """End with the call."""
        flush_tx, flush_rx = self._flush(t_ns)
        self._down, self._awaiting_ua, self._ua_due = True, False, False
        details = {"cause": cause, "flush_tx": flush_tx, "flush_rx": flush_rx}
        self._link.event(t_ns, "call_dropped", self._side, **details)
        text = " ".join(f"{key}={value}" for key, value in details.items())
        self._log.line(t_ns, self._side, f"evt call_dropped {text}")

    def _reset(self, cause: str, t_ns: int) -> None:
        flush_tx, flush_rx = self._flush(t_ns)
        self._link.truth.count("resets", self._side)
        self._link.event(t_ns, "reset", self._side, cause=cause, flush_tx=flush_tx, flush_rx=flush_rx)
        self._log.reset(t_ns, self._side, cause, flush_tx, flush_rx)

    def _flush(self, t_ns: int) -> tuple[int, int]:
        flush_tx = self.sender.unacknowledged_bytes + self.send_buffer.flush()
        flush_rx = self.receiver.held_bytes + self.drain.flush(t_ns)
        self.sender.reset()
        self.receiver.reset()
        self._final_due = self._ack_due = False
        if self._was_busy:
            self._was_busy = False
            self._link.event(t_ns, "xon", self._side, backlog=0)
        self._busy_shown = {"snd": False, "rcv": False}
        self._link.truth.count("bytes_flushed", self._side, flush_tx + flush_rx)
        self._link.flushed(self._side)
        return flush_tx, flush_rx

    # --- log

    def _log_s(self, t_ns: int, action: Literal["snd", "rcv"], frame: AirFrame) -> None:
        text = f"{action} {frame.word} nr={frame.nr}"
        if frame.pf:
            text += f" pf=1 cr={int(frame.command)}"
        self._log.line(t_ns, self._side, text)
        if frame.word in ("RR", "RNR"):
            self._busy_shown[action] = frame.word == "RNR"

    def _log_readiness(self, t_ns: int, action: Literal["snd", "rcv"], word: str, nr: int) -> None:
        """Log the RNR of an I frame, and the RR that ends it; a plain RR is not logged."""
        if word == "RNR" or self._busy_shown[action]:
            self._log.line(t_ns, self._side, f"{action} {word} nr={nr}")
        self._busy_shown[action] = word == "RNR"
