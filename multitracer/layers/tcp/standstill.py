"""Times in which a path stood still, as one capture shows them: what was in flight waited, and then came."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.layers.tcp.flow_batch import Flags, Times
from multitracer.layers.tcp.transit import data_at, payload_at, valid_acks
from multitracer.model.arrays.unique import among
from multitracer.model.frozen import frozen
from multitracer.model.packet_size import FULL_BYTES
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

LEAST_NS = 100_000_000
"""A silence that is shorter is none: hosts and queues make such."""
_FACTOR = 3
_BURST = 16
"""So many ACKs behind a silence are looked at."""
_FOLLOWING = 4
"""So many of them however late they come."""
_IN_ORDER = 3
"""So many of them show that what they acknowledge came one after the other."""
_LATELY = 8
"""What the RTT was is seen in so many ACKs before it."""
_LOST_AT_ONCE = 32
"""Segments that are lost one after the other, at most: for so long no ACK comes."""
_MOST = 0.9
"""In so much of a standstill nothing else may come; what was held up comes at its end, in any order."""
_TICKS_NS = np.array([1_000, 1_000_000, 4_000_000, 10_000_000])
"""Ticks of the clocks of TSval that are in use (RFC 7323, section 5.4)."""
_OFF = 0.1
"""A clock whose pace differs from a tick by more than this part has another one."""
_STAMPED = 0.8
"""Part of a silence that what ends it must have waited, by the clock of its sender."""
_LEAST_TICKS = 100
_ROUNDS = 2
"""A sender without timestamps that is silent for so many RTTs after the ACK of all its data waits for no
ACK; nor does any that is silent for one more."""
_AT_ONCE = 3
"""So many segments come within an RTT behind that, as they had been held up."""
_FIN, _SYN, _PSH = 0x01, 0x02, 0x08
ACKS, TIMESTAMPS, ORDER = "acks", "timestamps", "order"
"""What a standstill shows by."""


@frozen
class Standstill:
    """A time in which nothing moved.

    Attributes
    ----------
    start_ns, end_ns : int
        As the capture has it: later than at the place where it happened, by the way from there.
    record : int
        The packet of the capture that ended it.
    before : bool
        Whether data had waited on its way to the capture; else data, or its ACK, behind it.
    silence_ns : int
        How long nothing came: so long it may have lasted at most.
    evidence : str
        `ACKS` that came late, `TIMESTAMPS` of data that had waited, or the `ORDER` of data that was to come.
    """

    start_ns: int
    end_ns: int
    record: int
    before: bool
    silence_ns: int
    evidence: str

    @property
    def length_ns(self) -> int:
        """How long it lasted."""
        return self.end_ns - self.start_ns


def standstills(
    m: Timeline,
    connection: Connection,
    source: int,
    base_ns: int | None,
    needless: Sequence[int],
    *,
    round_ns: int | None,
    point: str | None,
    sack: bool,
) -> list[Standstill]:
    """Times in which the path of a connection stood still; in order, none overlaps another.

    Each lasts for 100 ms and more, for the base RTT, and for three times the usual distance of packets.

    Parameters
    ----------
    m : Timeline
        With segments.
    connection : Connection
    source : int
        The capture.
    base_ns : int or None
        The smallest RTT from the capture to the receiver and back; None if it was not measured.
    needless : sequence of int
        Packets of the capture that a timer retransmitted although nothing was lost.
    round_ns : int or None
        The smallest RTT of the whole path, or an upper bound of it; None if it is unknown.
    point : str or None
        Where the capture was taken: "snd", "mid" or "rcv"; None if that is unknown.
    sack : bool
        Whether the receiver acknowledges selectively.

    Returns
    -------
    list of Standstill

    References
    ----------
    Gurtov and Ludwig, *Responding to spurious timeouts in TCP* (INFOCOM 2003): delay spikes.
    """
    if m.carrying(connection.index, connection.data_dir, source) < 3:
        return []
    data = payload_at(m, connection, source)
    found = _before(data, base_ns or 0)
    if not found and point in ("mid", "rcv") and round_ns is not None and (data["ts_val"] < 0).all():
        found = _interrupted(data, valid_acks(m, connection, source), round_ns)
    if point != "rcv" and base_ns:
        # Where nothing else may overlap it, a silence in which other connections went on is none in any case.
        others = not found and len(m.connections) > 1
        came_ns = _others_came_ns(m, connection, source, before=False) if others else None
        acks = valid_acks(m, connection, source)
        found = [*_behind(data, acks, base_ns, needless, came_ns, sack=sack), *found]
    found.sort(key=lambda one: (one.start_ns, -one.end_ns))
    apart: list[Standstill] = []
    for one in found:
        if not apart or one.start_ns >= apart[-1].end_ns:
            apart.append(one)
    if len(m.connections) == 1:
        return apart
    return [one for one in apart if not _others_moved(m, connection, source, one)]


def carried_on_ns(
    m: Timeline,
    connection: Connection,
    source: int,
    stall: tuple[int, int],
    rate: float,
    round_ns: int,
    *,
    before: bool = False,
) -> int:
    """For how long a link went on while the path stalled behind it, or the path of the ACKs.

    What comes at once when the stall is over, faster than the link carries it, had been carried before. What
    follows comes as much later as the link had nothing to carry.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture.
    stall : (int, int)
        Start and end in nanoseconds.
    rate : float
        Bytes of payload a second that the link carries.
    round_ns : int
        The base RTT: within two of it, what follows is there.
    before : bool
        Whether data stalled before it came to the capture, which is behind the link; else ACKs show it.
    """
    start_ns, end_ns = stall
    if before:
        rows = payload_at(m, connection, source)
        reached = rows["seq"] + rows["length"]
    else:
        rows = valid_acks(m, connection, source)
        reached = np.maximum(rows["ack"], rows["sack_high"])
    t_ns, reached = rows["t_ns"], np.maximum.accumulate(reached)
    until_ns = end_ns + min(end_ns - start_ns, _ROUNDS * round_ns)
    first, last = t_ns.searchsorted([start_ns + 1, until_ns]).tolist()
    if not first or first == last or rate <= 0:
        return 0
    idle_ns = t_ns[first:last] - start_ns - (reached[first:last] - reached[first - 1]) / rate * 1e9
    # Up to the last of what comes at once it seems less; what follows shows how long it was.
    behind_ns = float(idle_ns[int(idle_ns.argmin()) :].max())
    return min(max(round(end_ns - start_ns - behind_ns), 0), end_ns - start_ns)


def _others_moved(m: Timeline, connection: Connection, source: int, one: Standstill) -> bool:
    """Whether others with data between the same hosts went on: a path that stands still stops all."""
    came_ns = _others_came_ns(m, connection, source, before=one.before)
    return _moved(came_ns, one.start_ns, one.end_ns)


def _moved(came_ns: Times, start_ns: int, end_ns: int) -> bool:
    most_ns = start_ns + round(_MOST * (end_ns - start_ns))
    first, last = came_ns.searchsorted([start_ns, most_ns], side="right").tolist()
    return bool(last > first)


def _others_came_ns(m: Timeline, connection: Connection, source: int, *, before: bool) -> Times:
    """When data between the hosts of a connection came, or what answers it; that of the connection, too."""
    hosts = _hosts(connection)
    return m.once(f"came {source} {hosts} {before}", lambda: _came_ns(m, hosts, source, reverse=not before))


def _hosts(connection: Connection) -> tuple[str, str]:
    """Addresses of the sender of its data, and of the receiver."""
    sender, receiver = connection.endpoints[:: 1 if connection.data_dir == 0 else -1]
    return sender[0], receiver[0]


def _came_ns(m: Timeline, hosts: tuple[str, str], source: int, *, reverse: bool) -> Times:
    """When the data between two hosts came, or what answers it."""
    every = [
        data_at(m, one, source, reverse=reverse)["t_ns"] for one in m.connections if _hosts(one) == hosts
    ]
    return np.sort(np.concatenate(every))


def _behind(
    data: Table,
    acks: Table,
    base_ns: int,
    needless: Sequence[int],
    came_ns: Times | None,
    *,
    sack: bool,
) -> list[Standstill]:
    """Silences of the ACKs that were no wait for a retransmission.

    What the first ACKs behind the silence answer had been in flight for longer than the RTT until then.
    Silences in which other connections went on, whenever they began, are left out.
    """
    if len(acks) < 3:
        return []
    ack_ns = acks["t_ns"]
    gaps_ns = np.diff(ack_ns)
    least_ns = max(LEAST_NS, base_ns)
    if int(gaps_ns.max()) <= least_ns:
        return []
    usual_ns = int(np.median(gaps_ns))
    least_ns = max(least_ns, _FACTOR * usual_ns)
    # A window that is closed holds nothing in flight that an ACK would be due for.
    candidates = np.flatnonzero((gaps_ns > least_ns) & (acks["window"][:-1] != 0))
    if came_ns is not None and len(candidates):
        candidates = candidates[~_moved_anyway(came_ns, ack_ns, candidates, least_ns)]
    if not len(candidates):
        return []
    answered = _Answered(data, acks, base_ns, needless, sack=sack)
    # The oldest of what was in flight.
    due_ns = answered.first_sent_ns(answered.acked[candidates]) + base_ns
    candidates = candidates[ack_ns[candidates + 1] - np.maximum(ack_ns[candidates], due_ns) > least_ns]
    found = []
    for at in candidates.tolist():
        if acks["flags"][at + 1] & (_FIN | _SYN):
            # Its host closed the connection: what it acknowledges may have arrived long before.
            continue
        silent_ns, end_ns = int(ack_ns[at]), int(ack_ns[at + 1])
        if not sack and answered.duplicates(at + 1) and end_ns - silent_ns <= _LOST_AT_ONCE * usual_ns:
            continue
        due = answered.due_ns(at)
        if due is None:
            continue
        start_ns = max(silent_ns, due)
        if end_ns - start_ns > least_ns:
            record = int(acks["record"][at + 1])
            found.append(Standstill(start_ns, end_ns, record, False, end_ns - silent_ns, ACKS))
    return found


def _moved_anyway(came_ns: Times, ack_ns: Times, candidates: Times, least_ns: int) -> Flags:
    """Whether others went on in the part that any standstill within a silence would have; see `_moved`.

    It begins in the silence, and lasts until its end for `least_ns` at least.
    """
    end_ns = ack_ns[candidates + 1]
    first = came_ns.searchsorted(end_ns - least_ns, side="left")
    rest_ns = np.ceil((end_ns - ack_ns[candidates]) * (1 - _MOST)).astype(np.int64)
    last = came_ns.searchsorted(end_ns - rest_ns - 1, side="right")
    return np.asarray(last > first, dtype=np.bool_)


class _Answered:
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
        self._again = _retransmissions(data, self._ends, needless)
        self._ack_ns, self._ack, self._echo = acks["t_ns"], acks["ack"], acks["ts_ecr"]
        self.acked = np.maximum.accumulate(self._ack)
        self._sacked, self._blocks = acks["sack_high"], acks["sack_count"]
        self._reported = np.maximum.accumulate(self._sacked)
        self._bare = (acks["length"] == 0) & (acks["flags"] & (_FIN | _SYN) == 0)
        self._window = acks["window"]

    def first_sent_ns(self, byte: Times) -> Times:
        """When bytes were sent first; the end of all times for those that were not."""
        never = np.iinfo(np.int64).max // 2
        return np.asarray(np.append(self._sent_ns, never)[self._ends.searchsorted(byte, side="right")])

    def duplicates(self, at: int) -> bool:
        """Whether an ACK only repeats the one before. Without SACK it does not show which segment it answers.

        Those that were lost in a burst before that leave as long a silence as a stall.
        """
        return bool(self._bare[at]) and int(self._ack[at]) <= int(self.acked[at - 1])

    def due_ns(self, at: int) -> int | None:
        """When the ACK behind number `at` was due; None if it answers nothing that was in flight.

        Those that follow it soon are looked at, too: what they answer came behind what it answers, so that
        this had been sent before.
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
        # What is sent behind the silence may be answered soon: the RTT before it may have met a queue.
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
        sent_ns = max(int(self._sent_ns[second]), self._first_of(last - 1))
        echo, place = int(self._echo[number]), int(self._ends.searchsorted(first, side="right"))
        same = place + np.flatnonzero((self._stamps[place:before] == echo) & (echo >= 0))
        sent_ns = max(sent_ns, int(self._sent_ns[same].max(initial=0)))
        again_ns = self._again_for(first, last, int(self._ack_ns[number]))
        # A copy of what had arrived is answered with an older timestamp, and with SACK by its duplicate
        # block. Where no block is, the timestamp is that of what is answered (RFC 7323, section 4.3).
        if not again_ns or (self._sack and len(same) and not self._blocks[number]):
            return sent_ns
        return max(sent_ns, again_ns)

    def _first_of(self, byte: int) -> int:
        return int(self.first_sent_ns(np.asarray(byte)))

    def _again_for(self, first: int, last: int, t_ns: int) -> int:
        """When any of some bytes was sent again, the last time before a time; 0 if it never was."""
        again_ns = self._again["t_ns"]
        begin, end = again_ns.searchsorted([self._first_of(first), t_ns + 1]).tolist()
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
            return int(np.iinfo(np.int64).max) // 2
        return int(self._sent_ns[place])


