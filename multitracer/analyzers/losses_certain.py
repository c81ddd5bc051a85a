"""Which segments were lost, which retransmissions were needed, what was reordered: certain by two captures.

The verdicts here rest on records of both captures and override what one capture lets infer. A record that a
capture lost is distinguished from a packet that the network lost, and counted separately. Where no capture is
at the sender, the first one on the path takes its place: what was lost before it is inferred, and counted
separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.tcp.fates import (
    ARRIVED,
    DAMAGED,
    LOST,
    UNKNOWN,
    AllFates,
    Fates,
    fates_between,
    fates_of,
)
from multitracer.layers.tcp.flow_batch import FlowBatch, GroupedSearch, Times, batches
from multitracer.layers.tcp.hops import captures_along
from multitracer.model import schema
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.frozen import frozen
from multitracer.model.schema import Schema
from multitracer.model.schema.results import NEEDS, REPEATS, SEGMENT_FATES
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

_INCONCLUSIVE, _SPURIOUS, _NEEDED, _PARTLY = range(4)
_LISTED = 1000


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Follow both directions of every connection from one capture to the other.

    From a capture in the middle on, only data to the receiver's is followed: what passes the middle in
    transit to the sender may still be lost.

    References
    ----------
    RFC 2680 section 2.4 (loss); RFC 3522 section 2 (spurious);
    RFC 4737 sections 3 and 4.2 (reordering and its extent).
    """
    first = m.snd if m.snd is not None else next(iter(captures_along(m)), None)
    if first is None or first == m.rcv or m.rcv is None:
        return Result("losses", inconclusive="needs a capture at the sender")
    lost: list[Table] = []
    again: list[Table] = []
    entries: list[dict[str, Any]] = []
    for some in batches(m):
        if m.snd is not None:
            found = [(reverse, known) for reverse in (False, True) for known in fates_of(m, some, reverse)]
        else:
            to_receiver = fates_between(m, some, first, m.rcv)
            found = [(False, known) for near, _, known in to_receiver if near == first]
        whole = [(_not_whole(known), _repeats(known)) for _, known in found]
        unsorted = []
        for (reverse, known), (_, repeats) in zip(found, whole, strict=True):
            described = _describe([some[at] for at in known.places.tolist()], reverse, known, repeats)
            unsorted += list(zip(known.places.tolist(), [reverse] * len(known), described, strict=True))
        entries += [entry for _, _, entry in sorted(unsorted, key=lambda one: one[:2])]
        lost.append(_by_place(SEGMENT_FATES, found, [rows for rows, _ in whole]))
        again.append(_by_place(REPEATS, found, [rows for _, rows in whole]))
    if not entries:
        return Result("losses", inconclusive="needs both captures to see the same data")
    tables = {"fates": Table.concat(SEGMENT_FATES, lost), "repeats": Table.concat(REPEATS, again)}
    if m.snd is not None:
        return Result("losses", {"basis": "certain: both captures", "directions": entries}, tables)
    known_to = {one.index: one.summaries[first] for one in m.connections if first in one.summaries}
    for entry in entries:
        # At least so many, by one capture; no path is behind the receiver's own.
        summary = known_to.get(entry["conn"], {}).get(entry["direction"], {})
        entry["upstream"] = (summary.get("losses") or {}).get("upstream")
        entry["downstream"] = 0
    between = [m.sources[one].path for one in (first, m.rcv)]
    basis = "certain from the first capture on; before it, inferred"
    return Result("losses", {"basis": basis, "between": between, "directions": entries}, tables)


def _by_place(columns: Schema, found: list[tuple[bool, AllFates]], rows: list[FlowBatch]) -> Table:
    """Rows of all in one table: connection after connection, first those of its data."""
    keys = [2 * known.places[some.of] + reverse for (reverse, known), some in zip(found, rows, strict=True)]
    table = Table.concat(columns, [some.rows for some in rows])
    return table.where(np.argsort(np.concatenate(keys), kind="stable")) if len(table) else table


