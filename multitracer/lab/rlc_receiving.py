"""The receiving half of an entity in acknowledged mode: reordering, reassembly, status reports."""

from __future__ import annotations

from multitracer.lab.l2r import Chunk
from multitracer.lab.rlc_bearer import Bearer
from multitracer.lab.rlc_frames import MODULUS, Pdu
from multitracer.lab.settings import RlcAmSettings


class Receiving:
    """State variables VR(R), VR(H), and what is missing.

    Parameters
    ----------
    settings : RlcAmSettings
    side : int
    link : Bearer
    """

    def __init__(self, settings: RlcAmSettings, side: int, link: Bearer) -> None:
        self._side = side
        self._link = link
        self._prohibit_ns = round(settings.status_prohibit_ms * 1e6)
        self._reordering_ns = round(settings.reordering_ms * 1e6)
        self._last_status_ns = -(10**18)
        self._missing: dict[int, int] = {}
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        if self._missing:
            self._link.truth.count("gaps_unfilled", self._side, len(self._missing))
        self._vr = 0
        self._held: dict[int, Chunk] = {}
        self._parts: dict[int, dict[int, tuple[bytes, bool]]] = {}
        self._highest = -1
        self._missing = {}
        self._status_due = False

    @property
    def wants_slot(self) -> bool:
        """Whether a report is due or may become so."""
        return self._status_due or bool(self._missing)

    def flush(self) -> int:
        """Drop what waits for others; how many bytes."""
        return sum(len(chunk.data) for chunk in self._held.values())

    def report(self, t_ns: int, epoch: int) -> Pdu | None:
        """The status report that is due, if any may be sent yet."""
        late = sorted(sn for sn, since_ns in self._missing.items() if t_ns - since_ns >= self._reordering_ns)
        if not (self._status_due or late) or t_ns - self._last_status_ns < self._prohibit_ns:
            return None
        # A PDU that may still be in transit is neither acknowledged nor reported missing.
        ack_sn = min((sn for sn in self._missing if sn not in late), default=max(self._highest + 1, self._vr))
        nacks = tuple(sn for sn in late if sn < ack_sn)
        self._status_due = False
        self._last_status_ns = t_ns
        self._link.log.line(t_ns, self._side, f"snd RR nr={ack_sn % MODULUS}")
        for sn in nacks:
            self._link.log.line(t_ns, self._side, f"snd SREJ nr={sn % MODULUS}")
        return Pdu("status", ack_sn, nacks=nacks, epoch=epoch)

    def on_data(self, pdu: Pdu, chunk: Chunk, t_ns: int) -> None:
        """Take a data PDU, or a segment of one.

        Parameters
        ----------
        pdu : Pdu
            Its header.
        chunk : Chunk
            The bytes of the stream that it carries.
        t_ns : int
            When it was received, since the epoch.
        """
        sn = pdu.sn
        duplicate = sn < self._vr or sn in self._held or self._has(pdu, chunk)
        text = f"rcv I ns={sn % MODULUS} off={chunk.offset} len={len(chunk.data)}"
        text += (" pf=1" if pdu.poll else "") + (" dup=1" if duplicate else "")
        self._link.log.line(t_ns, self._side, text)
        self._status_due = self._status_due or pdu.poll
        if duplicate:
            return
        whole = self._assembled(pdu, chunk)
        for gap in range(max(self._vr, self._highest + 1), sn):
            self._missing[gap] = t_ns
        # One that is not whole counts as missing only when there is something after it.
        self._highest = max(self._highest, sn if whole is not None else sn - 1)
        if whole is None:
            return
        since_ns = self._missing.pop(sn, None)
        if since_ns is not None:
            self._link.event(t_ns, "gap_filled", self._side, opened_ns=since_ns)
        self._held[sn] = whole
        while self._vr in self._held:
            self._link.passed_on(self._side, t_ns, self._held.pop(self._vr))
            self._vr += 1

    def _has(self, pdu: Pdu, chunk: Chunk) -> bool:
        begin = pdu.part[0] if pdu.part is not None else 0
        found = self._parts.get(pdu.sn, {}).get(begin)
        return found is not None and len(found[0]) >= len(chunk.data)

    def _assembled(self, pdu: Pdu, chunk: Chunk) -> Chunk | None:
        """The whole PDU, if all of it is there."""
        if pdu.part is None:
            self._parts.pop(pdu.sn, None)
            return chunk
        begin, last = pdu.part
        parts = self._parts.setdefault(pdu.sn, {})
        parts[begin] = (chunk.data, last)
        data, end = b"", False
        while len(data) in parts and not end:
            piece, end = parts[len(data)]
            data += piece
        if not end:
            return None
        del self._parts[pdu.sn]
        return Chunk(chunk.offset - begin, data)