def _retransmissions(data: Table, ends: Times, needless: Sequence[int]) -> Table:
    """Second copies, and what fills a gap: its first copy was lost before it came to this capture."""
    late = data["seq"] < np.concatenate([[0], ends[:-1]])
    again = data.where((data["duplicate"] > 0) | late)
    return again.where(~among(again["record"], np.asarray(needless, dtype=np.int64)))


def _before(data: Table, base_ns: int) -> list[Standstill]:
    """Silences of the data that ended with a segment which its sender had stamped before or during them.

    A sender that waits stamps what it sends afterwards (RFC 7323, section 5.4: its TSval is its clock).
    """
    t_ns = data["t_ns"]
    silent = np.diff(t_ns)
    least_ns = max(LEAST_NS, base_ns)
    if int(silent.max(initial=0)) <= least_ns:
        return []
    least_ns = max(least_ns, _FACTOR * int(np.median(silent)))
    candidates = np.flatnonzero(silent > least_ns)
    late = _lateness_ns(t_ns, data["ts_val"]) if len(candidates) else None
    if late is None:
        return []
    waited_ns = late[candidates + 1] - late[candidates]
    whole = waited_ns >= _STAMPED * silent[candidates]
    # What a timer sent during the silence had waited since then: for so long at least nothing moved.
    begins_ns = np.where(whole, t_ns[candidates], t_ns[candidates + 1] - waited_ns)
    return [
        Standstill(
            begin_ns, int(t_ns[at + 1]), int(data["record"][at + 1]), True, int(silent[at]), TIMESTAMPS
        )
        for at, begin_ns, waited in zip(
            candidates.tolist(), begins_ns.tolist(), waited_ns.tolist(), strict=True
        )
        if waited > least_ns
    ]


