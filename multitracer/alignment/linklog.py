"""Link log to capture: by causality.

A frame cannot leave before its packet was sent, and a packet cannot arrive before its last frame. Two
kinds of moments name their packet without a map of all bytes (see `anchors`): a frame that leaves after
idleness, and a short frame that arrives. They vote for the shift between the clocks; the winners then
bound it from both sides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multitracer.alignment.anchors import anchors_of
from multitracer.alignment.clocks import Fit, Int, Piece, fit
from multitracer.alignment.linksearch import MAX_DRIFT, Packets, search, search_leading
from multitracer.alignment.relation import Pairs, Relation, place_steps
from multitracer.model.arrays.statistics import medians, quantiles
from multitracer.model.table import Array, Table
from multitracer.model.trace import Trace

_TRIM = 0.02
_MISTAKEN = 8  # anchors next to a step that may have been matched by the wrong one of two shifts
_STEP_ERROR_NS = 500_000
_LEAP_NS = 1_000_000_000


def join(
    index: int,
    trace: Trace,
    entity: int,
    capture: int,
    packets: Packets,
    own: Table,
    span_ns: tuple[int, int],
    hint: int | None,
    lead_ns: int = 0,
) -> Relation | None:
    """Join one entity of a link log to one capture.

    Parameters
    ----------
    index, capture : int
        Source indices of the log and of the capture.
    trace : Trace
    entity : int
    packets : Packets
        Of the capture, seen from the entity's side.
    own : Table
        Segments of the capture with times on its own clock.
    span_ns : (int, int)
        First and last time of the log.
    hint : int or None
        An offset near which to look first.
    lead_ns : int
        By what the log's clock leads if it keeps GPS time; 0 if it does not.

    Returns
    -------
    Relation or None
        None if the log and the capture do not fit at any shift.
    """
    found = anchors_of(trace, entity)
    runs = search_leading(found, packets, lead_ns) if lead_ns else []
    runs = runs or search(found, packets, hint)
    if not runs:
        return None
    befores, afters, borders, floors = [], [], [0], []
    for run in runs:
        wake, into = (np.concatenate([getattr(part, name) for part in run]) for name in ("wake", "into"))
        end, out = (np.concatenate([getattr(part, name) for part in run]) for name in ("end", "out"))
        keep = _binding_less(packets.into_ns[into], found.wake_ns[wake], 1)
        wake, into = wake[keep], into[keep]
        keep = _binding_less(packets.out_ns[out], found.end_ns[end], -1)
        end, out = end[keep], out[keep]
        befores.append((wake, into))
        afters.append((end, out))
        floors.append(
            _floor(packets.into_ns[into] - found.wake_ns[wake], packets.out_ns[out] - found.end_ns[end])
        )
        records = np.concatenate([found.wake_record[wake], found.end_record[end]])
        borders.append(int(records.min()) if len(records) else borders[-1])
    borders = [0, *borders[2:]]
    moves = [floor - floors[0] for floor in floors]
    wake, into = (np.concatenate([pair[i] for pair in befores]) for i in (0, 1))
    end, out = (np.concatenate([pair[i] for pair in afters]) for i in (0, 1))
    if not len(wake) and not len(end):
        return None
    rows_in, rows_out = packets.into_row[into], packets.out_row[out]
    before = Pairs(own["t_ns"][rows_in], found.wake_ns[wake], own["record"][rows_in], found.wake_record[wake])
    after = Pairs(own["t_ns"][rows_out], found.end_ns[end], own["record"][rows_out], found.end_record[end])
    back_in = np.repeat(moves, [len(pair[0]) for pair in befores]).astype(np.int64)
    back_out = np.repeat(moves, [len(pair[0]) for pair in afters]).astype(np.int64)
    fitted = fit(
        before.points(packets.into_ns[into] - back_in),
        after.points(packets.out_ns[out] - back_out),
        span_ns,
        steps=False,
    )
    if len(runs) > 1:
        seen = before.points(packets.into_ns[into]), after.points(packets.out_ns[out])
        fitted = place_steps(_with_steps(fitted, borders, moves), *_all_times(trace), *seen, _MISTAKEN)
        before, after = (_undisputed(pairs, borders, fitted) for pairs in (before, after))
    evidence = {
        "entity": trace.entities[entity],
        "woken_frames": len(before),
        "delivered_packets": len(after),
        "votes": sum(part.votes for run in runs for part in run),
        "voters": sum(part.voters for run in runs for part in run),
        **fitted.evidence,
    }
    if lead_ns and abs(fitted.pieces[0].line.offset_ns + lead_ns) < _LEAP_NS // 2:
        evidence["gps_time_ahead_s"] = lead_ns / 1e9
    return Relation(capture, index, before, after, "causality", fitted, None, evidence)


def anchor_count(trace: Trace, entity: int) -> int:
    """How many moments of an entity could be matched with packets."""
    found = anchors_of(trace, entity)
    return len(found.wake_ns) + len(found.end_ns)


def _undisputed(pairs: Pairs, borders: list[int], fitted: Fit) -> Pairs:
    """Pairs without those that were matched by a shift that does not hold at their place, or may not."""
    keep = np.ones(len(pairs), dtype=bool)
    for border, piece in zip(borders[1:], fitted.pieces[1:], strict=True):
        low, high = sorted((border, piece.first_order))
        keep &= (pairs.record_b < low) | (pairs.record_b >= high)
        if piece.doubt is not None:
            keep &= (pairs.record_b < piece.doubt[0]) | (pairs.record_b > piece.doubt[1])
    return pairs.where(keep)


def _all_times(trace: Trace) -> tuple[Int, Int]:
    """Times and record numbers of everything in the log, in file order."""
    tables = list(trace.tables.values())
    record = np.concatenate([table["record"] for table in tables])
    order = np.argsort(record, kind="stable")
    return np.concatenate([table["t_ns"] for table in tables])[order], record[order]


def _floor(lower: Array, upper: Array) -> int:
    """A level of the offset that can be compared between stretches: packets leave the link at once."""
    return int(quantiles(upper, (0.1,))[0]) if len(upper) else int(quantiles(lower, (0.9,))[0])


def _with_steps(fitted: Fit, borders: list[int], moves: list[int]) -> Fit:
    """The same line in every stretch, moved by the steps; what they may be wrong by goes into the bound."""
    (only,) = fitted.pieces
    term = only.skew_term_ns + _STEP_ERROR_NS
    pieces = tuple(
        Piece(border, only.line.moved(move), only.half_width_ns, term, only.skew_error)
        for border, move in zip(borders, moves, strict=True)
    )
    bound = None if fitted.bound_ns is None else fitted.bound_ns + _STEP_ERROR_NS
    return replace(fitted, pieces=pieces, bound_ns=bound)


def _binding_less(t_a: Int, t_b: Int, sign: int) -> Array:
    """All pairs but the few most binding ones: they may be wrong; without them the bound is only wider."""
    drop = int(np.ceil(_TRIM * len(t_a))) if len(t_a) > 10 else 0
    if not drop:
        return np.arange(len(t_a))
    apart = sign * (t_a - t_b)
    x = (t_b - t_b[0]).astype(np.float64)
    parts = np.array_split(np.argsort(x, kind="stable"), 3)
    run = float(medians(x[parts[2]]) - medians(x[parts[0]]))
    slope = float(medians(apart[parts[2]]) - medians(apart[parts[0]])) / run if run > 0 else 0.0
    if abs(slope) > MAX_DRIFT:  # a step, not a drift
        slope = 0.0
    return np.sort(np.argsort(apart - slope * x, kind="stable")[: len(apart) - drop])
