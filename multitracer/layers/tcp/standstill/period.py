"""What a stall is, and how long one lasts at least."""

from __future__ import annotations

from collections.abc import Callable

from multitracer.layers.tcp.flow_batch import Times
from multitracer.model.frozen import frozen

LEAST_NS = 100_000_000
"""A shorter pause is no stall: hosts and queues cause such."""
FACTOR = 3
"""It lasts for so many times the usual distance of packets, at least."""
BETWEEN = 3
"""So many packets, and no more, pass in the middle of one that continues."""
ACKS, TIMESTAMPS, ORDER = "acks", "timestamps", "order"
"""What shows a stall."""


@frozen
class Standstill:
    """A time in which nothing moved.

    Attributes
    ----------
    start_ns, end_ns : int
        As the capture has it: later than at the place where it happened, by the delay from there.
    record : int
        The packet of the capture that ended it.
    before : bool
        Whether data had waited before the capture; else data, or its ACK, after it.
    silence_ns : int
        How long nothing came but `passed`: so long it may have lasted at most.
    evidence : str
        `ACKS` that came late, `TIMESTAMPS` of data that had waited, or the `ORDER` of data that was to come.
    passed : int
        Packets that came in the middle of it nevertheless.
    """

    start_ns: int
    end_ns: int
    record: int
    before: bool
    silence_ns: int
    evidence: str
    passed: int = 0

    @property
    def length_ns(self) -> int:
        """How long it lasted."""
        return self.end_ns - self.start_ns


def last_silence(silent_ns: Times, at: int, least_ns: int, goes_on: Callable[[int], bool]) -> int:
    """The last pause of a stall that begins with one: few packets pass in the middle of a stall.

    Parameters
    ----------
    silent_ns : array of int64
        From each packet to the next.
    at : int
        Number of the first pause.
    least_ns : int
        The next is longer; it may be shorter than a separate stall.
    goes_on : callable
        Whether what ends a pause had waited since before the stall was over.
    """
    last = at
    for next_at in range(at + 1, min(at + 1 + BETWEEN, len(silent_ns))):
        if silent_ns[next_at] > least_ns and goes_on(next_at):
            last = next_at
    return last
