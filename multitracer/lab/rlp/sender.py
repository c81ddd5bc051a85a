"""The sending half of an RLP entity: window, SREJ and REJ, T1 with polls, N2 (3GPP TS 24.022 section 5.3)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

from multitracer.lab.l2r import Chunk, SendBuffer
from multitracer.lab.rlp.frames import MODULUS
from multitracer.lab.settings import RlpSettings


class LinkFailure(Exception):
    """The link has to be reset; `cause` is "n2" or "protocol"."""

    def __init__(self, cause: Literal["n2", "protocol"]) -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass
class Outstanding:
    """A frame sent and not acknowledged."""

    chunk: Chunk
    attempts: int = 0


class RlpSender:
    """State variables V(A), V(S) and what they stand for, counted without wrapping.

    Two rules keep a window of 61 among 62 numbers unambiguous. A frame is retransmitted only on demand (SREJ,
    REJ) or after a checkpoint: T1 makes it poll, and until the answer with the F bit comes it sends no I
    frame and ignores all other supervisory frames; the receiver forgets what it holds out of order when it
    sees the poll, and everything from the answer's N(R) on is retransmitted. And an SREJ is served before any
    other data, so that the answer is there, or lost, before the receiver repeats its SREJ.

    Attributes
    ----------
    va, vs, high : int
        Oldest frame not acknowledged, next frame to send, and one past the highest ever sent.
    """

    def __init__(self, settings: RlpSettings) -> None:
        self._window = settings.window
        self._n2 = settings.n2
        self._t1_ns = round(settings.t1_ms * 1e6)
        self._payload_bytes = settings.payload_bytes
        self.reset()

    def reset(self) -> None:
        """Begin at number 0 with no frame unacknowledged."""
        self.va = self.vs = self.high = 0
        self._outstanding: dict[int, Outstanding] = {}
        self._marked: deque[int] = deque()
        self._remote_busy = False
        self._poll: Literal["idle", "due", "wait"] = "idle"
        self._polls = 0
        self._t1_at_ns: int | None = None

    @property
    def waiting(self) -> bool:
        """A frame is unacknowledged, or the peer is busy: T1 is or will be running."""
        return self.va < self.high or self._remote_busy or self._poll != "idle"

    @property
    def unacknowledged_bytes(self) -> int:
        """User bytes sent and not acknowledged."""
        return sum(len(frame.chunk.data) for frame in self._outstanding.values())

    def wants_new_data(self) -> bool:
        """Whether the next frame could carry new data."""
        return (
            self._poll == "idle"
            and not self._remote_busy
            and not self._marked
            and self.vs == self.high
            and self.vs - self.va < self._window
        )

    def poll_due(self, t_ns: int) -> bool:
        """Run T1; True if a poll has to be sent now.

        Raises
        ------
        LinkFailure
            After N2 polls without an answer.
        """
        if self._t1_at_ns is not None and t_ns >= self._t1_at_ns:
            if self._polls >= self._n2:
                raise LinkFailure("n2")
            self._poll = "due"
            self._t1_at_ns = None
        return self._poll == "due"

    def poll_sent(self, t_ns: int) -> None:
        """Note that a command with the P bit was sent."""
        self._poll = "wait"
        self._polls += 1
        self._marked.clear()
        self._t1_at_ns = t_ns + self._t1_ns

    def next_frame(self, t_ns: int, buffer: SendBuffer) -> tuple[int, Outstanding] | None:
        """Choose the I frame for this slot: a retransmission (after SREJ or a checkpoint), or new data.

        Raises
        ------
        LinkFailure
            If a frame had to be retransmitted more than N2 times.
        """
        number = self._choose(buffer)
        if number is None:
            return None
        self._t1_at_ns = t_ns + self._t1_ns
        return number, self._outstanding[number]

    def _choose(self, buffer: SendBuffer) -> int | None:
        if self._poll != "idle":
            return None
        if self._marked:
            return self._again(self._marked.popleft())
        if self._remote_busy:
            return None
        if self.vs < self.high:
            self.vs += 1
            return self._again(self.vs - 1)
        if self.vs - self.va >= self._window or not len(buffer):
            return None
        self._outstanding[self.vs] = Outstanding(buffer.take(self._payload_bytes))
        self.vs += 1
        self.high = self.vs
        return self.vs - 1

    def _again(self, number: int) -> int:
        frame = self._outstanding[number]
        if frame.attempts >= self._n2:
            raise LinkFailure("n2")
        frame.attempts += 1
        return number

    def supervisory(self, word: str, nr: int, final: bool, t_ns: int) -> None:
        """Take the supervisory part of a frame from the peer.

        Parameters
        ----------
        word : str
            RR, RNR, REJ or SREJ (TS 24.022).
        nr : int
            N(R): the next frame that the peer expects, modulo 62.
        final : bool
            The F bit: an answer to a poll.
        t_ns : int
            When it was received, since the epoch.

        Raises
        ------
        LinkFailure
            If N(R) acknowledges what was never sent.
        """
        if self._poll != "idle":
            if not final or self._poll == "due":
                return
            self._poll = "idle"
            self._polls = 0
            self._acknowledge(nr)
            self._go_back()
        if word == "SREJ":
            number = self.va + (nr - self.va) % MODULUS
            if number >= self.vs:
                raise LinkFailure("protocol")
            if number not in self._marked:
                self._marked.append(number)
            return
        self._acknowledge(nr)
        self._remote_busy = word == "RNR"
        if word == "REJ":
            self._go_back()
        if self.va == self.high and not self._remote_busy:
            self._t1_at_ns = None
        elif self._t1_at_ns is None or word == "RNR":
            self._t1_at_ns = t_ns + self._t1_ns

    def _acknowledge(self, nr: int) -> None:
        number = self.va + (nr - self.va) % MODULUS
        if number > self.high:
            raise LinkFailure("protocol")
        for old in range(self.va, number):
            del self._outstanding[old]
        self.va = number
        self.vs = max(self.vs, number)
        self._marked = deque(marked for marked in self._marked if marked >= number)

    def _go_back(self) -> None:
        self.vs = self.va
        self._marked.clear()
