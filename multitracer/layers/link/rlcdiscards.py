"""What a radio bearer gave up, and how often SDUs were sent.

PDCP numbers every packet before RLC sends it. A number that RLC never sends is a packet that was given up in
the queue (discardTimer); what was sent and not confirmed when the numbering of RLC began anew is lost with
it, unless PDCP hands it over again under the same number.

Reference: 3GPP TS 36.323 and 38.323, sections 5.2 (re-establishment), 5.3 (discard).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.layers.link.rlcpdus import Direction
from multitracer.model.schema.rlc import DISCARD_REASONS, DISCARDS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

_UNSENT, _RESET, _HELD, _UNFILLED = range(len(DISCARD_REASONS))
_LEAPS = 512  # PDCP numbers that are not given up at once


class Units(NamedTuple):
    """The SDUs of one direction, by their first byte's place in the stream.

    Attributes
    ----------
    table : Table
        Schema `RLC_SDUS`.
    first, last : int64 array
        Numbers of the PDUs that hold their first and last byte; -1 if unknown.
    transmissions : int64 array
        How often the PDU of each was sent that was sent most often.
    """

    table: Table
    first: Array
    last: Array
    transmissions: Array


def units(m: Timeline, found: Direction) -> Units:
    """The SDUs of a direction with the PDUs that hold them."""
    table = m.table("rlc_sdus")
    table = table.where((table["entity"] == found.sender) & (table["offset"] >= 0)).sorted_by("offset")
    sent = found.sent.where((found.sent["offset"] >= 0) & (found.sent["attempt"] == 0)).sorted_by("offset")
    none = np.full(len(table), -1, dtype=np.int64)
    if not len(sent) or not len(table):
        return Units(table, none, none, np.zeros(len(table), dtype=np.int64))
    ends = table["offset"] + np.maximum(table["length"], 1) - 1
    first, last = (
        sent["number"][np.maximum(np.searchsorted(sent["offset"], place, side="right") - 1, 0)]
        for place in (table["offset"], ends)
    )
    numbers, times = found.transmissions
    begin, end = np.searchsorted(numbers, first), np.searchsorted(numbers, last, side="right")
    most = [int(times[a:b].max(initial=0)) for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
    return Units(table, first, last, np.array(most, dtype=np.int64))


def discards(m: Timeline, found: Direction, held: Units) -> Table:
    """What the sender of a direction gave up, in order of time.

    Parameters
    ----------
    m : Timeline
    found : Direction
        One direction of an RLC bearer, with the log's rows.
    held : Units
        Which PDUs each PDCP unit took, and what of it the log has.

    Returns
    -------
    Table
        `DISCARDS`: RLC that gave a PDU up (TS 36.322 5.2, TS 38.322 5.3), and PDCP that discarded a unit (TS
        38.323 5.3).
    """
    rows = [*_skipped(found, held), *_given_up(found, held), *_unfilled(m, found)]
    rows.sort(key=lambda row: row[0])
    names = ("t_ns", "reason", "number", "pdcp", "length")
    columns: dict[str, Any] = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    columns["entity"] = np.full(len(rows), found.sender)
    return Table.filled(DISCARDS, len(rows), columns)


def unconfirmed(found: Direction) -> tuple[int, Array]:
    """PDUs that nothing confirmed when the numbering began anew; the numbers of all that were confirmed.

    What the receiver got confirms a PDU where that is in the log, else the last report of its epoch.
    """
    numbers, _ = found.transmissions
    known = found.sent.where(found.sent["number"] >= 0)
    epoch = np.zeros(len(numbers), dtype=np.int64)
    epoch[np.searchsorted(numbers, known["number"])] = known["epoch"]
    if len(found.received):
        sure = np.isin(numbers, found.received["number"])
    else:
        sure = np.zeros(len(numbers), dtype=bool)
        for one in np.unique(epoch).tolist():
            reports = found.reports.where((found.reports["epoch"] == one) & (found.reports["number"] >= 0))
            status = reports.where(reports["kind"] == reports.code("kind", "status"))
            if len(status):
                final = reports.where(reports["t_ns"] == status["t_ns"][-1])
                missing = final["number"][final["kind"] == final.code("kind", "nack")]
                sure |= (epoch == one) & (numbers < status["number"].max()) & ~np.isin(numbers, missing)
    ended = epoch < epoch.max(initial=0)
    return int(np.count_nonzero(ended & ~sure)), numbers[sure]


def _skipped(found: Direction, held: Units) -> list[tuple[int, int, int, int, int]]:
    """PDCP numbers that never were in an SDU."""
    table = held.table
    rows = np.flatnonzero(table["pdcp"] >= 0)
    have = set(table["pdcp"][rows].tolist())
    made = []
    before = -1
    highest = int(table["pdcp"][rows[0]]) if len(rows) else 0
    for row in rows.tolist():
        number = int(table["pdcp"][row])
        if highest < number <= highest + _LEAPS:
            cut = _is_cut(found, held, before, row)
            lost = [one for one in range(highest + 1, number) if one not in have]
            made += [
                (int(table["t_ns"][row]), _RESET if cut and one == highest + 1 else _UNSENT, -1, one, -1)
                for one in lost
            ]
        highest, before = max(highest, number), row
    return made


def _is_cut(found: Direction, held: Units, before: int, row: int) -> bool:
    """Whether the numbering began anew in the middle of an SDU that follows another."""
    starts = _epochs(found)
    new = starts[(starts > held.last[before]) & (starts <= held.first[row])]
    if not len(new):
        return False
    sent = found.sent.where((found.sent["number"] >= 0) & (found.sent["number"] < new[0]))
    reach = int((sent["offset"] + sent["length"]).max(initial=0))
    return reach > int(held.table["offset"][before]) + int(held.table["length"][before])


def _given_up(found: Direction, held: Units) -> list[tuple[int, int, int, int, int]]:
    """SDUs that were sent, not confirmed when the numbering began anew, and not handed over again."""
    _, sure = unconfirmed(found)
    table = held.table
    starts = _epochs(found)
    # The first number of each epoch that never came: all later ones waited for it.
    missing = np.setdiff1d(found.transmissions[0], sure)
    waits = len(found.received) > 0
    again = {number: row for row, number in enumerate(table["pdcp"].tolist())}
    made = []
    for row in range(len(table)):
        first, last = int(held.first[row]), int(held.last[row])
        later = starts[starts > last]
        whole = np.searchsorted(sure, last, side="right") - np.searchsorted(sure, first)
        if not len(later) or first < 0:
            continue
        reason = _RESET
        if whole > last - first:
            begun = int(starts[starts <= first].max(initial=0))
            at = int(np.searchsorted(missing, begun))
            if not waits or at == len(missing) or missing[at] > first:
                continue
            reason = _HELD
        pdcp = int(table["pdcp"][row])
        if pdcp >= 0 and again[pdcp] > row:
            continue
        made.append((int(table["end_ns"][row]), reason, first, pdcp, int(table["length"][row])))
    return made


def _unfilled(m: Timeline, found: Direction) -> list[tuple[int, int, int, int, int]]:
    """Numbers of unacknowledged mode that never came."""
    if m.link_type(found.sender).acknowledgement != "none":
        return []
    events = m.table("link_events")
    rows = np.flatnonzero(
        (events["kind"] == events.code("kind", "unseen")) & (events["entity"] == found.sender)
    )
    return [(int(events["t_ns"][row]), _UNFILLED, -1, -1, -1) for row in rows.tolist()]


def _epochs(found: Direction) -> Array:
    """The first number of each new start."""
    known = found.sent.where(found.sent["number"] >= 0)
    epochs, place = np.unique(known["epoch"], return_inverse=True)
    first = np.full(len(epochs), np.iinfo(np.int64).max)
    np.minimum.at(first, place, known["number"])
    return np.sort(first[1:])
