"""Clock steps: where the offset jumps.

References
----------
Paxson, "On Calibrating Measurements of Packet Transit Times", SIGMETRICS 1998.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from multitracer.alignment.clocks.convex_hull import possible
from multitracer.alignment.clocks.points import Float, Int, Points
from multitracer.model.arrays.statistics import medians, quantiles
from multitracer.model.arrays.unique import sorted_union

_MAX_STEPS = 8


Step = tuple[int, float | None]
"""A record, and by how much both directions jump before it; None where only a contradiction shows it."""


def find_steps(lower: Points, upper: Points) -> list[Step]:
    """Records before which the offset jumps, seen in both directions at once.

    Queues and routes move the delay of one direction at a time; a clock moves both offsets by the same
    amount, at the same place. A contradiction that no single line explains is a step too.
    """
    breaks: list[int] = []
    steps: list[Step] = []
    for _ in range(_MAX_STEPS):
        edges = [np.iinfo(np.int64).min, *sorted(breaks), np.iinfo(np.int64).max]
        found = None
        for start, end in pairwise(edges):
            part_l = lower.where((lower.order >= start) & (lower.order < end))
            part_u = upper.where((upper.order >= start) & (upper.order < end))
            for look in (_level_shift, _lasting_shift, _contradiction):
                found = look(part_l, part_u)
                if found is not None and found[0] not in edges:
                    break
                found = None
            if found is not None:
                break
        if found is None:
            break
        breaks.append(found[0])
        steps.append(found)
    return sorted(steps, key=lambda step: step[0])


def _level_shift(lower: Points, upper: Points) -> Step | None:
    best: tuple[float, int, float] | None = None
    for window in (3, 8, 20):
        if min(len(lower), len(upper)) < 2 * window + 4:
            continue
        gaps, by_l, by_u = _changes(lower, upper, window)
        if not len(gaps):
            continue
        noise_l = 1.4826 * float(medians(np.abs(by_l))) + 50_000
        noise_u = 1.4826 * float(medians(np.abs(by_u))) + 50_000
        small, large = np.minimum(np.abs(by_l), np.abs(by_u)), np.maximum(np.abs(by_l), np.abs(by_u))
        agree = (np.sign(by_l) == np.sign(by_u)) & (small > 0.6 * large)
        clear = (np.abs(by_u) > 4 * noise_u) & (np.abs(by_l) > 4 * noise_l)
        clear &= (np.abs(by_u) > 8 * noise_u) | (np.abs(by_l) > 8 * noise_l)
        score = np.where(agree & clear, np.minimum(np.abs(by_l) / noise_l, np.abs(by_u) / noise_u), 0.0)
        top = int(np.argmax(score))
        if score[top] > 0 and (best is None or score[top] > best[0]):
            change = float(by_u[top] if noise_u <= noise_l else by_l[top])
            best = (float(score[top]), _place(lower, upper, int(gaps[top]), change, window), change)
    return None if best is None else best[1:]


def _lasting_shift(lower: Points, upper: Points) -> Step | None:
    """A shift of the floor of one direction that lasts to the end, which the other direction does not deny.

    Where one direction is calm and the other one queues, the queue hides the step there; the calm one
    shows it.
    """
    window = 8
    if min(len(lower), len(upper)) < 3 * window:
        return None
    gaps, by_l, by_u = _changes(lower, upper, window)
    for calm, change, sign in ((upper, by_u, 1.0), (lower, by_l, -1.0)):
        if not len(gaps):
            continue
        noise = 1.4826 * float(medians(np.abs(change))) + 50_000
        other = by_l if calm is upper else by_u
        agree = (np.sign(other) == np.sign(change)) & (np.abs(other) > 0.4 * np.abs(change))
        score = np.where(agree & (np.abs(change) > 8 * noise), np.abs(change), 0.0)
        top = int(np.argmax(score))
        if score[top] <= 0:
            continue
        step, cut = float(change[top]), int(gaps[top])
        level = sign * calm.value_ns.astype(np.float64)  # delays lift it: the floor is its low percentiles
        before, after = level[calm.order < cut], level[calm.order >= cut]
        floors = quantiles(before, (0.1,))[0], quantiles(after, (0.1,))[0]
        spread = max(medians(before) - floors[0], medians(after) - floors[1])
        if abs(sign * (floors[1] - floors[0]) - step) < 0.2 * abs(step) and spread < abs(step) / 3:
            return _place(lower, upper, cut, step, window), step
    return None


def _changes(lower: Points, upper: Points, window: int) -> tuple[Int, Float, Float]:
    """Gaps between records, and by how much the level of each direction changes there."""
    change_l = _change(lower.value_ns, window)
    change_u = -_change(-upper.value_ns, window)
    gaps = sorted_union(lower.order, upper.order)
    at_l = np.searchsorted(lower.order, gaps)
    at_u = np.searchsorted(upper.order, gaps)
    inside = (at_l >= window) & (at_l <= len(lower) - window)
    inside &= (at_u >= window) & (at_u <= len(upper) - window)
    return gaps[inside], change_l[at_l[inside]], change_u[at_u[inside]]


def _place(lower: Points, upper: Points, near: int, change: float, window: int) -> int:
    """The gap at which both offsets jump by about `change`, near where it was found."""
    gaps = sorted_union(lower.order, upper.order)
    middle = int(np.searchsorted(gaps, near))
    gaps = gaps[max(1, middle - 2 * window) : middle + 2 * window + 1]
    score = np.zeros(len(gaps))  # in units of each direction's usual jumps
    for points in (lower, upper):
        at = np.searchsorted(points.order, gaps)
        known = (at > 0) & (at < len(points))
        jump = np.zeros(len(gaps))
        jump[known] = (points.value_ns[at[known]] - points.value_ns[at[known] - 1]).astype(np.float64)
        usual = float(medians(np.abs(np.diff(points.value_ns)))) + 50_000
        score -= np.abs(jump - change) / usual
    return int(gaps[np.argmax(score)]) if len(gaps) else near


def _change(values: Int, window: int) -> Float:
    """Maximum of the next `window` values minus that of the last, before each position (0 at the rims)."""
    views = np.lib.stride_tricks.sliding_window_view(values, window).max(axis=1).astype(np.float64)
    change = np.zeros(len(values) + 1)
    positions = np.arange(window, len(values) - window + 1)
    change[positions] = views[positions] - views[positions - window]
    return change


def _contradiction(lower: Points, upper: Points) -> Step | None:
    """Where the longest stretch from the start that one line explains ends, if anything is left after it."""
    if min(len(lower), len(upper)) < 8 or possible(lower, upper):
        return None
    orders = sorted_union(lower.order, upper.order)
    low, high = 0, len(orders)
    while high - low > 1:
        middle = (low + high) // 2
        end = orders[middle]
        if possible(lower.where(lower.order < end), upper.where(upper.order < end)):
            low = middle
        else:
            high = middle
    cut = int(orders[low])
    after = min(int((points.order >= cut).sum()) for points in (lower, upper))
    before = min(int((points.order < cut).sum()) for points in (lower, upper))
    if min(before, after) < 3:
        return None  # a few wrong points, not a step: left as a violation
    # The contradiction shows only when delays are small again; the step is where both levels changed before.
    window = 3
    gaps, by_l, by_u = _changes(lower, upper, window)
    until = gaps <= cut
    small = np.where(np.sign(by_l) == np.sign(by_u), np.minimum(np.abs(by_l), np.abs(by_u)), 0.0)[until]
    if not len(small) or small.max() <= 0:
        return cut, None
    top = int(np.argmax(small))
    return _place(lower, upper, int(gaps[until][top]), float(by_u[until][top]), window), None
