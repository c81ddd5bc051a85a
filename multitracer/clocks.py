"""Clock fitting: offset, skew, steps and bounds of one clock against another, from order alone.

Everything rests on one fact: an effect is not earlier than its cause. An event seen at time ``r`` on the
reference clock *before* an event seen at time ``x`` on the source clock gives ``offset(x) >= r - x`` (a
*lower* point); the other order gives ``offset(x) <= r - x`` (an *upper* point). The offset is a line
over source time; all lines that keep above every lower point and below every upper point are possible.
With packets in both directions the gap between the two hulls is the smallest round-trip time, so the
offset is known to half of it.

References
----------
Jabbarifar et al., "LIANA: Live Incremental Time Synchronization" (convex hulls, both directions); Moon,
Skelly, Towsley, "Estimation and Removal of Clock Skew", INFOCOM 1999 (one direction, linear
programming); Paxson, "On Calibrating Measurements of Packet Transit Times", SIGMETRICS 1998 (steps, both
directions).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]
Grade = Literal["accurate", "approximate"]

MAX_SKEW_PPM = 500.0
"""Limit of what a computer's clock may drift: the kernel's frequency correction ends there too (adjtimex)."""

_CONFIDENCE = 5.0  # half width of the skew's interval in standard errors
_MAX_STEPS = 8
_SUSPICIOUS = 0.6  # of the smallest round trip: hulls closer than this did not come from one steady clock
_WIDE_NS = 20_000_000  # bounds wider than this are "approximate"


@dataclass(frozen=True)
class Points:
    """Constraints of one kind.

    Attributes
    ----------
    t_ns : int64 array
        Time on the source clock.
    value_ns : int64 array
        Reference minus source time: the offset is not below (lower points) or not above (upper points) it.
    order : int64 array
        Position in the source's file: time may run backwards at a step, this does not.
    """

    t_ns: Int
    value_ns: Int
    order: Int

    @classmethod
    def between(cls, t_source: Int, t_reference: Int, order: Int) -> Points:
        """From pairs of times on both clocks."""
        source = np.asarray(t_source, dtype=np.int64)
        value = np.asarray(t_reference, dtype=np.int64) - source
        return cls(source, value, np.asarray(order, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.t_ns)

    def where(self, mask: Any) -> Points:
        """The points that a mask or an index picks."""
        return Points(self.t_ns[mask], self.value_ns[mask], self.order[mask])


@dataclass(frozen=True)
class Line:
    """``t_reference = t + offset_ns + skew * (t - origin_ns)``; skew in ns per ns."""

    origin_ns: int
    offset_ns: int
    skew: float = 0.0

    def offset_at(self, t_ns: Any) -> Int:
        """The offset at source times, in ns."""
        t = np.asarray(t_ns, dtype=np.int64)
        drift: Int = np.rint(self.skew * (t - self.origin_ns)).astype(np.int64)
        return drift + self.offset_ns

    def apply(self, t_ns: Any) -> Int:
        """Source times on the reference clock."""
        return np.asarray(t_ns, dtype=np.int64) + self.offset_at(t_ns)

    def then(self, outer: Line) -> Line:
        """Apply this line, then one whose source clock is this one's reference clock."""
        offset = int(outer.offset_at(self.origin_ns + self.offset_ns)) + self.offset_ns
        return Line(self.origin_ns, offset, (1 + self.skew) * (1 + outer.skew) - 1)

    def moved(self, by_ns: int) -> Line:
        """The same line with a constant added to the offset."""
        return Line(self.origin_ns, self.offset_ns + by_ns, self.skew)


@dataclass(frozen=True)
class Piece:
    """A line that holds from a record of the source on, with the bound of its error over its span."""

    first_order: int
    line: Line
    half_width_ns: int
    skew_term_ns: int
    skew_error: float


