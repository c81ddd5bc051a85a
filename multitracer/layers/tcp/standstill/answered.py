"""When what an ACK answers had been sent, and so when that ACK was due."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.layers.tcp.flow_batch import Times
from multitracer.layers.tcp.standstill.period import FACTOR
from multitracer.model.arrays.unique import among
from multitracer.model.packet_size import FULL_BYTES
from multitracer.model.table import Table

_BURST = 16
"""So many ACKs after a pause are examined."""
_FOLLOWING = 4
"""So many of them however late they come."""
_IN_ORDER = 3
"""So many of them show that what they acknowledge came one after the other."""
_LATELY = 8
"""What the RTT was is seen in so many ACKs before it."""
_SOONEST = 0.75
"""No ACK comes within this part of the smallest RTT that was seen."""
_MANY = 4
"""An ACK of so many segments and more is one of several that were due, or of all that came at once."""
_COUNTS = 0.5
"""Identifications of ACKs count if so many steps after a pause are of one."""
_WITHHELD_NS = 20_000_000
"""An ACK is withheld for longer (RFC 5681, section 4.2; stacks in use: 25 ms to 200 ms)."""
_NEVER_NS = 2**62 - 1
"""The end of all times; an RTT after it is a time, too."""
_COPY = ("record", "t_ns", "seq")
NO_ANSWER = 0x03
"""FIN and SYN: what has one was not sent to answer data."""


class Answered:
    """When what ACKs answer had been sent, at the latest.

    Parameters
    ----------
    data, acks : Table
        In time order.
    base_ns : int
        The smallest RTT.
    needless : sequence of int
        Packets that a timer retransmitted although nothing was lost.
    sack : bool
        Whether the receiver reports duplicates (RFC 2883).
    """

    def __init__(
        self, data: Table, acks: Table, base_ns: int, needless: Sequence[int], *, sack: bool
    ) -> None:
        self._base_ns = base_ns
        self._sack = sack
        self._sent_ns = data["t_ns"]
        self._length, self._stamps = data["length"], data["ts_val"]
        self._ends = np.maximum.accumulate(data["seq"] + data["length"])
        # A receiver answers two full segments at once (RFC 5681, section 4.2): it waits for no more.
        self._unit = min(int(data["length"].max()), FULL_BYTES)
        self._ack_ns, self._ack, self._echo = acks["t_ns"], acks["ack"], acks["ts_ecr"]
        self.acked = np.maximum.accumulate(self._ack)
        self._again = _retransmissions(data, self._ends, self._unanswered(data, needless))
        self._sacked, self._blocks = acks["sack_high"], acks["sack_count"]
        self._reported = np.maximum.accumulate(self._sacked)
        self._bare = (acks["length"] == 0) & (acks["flags"] & NO_ANSWER == 0)
        self._window, self._ids = acks["window"], acks["ip_id"]

    def _unanswered(self, data: Table, needless: Sequence[int]) -> list[int]:
        """Of `needless` copies, those that no ACK of their data can answer.

        Where every ACK of the data before was lost, the first that comes answers the copy. Where these only
        came late, the copy is answered later, by an ACK that repeats the one before (RFC 5681, 4.2).
        """
        found = []
        copies = data.where(among(data["record"], np.asarray(needless, dtype=np.int64)))
        for record, sent_ns, seq in zip(*(copies[name].tolist() for name in _COPY), strict=True):
            first = int(self.acked.searchsorted(seq, side="right"))
            if first == len(self.acked) or int(self._ack_ns[first]) < sent_ns + self._base_ns:
                found.append(record)
                continue
            end_ns = int(self._ack_ns[first]) + self._base_ns
            last = int(self._ack_ns.searchsorted(end_ns, side="right"))
            following = slice(first + 1, last)
            if bool((self._ack[following] <= self.acked[first : last - 1]).any()):
                found.append(record)
        return found

    def first_sent_ns(self, byte: Times) -> Times:
        """When bytes were sent first; the end of all times for those that were not."""
        row, last = self._ends.searchsorted(byte, side="right"), len(self._sent_ns) - 1
        return np.where(row <= last, self._sent_ns[np.minimum(row, last)], _NEVER_NS)

    def duplicates(self, at: int) -> bool:
        """Whether an ACK only repeats the one before. Without SACK it does not show which segment it answers.

        Those that were lost in a burst before that leave as long a pause as a stall.
        """
        return bool(self._bare[at]) and int(self._ack[at]) <= int(self.acked[at - 1])

    def withheld(self, at: int, usual_ns: int) -> bool:
        """Whether the receiver withheld an ACK, as it had got one segment alone since the one before."""
        if not at or not 0 < int(self._ack[at]) - int(self.acked[at - 1]) <= self._unit:
            return False
        return int(self._ack_ns[at] - self._ack_ns[at - 1]) > max(_WITHHELD_NS, FACTOR * usual_ns)

    def due_ns(self, at: int) -> int | None:
        """When the ACK after number `at` was due; None if it answers nothing that was in flight.

        Those that follow it soon are looked at, too: what they acknowledge came after what it acknowledges,
        so that this had been transmitted earlier.
        """
        end_ns = int(self._ack_ns[at + 1])
        last = int(self._ack_ns.searchsorted(end_ns + self._base_ns, side="right"))
        last = min(max(last, at + 1 + _FOLLOWING), at + 1 + _BURST, len(self._ack_ns))
        answers: dict[int, int] = {}
        filled_ns, in_order = 0, []
        for number in range(at + 1, last):
            sent = self._sent_for(number)
            if sent is None:
                continue
            # What filled a gap may be all that came for the next ones, too.
            first, reached, t_ns = self.acked[number - 1], self._ack[number], self._ack_ns[number]
            again_ns = self._again_for(first, reached, t_ns)
            filled_ns = max(filled_ns, sent) if again_ns else filled_ns
            answers[number] = max(sent, filled_ns)
            if reached > first and not again_ns and sent + self._base_ns < end_ns:
                in_order.append(sent)
        if at + 1 not in answers:
            return None
        # But the ACK that filled it covers all that had come before. If others advance by what was sent once
        # only, one after the other, that came after it.
        if len(in_order) >= _IN_ORDER:
            return min(min(in_order), *answers.values()) + self._usual_ns(at)
        before = int(self._sent_ns.searchsorted(end_ns, side="right"))
        next_ns = int(self._sent_ns[before]) if before < len(self._sent_ns) else end_ns
        # What is sent after the pause may be answered soon: the RTT before it may have met a queue.
        first = [number for number in answers if self._ack_ns[number] < next_ns]
        return min(*answers.values(), self._by_count(first, before)) + self._usual_ns(at)

    def _usual_ns(self, at: int) -> int:
        """The smallest RTT of the last ACKs up to one, and of all no less."""
        rtts_ns = [
            int(self._ack_ns[number]) - sent_ns
            for number in range(max(at + 1 - _LATELY, 1), at + 1)
            if (sent_ns := self._sent_for(number)) is not None
        ]
        return max(min(rtts_ns, default=0), self._base_ns)

    def _sent_for(self, number: int) -> int | None:
        """When what made the receiver send an ACK was sent, at the latest; None if nothing was in flight."""
        t_ns, first, last = int(self._ack_ns[number]), int(self.acked[number - 1]), int(self._ack[number])
        # An ACK cannot answer what was sent later.
        before = int(self._sent_ns.searchsorted(t_ns, side="right"))
        if not before:
            return None
        if last > first:
            return self._for_advance(number, first, last, before)
        if not self._bare[number] or int(self._ends[before - 1]) <= last:
            return None
        # A receiver answers at once what does not come in order (RFC 5681, section 4.2).
        high = int(self._sacked[number])
        if high > max(int(self._reported[number - 1]), last):
            return max(self._first_of(high - 1), self._again_for(high - 1, high, t_ns))
        return int(self._sent_ns[before - 1])

    def _for_advance(self, number: int, first: int, last: int, before: int) -> int | None:
        second = int(self._ends.searchsorted(first + self._unit, side="right"))
        if second >= len(self._sent_ns):
            return None
        sent_ns = int(self._sent_ns[second])
        if last - first <= _MANY * self._unit or not self._goes_on(number):
            sent_ns = max(sent_ns, self._first_of(last - 1))
        echo, place = int(self._echo[number]), int(self._ends.searchsorted(first, side="right"))
        same = place + np.flatnonzero((self._stamps[place:before] == echo) & (echo >= 0))
        sent_ns = max(sent_ns, int(self._sent_ns[same].max(initial=0)))
        again_ns = self._again_for(first, last, int(self._ack_ns[number]))
        # A copy of what had arrived is answered with an older timestamp, and with SACK by its duplicate
        # block. Where no block is, the timestamp is that of what is answered (RFC 7323, section 4.3).
        if not again_ns or (self._sack and len(same) and not self._blocks[number]):
            return sent_ns
        return max(sent_ns, again_ns)

    def _goes_on(self, number: int) -> bool:
        """Whether no ACK was lost before one, by identifications that count: what it answers came at once."""
        (before, last), window = self._ids[number - 1 : number + 1].tolist(), slice(number - 1, number + 9)
        steps = np.diff(self._ids[window].astype(np.int64))
        return before > 0 and last == (before + 1) % 2**16 and bool((steps == 1).mean() >= _COUNTS)

    def _first_of(self, byte: int) -> int:
        """As `first_sent_ns`, of one byte."""
        row = int(self._ends.searchsorted(byte, side="right"))
        return int(self._sent_ns[row]) if row < len(self._sent_ns) else _NEVER_NS

    def _again_for(self, first: int, last: int, t_ns: int) -> int:
        """When any of some bytes was last retransmitted early enough for an ACK to answer; 0 if never."""
        again_ns = self._again["t_ns"]
        latest_ns = t_ns - round(_SOONEST * self._base_ns)
        begin, end = again_ns.searchsorted([self._first_of(first), latest_ns + 1]).tolist()
        seq, length = self._again["seq"][begin:end], self._again["length"][begin:end]
        return int(again_ns[begin:end][(seq < last) & (seq + length > first)].max(initial=0))

    def _by_count(self, answers: Sequence[int], before: int) -> int:
        """When the first of some ACKs was caused, by a segment `before` one: each answers one at least.

        One of them may answer what the network duplicated. Segments that a network interface divides are more
        than they seem, and an ACK that opens the window only is no answer.
        """
        numbers = np.asarray(answers, dtype=np.int64)
        same = self._window[numbers] == self._window[numbers - 1]
        advance = self._ack[numbers] > self.acked[numbers - 1]
        place = before - (int(np.count_nonzero(same | advance)) - 1)
        if not 0 <= place < before or int(self._length[place:before].max()) > self._unit:
            return _NEVER_NS
        return int(self._sent_ns[place])


def _retransmissions(data: Table, ends: Times, needless: Sequence[int]) -> Table:
    """Second copies, and what fills a gap: its first copy was lost before it came to this capture."""
    late = data["seq"] < np.concatenate([[0], ends[:-1]])
    again = data.where((data["duplicate"] > 0) | late)
    return again.where(~among(again["record"], np.asarray(needless, dtype=np.int64)))
