"""Tables whose columns take no memory before they are used: they hold what whole columns would."""

from __future__ import annotations

import numpy as np
import pytest

from multitracer.schema import SEGMENTS
from multitracer.table import Sparse, Table

ROWS = 5


def table(**given: object) -> Table:
    return Table.filled(SEGMENTS, ROWS, {"t_ns": np.arange(ROWS), **given})


def test_what_is_not_given_is_absent() -> None:
    segments = table()
    assert segments["ts_val"].tolist() == [-1] * ROWS
    assert segments["cause"].tolist() == [0] * ROWS
    assert {name: str(array.dtype) for name, array in segments.columns.items()} == {
        column.name: column.dtype for column in SEGMENTS.columns
    }


def test_a_sparse_column_is_whole_once_it_is_used() -> None:
    sparse = Sparse.of_core((-1, np.array([1, 4], np.uint32), np.array([7, 9])))
    segments = table(sack_high=sparse, duplicate=Sparse.of_core((0, np.array([], np.uint32), np.array([]))))
    picked = segments.where(np.array([4, 0, 1]))
    assert picked["sack_high"].tolist() == [9, -1, 7]
    assert picked["duplicate"].tolist() == [0, 0, 0]
    assert segments["sack_high"].tolist() == [-1, 7, -1, -1, 9]
    segments["sack_high"][0] = 3
    assert segments["sack_high"][0] == 3
    assert segments.frame()["duplicate"].tolist() == [0] * ROWS


def test_tables_joined_hold_what_each_held() -> None:
    plain, other = table(), table(ts_val=np.arange(ROWS), ip_id=Sparse(6))
    joined = Table.concat(SEGMENTS, [plain, other])
    assert joined["ts_val"].tolist() == [-1] * ROWS + list(range(ROWS))
    assert joined["ip_id"].tolist() == [0] * ROWS + [6] * ROWS
    assert joined["sack_high"].tolist() == [-1] * 2 * ROWS
    assert joined.replace(conn=np.arange(2 * ROWS))["dir"].tolist() == [0] * 2 * ROWS


def test_lengths_are_held_against_the_rows() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        Table.filled(SEGMENTS, ROWS + 1, {"t_ns": np.arange(ROWS)})
