"""Capture to capture: the same segments, seen twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.alignment.relation import Pairs
from multitracer.model.frozen import frozen
from multitracer.model.table import Array, Table

_KEYS = ("conn", "dir", "seq_raw", "ack_raw", "flags", "length", "ts_val", "ts_ecr", "ip_id")
_COARSE_KEYS = (
    "conn",
    "dir",
    "seq_raw",
    "ack_raw",
    "ts_val",
)  # offload cuts segments, but not at their start


@frozen
class Matches:
    """Rows of two segment tables that are the same packet, in order of time at the first."""

    first: Array
    second: Array

    def __len__(self) -> int:
        return len(self.first)


def identical(first: Table, second: Table) -> bool:
    """Whether two captures hold the same records at the same times, or at times that differ by a constant.

    Two observation points never agree to the nanosecond over a whole transfer; a copy does (also one
    whose times were moved by an editor).
    """
    if len(first) != len(second) or not len(first):
        return False
    same = all(
        np.array_equal(first[name], second[name]) for name in ("seq_raw", "ack_raw", "flags", "length")
    )
    if not same:
        return False
    apart = first["t_ns"] - second["t_ns"]
    if not apart.any():
        return True
    return len(first) >= 3 and bool(np.ptp(apart) == 0)


def match(first: Table, second: Table) -> Matches:
    """Find the packets that both captures have.

    Keys that occur more than once in either capture (duplicate ACKs, retransmissions without time
    stamps, copies) are dropped: a wrong pair is worse than none. The IPv4 identification distinguishes
    retransmissions where it is used. Both tables must be in common terms of connection and direction.

    Reference: Jabbarifar et al., "LIANA: Live Incremental Time Synchronization" (matching of events).
    """
    found = _match_by(first, second, _KEYS)
    if len(found) < max(8, min(len(first), len(second)) // 10):
        coarse = _match_by(first, second, _COARSE_KEYS)
        if len(coarse) > len(found):
            found = coarse
    order = np.argsort(first["t_ns"][found.first], kind="stable")
    return Matches(found.first[order], found.second[order])


def _match_by(first: Table, second: Table, names: Sequence[str]) -> Matches:
    whole = [
        np.flatnonzero((t["conn"] >= 0) & (t["checksum"] != t.code("checksum", "bad")))
        for t in (first, second)
    ]
    columns = (
        [table[name][rows] for name in names] for table, rows in zip((first, second), whole, strict=True)
    )
    found = seen_once_by_both(*columns)
    return Matches(whole[0][found.first], whole[1][found.second])


def seen_once_by_both(first: Sequence[Array], second: Sequence[Array]) -> Matches:
    """Rows of two captures with the same values in all columns, which no other row of either capture has.

    Parameters
    ----------
    first, second : sequence of integer arrays
        The same columns of both.
    """
    rows_a, keys_a = once(first)
    rows_b, keys_b = once(second)
    _, at_a, at_b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
    return Matches(rows_a[at_a], rows_b[at_b])


def once(columns: Sequence[Array]) -> tuple[Array, Array]:
    """Rows whose values occur once, and these mixed into 64 bits (a chance collision only drops a pair)."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.int64).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    keys, at, count = np.unique(mixed, return_index=True, return_counts=True)
    once = count == 1
    return at[once], keys[once]


def pairs(first: Table, second: Table, matches: Matches, with_data: Array) -> tuple[Pairs, Pairs]:
    """The matches as order: (first capture before second, second before first).

    Parameters
    ----------
    first, second : Table
        Segments of the two captures.
    matches : Matches
        Rows of both that are the same packet.
    with_data : bool array
        For each match, whether it passes the first capture before the second.

    Returns
    -------
    tuple of Pairs
        The matches that pass the first capture before the second, and the others.
    """

    def picked(mask: Array) -> Pairs:
        a, b = matches.first[mask], matches.second[mask]
        return Pairs(first["t_ns"][a], second["t_ns"][b], first["record"][a], second["record"][b])

    return picked(with_data), picked(~with_data)
