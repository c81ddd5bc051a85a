"""Delays of a radio bearer: polls until they are answered, and PDUs that others overtook.

Reference: 3GPP TS 36.322 and 38.322, sections 5.2.2 (polling), 5.2.3 (status reports), 5.1.3.2 and 5.2.3.2
(reception, t-Reordering and t-Reassembly).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.layers.link.rlcpdus import NEVER, Direction, completed
from multitracer.model.arrays.unique import sorted_union
from multitracer.model.schema.rlc import POLLS, REORDERINGS
from multitracer.model.table import Array, Table


def polls(found: Direction) -> Table:
    """Each poll, and the first report after it on all that had been transmitted by then (POLL_SN)."""
    sent = found.sent.where(found.sent["number"] >= 0)
    newest = np.maximum.accumulate(sent["number"]) if len(sent) else sent["number"]
    rows = np.flatnonzero(sent["poll"] == 1)
    status = found.reports.where(
        (found.reports["kind"] == found.reports.code("kind", "status")) & (found.reports["number"] >= 0)
    )
    end = np.full(len(rows), -1, dtype=np.int64)
    record = np.zeros(len(rows), dtype=np.int64)
    if len(status) and len(rows):
        upto = np.maximum.accumulate(status["number"])
        at = np.maximum(
            np.searchsorted(upto, newest[rows], side="right"),
            np.searchsorted(status["t_ns"], sent["t_ns"][rows], side="right"),
        )
        row = np.minimum(at, len(status) - 1)
        good = (at < len(status)) & (status["epoch"][row] == sent["epoch"][rows])
        end, record = np.where(good, status["t_ns"][row], -1), np.where(good, status["record"][row], 0)
    columns = {
        "t_ns": sent["t_ns"][rows],
        "end_ns": end,
        "entity": np.full(len(rows), found.sender),
        "number": newest[rows],
        "record": sent["record"][rows],
        "answer_record": record,
    }
    return Table.filled(POLLS, len(rows), columns)


def reorderings(found: Direction) -> tuple[Table, Array]:
    """PDUs that others overtook, and how long each PDU waited at the receiver for those before it.

    Returns
    -------
    Table
        Schema `REORDERINGS`.
    int64 array
        For each PDU that came whole: from then until all before it had, too, in ns; those that wait for
        something that never came are left out.
    """
    numbers, epoch, first, complete = completed(found.received)
    if len(numbers):
        numbers, epoch, first, complete = _with_missing(found, numbers, epoch, first, complete)
    count = len(numbers)
    opened = np.full(count, NEVER, dtype=np.int64)
    by = np.zeros(count, dtype=np.int64)
    deliver = complete.copy()
    for group in np.split(np.arange(count), np.flatnonzero(np.diff(epoch)) + 1) if count else []:
        later = np.minimum.accumulate(first[group][::-1])[::-1]
        opened[group[:-1]] = later[1:]
        deliver[group] = np.maximum.accumulate(complete[group])
    gaps = np.flatnonzero(opened < complete)
    by = _records(found.received, opened[gaps])
    said, when = found.nacks
    sent, times = found.transmissions
    columns: dict[str, Any] = {
        "t_ns": opened[gaps],
        "end_ns": np.where(complete[gaps] == NEVER, -1, complete[gaps]),
        "entity": np.full(len(gaps), found.receiver),
        "number": numbers[gaps],
        "reported_ns": _looked_up(said, when, numbers[gaps]),
        "attempts": _looked_up(sent, times, numbers[gaps])
        if found.is_sender_seen
        else np.full(len(gaps), -1),
        "record": by,
    }
    done = deliver < NEVER
    return Table.filled(REORDERINGS, len(gaps), columns), (deliver - complete)[done]


def _with_missing(
    found: Direction, numbers: Array, epoch: Array, first: Array, complete: Array
) -> tuple[Array, Array, Array, Array]:
    """The same with the numbers between that never came: those that were sent, where that is known."""
    low, high = int(numbers[0]), int(numbers[-1])
    if high - low >= _MOST_MISSING * len(numbers) + _FEW:  # numbers of a damaged log
        return numbers, epoch, first, complete
    known = np.arange(low, high + 1)
    if found.is_sender_seen:
        known = sorted_union(known[np.isin(known, found.transmissions[0])], numbers)
    place = np.searchsorted(numbers, known)
    there = numbers[place] == known
    never = np.full(len(known), NEVER, dtype=np.int64)
    return (
        known,
        epoch[place],
        np.where(there, first[place], never),
        np.where(there, complete[place], never),
    )


_MOST_MISSING = 64  # numbers for each that came; a receiver's window ends the bearer before
_FEW = 1 << 16


def _records(received: Table, times: Array) -> Array:
    """The record of the PDU that was received at each of these times."""
    at = np.searchsorted(received["t_ns"], times)
    return received["record"][np.minimum(at, max(len(received) - 1, 0))] if len(times) else times


def _looked_up(keys: Array, values: Array, wanted: Array) -> Array:
    """The value of each wanted key; -1 where there is none."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], -1)