def _interrupted(data: Table, acks: Table, round_ns: int) -> list[Standstill]:
    """Silences of data without timestamps of which more was to be sent, and then came at once.

    More was to be sent behind a segment without PSH (RFC 9293, section 3.9.1.2), and the window had room for
    it; all before it was acknowledged. A timer would have sent again what had arrived; identifications
    in sequence show that nothing was lost. What comes at once may come out of order.
    """
    t_ns, length = data["t_ns"], data["length"]
    silent = np.diff(t_ns)
    least_ns = max(LEAST_NS, _ROUNDS * round_ns, _FACTOR * int(np.median(silent)) if len(silent) else 0)
    ends = np.maximum.accumulate(data["seq"] + length)
    unit = min(int(length.max()), FULL_BYTES)
    more = data["flags"][:-1] & _PSH == 0
    edges = np.maximum.accumulate(acks["ack"] + np.maximum(acks["window"], 0))
    found = []
    for at in np.flatnonzero(more & (silent > least_ns)).tolist():
        begin_ns, end_ns = int(t_ns[at]), int(t_ns[at + 1])
        last_ack = int(acks["t_ns"].searchsorted(begin_ns + round_ns)) - 1
        if last_ack < 0 or int(edges[last_ack]) - int(ends[at]) < 2 * unit:
            continue
        acked_ns = max(int(acks["t_ns"][last_ack]), begin_ns)
        known = int(acks["ack"][last_ack]) >= int(ends[at]) - unit and end_ns - acked_ns > least_ns
        if not known and end_ns - begin_ns <= (_ROUNDS + 1) * round_ns:
            continue
        if _goes_on(data, at, int(ends[at]), end_ns + round_ns, unit):
            record = int(data["record"][at + 1])
            found.append(Standstill(begin_ns, end_ns, record, True, end_ns - begin_ns, ORDER))
    return found


