"""Link log to capture: by causality.

A frame cannot leave before its packet was sent, and a packet cannot arrive before its last frame. Two
kinds of moments name their packet without a map of all bytes (see `anchors`): a frame that leaves after
idleness, and a short frame that arrives. They vote for the shift between the clocks; the winners then
bound it from both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from multitracer.alignment.anchors import Anchors, anchors_of
from multitracer.alignment.relation import NO_TIMES, Pairs, Relation, place_steps
from multitracer.alignment.voting import Vote, vote
from multitracer.clocks import Fit, Int, Piece, fit
from multitracer.table import Array, Table
from multitracer.trace import Trace

_DELIVERY_NS = (
    2_000_000  # a packet is handed to the host within this after its last frame; only to find, not to bound
)
_STAMPED_NS = 1_000_000_000  # clocks called realtime are tried as they are first
_FIRST_NS = 120_000_000_000
_CHUNK_NS = 30_000_000_000
_DRIFT = 500e-6
_ENOUGH = 0.35
_FEW = 5
_MAX_WAY_NS = 5_000_000_000
_TRIM = 0.02
_MISTAKEN = 8  # anchors next to a step that may have been matched by the wrong one of two shifts
_STEP_ERROR_NS = 500_000
_SKEWS = np.concatenate([[0.0], *([s, -s] for s in np.arange(1, 41) * 12.5e-6)])


@dataclass(frozen=True)
class Packets:
    """Packets at a capture, on the reference timeline: towards the link and out of it; rows of its table.

    `delivery_ns`: a packet is seen within this after its last frame has arrived.
    """

    into_ns: Int
    into_row: Array
    out_ns: Int
    out_row: Array
    delivery_ns: int = _DELIVERY_NS

    @classmethod
    def at(cls, segments: Table, near: Array) -> Packets:
        """Split a capture's packets by which host sent them.

        Parameters
        ----------
        segments : Table
            Times on the reference timeline.
        near : bool array
            For each row, whether the host on this side of the link sent it.
        """
        t = segments["t_ns"]
        order = np.argsort(t, kind="stable")
        into, out = order[near[order]], order[~near[order]]
        return cls(t[into], into, t[out], out)


@dataclass(frozen=True)
class _Located:
    """Pairs found in a stretch of the log."""

    wake: Array
    into: Array
    end: Array
    out: Array
    votes: int
    voters: int


def side_of(traces: Mapping[int, Trace]) -> dict[tuple[int, int], int]:
    """Which side of the link each entity is on: 0 next to the data sender, 1 next to the receiver.

    The entity on the sender's side sends most of the bytes, the other one receives them.

    Parameters
    ----------
    traces : mapping of int to Trace
        Link logs by source index.

    Returns
    -------
    dict
        ``(source, entity) -> side``.
    """
    totals = {}
    for source, trace in traces.items():
        for entity in range(len(trace.entities)):
            found = anchors_of(trace, entity)
            totals[source, entity] = found.sent_bytes - found.received_bytes
    if not totals:
        return {}
    names: dict[str, int] = {}
    for (source, entity), surplus in totals.items():
        name = traces[source].entities[entity]
        names[name] = names.get(name, 0) + surplus
    top = max(names, key=lambda name: names[name])
    sides = {}
    for source, entity in totals:
        name = traces[source].entities[entity]
        sides[source, entity] = (0 if names[name] > 0 else 1) if len(names) != 2 else int(name != top)
    return sides


def join(
    index: int,
    trace: Trace,
    entity: int,
    capture: int,
    packets: Packets,
    own: Table,
    span_ns: tuple[int, int],
    hint: int | None,
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

    Returns
    -------
    Relation or None
        None if the log and the capture do not fit at any shift.
    """
    found = anchors_of(trace, entity)
    runs = _search(found, packets, hint)
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
    return Relation(capture, index, before, after, "causality", fitted, None, evidence)


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


def anchor_count(trace: Trace, entity: int) -> int:
    """How many moments of an entity could be matched with packets."""
    found = anchors_of(trace, entity)
    return len(found.wake_ns) + len(found.end_ns)


