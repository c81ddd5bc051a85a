"""What an entity in acknowledged mode asks of the bearer that it is an end of."""

from __future__ import annotations

from typing import Literal, Protocol

from multitracer.lab.handover import Handovers
from multitracer.lab.l2r import Chunk, SendBuffer
from multitracer.lab.link import Truth
from multitracer.lab.rlc_frames import Pdu
from multitracer.lab.rlpdump_log import RlpdumpLog


class Bearer(Protocol):
    """The bearer as its entities see it: queues in front of it, its logs, handovers across it."""

    handovers: Handovers
    log: RlpdumpLog
    truth: Truth

    def has_packets(self, side: int) -> bool:
        """Whether the interface queue holds any."""

    def refill(self, side: int, t_ns: int, buffer: SendBuffer) -> None:
        """Move packets from the interface queue into the entity's send buffer until a PDU is full.

        Parameters
        ----------
        side : int
            0 or 1.
        t_ns : int
            Since the epoch.
        buffer : SendBuffer
            The entity's.
        """

    def forward(self, side: int, buffer: SendBuffer) -> None:
        """Hand the packets that have not been delivered to the entity anew, in order, with their numbers."""

    def passed_on(self, side: int, t_ns: int, chunk: Chunk) -> None:
        """Take bytes that arrived in order at `side`, and reassemble packets."""

    def hand_over(self, t_ns: int) -> None:
        """Begin or end a handover that is due."""

    def next_handover_ns(self) -> int | None:
        """When the next handover begins, or the current one ends."""

    def record(self, t_ns: int, side: int, direction: Literal["snd", "rcv"], pdu: Pdu) -> None:
        """Note what an entity sent or received.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        side : int
            0 the UE, 1 the base station.
        direction : {'snd', 'rcv'}
            Whether it was sent or received there.
        pdu : Pdu
        """

    def event(self, t_ns: int, what: str, side: int, **details: object) -> None:
        """Note a fact in `truth`."""
