"""Parameters, studies and comparisons against values worked out by other means."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from multitracer.batch import compare, pivot
from multitracer.batch.parameters import merge, name_pattern, plain, read_table
from multitracer.batch.rows import flattened
from multitracer.batch.summary import csv_bytes, dataset_files
from multitracer.model.arrays.statistics import jain, standard_deviation
from multitracer.model.errors import UsageError
from multitracer.plots.figures.parameters import Point, build_points

NUMBERS = st.lists(st.floats(1.0, 1e6), min_size=2, max_size=30)


@given(NUMBERS)
def test_fairness(values: list[float]) -> None:
    found = jain(values)
    assert found is not None
    assert 1 / len(values) - 1e-6 <= found <= 1 + 1e-6
    assert standard_deviation(values) == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-3)


def test_fairness_at_its_ends() -> None:
    assert jain([5.0, 5.0, 5.0]) == 1.0
    assert jain([1.0, 0.0, 0.0, 0.0]) == 0.25
    assert jain([1.0]) is None
    assert standard_deviation([1.0]) is None


@given(NUMBERS)
def test_pivot_against_statistics(values: list[float]) -> None:
    rows = [{"name": f"r{i}", "mtu": 576 + i % 2, "goodput_bps": value} for i, value in enumerate(values)]
    found = pivot(rows, "goodput_bps", "mtu")
    for cell in found.cells:
        mine = [row["goodput_bps"] for row in rows if row["mtu"] == cell.row]
        assert cell.median == pytest.approx(statistics.median(mine))
        assert (cell.low, cell.high, cell.n, cell.runs) == (min(mine), max(mine), len(mine), len(mine))
    assert sum(cell.n for cell in found.cells) == len(values)


def test_metric_of_a_measurement_counts_once() -> None:
    rows = [
        {"name": "a", "mtu": 1, "utilization": 0.5, "goodput_bps": 1.0},
        {"name": "a", "mtu": 1, "utilization": 0.5, "goodput_bps": 3.0},
        {"name": "b", "mtu": 1, "utilization": 0.9, "goodput_bps": 5.0},
        {"name": "c", "mtu": None, "utilization": 0.9, "goodput_bps": None},
    ]
    (shared,) = pivot(rows, "utilization", "mtu").cells
    assert (shared.n, shared.median) == (2, 0.7)
    (each,) = pivot(rows, "goodput_bps", "mtu").cells
    assert (each.n, each.runs, each.median) == (3, 2, 3.0)
    assert pivot(rows, "goodput_bps", "mtu").missing == 1
    with pytest.raises(UsageError, match="no column 'mss'"):
        pivot(rows, "goodput_bps", "mss")


def test_chart_has_every_curve() -> None:
    points = [Point(x, curve, 1e6 * x, 5e5, 2e6, 3) for x in (1, 2, 4) for curve in ("reno", "cubic")]
    figure = build_points(points, "goodput_bps", "window", "flavour")
    assert figure.panels[0].y.unit == "Mbit/s"
    lines = [one for one in figure.panels[0].series if one.kind == "line"]
    assert [one.label for one in lines] == ["reno (n = 3)", "cubic (n = 3)"]
    assert lines[0].y.tolist() == [1.0, 2.0, 4.0]
    words = build_points([Point("reno", "", 1.0, 1.0, 1.0, 1)], "jain", "flavour", "")
    assert words.x.words == ("reno",)
    assert figure.x.words == ()


def test_values_that_double_again_and_again_stand_side_by_side() -> None:
    points = [
        Point(x, curve, 1.0, 1.0, 1.0, 1) for x in (64000, 2000, 8000, 32000) for curve in ("reno", "cubic")
    ]
    figure = build_points(points, "jain", "window", "flavour")
    assert figure.x.words == ("2,000", "8,000", "32,000", "64,000")
    lines = [one for one in figure.panels[0].series if one.kind == "line"]
    assert np.round(lines[0].x).tolist() == [0, 1, 2, 3]
    assert lines[0].x[0] < lines[1].x[0]
    rates = build_points([Point(x, "", 1.0, 1.0, 1.0, 1) for x in (1e6, 4e6, 16e6)], "jain", "rate_bps", "")
    assert (rates.x.words, rates.x.unit) == (("1", "4", "16"), "Mbit/s")


def sets(shift: float, size: int, names: str) -> list[dict[str, Any]]:
    random = np.random.default_rng(7)
    return [
        {"name": f"{names}{i}", "goodput_bps": float(value)}
        for i, value in enumerate(random.normal(100 + shift, 5, size))
    ]


def test_comparison_finds_a_change_and_no_other() -> None:
    (same,) = compare(sets(0, 40, "a"), sets(0, 40, "b"), ["goodput_bps"])
    assert not same.sure
    assert not same.paired
    (faster,) = compare(sets(0, 40, "a"), sets(10, 40, "b"), ["goodput_bps"])
    assert faster.sure
    assert faster.low < 10 < faster.high
    (paired,) = compare(sets(0, 40, "a"), sets(1, 40, "a"), ["goodput_bps"])
    assert paired.paired
    assert (paired.difference, paired.low) == (pytest.approx(1.0), pytest.approx(1.0))
    assert compare(sets(0, 40, "a"), sets(1, 40, "b"), ["goodput_bps"])[0].low < 0


def test_bootstrap_covers_as_it_says() -> None:
    """Of many pairs of sets without a difference, about one in twenty seems to have one."""
    random = np.random.default_rng(11)
    wrong = 0
    for _ in range(100):
        a, b = (
            [{"name": f"{s}{i}", "x": float(v)} for i, v in enumerate(random.normal(0, 1, 30))] for s in "ab"
        )
        wrong += compare(a, b, ["x"], resamples=400)[0].sure
    assert wrong <= 12


def test_parameters_of_all_places() -> None:
    patterns = [name_pattern(r"mtu=(\d+)"), name_pattern(r"(?P<flavour>reno|cubic)_w(?P<window>[\d.]+)")]
    table = read_table("t.csv", b"name,energy_j,mtu\nruns/reno_w2.5_mtu=576,1.5,\n")
    own = {"mtu": 1500, "bytes": 7, "scenario": "a"}
    assert merge("runs/reno_w2.5_mtu=576", own, patterns, table) == {
        "mtu": 576,
        "param_bytes": 7,
        "scenario": "a",
        "flavour": "reno",
        "window": 2.5,
        "energy_j": 1.5,
    }
    with pytest.raises(UsageError, match="twice"):
        read_table("t.csv", b"name,x\na,1\na,2\n")
    with pytest.raises(UsageError, match="no column 'name'"):
        read_table("t.csv", b"run,x\na,1\n")


@given(st.text(max_size=20))
def test_plain_never_fails(text: str) -> None:
    value = plain(text)
    assert isinstance(value, int | float | str)
    assert value == value


@given(st.binary(max_size=200))
def test_table_is_read_or_refused(content: bytes) -> None:
    from multitracer.model.errors import MultiTracerError

    try:
        found = read_table("t.csv", content)
    except MultiTracerError:
        return
    assert all(isinstance(name, str) for name in found)


def test_flattened() -> None:
    nested = {"tcp": {"ecn": True, "list": [1, 2]}, "x": float("inf"), "big": 2**70}
    assert flattened(nested) == {"tcp.ecn": True, "tcp.list": "[1, 2]", "x": "inf", "big": str(2**70)}
    assert flattened("no table") == {}


def test_dataset_is_read_whole_by_duckdb(tmp_path: Any) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    names = ["name", "bytes", "queue.kind", "mixed"]
    rows = [
        {
            "name": f"r{i}\udcff",
            "bytes": i,
            "queue.kind": ("a/b", None, "c=d")[i % 3],
            "mixed": (1, "x")[i % 2],
        }
        for i in range(9)
    ]
    for name, content in dataset_files(rows, names, ["queue.kind"]).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    found = duckdb.sql(
        f"select \"queue.kind\", count(*), sum(bytes) from read_parquet('{tmp_path}/dataset/**/*.parquet', "
        "hive_partitioning=true) group by 1 order by 1 nulls last"
    ).fetchall()
    assert found == [("a/b", 3, 9), ("c=d", 3, 15), (None, 3, 12)]
    assert csv_bytes(rows, names).decode().splitlines()[2] == "r1\\udcff,1,,x"
    with pytest.raises(UsageError, match="no such column"):
        dataset_files(rows, names, ["mtu"])
