"""The shift between two clocks at which most events of one fall next to events of the other."""

from __future__ import annotations

import numpy as np

from multitracer.table import Array

_MAX_PAIRS = 2_000_000
_SORTED_BY_TWICE = 2**61  # times that can be doubled
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
        The middle of the best stretch of shifts; None if no shift stands out.
    """
    found = vote([(events, others, before_ns, after_ns)], near_ns)
    return None if found is None else (found.low_ns + found.high_ns) // 2


class Vote:
    """The outcome: a stretch of shifts, the votes for it and how many could vote."""

    __slots__ = ("high_ns", "low_ns", "second", "voters", "votes")

    def __init__(self, low_ns: int, high_ns: int, votes: int, voters: int, second: int) -> None:
        self.low_ns = low_ns
        self.high_ns = high_ns
        self.votes = votes
        self.voters = voters
        self.second = second

    def __repr__(self) -> str:
        return f"<Vote [{self.low_ns}, {self.high_ns}] {self.votes} of {self.voters}, next {self.second}>"


def vote(anchors: list[tuple[Array, Array, int, int]], near_ns: tuple[int, int] | None = None) -> Vote | None:
    """Let every event vote for the shifts at which it has a partner; the stretch with most votes wins.

    Parameters
    ----------
    anchors : list of (events, others, before_ns, after_ns)
        Several kinds of anchors vote together; see `best_shift`.
    near_ns : (int, int), optional
        Shifts to consider; without it all, and then the winner must stand out.

    Returns
    -------
    Vote or None
        None with fewer than three votes, or if another stretch has nearly as many.
    """
    lows, highs, voters = [], [], 0
    base = 0
    for events, others, before_ns, after_ns in anchors:
        if not len(events) or not len(others):
            continue
        events, others = np.sort(events), np.sort(others)
        if not voters:
            base = int(others[0] - events[0])
        stride = 1 + len(events) * len(others) // _MAX_PAIRS
        if near_ns is not None:
            stride = 1
        picked = events[::stride]
        voters += len(picked)
        for low, high in _intervals(picked, others, base, before_ns, after_ns, near_ns):
            lows.append(low)
            highs.append(high)
    if not lows:
        return None
    low, high = np.concatenate(lows), np.concatenate(highs)
    if not len(low):
        return None
    edges, height = _heights(low, high)
    top = int(np.argmax(height))
    votes = int(height[top])
    width = max(after + before for *_, before, after in anchors)
    far = (edges < edges[top] - 2 * width) | (edges > edges[top] + 3 * width)
    second = int(height[far].max()) if far.any() else 0
    if votes < 3 or (near_ns is None and second > _DISTINCT * votes):
        return None
    end = min(top + 1, len(edges) - 1)
    return Vote(int(edges[top]) + base, int(edges[end]) + base, votes, voters, second)


def _heights(low: Array, high: Array) -> tuple[Array, Array]:
    """Ends of intervals in order, and how many intervals are open behind each; openings come first."""
    if max(-int(low.min()), int(high.max())) < _SORTED_BY_TWICE:
        # One sort of plain numbers whose last bit says what closes: five times as fast as by two keys.
        edges = np.sort(np.concatenate([2 * low, 2 * high + 1]))
        return edges >> 1, np.cumsum(1 - 2 * (edges & 1))
    edges = np.concatenate([low, high])
    change = np.concatenate([np.ones(len(low), np.int64), np.full(len(high), -1)])
    order = np.lexsort((-change, edges))
    return edges[order], np.cumsum(change[order])


def _intervals(
    events: Array, others: Array, base: int, before_ns: int, after_ns: int, near_ns: tuple[int, int] | None
) -> list[tuple[Array, Array]]:
    """For each event the union of the shifts at which it has a partner, as disjoint intervals less `base`."""
    found = []
    for event in events.tolist():
        candidates = others
        if near_ns is not None:
            first, last = np.searchsorted(
                others, [event + near_ns[0] - before_ns, event + near_ns[1] + after_ns + 1]
            )
            candidates = others[first:last]
        if not len(candidates):
            continue
        apart = candidates - event - base
        gap = np.flatnonzero(np.diff(apart) > before_ns + after_ns)
        low = apart[np.concatenate([[0], gap + 1])] - after_ns
        high = apart[np.concatenate([gap, [len(apart) - 1]])] + before_ns
        if near_ns is not None:
            low, high = np.maximum(low, near_ns[0] - base), np.minimum(high, near_ns[1] - base)
            low, high = low[low <= high], high[low <= high]
        found.append((low, high))
    return found