def _floor(lower: Array, upper: Array) -> int:
    """A level of the offset that can be compared between stretches: packets leave the link at once."""
    return int(np.percentile(upper, 10)) if len(upper) else int(np.percentile(lower, 90))


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


def _search(found: Anchors, packets: Packets, hint: int | None) -> list[list[_Located]]:
    """Pairs of anchors and packets, for a capture next to the link, else for one at a distance from it."""
    for delivery in (_DELIVERY_NS, 10 * _DELIVERY_NS):
        near = replace(packets, delivery_ns=delivery)
        for candidate in (near, _at_distance(found, near)):
            if candidate is None:
                continue
            runs = [run for run in _track(found, candidate, hint) if run]
            if runs and _both_kinds(found, runs):
                return runs
    return []


def _both_kinds(found: Anchors, runs: list[list[_Located]]) -> bool:
    """Whether frames that leave and frames that arrive both fit, as far as there are enough of them."""
    woken = sum(len(part.wake) for run in runs for part in run)
    ended = sum(len(part.end) for run in runs for part in run)
    return all(
        count >= _ENOUGH * total or total < _FEW
        for count, total in ((woken, len(found.wake_ns)), (ended, len(found.end_ns)))
    )


def _at_distance(found: Anchors, packets: Packets) -> Packets | None:
    """Packets with the way between capture and link taken out; None if there is none.

    Packets into the link pass the capture earlier by the way there, packets out of it later by the way
    back. The two kinds of anchors, asked by themselves, differ by the sum of both. Only pairs are found in
    this way: the bounds use the times as they were, and the way widens them.
    """
    if min(len(found.wake_ns), len(found.end_ns)) < _FEW:
        return None
    slot = found.slot_ns + packets.delivery_ns
    into = vote([(found.wake_ns, _heads(packets, found.slot_ns), slot, 0)])
    out = vote([(found.end_ns, packets.out_ns, 0, packets.delivery_ns)])
    if into is None or out is None:
        return None
    way = (out.low_ns + out.high_ns) // 2 - (into.low_ns + into.high_ns) // 2
    if not 0 < way < _MAX_WAY_NS:
        return None
    return replace(packets, into_ns=packets.into_ns + way)


def _heads(packets: Packets, slot_ns: int) -> Int:
    """First packets of bursts: a burst wakes the link once."""
    times = packets.into_ns
    return times[np.concatenate([[True], np.diff(times) > slot_ns])] if len(times) > 1 else times


@dataclass(frozen=True)
class _Stretch:
    """A part of the log by record numbers, and the shift that holds in it."""

    first: int
    end: int
    shift_ns: int
    origin_ns: int
    skew: float

    def at(self, t_ns: int) -> int:
        """The shift expected at a time of the log."""
        return self.shift_ns + round(self.skew * (t_ns - self.origin_ns))


def _track(found: Anchors, packets: Packets, hint: int | None) -> list[list[_Located]]:
    """Locate the shift, then follow it through the log: drift moves it slowly, a step at once.

    Returns the pairs found, in one list for each stretch between steps.
    """
    record, t = found.in_file_order()
    if not len(t) or not (len(packets.into_ns) or len(packets.out_ns)):
        return []
    passed = np.cumsum(np.maximum(np.diff(t, prepend=t[0]), 0))
    head = int(np.searchsorted(passed, _FIRST_NS, side="right"))
    end = int(record[-1]) + 1
    shift, skew = _first_shift(
        found, packets, int(record[0]), int(record[head]) if head < len(t) else end, hint
    )
    if shift is None:
        return []
    count = max(1, round(int(passed[-1]) / _CHUNK_NS))
    edges = [int(part[0]) for part in np.array_split(record, count) if len(part)] + [end]
    runs: list[list[_Stretch]] = []
    last = _Stretch(edges[0], edges[0], shift, int(t[0]), skew)
    for start, stop in pairwise(edges):
        inside = (record >= start) & (record < stop)
        origin = int(t[inside][0])
        reach = packets.delivery_ns + round(_DRIFT / 4 * abs(int(t[inside].max()) - last.origin_ns))
        expected = last.at(origin)
        part = _locate(found, packets, start, stop, origin, skew, (expected - reach, expected + reach))
        stepped = part is None or part[0].votes < _ENOUGH * part[0].voters
        if stepped:
            part = _locate(found, packets, start, stop, origin, skew, None)
        if part is None or part[0].votes < _ENOUGH * part[0].voters:
            continue
        shift = (part[1].low_ns + part[1].high_ns) // 2
        last = _Stretch(start, stop, shift, origin, skew)
        if not runs or (stepped and abs(shift - expected) > reach):
            runs.append([])
        runs[-1].append(last)
    _move_ends(found, packets, runs, end)
    return [
        [
            located
            for part in run
            if (located := _pairs_at(found, packets, part.first, part.end, part)) is not None
        ]
        for run in runs
    ]


