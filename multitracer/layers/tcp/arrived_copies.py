"""Whether what a timer retransmitted had already arrived, by the packets that both captures have.

A packet is identified by its IP identification or timestamp and its acknowledgment number.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from multitracer.model import schema
from multitracer.model.arrays.unique import among
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

_BAD = schema.CHECKSUMS.index("bad")
_AT_ONCE = 256  # rows in which a first one is looked for before more are


class Arrival(NamedTuple):
    """What the other end's capture shows of data that was transmitted before a timer fired.

    Attributes
    ----------
    arrived : bool or None
        Whether a copy came there intact; None if unknown.
    answered : bool or None
        If one did, whether an ACK for it was still in transit to the sender; False if all were lost.
    """

    arrived: bool | None
    answered: bool | None = None


class ArrivedCopies:
    """Both directions of one connection at the capture of a sender and at that of its receiver.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    direction : int
        Of the data.
    sender, receiver : int
        The captures.
    """

    def __init__(
        self, m: Timeline, connection: Connection, direction: int, sender: int, receiver: int
    ) -> None:
        def flow(way: int, source: int) -> Table:
            return m.flow(connection.index, way, source)

        self._sent, self._received = (_Flow(flow(direction, one)) for one in (sender, receiver))
        self._answers, self._answered = (_Flow(flow(1 - direction, one)) for one in (sender, receiver))
        self._at_sender = [flow(way, sender) for way in (0, 1)]

    def of(self, seq: int, t_ns: int) -> Arrival:
        """What is known of a byte, of which a timer sent a copy at a time.

        If no earlier copy arrived intact, the data was lost. If one did, either an ACK for it was still in
        transit, or all of them were lost: then the timer was needed, although the data had arrived.
        """
        sent, received = self._sent, self._received
        copies = sent.covering(seq)
        copies = copies[sent.t_ns[copies] < t_ns]
        there = received.covering(seq)
        arrived = _same_packets(sent.rows, copies, received.rows, there)
        if arrived is None:
            return Arrival(None)
        if not len(arrived):
            return Arrival(False)
        answer = self._answers.first_ack(seq, t_ns)
        if answer is None:
            return Arrival(True, False if self._never_came(seq) else None)
        answers = self._answered.with_number(int(self._answers.rows["ack_raw"][answer]))
        answers = answers[self._answered.rows["ack"][answers] > seq]
        left = _same_packets(self._answers.rows, np.array([answer]), self._answered.rows, answers)
        if left is None or not len(left):
            return Arrival(True)
        late = received.t_ns[there[received.t_ns[there] > received.t_ns[arrived[-1]]]]
        return Arrival(True, not len(late) or bool(self._answered.t_ns[left[0]] < late[0]))

    def _never_came(self, seq: int) -> bool:
        """Whether ACKs left the receiver, and the sender's capture lacks them for longer than any RTT."""
        first = self._answered.first_ack(seq, None)
        if first is None or self._longest_ns is None:
            return False
        longest_ns, last_ns = self._longest_ns
        return longest_ns > 0 and last_ns - int(self._answered.t_ns[first]) > longest_ns

    @cached_property
    def _longest_ns(self) -> tuple[int, int] | None:
        """The longest RTT of the sender's capture, and its last packet; None without packets."""
        ways = [rows for rows in self._at_sender if len(rows)]
        if not ways:
            return None
        longest = max(int(rows["rtt_ns"].max(initial=0)) for rows in ways)
        return longest, max(int(rows["t_ns"].max()) for rows in ways)


class _Flow:
    """Intact segments of one direction at one capture, found by byte, by acknowledgment and by time."""

    def __init__(self, rows: Table) -> None:
        self.rows = rows.where(rows["checksum"] != _BAD)
        self.t_ns = self.rows["t_ns"]

    @cached_property
    def _by_byte(self) -> tuple[Array, Array, int]:
        """Rows in order of their first byte, these, and the length of the longest segment."""
        order = np.argsort(self.rows["seq"], kind="stable")
        return order, self.rows["seq"][order], int(self.rows["length"].max(initial=0))

    @cached_property
    def _by_number(self) -> tuple[Array, Array]:
        """Rows in order of their acknowledgment number, and these."""
        order = np.argsort(self.rows["ack_raw"], kind="stable")
        return order, self.rows["ack_raw"][order]

    @cached_property
    def _reached(self) -> Array:
        """The highest acknowledgment so far."""
        return np.maximum.accumulate(self.rows["ack"])

    def covering(self, byte: int) -> Array:
        """Rows of the segments that hold a byte, in time order."""
        order, first, longest = self._by_byte
        low, high = np.searchsorted(first, [byte - longest, byte], side="right")
        near = np.sort(order[low:high])
        return np.asarray(near[self.rows["seq"][near] + self.rows["length"][near] > byte])

    def with_number(self, ack_raw: int) -> Array:
        """Rows with an acknowledgment number as it was on the wire, in time order."""
        order, numbers = self._by_number
        low, high = (int(np.searchsorted(numbers, ack_raw, side)) for side in ("left", "right"))
        return order[low:high]

    def first_ack(self, byte: int, after_ns: int | None) -> int | None:
        """The first row that acknowledges a byte, of all or after a time."""
        first = int(np.searchsorted(self._reached, byte, side="right"))
        if after_ns is None or first >= len(self.t_ns):
            return first if first < len(self.t_ns) else None
        start = max(int(np.searchsorted(self.t_ns, after_ns, side="right")), first)
        size = _AT_ONCE
        while start < len(self.t_ns):
            found = np.flatnonzero(self.rows["ack"][start : start + size] > byte)
            if len(found):
                return start + int(found[0])
            start, size = start + size, 4 * size
        return None


def _same_packets(rows: Table, packets: Array, others: Table, candidates: Array) -> Array | None:
    """Rows among the candidates that are one of these packets; None if nothing distinguishes packets."""
    if len(packets) == 0:
        return None
    for mark, absent in (("ip_id", 0), ("ts_val", -1)):
        marks = rows[mark][packets]
        if np.all(marks != absent):
            same = among(others[mark][candidates], marks)
            same &= among(others["ack_raw"][candidates], rows["ack_raw"][packets])
            return np.asarray(candidates[same])
    return None
