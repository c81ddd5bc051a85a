"""The receiving half of an RLP entity: order, SREJ and REJ (3GPP TS 24.022 section 5.3)."""

from __future__ import annotations

from typing import Literal

from multitracer.lab.l2r import Chunk
from multitracer.lab.rlp.frames import MODULUS
from multitracer.lab.settings import RlpSettings


class RlpReceiver:
    """State variable V(R), what is held out of order, and what is missing.

    Attributes
    ----------
    vr : int
        Next frame expected, counted without wrapping.
    """

    def __init__(self, settings: RlpSettings) -> None:
        self._window = settings.window
        self._t1_ns = round(settings.t1_ms * 1e6)
        self._selective = settings.recovery == "srej"
        self.reset()

    def reset(self) -> None:
        """Begin at number 0 with nothing held."""
        self.vr = 0
        self._held: dict[int, Chunk] = {}
        self._missing: dict[int, int | None] = {}
        self._highest = -1
        self._reject: Literal["none", "due", "sent"] = "none"
        self._reject_at_ns = 0

    @property
    def held_bytes(self) -> int:
        """User bytes held out of order."""
        return sum(len(chunk.data) for chunk in self._held.values())

    @property
    def waiting(self) -> bool:
        """Something is missing, and its timer runs or will run."""
        return bool(self._missing) or self._reject != "none"

    def information(self, ns: int, chunk: Chunk) -> tuple[Literal["new", "dup", "ignored"], list[Chunk]]:
        """Take an I frame; what it was, and the chunks that are now in order."""
        ahead = (ns - self.vr) % MODULUS
        if ahead >= self._window:
            return "dup", []
        number = self.vr + ahead
        if number in self._held:
            return "dup", []
        if ahead and not self._selective:
            if self._reject == "none":
                self._reject = "due"
            return "ignored", []
        self._held[number] = chunk
        self._missing.pop(number, None)
        for gap in range(max(self.vr, self._highest + 1), number):
            self._missing.setdefault(gap, None)
        self._highest = max(self._highest, number)
        in_order = []
        while self.vr in self._held:
            in_order.append(self._held.pop(self.vr))
            self.vr += 1
        if in_order:
            self._reject = "none"
        return "new", in_order

    def checkpoint(self) -> None:
        """Forget what is out of order: the peer polled, and will send again from our N(R) on."""
        self._held.clear()
        self._missing.clear()
        self._highest = self.vr - 1
        self._reject = "none"

    def next_reject(self, t_ns: int) -> tuple[Literal["SREJ", "REJ"], int] | None:
        """Choose the SREJ or REJ for this slot and start its timer; None if nothing is due."""
        if not self._selective:
            if self._reject == "due" or (self._reject == "sent" and t_ns >= self._reject_at_ns):
                self._reject = "sent"
                self._reject_at_ns = t_ns + self._t1_ns
                return "REJ", self.vr % MODULUS
            return None
        for number in sorted(self._missing):
            asked_ns = self._missing[number]
            if asked_ns is None or t_ns - asked_ns >= self._t1_ns:
                self._missing[number] = t_ns
                return "SREJ", number % MODULUS
        return None