def _move_ends(found: Anchors, packets: Packets, runs: list[list[_Stretch]], end: int) -> None:
    """Put the border between two runs where the anchors change from one shift to the other."""
    record, _ = found.in_file_order()
    for before, after in pairwise(runs):
        a, b = before[-1], after[0]
        inside = record[(record >= a.first) & (record < b.end)]
        fits = []
        for stretch in (a, b):
            located = _pairs_at(found, packets, a.first, b.end, stretch)
            hit = np.concatenate([found.wake_record[located.wake], found.end_record[located.end]])
            fits.append(np.isin(inside, hit).astype(np.int64))
        good = np.concatenate([[0], np.cumsum(fits[0])]) + np.concatenate(
            [np.cumsum(fits[1][::-1])[::-1], [0]]
        )
        place = int(np.argmax(good))
        border = int(inside[place]) if place < len(inside) else b.end
        before[-1] = replace(a, end=border)
        after[0] = replace(b, first=border)
    if runs:
        runs[-1][-1] = replace(runs[-1][-1], end=end)


def _pairs_at(found: Anchors, packets: Packets, start: int, end: int, stretch: _Stretch) -> _Located:
    """Pairs of anchors and packets at a known shift."""
    wake = np.flatnonzero((found.wake_record >= start) & (found.wake_record < end))
    finish = np.flatnonzero((found.end_record >= start) & (found.end_record < end))
    wake_ns = _straight(found.wake_ns[wake], stretch.origin_ns, stretch.skew) + stretch.shift_ns
    end_ns = _straight(found.end_ns[finish], stretch.origin_ns, stretch.skew) + stretch.shift_ns
    into = np.searchsorted(packets.into_ns, wake_ns, side="right") - 1
    good = into >= 0
    good[good] &= wake_ns[good] - packets.into_ns[into[good]] <= found.slot_ns + packets.delivery_ns
    out = np.searchsorted(packets.out_ns, end_ns, side="left")
    fine = out < len(packets.out_ns)
    fine[fine] &= packets.out_ns[out[fine]] - end_ns[fine] <= packets.delivery_ns
    votes = int(good.sum() + fine.sum())
    return _Located(wake[good], into[good], finish[fine], out[fine], votes, len(wake) + len(finish))


