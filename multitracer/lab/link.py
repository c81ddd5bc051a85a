"""What every link model of the lab is: packets and times in, packets and log lines out, no I/O.

A link has two ends, 0 (``ms``, the mobile side) and 1 (``iwf``, the network side). The runner hands it
packets from each end's network device and asks it to advance; a simulation does the same without a kernel.
All times are integer nanoseconds on one clock; a model never reads a clock and takes its randomness from a
seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol


class Delivery(NamedTuple):
    """A packet that leaves the link at one end."""

    t_ns: int
    side: int
    packet: bytes


class RawFrame(NamedTuple):
    """A frame as it was sent or received, for a capture.

    Attributes
    ----------
    t_ns : int
        When.
    side : int
        The entity that sent or received it.
    direction : str
        "snd" or "rcv".
    data : bytes
        Its octets.
    """

    t_ns: int
    side: int
    direction: Literal["snd", "rcv"]
    data: bytes


class FrameSink(Protocol):
    """Takes the frames of a link: the writer of a capture."""

    def write(self, t_ns: int, side: int, frame: bytes) -> None:
        """Add a frame that `side` sent at `t_ns`.

        Parameters
        ----------
        t_ns : int
            Since the epoch.
        side : int
            0 or 1; on radio links 0 is the mobile device.
        frame : bytes
        """


@dataclass
class Truth:
    """What really happened, kept by the model in addition to its log (becomes ``truth.json``).

    Attributes
    ----------
    counts : dict of str to list of int
        Totals per side (index 0 and 1): frames_sent, frames_lost_on_air, link_retransmissions, packets_in,
        packets_out, bytes_flushed, vj_dropped, ppp_bad_fcs, ...
    events : list of dict
        Single facts in time order: ``{"t_ns", "what", "side", ...}`` with what in "reset", "queue_drop",
        "air_loss", "packet_lost", "packet_ruined", "xoff", "xon", ...
    """

    counts: dict[str, list[int]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)

    def count(self, name: str, side: int, by: int = 1) -> None:
        """Add to a total.

        Parameters
        ----------
        name : str
            The total.
        side : int
            0 or 1.
        by : int
            What is added.
        """
        self.counts.setdefault(name, [0, 0])[side] += by


class Link(Protocol):
    """A two-ended link."""

    truth: Truth

    def send(self, side: int, packet: bytes, t_ns: int) -> bool:
        """Hand the link an IP packet that enters at `side`; False if the interface queue dropped it.

        Parameters
        ----------
        side : int
            0 or 1; on radio links 0 is the mobile device.
        packet : bytes
            From its IP header on.
        t_ns : int
            When it is handed over, since the epoch.
        """

    def advance(self, t_ns: int) -> list[Delivery]:
        """Let time pass up to and including `t_ns`; packets that came out, in time order."""

    def next_ns(self) -> int | None:
        """The next time at which something happens by itself; None if only a packet can wake the link."""

    def drain_log(self) -> list[str]:
        """Lines of the rlpdump log since the last call, in time order, without line ends; plain: none."""

    def log_header(self) -> str | None:
        """First line of the rlpdump log; None if the link keeps none."""
