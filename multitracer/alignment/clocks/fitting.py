"""Fitting offset and skew of one clock against another, with bounds."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from multitracer.alignment.clocks.convex_hull import MAX_SKEW_PPM, feasible, lower_hull, possible, upper_hull
from multitracer.alignment.clocks.points import ClockLine, Fit, Int, Piece, Points
from multitracer.alignment.clocks.skew import CONFIDENCE, least_violation, skew_interval, slope_of_centre
from multitracer.alignment.clocks.steps import Step, find_steps
from multitracer.model.arrays.statistics import medians, quantiles

_WIDE_NS = 20_000_000  # bounds wider than this are "approximate"
_SUSPICIOUS = 0.6  # of the min RTT: hulls closer than this did not come from one steady clock

_CONFIRMED = 0.2  # a step by less than this share of what showed it is none
_BOTH = 0.4  # and neither direction's smallest delay moves by less than this share of it


def fit(lower: Points, upper: Points, span_ns: tuple[int, int], steps: bool = True) -> Fit:
    """Fit offset and skew of a source clock against a reference clock.

    Parameters
    ----------
    lower, upper : Points
        Constraints; one of them may be empty (then there is no two-sided bound).
    span_ns : (int, int)
        First and last time of the source that will be mapped; the bound covers it.
    steps : bool
        Look for clock steps.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        If there is no point at all.
    """
    if not len(lower) and not len(upper):
        raise ValueError("no constraint between the two clocks")
    lower, upper = _in_order(lower), _in_order(upper)
    found = find_steps(lower, upper) if steps and len(lower) and len(upper) else []
    while True:
        breaks = [record for record, _ in found]
        pieces, worst, doubtful = _pieces(lower, upper, breaks, span_ns, steps)
        false = _false_step(found, pieces, lower, upper)
        if false is None:
            break
        found.remove(false)
    ends = [*breaks, np.iinfo(np.int64).max]
    two_sided = all(
        np.any((points.order >= start) & (points.order < end))
        for points in (lower, upper)
        for start, end in pairwise([np.iinfo(np.int64).min, *ends])
    )
    bound = max(piece.half_width_ns + piece.skew_term_ns for piece in pieces) + worst if two_sided else None
    accurate = bound is not None and bound <= _WIDE_NS and worst == 0
    evidence = {
        "forward": len(lower),
        "reverse": len(upper),
        "half_width_ns": max(piece.half_width_ns for piece in pieces),
        "skew_ppm_error": round(max(piece.skew_error for piece in pieces) * 1e6, 3),
        "violation_ns": worst,
        "doubtful": doubtful,
    }
    return Fit(tuple(pieces), bound, "accurate" if accurate else "approximate", worst, evidence)


def _pieces(
    lower: Points, upper: Points, breaks: list[int], span_ns: tuple[int, int], steps: bool
) -> tuple[list[Piece], int, bool]:
    """A line for each stretch between steps; the worst contradiction; whether a hull was too narrow."""
    pieces, worst, doubtful = [], 0, False
    ends = [*breaks, np.iinfo(np.int64).max]
    start = np.iinfo(np.int64).min
    for number, end in enumerate(ends):
        part_l = lower.where((lower.order >= start) & (lower.order < end))
        part_u = upper.where((upper.order >= start) & (upper.order < end))
        times = np.concatenate([part_l.t_ns, part_u.t_ns])
        span = span_ns if len(ends) == 1 else (int(times.min()), int(times.max()))
        if len(ends) > 1 and number == 0:
            span = (min(span_ns[0], span[0]), span[1])
        if len(ends) > 1 and number == len(ends) - 1:
            span = (span[0], max(span_ns[1], span[1]))
        piece, violation = _fit_piece(part_l, part_u, span, 0 if number == 0 else int(start))
        round_trip = _smallest_round_trip(part_l, part_u) if steps else None
        if round_trip is not None and 2 * piece.half_width_ns < _SUSPICIOUS * round_trip:
            # The hulls are closer than any RTT: the clock must have moved between the points on them.
            piece, doubtful = replace(piece, half_width_ns=round_trip // 2), True
        if round_trip is not None and violation > max(round_trip, 0):
            # A step is left inside: each side is off by the contradiction and by what its delays leave open.
            piece = replace(
                piece, half_width_ns=max(int(_round_trips(part_l, part_u).max()), piece.half_width_ns)
            )
        pieces.append(piece)
        worst = max(worst, violation)
        start = end
    return pieces, worst, doubtful


def _false_step(found: list[Step], pieces: list[Piece], lower: Points, upper: Points) -> Step | None:
    """A step that only looked like one: delays of both directions jumped together, as queues seldom do.

    One line explains both sides then, and the smallest delays decide: they are a queue's or the air's for a
    while only, while a clock takes those of both directions along, the same way.
    """
    edges = [np.iinfo(np.int64).min, *(record for record, _ in found), np.iinfo(np.int64).max]
    for number, step in enumerate(found):
        record, claimed = step
        if claimed is None:
            continue
        start, end = edges[number], edges[number + 2]
        low, high = (side.where((side.order >= start) & (side.order < end)) for side in (lower, upper))
        before, after = pieces[number].line, pieces[number + 1].line
        moved = int(after.offset_at(after.origin_ns) - before.offset_at(after.origin_ns))
        if abs(moved) >= _CONFIRMED * abs(claimed) and _floors_moved(low, high, record, claimed):
            continue
        if possible(low, high):
            return step
    return None


def _floors_moved(lower: Points, upper: Points, record: int, claimed: float) -> bool:
    """Whether the smallest delay of either direction, as the clocks show it, moves with a step."""
    times = np.concatenate([lower.t_ns, upper.t_ns])
    piece, _ = _fit_piece(lower, upper, (int(times.min()), int(times.max())), 0)
    for points, floor in ((lower, np.max), (upper, np.min)):
        level = points.value_ns - piece.line.offset_at(points.t_ns)
        behind = points.order >= record
        if behind.all() or not behind.any():
            return False
        moved = float(floor(level[behind])) - float(floor(level[~behind]))
        if moved * np.sign(claimed) < _BOTH * abs(claimed):
            return False
    return True


def fit_median(
    t_source: Int, t_reference: Int, order: Int, span_ns: tuple[int, int], resolution_ns: int = 1000
) -> Fit:
    """Fit a clock from events that both clocks saw at the same moment, but for a small, one-sided jitter.

    The offset is the median of the differences around a robust line, the bound follows from their spread
    (5th to 95th percentile) and the resolution of the clocks. Outliers do not count.

    Parameters
    ----------
    t_source, t_reference : int64 array
        The same events on both clocks, in ns.
    order : int array
        Their order in the source's file.
    span_ns : tuple of int
        From when to when the fit has to serve, on the source's clock.
    resolution_ns : int
        The coarser step of both clocks.
    """
    points = _in_order(Points.between(t_source, t_reference, order))
    origin = int(span_ns[0])
    x = (points.t_ns - origin) / 1e9
    base = int(medians(points.value_ns))
    y = (points.value_ns - base).astype(np.float64)
    slope, error = slope_of_centre(x, y)
    if abs(slope) <= CONFIDENCE * error:
        slope = 0.0
    residual = y - slope * x
    middle = float(medians(residual))
    p5, p95 = (float(v) for v in quantiles(residual - middle, (0.05, 0.95)))
    spread = max(-p5, p95) + resolution_ns
    term = 0.0 if slope == 0 else 2 * error * max(abs(x.max()), abs((span_ns[1] - origin) / 1e9))
    line = ClockLine(origin, base + round(middle), slope / 1e9)
    piece = Piece(0, line, round(spread), round(term), error / 1e9)
    evidence = {
        "matches": len(points),
        "residual_ns": {
            f"p{q}": round(float(v))
            for q, v in zip(
                (0, 5, 50, 95, 100), quantiles(residual - middle, (0.0, 0.05, 0.5, 0.95, 1.0)), strict=True
            )
        },
        "skew_ppm_error": round(error / 1e3, 3),
    }
    bound = round(spread + term)
    return Fit((piece,), bound, "accurate" if bound <= _WIDE_NS else "approximate", 0, evidence)


def _smallest_round_trip(lower: Points, upper: Points) -> int | None:
    """Smallest sum of both delays from packets next to each other, which no step can have come between."""
    found = _round_trips(lower, upper)
    return int(found.min()) if len(found) else None


def _round_trips(lower: Points, upper: Points) -> Int:
    """Sums of both delays, in ns: of each upper point and the lower one before it."""
    before = np.searchsorted(lower.order, upper.order) - 1
    known = before >= 0
    found: Int = upper.value_ns[known] - lower.value_ns[before[known]]
    return found


def _in_order(points: Points) -> Points:
    return points.where(np.argsort(points.order, kind="stable"))


def _fit_piece(lower: Points, upper: Points, span_ns: tuple[int, int], first: int) -> tuple[Piece, int]:
    """One line for a stretch without steps; also by how much the constraints contradict each other."""
    origin = span_ns[0]
    base = int(medians(np.concatenate([lower.value_ns, upper.value_ns])))
    x_low, y_low = (lower.t_ns - origin) / 1e9, (lower.value_ns - base).astype(np.float64)
    x_up, y_up = (upper.t_ns - origin) / 1e9, (upper.value_ns - base).astype(np.float64)
    limit = MAX_SKEW_PPM * 1e3  # ns per second
    low, high, wanted, error = skew_interval(x_low, y_low, x_up, y_up, limit)
    hull_low = upper_hull(x_low, y_low)
    hull_up = lower_hull(x_up, y_up)
    ends = np.array([0.0, (span_ns[1] - origin) / 1e9])

    def width(slope: float) -> tuple[float, float]:
        bottom = float(np.max(hull_low[1] - slope * hull_low[0])) if len(hull_low[0]) else -np.inf
        top = float(np.min(hull_up[1] - slope * hull_up[0])) if len(hull_up[0]) else np.inf
        return bottom, top

    if not len(lower) or not len(upper):  # touch the points that there are
        bottom, top = width(wanted)
        offset = bottom if len(lower) else top
        line = ClockLine(origin, base + round(offset), wanted / 1e9)
        return Piece(first, line, 0, 0, error / 1e9), 0
    by_order = feasible(hull_low, hull_up, -limit, limit)
    polygon = feasible(hull_low, hull_up, low, high)
    if not len(polygon):  # the statistics of the skew do not bind, order does
        polygon = by_order
    elif not len(by_order):  # it holds the other one, but for rounding where it is hardly wider
        by_order = polygon
    violation = 0
    if not len(polygon):
        wanted, gap = least_violation(width, -limit, limit)
        violation = int(np.ceil(gap / 2))
        bottom, top = width(wanted)
        line = ClockLine(origin, base + round((bottom + top) / 2), wanted / 1e9)
        return Piece(first, line, 0, round(error * float(ends.max())), error / 1e9), max(violation, 1)
    slope = float(np.clip(wanted, polygon[:, 1].min(), polygon[:, 1].max()))
    bottom, top = width(slope)
    offset, half = (bottom + top) / 2, max((top - bottom) / 2, 0.0)
    reach = np.abs(polygon[:, :1] + polygon[:, 1:] * ends - (offset + slope * ends)).max()
    line = ClockLine(origin, base + round(offset), slope / 1e9)
    spread, widest = (max(one[:, 1].max() - slope, slope - one[:, 1].min()) for one in (polygon, by_order))
    term = int(np.ceil(max(float(reach) - half, 0.0)))
    piece = Piece(
        first, line, int(np.ceil(half)) + 1, term, float(spread) / 1e9, skew_bound=float(widest) / 1e9
    )
    return piece, violation
