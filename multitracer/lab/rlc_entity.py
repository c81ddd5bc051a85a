"""One end of a bearer in acknowledged mode: both halves, and how it begins anew."""

from __future__ import annotations

from multitracer.lab.rlc_bearer import Bearer
from multitracer.lab.rlc_frames import MODULUS, Pdu
from multitracer.lab.rlc_receiving import Receiving
from multitracer.lab.rlc_sending import GivenUpError, Sending
from multitracer.lab.settings import RlcAmSettings


class RlcEntity:
    """One end of the bearer: both halves.

    Parameters
    ----------
    settings : RlcAmSettings
    side : int
    link : Bearer
    """

    def __init__(self, settings: RlcAmSettings, side: int, link: Bearer) -> None:
        self._settings = settings
        self._side = side
        self._link = link
        self._sending = Sending(settings, side, link)
        self._receiving = Receiving(settings, side, link)
        self._poll_retransmit_ns = round(settings.poll_retransmit_ms * 1e6)
        self._epoch = 0
        self._awaiting_ack = False
        self._reset_at_ns = 0
        self._reset_ack_due = False
        self._empty = True

    def wants_slot(self) -> bool:
        """Whether something is to be sent or a timer runs."""
        return not self._link.handovers.is_under_way and bool(
            self._awaiting_ack
            or self._reset_ack_due
            or self._receiving.wants_slot
            or self._sending.has_outstanding
            or len(self._sending.buffer)
            or self._link.has_packets(self._side)
        )

    def on_slot(self, t_ns: int) -> list[Pdu]:
        """Fill the places of an interval: control first, then retransmissions, then new data."""
        pdus: list[Pdu] = []
        if self._reset_ack_due:
            self._reset_ack_due = False
            self._link.log.line(t_ns, self._side, "snd UA")
            pdus.append(Pdu("reset_ack", epoch=self._epoch))
        if not self._awaiting_ack:
            status = self._receiving.report(t_ns, self._epoch)
            pdus += [status] if status is not None else []
            try:
                while len(pdus) < self._settings.pdus_per_tti:
                    pdu = self._sending.next_pdu(t_ns, self._epoch)
                    if pdu is None:
                        break
                    pdus.append(pdu)
            except GivenUpError:
                self._fail(t_ns)
        room = len(pdus) < self._settings.pdus_per_tti
        if self._awaiting_ack and t_ns >= self._reset_at_ns and room:
            self._reset_at_ns = t_ns + self._poll_retransmit_ns
            self._link.log.line(t_ns, self._side, "snd SABM")
            pdus.append(Pdu("reset", epoch=self._epoch))
        for pdu in pdus:
            self._link.record(t_ns, self._side, "snd", pdu)
        self.note_backlog(t_ns)
        return pdus

    def note_backlog(self, t_ns: int) -> None:
        """Note in the truth when nothing new is left to be sent, and when something is again."""
        empty = not (len(self._sending.buffer) or self._link.has_packets(self._side))
        if empty != self._empty:
            self._empty = empty
            self._link.event(t_ns, "emptied" if empty else "filled", self._side)

    def on_frame(self, frame: Pdu, t_ns: int) -> None:
        """Take a PDU that arrived intact."""
        if self._link.handovers.is_under_way:
            self._link.truth.count("frames_ignored", self._side)
        elif frame.kind == "reset":
            self._link.log.line(t_ns, self._side, "rcv SABM")
            self._link.record(t_ns, self._side, "rcv", frame)
            self._reset_ack_due = True
            if frame.epoch > self._epoch:
                self._reset("peer", t_ns)
                self._epoch = frame.epoch
            self._awaiting_ack = self._awaiting_ack and frame.epoch < self._epoch
        elif frame.kind == "reset_ack":
            self._link.log.line(t_ns, self._side, "rcv UA")
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
            self._receiving.on_data(frame, frame.chunk, t_ns)

    def _on_status(self, frame: Pdu, t_ns: int) -> None:
        self._link.log.line(t_ns, self._side, f"rcv RR nr={frame.sn % MODULUS}")
        for sn in frame.nacks:
            self._link.log.line(t_ns, self._side, f"rcv SREJ nr={sn % MODULUS}")
        self._sending.on_report(frame, t_ns)

    def next_ns(self) -> int | None:
        """When a handover begins or ends; its own timers are looked at in slots."""
        return self._link.next_handover_ns() if self._side == 1 else None

    def on_time(self, t_ns: int) -> None:
        """The base station decides on handovers."""
        self._link.hand_over(t_ns)

    @property
    def epoch(self) -> int:
        """Re-establishments so far."""
        return self._epoch

    def hand_over(self, t_ns: int, epoch: int, forwards: bool) -> None:
        """Begin anew in another cell; `forwards`: with the packets that have not been delivered.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        epoch : int
            The new cell's number: PDUs of others are not for it.
        forwards : bool
        """
        self._reset("handover" if self._side == 1 else "peer", t_ns)
        self._awaiting_ack = self._reset_ack_due = False
        self._epoch = epoch
        if forwards:
            self._link.forward(self._side, self._sending.buffer)
        self.note_backlog(t_ns)

    def _fail(self, t_ns: int) -> None:
        self._reset("n2", t_ns)
        self._epoch += 1
        self._awaiting_ack = True
        self._reset_at_ns = t_ns

    def _reset(self, cause: str, t_ns: int) -> None:
        flush_tx, flush_rx = self._sending.flush(), self._receiving.flush()
        self._sending.clear()
        self._receiving.clear()
        truth = self._link.truth
        truth.count("resets", self._side)
        truth.count("bytes_flushed", self._side, flush_tx + flush_rx)
        self._link.event(t_ns, "reset", self._side, cause=cause, flush_tx=flush_tx, flush_rx=flush_rx)
        self._link.log.reset(t_ns, self._side, cause, flush_tx, flush_rx)
        self.note_backlog(t_ns)
