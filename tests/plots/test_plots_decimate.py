"""Decimation keeps what is seen: extremes of every pixel column, every pixel that is hit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from multitracer.plots import decimate

COLUMNS, ROWS = 7, 5
WINDOW, LIMITS = (0.0, 100.0), (-50.0, 50.0)

clouds = st.integers(0, 400).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.float64, n, elements=st.floats(-20, 120)),
        hnp.arrays(np.float64, n, elements=st.floats(-80, 80)),
    )
)


def columns_of(x, count=COLUMNS, window=WINDOW):
    share = (x - window[0]) * (count / (window[1] - window[0]))
    return np.clip(share, 0, count - 1).astype(int)


@given(clouds)
def test_a_line_keeps_first_lowest_highest_and_last_of_each_column(cloud):
    x, y = np.sort(cloud[0]), cloud[1]
    kept = decimate.line(x, y, WINDOW, COLUMNS)
    assert np.all(np.diff(kept) > 0)
    inside = np.flatnonzero((x >= WINDOW[0]) & (x <= WINDOW[1]))
    for column in range(COLUMNS):
        here = inside[columns_of(x[inside]) == column]
        left = kept[np.isin(kept, here)]
        if len(here):
            assert {here[0], here[-1]} <= set(left.tolist())
            assert y[left].min() == y[here].min()
            assert y[left].max() == y[here].max()


@given(clouds)
def test_a_line_enters_and_leaves_the_window_as_before(cloud):
    x, y = np.sort(cloud[0]), cloud[1]
    kept = set(decimate.line(x, y, WINDOW, COLUMNS).tolist())
    before, after = np.flatnonzero(x < WINDOW[0]), np.flatnonzero(x > WINDOW[1])
    if len(before):
        assert int(before[-1]) in kept
    if len(after):
        assert int(after[0]) in kept


@given(clouds)
def test_points_hit_the_same_pixels(cloud):
    x, y = cloud
    kept = decimate.points(x, y, WINDOW, LIMITS, COLUMNS, ROWS)
    visible = (x >= WINDOW[0]) & (x <= WINDOW[1]) & (y >= LIMITS[0]) & (y <= LIMITS[1])
    assert np.all(visible[kept])

    def pixels(index):
        return set(zip(columns_of(x[index]), columns_of(y[index], ROWS, LIMITS), strict=True))

    assert pixels(kept) == pixels(np.flatnonzero(visible))


@given(clouds)
def test_points_keep_the_extremes_of_each_column(cloud):
    x, y = cloud
    kept = decimate.points(x, y, WINDOW, LIMITS, COLUMNS, ROWS)
    visible = np.flatnonzero((x >= WINDOW[0]) & (x <= WINDOW[1]) & (y >= LIMITS[0]) & (y <= LIMITS[1]))
    for column in range(COLUMNS):
        here = y[visible[columns_of(x[visible]) == column]]
        left = y[kept[columns_of(x[kept]) == column]]
        if len(here):
            assert (left.min(), left.max()) == (here.min(), here.max())


def test_a_million_points_become_a_few_thousand():
    x = np.linspace(0.0, 100.0, 1_000_000)
    y = 40.0 * np.sin(x)
    assert len(decimate.line(x, y, WINDOW, 1_000)) <= 4 * 1_000 + 2
    assert len(decimate.points(x, y, WINDOW, LIMITS, 1_000, 500)) < 20_000


def test_a_window_of_no_width_does_not_divide_by_zero():
    x, y = np.zeros(100), np.arange(100.0)
    kept = decimate.line(x, y, (0.0, 0.0), 3)
    assert y[kept].min() == 0
    assert y[kept].max() == 99