def _first_shift(
    found: Anchors, packets: Packets, start: int, end: int, hint: int | None
) -> tuple[int | None, float]:
    nears: list[tuple[int, int] | None] = [None]
    if hint is not None:
        nears.insert(0, (hint - _STAMPED_NS, hint + _STAMPED_NS))
    best: tuple[float, int, float] | None = None
    record, t = found.in_file_order()
    origin = int(t[np.searchsorted(record, start)])
    for near in nears:
        for skew in _SKEWS.tolist() if packets.delivery_ns == _DELIVERY_NS else [0.0]:
            part = _locate(found, packets, start, end, origin, skew, near)
            if part is None:
                continue
            share = part[0].votes / part[0].voters
            if best is None or share > best[0]:
                best = (share, (part[1].low_ns + part[1].high_ns) // 2, skew)
            if skew == 0.0 and share >= 2 * _ENOUGH:
                break
        if best is not None and best[0] >= _ENOUGH:
            return best[1], best[2]
    return None, 0.0


def _locate(
    found: Anchors,
    packets: Packets,
    start: int,
    end: int,
    origin: int,
    skew: float,
    near: tuple[int, int] | None,
) -> tuple[_Located, Vote] | None:
    """The shift with most votes in a part of the log, and the pairs that it makes."""
    wake = (found.wake_record >= start) & (found.wake_record < end)
    finish = (found.end_record >= start) & (found.end_record < end)
    wake_ns, end_ns = (
        _straight(found.wake_ns[wake], origin, skew),
        _straight(found.end_ns[finish], origin, skew),
    )
    slot = found.slot_ns + packets.delivery_ns
    heads = packets.into_ns
    if near is None:
        heads = _heads(packets, found.slot_ns)
    ballot = vote([(wake_ns, heads, slot, 0), (end_ns, packets.out_ns, 0, packets.delivery_ns)], near)
    if ballot is None:
        return None
    stretch = _Stretch(start, end, (ballot.low_ns + ballot.high_ns) // 2, origin, skew)
    return _pairs_at(found, packets, start, end, stretch), ballot


def _straight(t_ns: Array, origin: int, skew: float) -> Array:
    return t_ns + np.rint(skew * (t_ns - origin)).astype(np.int64)


def _binding_less(t_a: Int, t_b: Int, sign: int) -> Array:
    """All pairs but the few most binding ones: they may be wrong; without them the bound is only wider."""
    drop = int(np.ceil(_TRIM * len(t_a))) if len(t_a) > 10 else 0
    if not drop:
        return np.arange(len(t_a))
    apart = sign * (t_a - t_b)
    x = (t_b - t_b[0]).astype(np.float64)
    parts = np.array_split(np.argsort(x, kind="stable"), 3)
    run = float(np.median(x[parts[2]]) - np.median(x[parts[0]]))
    slope = float(np.median(apart[parts[2]]) - np.median(apart[parts[0]])) / run if run > 0 else 0.0
    if abs(slope) > _DRIFT:  # a step, not a drift
        slope = 0.0
    return np.sort(np.argsort(apart - slope * x, kind="stable")[: len(apart) - drop])


def join_logs(
    a: int, b: int, first: Trace, second: Trace, mapped: Callable[[Int, Int], Int], span_ns: tuple[int, int]
) -> Relation | None:
    """Join two logs of the two ends of one link: a frame is received after it was sent.

    Frames are told apart by entity direction and stream offset; only frames sent once and received once
    count.

    Parameters
    ----------
    mapped : callable
        ``mapped(t_ns, record)``: times of the first log on the reference timeline.
    """
    frames_a, frames_b = first.tables["link_frames"], second.tables["link_frames"]
    there = _once(frames_a, _SENT), _once(frames_b, _RECEIVED)
    back = _once(frames_a, _RECEIVED), _once(frames_b, _SENT)

    def paired(rows: tuple[Array, Array]) -> Pairs:
        _, i, j = np.intersect1d(
            frames_a["offset"][rows[0]], frames_b["offset"][rows[1]], assume_unique=True, return_indices=True
        )
        x, y = rows[0][i], rows[1][j]
        return Pairs(frames_a["t_ns"][x], frames_b["t_ns"][y], frames_a["record"][x], frames_b["record"][y])

    a_first, b_first = paired(there), paired(back)
    if len(a_first) < 3 or len(b_first) < 3:
        return None
    fitted = fit(
        a_first.points(mapped(a_first.t_a, a_first.record_a)),
        b_first.points(mapped(b_first.t_a, b_first.record_a)),
        span_ns,
    )
    if fitted.bound_ns is None or fitted.violations_ns:
        return None
    return Relation(a, b, a_first, b_first, "hull", fitted, None, dict(fitted.evidence))


_SENT, _RECEIVED = 0, 1


def _once(frames: Table, action: int) -> Array:
    """Rows of frames that were sent (or received) exactly once."""
    rows = np.flatnonzero((frames["action"] == action) & (frames["offset"] >= 0))
    _, at, count = np.unique(frames["offset"][rows], return_index=True, return_counts=True)
    return rows[at[count == 1]] if len(rows) else NO_TIMES
