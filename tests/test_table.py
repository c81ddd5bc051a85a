"""Tables whose columns take no memory before they are used: they hold what whole columns would."""

from __future__ import annotations

import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given, strategies as st

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


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("rows"), st.randoms(use_true_random=False)),
        st.tuples(st.just("between"), st.randoms(use_true_random=False)),
        st.tuples(st.just("reordered"), st.randoms(use_true_random=False)),
        st.tuples(st.just("replace"), st.randoms(use_true_random=False)),
        st.tuples(st.just("look"), st.sampled_from(["t_ns", "seq", "ack", "sack_high", "ip_id"])),
    ),
    max_size=8,
)


@given(STEPS, st.integers(1, 9))
def test_rows_of_rows_are_what_whole_columns_would_be(steps: list[tuple[str, object]], rows: int) -> None:
    """However tables follow from each other, and whichever columns are looked at in between or at the end."""
    names = ("t_ns", "seq", "ack", "sack_high", "ip_id")
    sparse = Sparse.of_core((-1, np.array([0], np.uint32), np.array([7])))
    given_columns = {"t_ns": np.arange(rows), "seq": np.arange(rows) * 10, "sack_high": sparse}
    plain = {
        "t_ns": list(range(rows)),
        "seq": [10 * row for row in range(rows)],
        "ack": [-1] * rows,
        "sack_high": [7] + [-1] * (rows - 1),
        "ip_id": [0] * rows,
    }
    tables: list[tuple[Table, dict[str, list[int]]]] = [(Table.filled(SEGMENTS, rows, given_columns), plain)]
    for kind, how in steps:
        held, expected = tables[-1]
        count = len(held)
        if kind == "look":
            assert held[how].tolist() == expected[how]
            continue
        if kind == "rows":
            picked = [how.randrange(count) for _ in range(how.randrange(count + 2))] if count else []
            tables.append(
                (
                    held.where(np.array(picked, dtype=np.int64)),
                    {name: [expected[name][row] for row in picked] for name in names},
                )
            )
        elif kind == "between":
            begin, end = sorted((how.randint(0, count), how.randint(0, count)))
            tables.append((held.between(begin, end), {name: expected[name][begin:end] for name in names}))
        elif kind == "reordered":
            order = how.sample(range(count), count)
            tables.append(
                (
                    held.reordered(np.array(order, dtype=np.int64)),
                    {name: [expected[name][row] for row in order] for name in names},
                )
            )
        else:
            acks = [how.randrange(100) for _ in range(count)]
            tables.append(
                (held.replace(ack=acks, ip_id=Sparse(5)), {**expected, "ack": acks, "ip_id": [5] * count})
            )
    for held, expected in reversed(tables):
        assert {name: held[name].tolist() for name in names} == expected


def test_a_column_is_held_once_where_all_rows_are_in_another_order() -> None:
    seq = np.arange(ROWS)
    segments = table(seq=seq)
    other = segments.reordered(np.array([4, 3, 2, 1, 0]))
    held = weakref.ref(seq)
    del seq
    flow = other.between(1, 3)
    assert flow["seq"].tolist() == [3, 2]
    assert held() is None
    with pytest.raises(ValueError, match="read-only"):
        flow["seq"][0] = 1
    assert segments["seq"].tolist() == list(range(ROWS))


def test_a_column_is_held_once_where_rows_that_were_sorted_are_reordered() -> None:
    seq = np.array([3, 1, 2, 0, 4])[:ROWS]
    segments = table(seq=seq).sorted_by("seq")
    sorted_once = weakref.ref(segments["seq"])
    flow = segments.reordered(np.arange(ROWS)[::-1])
    assert sorted_once() is None
    assert flow["seq"].tolist() == sorted(seq.tolist(), reverse=True)
    assert segments["seq"].tolist() == sorted(seq.tolist())


def test_a_mask_of_all_rows_copies_nothing() -> None:
    segments = table()
    assert segments.where(np.ones(ROWS, dtype=np.bool_)) is segments
    assert len(segments.where(np.arange(ROWS) > 0)) == ROWS - 1


def test_the_only_capture_of_many_rows_takes_no_memory() -> None:
    rows = 1 << 16
    segments = Table.filled(SEGMENTS, rows, {"t_ns": np.arange(rows), "source": Sparse(3)})
    assert segments["source"].strides == (0,)
    assert segments.reordered(np.arange(rows)[::-1])["source"].strides == (0,)
    assert segments.frame()["source"].tolist() == [3] * rows


def test_a_table_that_is_made_later_is_made_once() -> None:
    made = []

    def make() -> Table:
        made.append(1)
        return table(seq=np.arange(ROWS))

    later = Table.later(SEGMENTS, ROWS, make)
    assert (len(later), made) == (ROWS, [])
    assert later.where(np.array([2]))["seq"].tolist() == [2]
    assert later["t_ns"].tolist() == list(range(ROWS))
    assert made == [1]
    replaced = Table.later(SEGMENTS, ROWS, make).replace(seq=np.full(ROWS, 7))
    assert replaced["t_ns"].tolist() == list(range(ROWS))
    assert replaced["seq"].tolist() == [7] * ROWS
    copied = pickle.loads(pickle.dumps(Table.later(SEGMENTS, ROWS, make)))
    assert copied["seq"].tolist() == list(range(ROWS))