def _describe(
    connections: list[Connection], reverse: bool, known: AllFates, repeats: FlowBatch
) -> list[dict[str, Any]]:
    pieces, count = known.known, len(known)
    ends = np.bincount(known.of * 4 + pieces.fate, minlength=4 * count).reshape(-1, 4)
    doubtful = np.bincount(known.of[~pieces.certain], minlength=count)
    gone = ((pieces.fate == LOST) | (pieces.fate == DAMAGED)) & (known.sent["length"][pieces.row] > 0)
    data_lost = np.bincount(known.of[gone], minlength=count)
    kinds = len(NEEDS)
    needs = np.bincount(repeats.of * kinds + repeats["need"], minlength=kinds * count).reshape(-1, kinds)
    named = [dict(zip(NEEDS, row, strict=True)) for row in needs.tolist()]
    causes, spurious = _by_cause(repeats), _spurious(repeats)
    late = _reordering(known)
    entries = []
    for at, (connection, counts) in enumerate(zip(connections, ends.tolist(), strict=True)):
        direction = 1 - connection.data_dir if reverse else connection.data_dir
        entries.append(
            {
                "conn": connection.index,
                "direction": schema.DIRECTIONS[direction],
                "certain": not doubtful[at],
                "packets": sum(counts),
                "arrived": counts[ARRIVED],
                "lost": counts[LOST],
                "data_lost": int(data_lost[at]),
                "damaged": counts[DAMAGED],
                "unknown": counts[UNKNOWN],
                "lost_by_capture": {
                    "near_sender": int(known.unsent[at]),
                    "near_receiver": int(known.unrecorded[at]),
                },
                "retransmissions": named[at],
                "by_cause": causes.get(at, {}),
                "reordering": late.get(at) or _IN_ORDER.copy(),
                "spurious": spurious.get(at, []),
            }
        )
    return entries


_IN_ORDER = {"packets": 0, "share": 0.0, "extent_max": 0, "late_max_s": 0.0}


def _by_cause(repeats: FlowBatch) -> dict[int, dict[str, dict[str, int]]]:
    """How many retransmissions of each cause were needed and were not, by flow."""
    found: dict[int, dict[str, dict[str, int]]] = {}
    words = repeats.rows.words("cause").tolist()
    counts = Counter(zip(repeats.of.tolist(), words, repeats["need"].tolist(), strict=True))
    for (at, cause, need), number in sorted(counts.items()):
        found.setdefault(at, {}).setdefault(cause, dict.fromkeys(NEEDS, 0))[NEEDS[need]] = number
    return found


def _spurious(repeats: FlowBatch) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    needless = repeats.where(repeats["need"] == _SPURIOUS)
    columns = (needless["record"], needless.rows.words("cause"), needless["earlier_record"])
    for at, *values in zip(needless.of.tolist(), *(column.tolist() for column in columns), strict=True):
        listed = found.setdefault(at, [])
        if len(listed) < _LISTED:
            listed.append(dict(zip(("record", "cause", "earlier_record"), values, strict=True)))
    return found


def _not_whole(known: AllFates) -> FlowBatch:
    fate, _, certain, arrived = known.known.of_segments()
    rows = np.flatnonzero(fate != ARRIVED)
    sent = known.sent.rows.where(rows)
    kept = {name: sent[name] for name in ("t_ns", "record", "conn", "dir", "seq", "length")}
    more = {"transmission": sent["transmission"], "cause": sent["cause"], "fate": fate[rows]}
    table = Table(SEGMENT_FATES, {**kept, **more, "arrived": arrived[rows], "certain": certain[rows]})
    return FlowBatch(table, known.sent.of[rows], len(known))


@frozen
class _Earlier:
    """The earlier copies of one piece."""

    need: int
    record: int
    arrived_ns: int
    certain: bool


@frozen
class _Pieces:
    """All pieces, and how to find those of a flow that begin near a byte: by where they are on one line."""

    known: Fates
    of: Times
    start: Times
    end: Times
    by_start: Times
    starts: Times
    longest: Times

    @classmethod
    def all_of(cls, known: AllFates) -> _Pieces:
        pieces = known.known
        line = GroupedSearch(len(known), pieces.start, pieces.end)
        start, end = line.at(known.of, pieces.start), line.at(known.of, pieces.end)
        by_start = np.argsort(start, kind="stable")
        longest = np.zeros(len(known), dtype=np.int64)
        np.maximum.at(longest, known.of, end - start)
        return cls(pieces, known.of, start, end, by_start, start[by_start], longest[known.of])

    def near(self) -> tuple[Times, Times]:
        """For each piece: which of `by_start` may have bytes of it."""
        low = np.searchsorted(self.starts, self.start - self.longest, side="right")
        low = np.maximum(low, np.searchsorted(self.of, self.of))  # none of the flow before
        return low, np.searchsorted(self.starts, self.end)


