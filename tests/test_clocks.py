"""Properties of clock fitting on synthetic transfers whose true clocks are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from multitracer.alignment.clocks import ClockLine, Fit, Int, Points, apply_pieces, fit, fit_median
from multitracer.alignment.clocks.convex_hull import feasible, lower_hull, upper_hull
from multitracer.alignment.clocks.fitting import _fit_piece

MS = 1_000_000
S = 1_000_000_000
HOUR = 3600 * S


class Transfer:
    """Packets both ways between two capture points: true times, and delays that are never below a minimum."""

    def __init__(
        self,
        seed: int,
        count: int = 300,
        span_s: float = 120,
        forward_ms: float = 20,
        back_ms: float = 20,
        jitter_ms: float = 30,
    ) -> None:
        random = np.random.default_rng(seed)
        self.sent = np.sort(random.uniform(0, span_s * S, count)).astype(np.int64)
        self.got = self.sent + round(forward_ms * MS)
        self.got += random.exponential(jitter_ms * MS, count).astype(np.int64)
        self.got = np.maximum.accumulate(self.got)  # first in, first out
        self.acked = self.got + 10_000
        self.answered = (
            self.acked + round(back_ms * MS) + random.exponential(jitter_ms * MS, count).astype(np.int64)
        )
        self.min_rtt = int((self.answered - self.acked).min() + (self.got - self.sent).min())

    def fit(self, offset: int, skew: float, step: int = 0, at: float = 0.5) -> tuple[Fit, Int, Int]:
        """Fit the receiver's clock against the sender's; also its readings, and the true times of these."""
        true = np.sort(np.concatenate([self.got, self.acked]))
        cut = int(true[0] + at * (true[-1] - true[0]))

        def read(t: Int) -> Int:
            drift: Int = np.rint(skew * t).astype(np.int64)
            return t + drift + np.where(t >= cut, offset + step, offset)

        record = np.searchsorted(true, np.concatenate([self.got, self.acked])) + 1
        n = len(self.got)
        lower = Points.between(read(self.got), self.sent, record[:n])
        upper = Points.between(read(self.acked), self.answered, record[n:])
        clock = read(true)
        return fit(lower, upper, (int(clock.min()), int(clock.max()))), clock, true


def worst_error(found: Fit, clock: Int, true: Int) -> int:
    pieces = [(piece.first_order, piece.line) for piece in found.pieces]
    record = np.arange(1, len(clock) + 1)
    return int(np.abs(apply_pieces(pieces, clock, record) - true).max())


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    offset=st.integers(-9 * HOUR, 9 * HOUR),
    skew_ppm=st.floats(-200, 200),
    forward_ms=st.floats(0.05, 300),
    back_ms=st.floats(0.05, 300),
    jitter_ms=st.floats(0.01, 500),
)
def test_truth_lies_within_the_bound(
    seed: int, offset: int, skew_ppm: float, forward_ms: float, back_ms: float, jitter_ms: float
) -> None:
    transfer = Transfer(seed, forward_ms=forward_ms, back_ms=back_ms, jitter_ms=jitter_ms)
    found, clock, true = transfer.fit(offset, skew_ppm * 1e-6)
    assert found.bound_ns is not None
    assert found.violations_ns == 0
    assert found.steps == []
    assert worst_error(found, clock, true) <= found.bound_ns + 2
    (piece,) = found.pieces
    assert piece.skew_bound is not None
    assert piece.skew_bound >= piece.skew_error * (1 - 1e-12)
    true_slope = -skew_ppm * 1e-6 / (1 + skew_ppm * 1e-6)
    assert abs(piece.line.skew - true_slope) <= piece.skew_bound + 1e-8


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), forward_ms=st.floats(1, 300), back_ms=st.floats(1, 300))
def test_bound_is_half_of_the_smallest_round_trip(seed: int, forward_ms: float, back_ms: float) -> None:
    transfer = Transfer(seed, forward_ms=forward_ms, back_ms=back_ms, jitter_ms=5)
    found, _, _ = transfer.fit(2 * HOUR, 0.0)
    (piece,) = found.pieces
    assert abs(piece.half_width_ns - transfer.min_rtt / 2) <= 2
    assert piece.skew_term_ns <= 5e-6 * 120 * S * 5 + 5 * MS  # jitter of 5 ms over 120 s


@pytest.mark.parametrize("skew_ppm", [-200.0, -50.0, 50.0, 200.0])
def test_skew_is_found(skew_ppm: float) -> None:
    found, _, _ = Transfer(1, jitter_ms=2).fit(-HOUR, skew_ppm * 1e-6)
    assert found.pieces[0].line.skew * 1e6 == pytest.approx(-skew_ppm, abs=5)


def test_one_clock_has_no_skew() -> None:
    for seed in range(20):
        found, _, _ = Transfer(seed, jitter_ms=20).fit(0, 0.0)
        assert found.pieces[0].line.skew == 0.0


@pytest.mark.parametrize("step", [-5 * S, -S, -200 * MS, 200 * MS, S, 5 * S])
@pytest.mark.parametrize("at", [0.3, 0.7])
def test_step_is_found(step: int, at: float) -> None:
    transfer = Transfer(3, jitter_ms=10)
    found, clock, true = transfer.fit(HOUR, 0.0, step, at)
    (said,) = found.steps
    assert said["offset_change_ns"] == pytest.approx(-step, abs=20 * MS)
    assert found.bound_ns is not None
    pieces = [(piece.first_order, piece.line) for piece in found.pieces]
    error = np.abs(apply_pieces(pieces, clock, np.arange(1, len(clock) + 1)) - true)
    assert (error > found.bound_ns).sum() <= 2  # records that only the other direction separates


@pytest.mark.parametrize("seed", range(4))
def test_bad_air_that_leaves_a_queue_behind_is_no_step(seed: int) -> None:
    """ACKs wait while the air is bad, data behind it: both delays jump at once, one to where it had been."""
    random, count = np.random.default_rng(seed), 400
    sent = np.arange(count) * 5 * MS
    forward, back = (5 + random.exponential(1, count) for _ in range(2))
    forward[170:200] += 5
    back[170:200] += np.linspace(30, 45, 30)
    forward[200:] += 40
    got = np.maximum.accumulate(sent + (forward * MS).astype(np.int64))
    answered = np.maximum.accumulate(got + 1000 + (back * MS).astype(np.int64))
    lower = Points.between(got, sent, np.arange(1, 2 * count, 2))
    upper = Points.between(got + 1000, answered, np.arange(2, 2 * count + 1, 2))
    found = fit(lower, upper, (int(got[0]), int(got[-1])))
    assert found.steps == []
    assert found.bound_ns is not None
    assert np.abs(found.pieces[0].line.offset_at(got)).max() <= found.bound_ns < 6 * MS


def test_many_steps_end() -> None:
    transfer = Transfer(5, count=400, jitter_ms=1)
    lower = Points.between(transfer.got, transfer.sent, np.arange(400))
    wild = transfer.answered + np.random.default_rng(0).integers(-S, S, 400)
    upper = Points.between(transfer.acked, wild, np.arange(400))
    found = fit(lower, upper, (0, int(transfer.acked.max())))
    assert len(found.steps) <= 8
    assert found.grade == "approximate"


def test_contradiction_is_said() -> None:
    t = np.arange(20, dtype=np.int64) * S
    lower = Points.between(t, t + 5 * MS, np.arange(20))
    upper = Points.between(t, t - 5 * MS, np.arange(20))
    found = fit(lower, upper, (0, 19 * S))
    assert found.violations_ns == pytest.approx(5 * MS, rel=0.01)
    assert found.grade == "approximate"


def test_one_direction_has_no_bound() -> None:
    transfer = Transfer(2)
    lower = Points.between(transfer.got - HOUR, transfer.sent, np.arange(300))
    nothing = Points.between(transfer.got[:0], transfer.got[:0], transfer.got[:0])
    found = fit(lower, nothing, (0, 120 * S))
    assert found.bound_ns is None
    assert found.pieces[0].line.offset_at(transfer.got[0]) == pytest.approx(HOUR - 20 * MS, abs=5 * MS)


def test_nothing_is_an_error() -> None:
    empty = np.empty(0, dtype=np.int64)
    nothing = Points.between(empty, empty, empty)
    with pytest.raises(ValueError, match="no constraint"):
        fit(nothing, nothing, (0, 1))


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(-1000, 1000)), min_size=1, max_size=200))
def test_hulls_enclose_all_points(points: list[tuple[int, int]]) -> None:
    x, y = (np.array([p[i] for p in points], dtype=np.float64) for i in (0, 1))
    top, bottom = upper_hull(x, y), lower_hull(x, y)
    assert (np.interp(x, *top) >= y - 1e-9).all()
    assert (np.interp(x, *bottom) <= y + 1e-9).all()
    assert {tuple(v) for v in zip(*top, strict=True)} <= set(points)


def test_hull_of_many_points_is_exact() -> None:
    random = np.random.default_rng(0)
    x, y = np.sort(random.uniform(0, 1, 20_000)), random.normal(size=20_000)
    fast = upper_hull(x, y)
    assert (np.interp(x, *fast) >= y - 1e-9).all()
    assert (np.diff(np.diff(fast[1]) / np.diff(fast[0])) < 0).all()


@settings(deadline=None)
@given(st.floats(-1, 1), st.floats(-100, 100))
def test_polygon_holds_every_line_between_the_hulls(slope: float, offset: float) -> None:
    random = np.random.default_rng(7)
    x = random.uniform(0, 100, 50)
    line = offset + slope * x
    low, high = (
        upper_hull(x, line - random.exponential(5, 50)),
        lower_hull(x, line + random.exponential(5, 50)),
    )
    polygon = feasible(low, high, -2, 2)
    assert len(polygon)
    for o, s in polygon:  # each vertex keeps to both hulls
        assert (o + s * low[0] >= low[1] - 1e-6).all()
        assert (o + s * high[0] <= high[1] + 1e-6).all()
    assert polygon[:, 1].min() - 1e-9 <= slope <= polygon[:, 1].max() + 1e-9


@settings(max_examples=30, deadline=None)
@given(
    offset=st.integers(-9 * HOUR, 9 * HOUR),
    skew_ppm=st.floats(-200, 200),
    outliers=st.floats(0, 0.2),
    seed=st.integers(0, 1000),
)
def test_median_is_deaf_to_outliers(offset: int, skew_ppm: float, outliers: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    t = np.sort(random.uniform(0, 100 * S, 400)).astype(np.int64)
    delay = random.exponential(5_000, 400)
    delay += (random.uniform(size=400) < outliers) * random.uniform(-S, S, 400)
    clock = t + delay.astype(np.int64) + offset + np.rint(skew_ppm * 1e-6 * t).astype(np.int64)
    found = fit_median(clock, t, np.arange(400), (int(clock.min()), int(clock.max())))
    error = found.pieces[0].line.apply(t + offset + np.rint(skew_ppm * 1e-6 * t).astype(np.int64)) - t
    assert np.abs(error).max() < 60_000
    if outliers < 0.04:
        assert found.bound_ns is not None
        assert np.abs(error).max() <= found.bound_ns + 5_000


@given(
    offset=st.integers(-HOUR, HOUR),
    skew=st.floats(-1e-3, 1e-3),
    outer=st.integers(-HOUR, HOUR),
    t=st.integers(0, 1000 * S),
)
def test_lines_compose(offset: int, skew: float, outer: int, t: int) -> None:
    first, second = ClockLine(0, offset, skew), ClockLine(0, outer, 2e-4)
    assert abs(int(first.then(second).apply(t)) - int(second.apply(first.apply(t)))) <= 2
    assert int(first.moved(5).apply(t)) == int(first.apply(t)) + 5


def test_pieces_change_at_their_record() -> None:
    t = np.array([0, 10, 20, 5, 15])  # the clock jumped back before the fourth record
    mapped = apply_pieces([(0, ClockLine(0, 0)), (4, ClockLine(0, 100))], t, np.arange(1, 6))
    assert mapped.tolist() == [0, 10, 20, 105, 115]


_TOUCHING = (
    (149222, 7),
    (183296, 1),
    (250614, 1),
    (251267, 1),
    (267424, 1),
    (268423, 1),
    (281565, 1),
    (282596, 1),
    (283593, 1),
    (297759, 1),
    (298743, 1),
    (299782, 1),
    (300788, 1),
    (314932, 1),
    (315942, 1),
    (316955, 1),
    (317957, 0),
    (327044, 1),
    (331134, 1),
    (332146, 1),
    (1498654, 2),
    (1499666, 0),
    (1512784, 1),
    (1513791, 1),
    (1515807, 1),
    (1527912, 1),
    (1528904, 1),
    (1530911, 1),
    (1534694, 2),
    (1545057, 1),
    (1547064, 1),
    (1548064, 1),
    (1551104, 1),
    (1560196, 1),
    (1562230, 2),
    (1564252, 1),
    (1567247, 1),
    (1576346, 1),
    (1578363, 1),
    (1580388, 1),
    (1584449, 1),
    (1591484, 1),
    (1593501, 1),
    (1595529, 2),
    (1789850, 3),
    (1790808, 3),
    (1791998, 1),
    (1794008, 1),
    (1794998, 1),
    (1803070, 1),
    (1808147, 1),
    (1809209, 1),
    (1812195, 2),
    (1819245, 1),
    (1824303, 1),
    (1826307, 1),
    (1827320, 1),
    (1834375, 1),
    (1835379, 1),
    (1840412, 1),
    (1842438, 1),
    (1845502, 3),
    (1845722, 1),
    (1850752, 0),
    (1851792, 1),
    (1853791, 2),
    (1855857, 1),
    (1861895, 1),
    (1862907, 1),
    (1864942, 1),
    (1865941, 1),
    (1867972, 1),
    (1874705, 2),
    (1876044, 1),
    (1878635, 1),
    (1880078, 1),
    (1888160, 1),
    (1890173, 1),
    (1892206, 1),
    (1894205, 1),
)
"""Microseconds since the first packet, and by how many the reference is ahead at most."""


def test_a_line_that_touches_points_on_both_sides_is_one() -> None:
    """Such lines are hardly more than one; the polygon of all, which holds theirs, is none by rounding."""
    low_ns = np.array([[1789923, 0], [1809125, -3]]).T * 1000
    up_ns = np.array(_TOUCHING).T * 1000
    lower, upper = (Points(t_ns, value_ns, np.arange(len(t_ns))) for t_ns, value_ns in (low_ns, up_ns))
    piece, violation = _fit_piece(lower, upper, (0, 2014088000), 0)
    assert violation == 0
    assert abs(piece.line.skew) < 500e-6
    assert piece.skew_bound >= 0
