"""Tables whose columns take no memory before they are used: they hold what whole columns would."""

from __future__ import annotations

import numpy as np
import pytest

from multitracer.model.schema import SEGMENTS
from multitracer.model.table import Sparse, Table

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


def test_rows_of_several_tables_in_order() -> None:
    """As concatenated and sorted, whether a column is used first or last; ties as they stand."""
    first = Table.filled(SEGMENTS, 3, {"t_ns": [1, 5, 5], "seq": [1, 2, 3], "source": [0, 0, 0]})
    second = Table.filled(SEGMENTS, 2, {"t_ns": [5, 0], "seq": [4, 5], "source": [1, 1]})
    nothing = Table.empty(SEGMENTS)
    found = Table.merged(SEGMENTS, [first, nothing, second], "t_ns")
    expected = Table.concat(SEGMENTS, [first, second]).sorted_by("t_ns")
    assert len(found) == 5
    assert found["seq"].tolist() == [5, 1, 2, 3, 4]
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name])
        assert found[name].dtype == expected[name].dtype
    picked = Table.merged(SEGMENTS, [first, second], "t_ns").where(np.array([0, 4])).replace(record=[7, 8])
    assert (picked["source"].tolist(), picked["record"].tolist()) == ([1, 1], [7, 8])
    assert Table.merged(SEGMENTS, [second], "t_ns")["seq"].tolist() == [5, 4]
    assert len(Table.merged(SEGMENTS, [], "t_ns")) == 0