def _goes_on(data: Table, at: int, end: int, until_ns: int, unit: int) -> bool:
    """Whether the next segment by its identification is new data, and comes until a time with others.

    The first that comes may have overtaken it.
    """
    last = int(data["t_ns"].searchsorted(until_ns))
    rows = slice(at + 1, min(last, at + 1 + _BURST))
    packets = -(-int(data["length"][at]) // unit)
    since = (data["ip_id"][rows].astype(np.int64) - int(data["ip_id"][at]) - packets) % 2**16
    seq = data["seq"][rows]
    if len(seq) <= _AT_ONCE or since[0] >= _BURST or seq[0] < end:
        return False
    return bool(((since == 0) & (seq == end)).any())


def _lateness_ns(t_ns: Times, stamps: Times) -> Times | None:
    """How much later each segment came than its sender stamped it, but for a constant.

    None without timestamps, or if the tick of the sender's clock is not clear: by the right one, the least
    late segments of both halves are as late. (What waits at the end makes the pace of all too slow.)
    """
    if (stamps < 0).any():
        return None
    since = (stamps - stamps[0] + 2**31) % 2**32 - 2**31
    half = len(t_ns) // 2
    if not half or int(since[-1]) < _LEAST_TICKS:
        return None
    # One row for each tick.
    late = np.asarray(t_ns - t_ns[0] - since * _TICKS_NS[:, None], dtype=np.int64)
    first, second = late[:, :half].argmin(axis=1).tolist(), late[:, half:].argmin(axis=1).tolist()
    found, least = None, _OFF
    for one, before, after in zip(late, first, second, strict=True):
        apart = int(one[half + after] - one[before])
        off = abs(apart) / max(int(t_ns[half + after] - t_ns[before]), 1)
        if off < least:
            found, least = one, off
    return found