@dataclass(frozen=True)
class Fit:
    """How one clock maps to another.

    Attributes
    ----------
    pieces : tuple of Piece
        One per stretch between clock steps, in file order.
    bound_ns : int or None
        The true offset is nowhere farther from the line than this; None if only one side is bounded.
    grade : {"accurate", "approximate"}
        accurate: two-sided, no constraint violated, bound below 20 ms.
    violations_ns : int
        How much the constraints contradict each other; 0 if a line satisfies them all.
    evidence : dict
        Counts and intervals; JSON-serialisable.
    """

    pieces: tuple[Piece, ...]
    bound_ns: int | None
    grade: Grade
    violations_ns: int
    evidence: dict[str, Any]

    @property
    def steps(self) -> list[dict[str, int]]:
        """Clock steps: the record before which each happened, and how far the offset moved there."""
        found = []
        for before, after in pairwise(self.pieces):
            moved = int(
                after.line.offset_at(after.line.origin_ns) - before.line.offset_at(after.line.origin_ns)
            )
            found.append({"record": after.first_order, "offset_change_ns": moved})
        return found


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
    breaks = _find_steps(lower, upper) if steps and len(lower) and len(upper) else []
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
            # The hulls are closer than any round trip: the clock must have moved between the points on them.
            piece, doubtful = replace(piece, half_width_ns=round_trip // 2), True
        pieces.append(piece)
        worst = max(worst, violation)
        start = end
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


def fit_median(
    t_source: Int, t_reference: Int, order: Int, span_ns: tuple[int, int], resolution_ns: int = 1000
) -> Fit:
    """Fit a clock from events that both clocks saw at the same moment, but for a small, one-sided jitter.

    The offset is the median of the differences around a robust line, the bound follows from their spread
    (5th to 95th percentile) and the resolution of the clocks. Outliers do not count.
    """
    points = _in_order(Points.between(t_source, t_reference, order))
    origin = int(span_ns[0])
    x = (points.t_ns - origin) / 1e9
    base = int(np.median(points.value_ns))
    y = (points.value_ns - base).astype(np.float64)
    slope, error = _slope_of_centre(x, y)
    if abs(slope) <= _CONFIDENCE * error:
        slope = 0.0
    residual = y - slope * x
    middle = float(np.median(residual))
    p5, p95 = (float(v) for v in np.percentile(residual - middle, [5, 95]))
    spread = max(-p5, p95) + resolution_ns
    term = 0.0 if slope == 0 else 2 * error * max(abs(x.max()), abs((span_ns[1] - origin) / 1e9))
    line = Line(origin, base + round(middle), slope / 1e9)
    piece = Piece(0, line, round(spread), round(term), error / 1e9)
    evidence = {
        "matches": len(points),
        "residual_ns": {
            f"p{q}": round(float(v))
            for q, v in zip(
                (0, 5, 50, 95, 100), np.percentile(residual - middle, [0, 5, 50, 95, 100]), strict=True
            )
        },
        "skew_ppm_error": round(error / 1e3, 3),
    }
    bound = round(spread + term)
    return Fit((piece,), bound, "accurate" if bound <= _WIDE_NS else "approximate", 0, evidence)


def _smallest_round_trip(lower: Points, upper: Points) -> int | None:
    """Smallest sum of both delays from packets next to each other, which no step can have come between."""
    before = np.searchsorted(lower.order, upper.order) - 1
    known = before >= 0
    if not known.any():
        return None
    return int((upper.value_ns[known] - lower.value_ns[before[known]]).min())


def _in_order(points: Points) -> Points:
    return points.where(np.argsort(points.order, kind="stable"))


def _fit_piece(lower: Points, upper: Points, span_ns: tuple[int, int], first: int) -> tuple[Piece, int]:
    """One line for a stretch without steps; also by how much the constraints contradict each other."""
    origin = span_ns[0]
    base = int(np.median(np.concatenate([lower.value_ns, upper.value_ns])))
    x_low, y_low = (lower.t_ns - origin) / 1e9, (lower.value_ns - base).astype(np.float64)
    x_up, y_up = (upper.t_ns - origin) / 1e9, (upper.value_ns - base).astype(np.float64)
    limit = MAX_SKEW_PPM * 1e3  # ns per second
    low, high, wanted, error = _skew_interval(x_low, y_low, x_up, y_up, limit)
    hull_low = upper_hull(x_low, y_low)
    hull_up = _lower_hull(x_up, y_up)
    ends = np.array([0.0, (span_ns[1] - origin) / 1e9])

    def width(slope: float) -> tuple[float, float]:
        bottom = float(np.max(hull_low[1] - slope * hull_low[0])) if len(hull_low[0]) else -np.inf
        top = float(np.min(hull_up[1] - slope * hull_up[0])) if len(hull_up[0]) else np.inf
        return bottom, top

    if not len(lower) or not len(upper):  # touch the points that there are
        bottom, top = width(wanted)
        offset = bottom if len(lower) else top
        line = Line(origin, base + round(offset), wanted / 1e9)
        return Piece(first, line, 0, 0, error / 1e9), 0
    polygon = feasible(hull_low, hull_up, low, high)
    if not len(polygon):  # the statistics of the skew do not bind, order does
        polygon = feasible(hull_low, hull_up, -limit, limit)
    violation = 0
    if not len(polygon):
        wanted, gap = _least_violation(width, -limit, limit)
        violation = int(np.ceil(gap / 2))
        bottom, top = width(wanted)
        line = Line(origin, base + round((bottom + top) / 2), wanted / 1e9)
        return Piece(first, line, 0, round(error * float(ends.max())), error / 1e9), max(violation, 1)
    slope = float(np.clip(wanted, polygon[:, 1].min(), polygon[:, 1].max()))
    bottom, top = width(slope)
    offset, half = (bottom + top) / 2, max((top - bottom) / 2, 0.0)
    reach = np.abs(polygon[:, :1] + polygon[:, 1:] * ends - (offset + slope * ends)).max()
    line = Line(origin, base + round(offset), slope / 1e9)
    spread = max(polygon[:, 1].max() - slope, slope - polygon[:, 1].min())
    piece = Piece(
        first, line, int(np.ceil(half)) + 1, int(np.ceil(max(float(reach) - half, 0.0))), float(spread) / 1e9
    )
    return piece, violation


def upper_hull(x: Float, y: Float) -> tuple[Float, Float]:
    """Vertices of the upper convex hull, left to right (Andrew's monotone chain)."""
    if len(x) > 4096:  # points below the hull of block maxima cannot be vertices
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        starts = np.arange(0, len(x), 64)
        tops = np.maximum.reduceat(y, starts)
        picked = np.flatnonzero(y == np.repeat(tops, np.diff(np.append(starts, len(x)))))
        picked = np.union1d(picked, [0, len(x) - 1])
        rough = _chain(x[picked], y[picked])
        keep = y >= np.interp(x, *rough) - 1e-6
        x, y = x[keep], y[keep]
    return _chain(x, y)


def _lower_hull(x: Float, y: Float) -> tuple[Float, Float]:
    xs, ys = upper_hull(x, -y)
    return xs, -ys


def _chain(x: Float, y: Float) -> tuple[Float, Float]:
    order = np.lexsort((y, x))
    hull: list[tuple[float, float]] = []
    for px, py in zip(x[order].tolist(), y[order].tolist(), strict=True):
        while hull and hull[-1][0] == px:
            hull.pop()
        while len(hull) > 1:
            (ax, ay), (bx, by) = hull[-2], hull[-1]
            if (by - ay) * (px - ax) > (py - ay) * (bx - ax):
                break
            hull.pop()
        hull.append((px, py))
    return np.array([p[0] for p in hull]), np.array([p[1] for p in hull])


def feasible(
    hull_low: tuple[Float, Float], hull_up: tuple[Float, Float], slope_low: float, slope_high: float
) -> Float:
    """Vertices (offset, slope) of the polygon of lines between the hulls; empty if no line is."""
    values = np.concatenate([hull_low[1], hull_up[1]])
    reach = max(abs(slope_low), abs(slope_high)) * float(
        np.abs(np.concatenate([hull_low[0], hull_up[0]])).max()
    )
    bottom, top = float(values.min()) - reach - 1.0, float(values.max()) + reach + 1.0
    polygon = [(bottom, slope_low), (top, slope_low), (top, slope_high), (bottom, slope_high)]
    for sign, (xs, ys) in ((1.0, hull_low), (-1.0, hull_up)):
        for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
            polygon = _clip(polygon, x, y, sign)
            if not polygon:
                return np.empty((0, 2))
    return np.array(polygon)


def _clip(polygon: list[tuple[float, float]], x: float, y: float, sign: float) -> list[tuple[float, float]]:
    """Keep the part of a polygon where ``sign * (offset + slope * x - y) >= 0`` (Sutherland and Hodgman)."""
    kept: list[tuple[float, float]] = []
    side = [sign * (o + s * x - y) for o, s in polygon]
    for i, (here, value) in enumerate(zip(polygon, side, strict=True)):
        last, last_value = polygon[i - 1], side[i - 1]
        if (value >= 0) != (last_value >= 0):
            part = last_value / (last_value - value)
            kept.append((last[0] + part * (here[0] - last[0]), last[1] + part * (here[1] - last[1])))
        if value >= 0:
            kept.append(here)
    return kept


def _least_violation(width: Any, low: float, high: float) -> tuple[float, float]:
    """Slope with the smallest contradiction between the hulls (convex in the slope), and its size in ns."""
    for _ in range(100):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        bottom_a, top_a = width(a)
        bottom_b, top_b = width(b)
        if bottom_a - top_a <= bottom_b - top_b:
            high = b
        else:
            low = a
    slope = (low + high) / 2
    bottom, top = width(slope)
    return slope, max(bottom - top, 0.0)


def _skew_interval(
    x_low: Float, y_low: Float, x_up: Float, y_up: Float, limit: float
) -> tuple[float, float, float, float]:
    """Interval, best value and error of the slope from how the smallest delays move over time, in ns/s.

    A skew tilts both envelopes alike; a queue that builds up tilts one, beyond what a clock can. A slope
    that does not differ from zero significantly is zero: clocks of one host have none, and jitter must not
    invent one. Where the directions disagree, both slopes stay possible.
    """
    found = [
        envelope
        for envelope in (_slope_of_envelope(x_low, y_low), _slope_of_envelope(x_up, -y_up, flip=True))
        if envelope is not None and abs(envelope[0]) <= limit
    ]
    if not found:
        return -limit, limit, 0.0, limit
    best, error = min(found, key=lambda item: item[1])
    low, high = best - _CONFIDENCE * error, best + _CONFIDENCE * error
    for slope, other in found:
        if slope - _CONFIDENCE * other > high or slope + _CONFIDENCE * other < low:
            low, high = min(low, slope), max(high, slope)
    if low <= 0 <= high:
        best = 0.0
    return max(low, -limit), min(high, limit), float(np.clip(best, -limit, limit)), error


def _slope_of_envelope(x: Float, y: Float, flip: bool = False) -> tuple[float, float] | None:
    """Slope of the maxima of y over stretches of x, and its standard error; None with too few points."""
    count = min(16, len(x) // 8)
    if count < 5 or np.ptp(x) <= 0:
        return None
    edges = np.linspace(x.min(), x.max(), count + 1)[1:-1]
    stretch = np.searchsorted(edges, x, side="right")
    order = np.lexsort((y, stretch))
    last = np.flatnonzero(np.append(np.diff(stretch[order]) != 0, True))
    top = order[last]
    if len(top) < 5:
        return None
    slope, error = _slope_of_centre(x[top], y[top])
    return (-slope if flip else slope), error


def _slope_of_centre(x: Float, y: Float) -> tuple[float, float]:
    """Slope of a line through points with outliers (Theil and Sen), and its standard error."""
    if len(x) > 200:  # pairs grow with the square: medians of 100 stretches instead
        groups = np.array_split(np.argsort(x, kind="stable"), 100)
        x, y = (np.array([np.median(values[group]) for group in groups]) for values in (x, y))
    spread = float(np.sqrt(np.sum((x - x.mean()) ** 2))) if len(x) else 0.0
    if len(x) < 3 or spread <= 0:
        return 0.0, MAX_SKEW_PPM * 1e3
    i, j = np.triu_indices(len(x), 1)
    run = x[j] - x[i]
    apart = run != 0
    slope = float(np.median((y[j] - y[i])[apart] / run[apart]))
    residual = y - slope * x
    sigma = max(1.4826 * float(np.median(np.abs(residual - np.median(residual)))), 500.0)
    return slope, 1.25 * sigma / spread


def _find_steps(lower: Points, upper: Points) -> list[int]:
    """Records before which the offset jumps, seen in both directions at once.

    Queues and routes move the delay of one direction at a time; a clock moves both offsets by the same
    amount, at the same place. A contradiction that no single line explains is a step too.
    """
    breaks: list[int] = []
    for _ in range(_MAX_STEPS):
        edges = [np.iinfo(np.int64).min, *sorted(breaks), np.iinfo(np.int64).max]
        found = None
        for start, end in pairwise(edges):
            part_l = lower.where((lower.order >= start) & (lower.order < end))
            part_u = upper.where((upper.order >= start) & (upper.order < end))
            for look in (_level_shift, _lasting_shift, _contradiction):
                found = look(part_l, part_u)
                if found is not None and found not in edges:
                    break
                found = None
            if found is not None:
                break
        if found is None:
            break
        breaks.append(found)
    return sorted(breaks)


def _level_shift(lower: Points, upper: Points) -> int | None:
    best: tuple[float, int] | None = None
    for window in (3, 8, 20):
        if min(len(lower), len(upper)) < 2 * window + 4:
            continue
        gaps, by_l, by_u = _changes(lower, upper, window)
        if not len(gaps):
            continue
        noise_l = 1.4826 * float(np.median(np.abs(by_l))) + 50_000
        noise_u = 1.4826 * float(np.median(np.abs(by_u))) + 50_000
        small, large = np.minimum(np.abs(by_l), np.abs(by_u)), np.maximum(np.abs(by_l), np.abs(by_u))
        agree = (np.sign(by_l) == np.sign(by_u)) & (small > 0.6 * large)
        clear = (np.abs(by_u) > 4 * noise_u) & (np.abs(by_l) > 4 * noise_l)
        clear &= (np.abs(by_u) > 8 * noise_u) | (np.abs(by_l) > 8 * noise_l)
        score = np.where(agree & clear, np.minimum(np.abs(by_l) / noise_l, np.abs(by_u) / noise_u), 0.0)
        top = int(np.argmax(score))
        if score[top] > 0 and (best is None or score[top] > best[0]):
            change = float(by_u[top] if noise_u <= noise_l else by_l[top])
            best = (float(score[top]), _place(lower, upper, int(gaps[top]), change, window))
    return None if best is None else best[1]


def _lasting_shift(lower: Points, upper: Points) -> int | None:
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
        noise = 1.4826 * float(np.median(np.abs(change))) + 50_000
        other = by_l if calm is upper else by_u
        agree = (np.sign(other) == np.sign(change)) & (np.abs(other) > 0.4 * np.abs(change))
        score = np.where(agree & (np.abs(change) > 8 * noise), np.abs(change), 0.0)
        top = int(np.argmax(score))
        if score[top] <= 0:
            continue
        step, cut = float(change[top]), int(gaps[top])
        level = sign * calm.value_ns.astype(np.float64)  # delays lift it: the floor is its low percentiles
        before, after = level[calm.order < cut], level[calm.order >= cut]
        floors = np.percentile(before, 10), np.percentile(after, 10)
        spread = max(np.median(before) - floors[0], np.median(after) - floors[1])
        if abs(sign * (floors[1] - floors[0]) - step) < 0.2 * abs(step) and spread < abs(step) / 3:
            return _place(lower, upper, cut, step, window)
    return None


def _changes(lower: Points, upper: Points, window: int) -> tuple[Int, Float, Float]:
    """Gaps between records, and by how much the level of each direction changes there."""
    change_l = _change(lower.value_ns, window)
    change_u = -_change(-upper.value_ns, window)
    gaps = np.union1d(lower.order, upper.order)
    at_l = np.searchsorted(lower.order, gaps)
    at_u = np.searchsorted(upper.order, gaps)
    inside = (at_l >= window) & (at_l <= len(lower) - window)
    inside &= (at_u >= window) & (at_u <= len(upper) - window)
    return gaps[inside], change_l[at_l[inside]], change_u[at_u[inside]]


def _place(lower: Points, upper: Points, near: int, change: float, window: int) -> int:
    """The gap at which both offsets jump by about `change`, near where it was found."""
    gaps = np.union1d(lower.order, upper.order)
    middle = int(np.searchsorted(gaps, near))
    gaps = gaps[max(1, middle - 2 * window) : middle + 2 * window + 1]
    score = np.zeros(len(gaps))  # in units of each direction's usual jumps
    for points in (lower, upper):
        at = np.searchsorted(points.order, gaps)
        known = (at > 0) & (at < len(points))
        jump = np.zeros(len(gaps))
        jump[known] = (points.value_ns[at[known]] - points.value_ns[at[known] - 1]).astype(np.float64)
        usual = float(np.median(np.abs(np.diff(points.value_ns)))) + 50_000
        score -= np.abs(jump - change) / usual
    return int(gaps[np.argmax(score)]) if len(gaps) else near


def _change(values: Int, window: int) -> Float:
    """Maximum of the next `window` values minus that of the last, before each position (0 at the rims)."""
    views = np.lib.stride_tricks.sliding_window_view(values, window).max(axis=1).astype(np.float64)
    change = np.zeros(len(values) + 1)
    positions = np.arange(window, len(values) - window + 1)
    change[positions] = views[positions] - views[positions - window]
    return change


def _contradiction(lower: Points, upper: Points) -> int | None:
    """Where the longest stretch from the start that one line explains ends, if anything is left after it."""
    if min(len(lower), len(upper)) < 8 or _possible(lower, upper):
        return None
    orders = np.union1d(lower.order, upper.order)
    low, high = 0, len(orders)
    while high - low > 1:
        middle = (low + high) // 2
        end = orders[middle]
        if _possible(lower.where(lower.order < end), upper.where(upper.order < end)):
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
        return cut
    top = int(np.argmax(small))
    return _place(lower, upper, int(gaps[until][top]), float(by_u[until][top]), window)


def _possible(lower: Points, upper: Points) -> bool:
    if not len(lower) or not len(upper):
        return True
    base = int(np.median(np.concatenate([lower.value_ns, upper.value_ns])))
    origin = int(min(lower.t_ns.min(), upper.t_ns.min()))
    hull_low = upper_hull((lower.t_ns - origin) / 1e9, (lower.value_ns - base).astype(np.float64))
    hull_up = _lower_hull((upper.t_ns - origin) / 1e9, (upper.value_ns - base).astype(np.float64))
    limit = MAX_SKEW_PPM * 1e3
    return len(feasible(hull_low, hull_up, -limit, limit)) > 0


def apply_pieces(pieces: Sequence[tuple[int, Line]], t_ns: Int, record: Int) -> Int:
    """Source times on the reference clock, each record by the line that holds at it.

    Parameters
    ----------
    pieces : sequence of (int, Line)
        First record and line, in file order.
    t_ns, record : int64 arrays
    """
    mapped = pieces[0][1].apply(t_ns)
    for first, line in pieces[1:]:
        later = record >= first
        mapped[later] = line.apply(t_ns[later])
    return mapped