def _repeats(known: AllFates) -> FlowBatch:
    """Every retransmission, judged by the earlier copies of the bytes that it repeats."""
    sent = known.sent
    again = np.flatnonzero(sent["duplicate"] > 0)
    judged = []
    if len(again):
        pieces = _Pieces.all_of(known)
        near = pieces.near()
        row = known.known.row
        bounds = np.searchsorted(row, again), np.searchsorted(row, again, side="right")
        for low, high in zip(bounds[0].tolist(), bounds[1].tolist(), strict=True):
            verdicts = [_judge(pieces, near, piece) for piece in range(low, high)]
            judged.append(_together([verdict for verdict in verdicts if verdict is not None]))
    rows = sent.rows.where(again)
    kept = {name: rows[name] for name in ("t_ns", "record", "conn", "dir", "seq", "length", "cause")}
    table = Table(
        REPEATS,
        {
            **kept,
            "need": [one.need for one in judged],
            "earlier_record": [one.record for one in judged],
            "earlier_ns": [one.arrived_ns for one in judged],
            "certain": [one.certain for one in judged],
        },
    )
    return FlowBatch(table, sent.of[again], len(known))


def _judge(pieces: _Pieces, near: tuple[Times, Times], piece: int) -> _Earlier | None:
    """One packet against the earlier ones with the same bytes; None if its bytes are all new."""
    known, start, end = pieces.known, int(pieces.start[piece]), int(pieces.end[piece])
    others = pieces.by_start[near[0][piece] : near[1][piece]][:_LISTED]
    others = others[(known.row[others] < known.row[piece]) & (pieces.end[others] > start)]
    if not len(others):
        return None
    certain = bool(known.certain[others].all())
    there = others[known.fate[others] == ARRIVED]
    covered = _covered(pieces, there, start, end)
    sent = _covered(pieces, others, start, end)
    if covered:
        best = int(there[np.argmin(known.row[there])])
        record, t_ns = int(known.sent["record"][known.row[best]]), int(known.arrived_ns[best])
        return _Earlier(_SPURIOUS if covered == sent else _PARTLY, record, t_ns, certain)
    if not certain or bool(np.any(known.fate[others] == UNKNOWN)):
        return _Earlier(_INCONCLUSIVE, 0, -1, False)
    return _Earlier(_NEEDED, 0, -1, True)


def _covered(pieces: _Pieces, some: Array, start: int, end: int) -> int:
    """Bytes of a range that some pieces cover."""
    reached, total = start, 0
    for low, high in sorted(zip(pieces.start[some].tolist(), pieces.end[some].tolist(), strict=True)):
        low, high = max(low, reached), min(high, end)
        if high > low:
            total, reached = total + high - low, high
    return total


def _together(parts: list[_Earlier]) -> _Earlier:
    if not parts:
        return _Earlier(_INCONCLUSIVE, 0, -1, False)
    needs = {part.need for part in parts}
    first = next((part for part in parts if part.record), parts[0])
    certain = all(part.certain for part in parts)
    if len(needs) == 1:
        return _Earlier(needs.pop(), first.record, first.arrived_ns, certain)
    need = _PARTLY if needs & {_SPURIOUS, _PARTLY} else _INCONCLUSIVE
    return _Earlier(need, first.record, first.arrived_ns, certain)


def _reordering(found: AllFates) -> dict[int, dict[str, Any]]:
    """Packets that arrived after one that was sent later (RFC 4737 section 3), and how far.

    The extent is the distance in arrivals to the first packet that overtook it (section 4.2.1). By flow, for
    those that have any.
    """
    known = found.known
    there = np.flatnonzero((known.fate == ARRIVED) & (known.arrived_ns >= 0))
    order = there[np.lexsort((there, known.arrived_ns[there], found.of[there]))]
    ahead = np.maximum.accumulate(order) if len(order) else order
    late = np.flatnonzero(ahead > order)
    if not len(late):
        return {}
    first = np.searchsorted(ahead, order[late], side="right")  # the first arrival that was sent after it
    of = found.of[order[late]]
    count, arrived = (np.bincount(flows, minlength=len(found)) for flows in (of, found.of[there]))
    extent, late_ns = (np.zeros(len(found), dtype=np.int64) for _ in range(2))
    np.maximum.at(extent, of, late - first)
    np.maximum.at(late_ns, of, known.arrived_ns[order[late]] - known.arrived_ns[order[first]])
    return {
        at: {
            "packets": int(count[at]),
            "share": round(int(count[at]) / int(arrived[at]), 6),
            "extent_max": int(extent[at]),
            "late_max_s": round(int(late_ns[at]) / 1e9, 6),
        }
        for at in np.flatnonzero(count).tolist()
    }


ANALYZER = Analyzer(
    name="losses",
    question="Which segments were lost, which retransmissions were needed, what was reordered?",
    run=run,
    **QUESTIONS["losses"]._asdict(),
)
