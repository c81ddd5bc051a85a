"""The sending half of an entity in acknowledged mode: windows, polls, retransmissions, segments."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from multitracer.lab.l2r import Chunk, SendBuffer
from multitracer.lab.rlc_bearer import Bearer
from multitracer.lab.rlc_frames import MODULUS, Pdu
from multitracer.lab.settings import RlcAmSettings


class GivenUpError(Exception):
    """A PDU was sent too often, or polls stayed without an answer: the bearer has to be re-established."""


@dataclass
class _Outstanding:
    chunk: Chunk
    retransmissions: int = 0


class Sending:
    """State variables VT(A), VT(S), the polls, and what is not confirmed.

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
        self._poll_retransmit_ns = round(settings.poll_retransmit_ms * 1e6)
        self.buffer = SendBuffer()
        self.clear()

    def clear(self) -> None:
        """Begin anew; what waits in the buffer stays there."""
        self._va = self._vs = 0
        self._outstanding: dict[int, _Outstanding] = {}
        self._marked: deque[int] = deque()
        # Segments of the current retransmission: number, first byte, last byte + 1.
        self._segments: deque[tuple[int, int, int]] = deque()
        self._since_poll = 0
        self._polls = 0
        self._poll_at_ns: int | None = None
        # Polls without an answer: when, and the newest PDU by then.
        self._asked: list[tuple[int, int]] = []

    @property
    def has_outstanding(self) -> bool:
        """Whether anything is not confirmed."""
        return bool(self._outstanding)

    def flush(self) -> int:
        """Drop all that is not confirmed; how many bytes."""
        unacknowledged = sum(len(frame.chunk.data) for frame in self._outstanding.values())
        return unacknowledged + self.buffer.flush()

    def next_pdu(self, t_ns: int, epoch: int) -> Pdu | None:
        """Fill a place: what is to be retransmitted, then new data; None if there is neither.

        Raises
        ------
        GivenUpError
        """
        if self._segments:
            return self._segment(t_ns, epoch, poll_again=False)
        poll_again = self._poll_at_ns is not None and t_ns >= self._poll_at_ns
        if poll_again and self._polls >= self._settings.max_retransmissions:
            raise GivenUpError
        sn = self._choose(t_ns)
        if sn is None and poll_again and self._outstanding:
            sn = self._vs - 1 if self._vs - 1 in self._outstanding else self._va
            self._outstanding[sn].retransmissions += 1
        if sn is None:
            return None
        frame = self._outstanding[sn]
        most = self._settings.resegment_bytes
        size = len(frame.chunk.data)
        if frame.retransmissions and most and size > most:
            self._segments.extend((sn, begin, min(begin + most, size)) for begin in range(0, size, most))
            return self._segment(t_ns, epoch, poll_again)
        return self._sent(t_ns, Pdu("data", sn, chunk=frame.chunk, epoch=epoch), poll_again)

    def _segment(self, t_ns: int, epoch: int, poll_again: bool) -> Pdu:
        sn, begin, end = self._segments.popleft()
        whole = self._outstanding[sn].chunk
        chunk = Chunk(whole.offset + begin, whole.data[begin:end])
        part = (begin, end == len(whole.data))
        return self._sent(t_ns, Pdu("data", sn, chunk=chunk, epoch=epoch, part=part), poll_again)

    def _sent(self, t_ns: int, pdu: Pdu, poll_again: bool) -> Pdu:
        """Decide on its poll, and log it."""
        assert pdu.chunk is not None
        frame = self._outstanding[pdu.sn]
        waiting = self._marked or self._segments
        more = waiting or len(self.buffer) or self._link.has_packets(self._side)
        closed = self._vs - self._va >= self._settings.window
        self._since_poll += 1
        poll = bool(poll_again or not more or closed or self._since_poll >= self._settings.poll_pdus)
        if poll:
            self._since_poll = 0
            self._polls += 1 if poll_again else 0
            self._poll_at_ns = t_ns + self._poll_retransmit_ns
            self._asked.append((t_ns, self._vs - 1))
            self._link.truth.count("polls", self._side)
        text = f"snd I ns={pdu.sn % MODULUS} off={pdu.chunk.offset} len={len(pdu.chunk.data)}"
        if frame.retransmissions:
            text += f" try={frame.retransmissions}"
            self._link.truth.count("link_retransmissions", self._side)
        if pdu.part is not None:
            self._link.truth.count("segments_sent_again", self._side)
        self._link.log.line(t_ns, self._side, text + (" pf=1" if poll else ""))
        return Pdu("data", pdu.sn, poll, pdu.chunk, epoch=pdu.epoch, part=pdu.part)

    def _choose(self, t_ns: int) -> int | None:
        while self._marked:
            sn = self._marked.popleft()
            frame = self._outstanding[sn]
            if frame.retransmissions >= self._settings.max_retransmissions:
                raise GivenUpError
            frame.retransmissions += 1
            return sn
        if self._vs - self._va >= self._settings.window:
            return None
        self._link.refill(self._side, t_ns, self.buffer)
        if not len(self.buffer):
            return None
        self._outstanding[self._vs] = _Outstanding(self.buffer.take(self._settings.payload_bytes))
        self._vs += 1
        return self._vs - 1

    def on_report(self, report: Pdu, t_ns: int) -> None:
        """Take a status report."""
        for sn in report.nacks:
            if sn in self._outstanding and sn not in self._marked:
                self._marked.append(sn)
        for sn in [sn for sn in self._outstanding if sn < report.sn and sn not in report.nacks]:
            del self._outstanding[sn]
        self._marked = deque(sn for sn in self._marked if sn in self._outstanding)
        self._segments = deque(one for one in self._segments if one[0] in self._outstanding)
        self._va = min(self._outstanding, default=self._vs)
        self._polls = 0
        self._poll_at_ns = t_ns + self._poll_retransmit_ns if self._outstanding else None
        for asked_ns, newest in self._asked:
            if newest < report.sn:
                self._link.event(t_ns, "poll_answered", self._side, asked_ns=asked_ns)
        self._asked = [one for one in self._asked if one[1] >= report.sn]
