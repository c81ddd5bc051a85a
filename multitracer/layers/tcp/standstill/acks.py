"""Times without ACKs that were no wait for a retransmission: the path was stalled behind the capture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.layers.tcp.flow_batch import Times
from multitracer.layers.tcp.standstill.answered import NO_ANSWER, Answered
from multitracer.layers.tcp.standstill.others import moved_anyway
from multitracer.layers.tcp.standstill.period import ACKS, FACTOR, LEAST_NS, Standstill, last_silence
from multitracer.model.table import Table

_SYN = 0x02
_LOST_AT_ONCE = 32
"""Segments that are lost one after the other, at most: for so long no ACK comes."""


def late_acks(
    data: Table,
    acks: Table,
    base_ns: int,
    needless: Sequence[int],
    came_ns: Times | None,
    *,
    sack: bool,
) -> list[Standstill]:
    """Times without ACKs that were no wait for a retransmission.

    What the first ACKs after that time answer had been in flight for longer than the RTT until then.
    Times in which other connections continued, whenever they began, are left out.

    Parameters
    ----------
    data, acks : Table
        Of one connection at one capture, in time order.
    base_ns : int
        The smallest RTT from the capture to the receiver and back.
    needless : sequence of int
        Packets of the capture that a timer retransmitted although nothing was lost.
    came_ns : array of int64 or None
        When anything came between the same hosts (`came_between_ns`); None if there are no others.
    sack : bool
        Whether the receiver acknowledges selectively.

    Returns
    -------
    list of Standstill
        In time order.
    """
    # A repeated SYN+ACK does not end such a time: it answers a SYN.
    again = acks["flags"] & _SYN != 0
    again[:1] = False
    if again.any():
        acks = acks.where(~again)
    if len(acks) < 3:
        return []
    ack_ns = acks["t_ns"]
    gaps_ns = np.diff(ack_ns)
    least_ns = max(LEAST_NS, base_ns)
    if int(gaps_ns.max()) <= least_ns:
        return []
    usual_ns = int(np.median(gaps_ns))
    least_ns = max(least_ns, FACTOR * usual_ns)
    # A window that is closed holds nothing in flight that an ACK would be due for.
    candidates = np.flatnonzero((gaps_ns > least_ns) & (acks["window"][:-1] != 0))
    if came_ns is not None and len(candidates):
        candidates = candidates[~moved_anyway(came_ns, ack_ns, candidates, least_ns)]
    if not len(candidates):
        return []
    answered = Answered(data, acks, base_ns, needless, sack=sack)
    # The oldest of what was in flight.
    due_ns = answered.first_sent_ns(answered.acked[candidates]) + base_ns
    candidates = candidates[ack_ns[candidates + 1] - np.maximum(ack_ns[candidates], due_ns) > least_ns]
    found = []
    for at in candidates.tolist():
        if acks["flags"][at + 1] & NO_ANSWER:
            # Its host closed the connection: what it acknowledges may have arrived long before.
            continue
        silent_ns, end_ns = int(ack_ns[at]), int(ack_ns[at + 1])
        if answered.withheld(at, usual_ns):
            # Of what came while its receiver waited for more, no ACK would have been late.
            silent_ns = int(ack_ns[at - 1]) + usual_ns
        if not sack and answered.duplicates(at + 1) and end_ns - silent_ns <= _LOST_AT_ONCE * usual_ns:
            continue
        due = answered.due_ns(at)
        if due is None:
            continue
        start_ns = max(silent_ns, due)
        if end_ns - start_ns > least_ns:
            # What ends the next pause had been due before the stall was over.
            def waited(next_at: int, over_ns: int = end_ns) -> bool:
                due = answered.due_ns(next_at)
                return due is not None and due <= over_ns

            last = last_silence(gaps_ns, at, max(base_ns, FACTOR * usual_ns), waited)
            end_ns, record = int(ack_ns[last + 1]), int(acks["record"][last + 1])
            found.append(Standstill(start_ns, end_ns, record, False, end_ns - silent_ns, ACKS, last - at))
    return found
