"""What is known of arrays without what NumPy loads for it: the same as NumPy says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from multitracer.model.arrays.group_by import summed_at
from multitracer.model.arrays.statistics import medians, quantiles
from multitracer.model.arrays.unique import among, sorted_unique

NUMBERS = hnp.arrays(np.int64, st.integers(0, 40), elements=st.integers(-(2**62), 2**62))
TIMES = hnp.arrays(np.float64, (3, 17), elements=st.floats(0, 1e12, width=64))


@given(NUMBERS, NUMBERS)
def test_which_are_among_others(values: np.ndarray, known: np.ndarray) -> None:
    both = np.concatenate([values, known[:3]])
    assert among(both, known).tolist() == np.isin(both, known).tolist()
    assert sorted_unique(both).tolist() == sorted(set(both.tolist()))


@given(TIMES, st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_quantiles_as_numpy_has_them(values: np.ndarray, shares: list[float]) -> None:
    assert quantiles(values, shares).tolist() == np.quantile(values, shares, axis=1).T.tolist()
    assert quantiles(values[0, :1], shares).tolist() == [values[0, 0]] * len(shares)
    for width in (1, 2, 16, 17):
        assert medians(values[:, :width]).tolist() == np.median(values[:, :width], axis=1).tolist()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-(2**40), 2**40)), max_size=60))
def test_sums_by_place(pairs: list[tuple[int, int]]) -> None:
    places, values = (np.array(column, dtype=np.int64) for column in zip(*pairs, (0, 0), strict=True))
    wanted = np.zeros(12, dtype=np.int64)
    np.add.at(wanted, places, values)
    assert summed_at(places, values, 12).tolist() == wanted.tolist()
