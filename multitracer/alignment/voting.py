"""The shift between two clocks at which most events of one fall next to events of the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from multitracer.model.frozen import frozen
from multitracer.model.table import Array

if TYPE_CHECKING:
    import numpy.typing as npt

_MAX_PAIRS = 2_000_000
_BLOCK = 1 << 17  # pairs looked at together: what the processor's cache holds
_FEW_PAIRS = 1 << 15  # so many are counted at once
_MOST_BINS = 1 << 21
_TOUCHED = 8  # bins that the widest vote touches, about
_WORTH = 20  # events between two stretches that are to be looked for one by one
_COUNTABLE = 2**62
_SORTED_BY_TWICE = 2**61  # times that can be doubled
Stretches = list[tuple[int, int]]
"""Shifts, from the first to the last of each stretch."""

_DISTINCT = 0.8  # a second place with more than this share of the votes makes the first one doubtful


def best_shift(
    events: Array, others: Array, before_ns: int, after_ns: int, near_ns: tuple[int, int] | None = None
) -> int | None:
    """The shift (to add to `events`) at which most events have one of `others` in a window around them.

    Parameters
    ----------
    events, others : int64 array
        Times on two clocks.
    before_ns, after_ns : int
        The other event lies from `before_ns` earlier to `after_ns` later than the shifted event.
    near_ns : (int, int), optional
        Shifts to consider.

    Returns
    -------
    int or None
        The middle of the best stretch of shifts; None if no shift has clearly the most votes.
    """
    found = vote([(events, others, before_ns, after_ns)], near_ns)
    return None if found is None else (found.low_ns + found.high_ns) // 2


class Vote:
    """The outcome: a stretch of shifts, the votes for it and how many could vote.

    `second`: the votes for the next one apart from it, as far as they were counted: where it has far fewer,
    it does not matter how many.
    """

    __slots__ = ("high_ns", "low_ns", "second", "voters", "votes")

    def __init__(self, low_ns: int, high_ns: int, votes: int, voters: int, second: int) -> None:
        self.low_ns = low_ns
        self.high_ns = high_ns
        self.votes = votes
        self.voters = voters
        self.second = second

    def __repr__(self) -> str:
        return f"<Vote [{self.low_ns}, {self.high_ns}] {self.votes} of {self.voters}, next {self.second}>"


@frozen
class _Kind:
    """Events that vote, in order, and what they vote by."""

    events: Array
    others: Array
    before_ns: int
    after_ns: int


def vote(
    anchors: list[tuple[Array, Array, int, int]],
    near_ns: tuple[int, int] | None = None,
    least: float = 0.0,
    stretches: Stretches | None = None,
) -> Vote | None:
    """Let every event vote for the shifts at which it has a partner; the stretch with most votes wins.

    Parameters
    ----------
    anchors : list of (events, others, before_ns, after_ns)
        Several kinds of anchors vote together; see `best_shift`.
    near_ns : (int, int), optional
        Shifts to consider; without it all, and then the winner must have clearly the most votes.
    least : float
        Of the events, the share that must vote for the winner, where it is of use to know only then.
    stretches : list of (int, int), optional
        Of all shifts, those at which so many may agree, by `agreeing`.

    Returns
    -------
    Vote or None
        None with fewer than three votes, or if another stretch has nearly as many.
    """
    kinds = _kinds(anchors, thin=near_ns is None)
    if not kinds:
        return None
    base = int(kinds[0].others[0] - kinds[0].events[0])
    voters = sum(len(kind.events) for kind in kinds)
    wanted = max(3, int(least * voters))
    if near_ns is not None:
        stretches = [near_ns]
    elif stretches is None and sum(len(kind.events) * len(kind.others) for kind in kinds) > _FEW_PAIRS:
        stretches = _deciding(kinds, base, wanted)
    if stretches == []:
        return None
    low, high = _all_intervals(kinds, base, stretches, near_ns)
    if not len(low):
        return None
    edges, height = _heights(low, high)
    top = int(np.argmax(height))
    votes = int(height[top])
    width = max(kind.after_ns + kind.before_ns for kind in kinds)
    far = (edges < edges[top] - 2 * width) | (edges > edges[top] + 3 * width)
    second = int(height[far].max()) if far.any() else 0
    if votes < wanted or (near_ns is None and second > _DISTINCT * votes):
        return None
    end = min(top + 1, len(edges) - 1)
    return Vote(int(edges[top]) + base, int(edges[end]) + base, votes, voters, second)


def agreeing(anchors: list[tuple[Array, Array, int, int]], spread_ns: int, least: float) -> Stretches | None:
    """Stretches of shifts at which a share of the events may agree, if each may be off by `spread_ns`.

    Counted in bins: no shift at which they do agree is left out. None: all shifts come into question.

    Parameters
    ----------
    anchors : list of (array, array, int, int)
        By kind of event: times of the log's events and of what they belong to, and how far the one may be
        before and after the other, in nanoseconds.
    spread_ns : int
        How far each event may be off in addition.
    least : float
        The share, from 0 to 1; three events at least.
    """
    kinds = _kinds(anchors, thin=True)
    if not kinds:
        return []
    wide = [
        _Kind(kind.events, kind.others, kind.before_ns + spread_ns, kind.after_ns + spread_ns)
        for kind in kinds
    ]
    base = int(kinds[0].others[0] - kinds[0].events[0])
    bins = _Bins.over(wide, base)
    wanted = max(3, int(least * sum(len(kind.events) for kind in kinds)))
    return None if bins is None else bins.stretches(bins.counted(wide, base) >= wanted, wide, base)


def _kinds(anchors: list[tuple[Array, Array, int, int]], thin: bool) -> list[_Kind]:
    found = []
    for events, others, before_ns, after_ns in anchors:
        if len(events) and len(others):
            stride = 1 + len(events) * len(others) // _MAX_PAIRS if thin else 1
            found.append(_Kind(_in_order(events)[::stride], _in_order(others), before_ns, after_ns))
    return found


def _in_order(times: Array) -> Array:
    """Sorted; most are, and to see that costs less than to sort them."""
    return times if bool(np.all(times[1:] >= times[:-1])) else np.sort(times)


def _deciding(kinds: list[_Kind], base: int, wanted: int) -> Stretches | None:
    """Stretches of shifts that hold the winner and what comes near it; None: anywhere."""
    bins = _Bins.over(kinds, base)
    if bins is None:
        return None
    most = bins.counted(kinds, base)
    top = int(np.argmax(most))
    if most[top] < wanted:
        return []
    best = np.zeros(bins.count, dtype=np.bool_)
    best[top] = True
    low, high = _all_intervals(kinds, base, bins.stretches(best, kinds, base))
    sure = max(int(_heights(low, high)[1].max()), wanted)
    return bins.stretches(most >= _DISTINCT * sure, kinds, base)


@frozen
class _Bins:
    """Shifts in bins: the votes that touch a bin are at least as many as any shift in it has.

    Few bins can hold the winner or what comes near it, and only those are counted shift by shift.
    """

    first: int
    bits: int
    count: int

    @classmethod
    def over(cls, kinds: list[_Kind], base: int) -> _Bins | None:
        """Bins over all shifts; None where their numbers do not fit."""
        low = min(int(kind.others[0]) - int(kind.events[-1]) - kind.after_ns for kind in kinds) - base
        high = max(int(kind.others[-1]) - int(kind.events[0]) + kind.before_ns for kind in kinds) - base
        if high - low >= _COUNTABLE:
            return None
        widths = [kind.before_ns + kind.after_ns for kind in kinds]
        width = max(max(widths) // _TOUCHED, min(widths))
        bits = max(width, (high - low) // _MOST_BINS, 1).bit_length()
        return cls(low, bits, ((high - low) >> bits) + 1)

    def counted(self, kinds: list[_Kind], base: int) -> Array:
        """More votes than these no shift in a bin can have."""
        most = np.zeros(self.count, dtype=np.int64)
        for kind in kinds:
            begun = np.zeros(self.count, dtype=np.int64)
            for _, apart in _pairs(kind, base, None):
                # The vote of a pair begins in this bin, and may end in a further one.
                begun += np.bincount(
                    (apart - (kind.after_ns + self.first)) >> self.bits, minlength=self.count
                )
            most += begun
            reach = ((kind.before_ns + kind.after_ns) >> self.bits) + 1
            for further in range(1, min(reach + 1, self.count)):
                most[further:] += begun[:-further]
        return most

    def stretches(self, kept: npt.NDArray[np.bool_], kinds: list[_Kind], base: int) -> Stretches:
        """Shifts of the bins that are kept; what a vote may touch together is one stretch."""
        found: Stretches = []
        width = max(kind.before_ns + kind.after_ns for kind in kinds)
        steps = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]])))
        for start, stop in steps.reshape(-1, 2).tolist():
            low = base + self.first + (start << self.bits)
            high = base + self.first + (stop << self.bits)
            if found and low - found[-1][1] <= width:
                found[-1] = (found[-1][0], high)
            else:
                found.append((low, high))
        return found


def _all_intervals(
    kinds: list[_Kind], base: int, stretches: Stretches | None, clip_ns: tuple[int, int] | None = None
) -> tuple[Array, Array]:
    """For each event the union of the shifts at which it has a partner, as disjoint intervals less `base`."""
    lows, highs = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for kind in kinds:
        for event, apart in _pairs(kind, base, stretches):
            if not len(apart):
                continue
            parted = np.diff(apart) > kind.before_ns + kind.after_ns
            parted |= event[1:] != event[:-1]
            gap = np.flatnonzero(parted)
            low = apart[np.concatenate([[0], gap + 1])] - kind.after_ns
            high = apart[np.concatenate([gap, [len(apart) - 1]])] + kind.before_ns
            if clip_ns is not None:
                low, high = np.maximum(low, clip_ns[0] - base), np.minimum(high, clip_ns[1] - base)
                low, high = low[low <= high], high[low <= high]
            lows.append(low)
            highs.append(high)
    return np.concatenate(lows), np.concatenate(highs)


def _pairs(kind: _Kind, base: int, stretches: Stretches | None) -> Iterator[tuple[Array, Array]]:
    """Pairs of an event and another that come into question: number of the event, difference less `base`.

    In blocks of whole events; by event, then by difference.
    """
    events, others = kind.events, kind.others
    if stretches is None or len(stretches) > len(others) // _WORTH:
        rows = max(_BLOCK // len(others), 1)
        for start in range(0, len(events), rows):
            some = events[start : start + rows]
            number = np.repeat(np.arange(start, start + len(some)), len(others))
            yield number, (others[None, :] - (some + base)[:, None]).ravel()
        return
    lows, highs = (np.array(ends, dtype=np.int64) for ends in zip(*stretches, strict=True))
    first = np.searchsorted(others, (events[:, None] + (lows - kind.before_ns)).ravel())
    last = np.searchsorted(others, (events[:, None] + (highs + kind.after_ns + 1)).ravel())
    number, count = np.repeat(np.arange(len(events)), len(stretches)), last - first
    ends = np.cumsum(count)
    start = 0
    while start < len(events):
        done = int(ends[start * len(stretches) - 1]) if start else 0
        reached = int(np.searchsorted(ends, done + _BLOCK, side="right"))
        stop = max(reached // len(stretches), start + 1)
        asked = slice(start * len(stretches), stop * len(stretches))
        event = np.repeat(number[asked], count[asked])
        begins = ends[asked] - count[asked] - done
        place = np.arange(len(event)) + np.repeat(first[asked] - begins, count[asked])
        yield event, others[place] - (events[event] + base)
        start = stop


def _heights(low: Array, high: Array) -> tuple[Array, Array]:
    """Ends of intervals in order, and how many intervals are open after each; openings come first."""
    if max(-int(low.min()), int(high.max())) < _SORTED_BY_TWICE:
        # One sort of plain numbers whose last bit marks the closing ones: five times as fast as by two keys.
        edges = np.sort(np.concatenate([2 * low, 2 * high + 1]))
        return edges >> 1, np.cumsum(1 - 2 * (edges & 1))
    edges = np.concatenate([low, high])
    change = np.concatenate([np.ones(len(low), np.int64), np.full(len(high), -1)])
    order = np.lexsort((-change, edges))
    return edges[order], np.cumsum(change[order])
