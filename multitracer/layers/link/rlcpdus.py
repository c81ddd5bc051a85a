"""The PDUs of one direction of a radio bearer: what was sent, what was received, what was reported."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from multitracer.model.frozen import frozen
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

NEVER = np.iinfo(np.int64).max


@frozen
class Direction:
    """One direction of a bearer; each table in order of time.

    Attributes
    ----------
    sender, receiver : int
        Link entities.
    sent : Table
        Data PDUs as they left the sender; of a log that has only the receiver's view, as they came.
    received : Table
        Data PDUs as the receiver got them; empty where no log was written there.
    reports : Table
        Status reports (and NACKs) of the receiver, as they reached the sender where that is in the log.
    reported : Table
        The same as they left the receiver, where that is in the log.
    """

    sender: int
    receiver: int
    sent: Table
    received: Table
    reports: Table
    reported: Table

    @property
    def is_sender_seen(self) -> bool:
        """Whether `sent` is the sender's own view."""
        return self.sent is not self.received

    @cached_property
    def transmissions(self) -> tuple[Array, Array]:
        """Numbers of the PDUs in order, and how often each was sent."""
        known = self.sent["number"] >= 0
        numbers, place = np.unique(self.sent["number"][known], return_inverse=True)
        count = np.zeros(len(numbers), dtype=np.int64)
        np.maximum.at(count, place, self.sent["attempt"][known].astype(np.int64) + 1)
        return numbers, count

    @cached_property
    def nacks(self) -> tuple[Array, Array]:
        """What was reported missing, a number each, and when the receiver first did (else its report)."""
        rows = self.reported if len(self.reported) else self.reports
        rows = rows.where((rows["kind"] == rows.code("kind", "nack")) & (rows["number"] >= 0))
        count = np.maximum(rows["length"].astype(np.int64), 1)
        begin = np.repeat(rows["number"], count)
        within = np.arange(len(begin)) - np.repeat(np.cumsum(count) - count, count)
        numbers, first = np.unique(begin + within, return_index=True)
        return numbers, np.repeat(rows["t_ns"], count)[first]


def directions(m: Timeline) -> list[Direction]:
    """Both directions of the bearer; one without a data PDU is left out."""
    pdus = m.table("rlc_pdus").sorted_by("t_ns")
    entities = np.unique(pdus["entity"])
    if not len(entities):
        return []
    data = pdus["kind"] == pdus.code("kind", "data")
    out = pdus["action"] == pdus.code("action", "snd")
    found = []
    for sender, receiver in _pairs(m, entities):
        at_sender, at_receiver = pdus["entity"] == sender, pdus["entity"] == receiver
        received = pdus.where(data & ~out & at_receiver)
        sent = pdus.where(data & out & at_sender)
        came, left = pdus.where(~data & ~out & at_sender), pdus.where(~data & out & at_receiver)
        if len(sent) or len(received):
            found.append(
                Direction(
                    sender,
                    receiver,
                    sent if len(sent) else received,
                    received,
                    came if len(came) else left,
                    left,
                )
            )
    return found


def _pairs(m: Timeline, entities: Array) -> list[tuple[int, int]]:
    """The two ends of the bearer both ways; one that never sends is the other's peer nevertheless."""
    ends = [entity for entity in range(len(m.entities)) if m.link_type(entity).prefix == "Rlc"][:2]
    return [] if len(ends) < 2 else [(ends[0], ends[1]), (ends[1], ends[0])]


def completed(rows: Table) -> tuple[Array, Array, Array, Array]:
    """Numbers that were received, in order; the epoch of each, when its first byte came, and when its last.

    Parameters
    ----------
    rows : Table
        Data PDUs as a receiver got them, in order of time.

    Returns
    -------
    numbers, epoch, first_ns, complete_ns : int64 array
        `complete_ns` is `NEVER` for what did not come whole.
    """
    rows = rows.where((rows["number"] >= 0) & (rows["duplicate"] <= 0))
    numbers, first, place = np.unique(rows["number"], return_index=True, return_inverse=True)
    complete = np.full(len(numbers), NEVER, dtype=np.int64)
    whole = (rows["start"] == 0) & (rows["last"] == 1)
    np.minimum.at(complete, place[whole], rows["t_ns"][whole])
    parts = np.flatnonzero(~whole)
    if len(parts):
        parts = parts[np.argsort(place[parts], kind="stable")]
        for group in np.split(parts, np.flatnonzero(np.diff(place[parts])) + 1):
            at = int(place[group[0]])
            complete[at] = min(complete[at], _pieced(rows, group))
    return numbers, rows["epoch"][first].astype(np.int64), rows["t_ns"][first], complete


def _pieced(rows: Table, group: Array) -> int:
    """When the segments of one PDU were there from its first byte to its last."""
    have: list[tuple[int, int]] = []
    end = -1
    for row in group.tolist():
        begin = int(rows["start"][row])
        reach = begin + int(rows["length"][row])
        end = reach if rows["last"][row] else end
        have = sorted([*have, (begin, reach)])
        upto = 0
        for low, high in have:
            if low > upto:
                break
            upto = max(upto, high)
        if 0 <= end <= upto:
            return int(rows["t_ns"][row])
    return int(NEVER)
