"""Which segments were lost, which retransmissions were needed, what was reordered: certain by two captures.

The verdicts here rest on records of both captures and override what one capture lets infer. A record that a
capture lost is told apart from a packet that the network lost, and counted on its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from multitracer import schema
from multitracer.analysis import Analyzer, Result
from multitracer.measurement import Connection, Measurement
from multitracer.schema.results import NEEDS, REPEATS, SEGMENT_FATES
from multitracer.table import Array, Table
from multitracer.transfer.fates import ARRIVED, DAMAGED, LOST, UNKNOWN, Fates, fates
from multitracer.transfer.transit import Times

_INCONCLUSIVE, _SPURIOUS, _NEEDED, _PARTLY = range(4)
_LISTED = 1000


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """Follow both directions of every connection from one capture to the other.

    References
    ----------
    METRICS: loss, spurious; RFC 4737 sections 3 and 4.2 (reordering and its extent).
    """
    lost: list[Table] = []
    again: list[Table] = []
    entries = []
    for connection in m.connections:
        for reverse in (False, True):
            known = fates(m, connection, reverse)
            if known is None:
                continue
            direction = 1 - connection.data_dir if reverse else connection.data_dir
            repeats = _repeats(known)
            entries.append(_describe(connection, direction, known, repeats))
            lost.append(_not_whole(known))
            again.append(repeats)
    if not entries:
        return Result("losses", inconclusive="needs both captures to see the same data")
    tables = {"fates": Table.concat(SEGMENT_FATES, lost), "repeats": Table.concat(REPEATS, again)}
    return Result("losses", {"basis": "certain: both captures", "directions": entries}, tables)


def _describe(connection: Connection, direction: int, known: Fates, repeats: Table) -> dict[str, Any]:
    cause = repeats.words("cause")
    need = repeats["need"]
    by_cause = {
        str(name): {word: int(np.count_nonzero((cause == name) & (need == code))) for code, word in _named()}
        for name in sorted(set(cause.tolist()))
    }
    capture_loss = {"near_sender": known.unsent, "near_receiver": known.unrecorded}
    return {
        "conn": connection.index,
        "direction": schema.DIRECTIONS[direction],
        "certain": bool(known.certain.all()),
        "packets": len(known.fate),
        "arrived": int(np.count_nonzero(known.fate == ARRIVED)),
        "lost": int(np.count_nonzero(known.fate == LOST)),
        "damaged": int(np.count_nonzero(known.fate == DAMAGED)),
        "unknown": int(np.count_nonzero(known.fate == UNKNOWN)),
        "lost_by_capture": capture_loss,
        "retransmissions": {word: int(np.count_nonzero(need == code)) for code, word in _named()},
        "by_cause": by_cause,
        "reordering": _reordering(known),
        "spurious": [
            {"record": int(record), "cause": str(word), "earlier_record": int(earlier)}
            for record, word, earlier in zip(
                repeats["record"][need == _SPURIOUS][:_LISTED],
                cause[need == _SPURIOUS][:_LISTED],
                repeats["earlier_record"][need == _SPURIOUS][:_LISTED],
                strict=True,
            )
        ],
    }


def _named() -> list[tuple[int, str]]:
    return list(enumerate(NEEDS))


def _not_whole(known: Fates) -> Table:
    fate, _, certain, arrived = known.of_segments()
    rows = np.flatnonzero(fate != ARRIVED)
    sent = known.sent.where(rows)
    kept = {name: sent[name] for name in ("t_ns", "record", "conn", "dir", "seq", "length")}
    more = {"transmission": sent["transmission"], "cause": sent["cause"], "fate": fate[rows]}
    return Table(SEGMENT_FATES, {**kept, **more, "arrived": arrived[rows], "certain": certain[rows]})


@dataclass(frozen=True)
class _Earlier:
    """The earlier copies of one piece."""

    need: int
    record: int
    arrived_ns: int
    certain: bool


def _repeats(known: Fates) -> Table:
    """Every retransmission, judged by the earlier copies of the bytes that it repeats."""
    sent = known.sent
    again = np.flatnonzero(sent["duplicate"] > 0)
    by_start = np.argsort(known.start, kind="stable")
    starts = known.start[by_start]
    longest = int((known.end - known.start).max(initial=0))
    judged = []
    pieces_of = np.searchsorted(known.row, again), np.searchsorted(known.row, again, side="right")
    for row, low, high in zip(again.tolist(), pieces_of[0].tolist(), pieces_of[1].tolist(), strict=True):
        verdicts = [_judge(known, by_start, starts, longest, row, piece) for piece in range(low, high)]
        judged.append(_together([verdict for verdict in verdicts if verdict is not None]))
    rows = sent.where(again)
    kept = {name: rows[name] for name in ("t_ns", "record", "conn", "dir", "seq", "length", "cause")}
    return Table(
        REPEATS,
        {
            **kept,
            "need": [one.need for one in judged],
            "earlier_record": [one.record for one in judged],
            "earlier_ns": [one.arrived_ns for one in judged],
            "certain": [one.certain for one in judged],
        },
    )


def _judge(
    known: Fates, by_start: Times, starts: Times, longest: int, row: int, piece: int
) -> _Earlier | None:
    """One packet against the earlier ones with the same bytes; None if its bytes are all new."""
    start, end = int(known.start[piece]), int(known.end[piece])
    low = int(np.searchsorted(starts, start - longest, side="right"))
    high = int(np.searchsorted(starts, end))
    others = by_start[low:high][:_LISTED]
    others = others[(known.row[others] < row) & (known.end[others] > start)]
    if not len(others):
        return None
    certain = bool(known.certain[others].all())
    there = others[known.fate[others] == ARRIVED]
    covered = _covered(known, there, start, end)
    sent = _covered(known, others, start, end)
    if covered:
        best = int(there[np.argmin(known.row[there])])
        record, t_ns = int(known.sent["record"][known.row[best]]), int(known.arrived_ns[best])
        return _Earlier(_SPURIOUS if covered == sent else _PARTLY, record, t_ns, certain)
    if not certain or bool(np.any(known.fate[others] == UNKNOWN)):
        return _Earlier(_INCONCLUSIVE, 0, -1, False)
    return _Earlier(_NEEDED, 0, -1, True)


def _covered(known: Fates, pieces: Array, start: int, end: int) -> int:
    """Bytes of a range that pieces cover."""
    reached, total = start, 0
    for low, high in sorted(zip(known.start[pieces].tolist(), known.end[pieces].tolist(), strict=True)):
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


def _reordering(known: Fates) -> dict[str, Any]:
    """Packets that arrived behind one that was sent after them (RFC 4737 section 3), and how far behind.

    The extent is the distance in arrivals to the first packet that overtook it (section 4.2.1).
    """
    there = np.flatnonzero((known.fate == ARRIVED) & (known.arrived_ns >= 0))
    order = there[np.lexsort((there, known.arrived_ns[there]))]
    ahead = np.maximum.accumulate(order) if len(order) else order
    late = np.flatnonzero(ahead > order)
    if not len(late):
        return {"packets": 0, "share": 0.0, "extent_max": 0, "late_max_s": 0.0}
    first = np.searchsorted(ahead, order[late], side="right")  # the first arrival that was sent after it
    extent = late - first
    late_ns = known.arrived_ns[order[late]] - known.arrived_ns[order[first]]
    return {
        "packets": len(late),
        "share": round(len(late) / len(order), 6),
        "extent_max": int(extent.max()),
        "late_max_s": round(int(late_ns.max()) / 1e9, 6),
    }


ANALYZER = Analyzer(
    name="losses",
    question="Which segments were lost, which retransmissions were needed, what was reordered?",
    run=run,
    needs=("segments", "snd", "rcv"),
)
