"""Folding of empty time: which stretches are cut, where times lie then, and what is drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from multitracer.cli.main import main
from multitracer.model.errors import UsageError
from multitracer.plots import folding
from multitracer.plots.fold import Fold
from multitracer.plots.mpl import renderer as mpl
from multitracer.plots.mpl.fold import fold_steps
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Series, Spans
from multitracer.plots.plot import PlotOptions

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "link-resets-vj"


def of(*times: float, window: tuple[float, float] = (0.0, 100.0), **parts: object) -> Figure:
    x = np.array(times)
    points = Series("points", "snd_data", x, x * 10, label="points")
    panel = Panel("sequence", Axis("Sequence number", "bytes"), (points,), **parts)  # type: ignore[arg-type]
    return Figure("multilayer", "by hand", (panel,), window)


def test_only_stretches_longer_than_the_threshold_are_cut_with_air_on_both_sides() -> None:
    fold = folding.find(of(0.0, 1.0, 9.0, 10.0, 60.0, 61.0, 100.0), 10.0)
    assert fold is not None
    assert fold.inside((0.0, 100.0)) == [(11.0, 59.0), (62.0, 99.0)]
    assert fold.lengths.tolist() == [48.0, 37.0]
    # 15 s are left: each cut is drawn as 2.5% of that.
    assert fold.shown == pytest.approx(0.025 * 15.0)


def test_marks_steps_and_pieces_fill_time_and_what_merely_lasts_does_not() -> None:
    busy = Marks("resets", "link_reset", np.array([30.0]))
    steps = Series("cwnd", "cwnd", np.array([0.0, 50.0, 70.0]), np.array([1.0, 1.0, 2.0]), kind="steps")
    lasting = Spans("idle", "idle_unknown", np.array([5.0]), np.array([95.0]))
    trend = Series("trend", "trend", np.array([0.0, 100.0]), np.array([0.0, 1.0]), kind="line")
    figure = of(0.0, 100.0, marks=(busy,), spans=(lasting,))
    figure = replace(
        figure,
        panels=(replace(figure.panels[0], series=(*figure.panels[0].series, steps, trend)),),
    )
    fold = folding.find(figure, 5.0)
    assert fold is not None
    assert fold.inside((0.0, 100.0)) == [(0.5, 29.5), (30.5, 69.5), (70.5, 99.5)]


def test_nothing_is_cut_where_something_happens_all_the_time_and_the_figure_says_so() -> None:
    figure = folding.folded(of(*range(101)), 5.0)
    assert figure.fold is None
    assert figure.notes == ("nothing to fold: no empty time is longer than 5 s",)


def test_a_folded_figure_says_how_much_it_leaves_out() -> None:
    figure = folding.folded(of(0.0, 1.0, 60.0, 61.0, 100.0), 10.0)
    assert figure.notes == ("folded: 2 empty stretches longer than 10 s, 94.0 s left out",)


def test_nothing_is_cut_that_floats_do_not_tell_apart() -> None:
    """A window of 20 us in seconds since an epoch 136 years ago: a float has steps of 0.5 us there."""
    start = 2.0**32
    for half_s, longer_s, cuts in ((1e-5, 8e-7, 0), (1e-2, 1e-3, 2)):
        figure = of(start - half_s, start, start + half_s, window=(start - half_s, start + half_s))
        fold = folding.find(figure, longer_s)
        assert (0 if fold is None else len(fold.start)) == cuts


def test_cuts_lie_inside_the_time_window_only() -> None:
    fold = folding.find(of(0.0, 50.0, 100.0, window=(40.0, 60.0)), 5.0)
    assert fold is not None
    assert fold.start[0] == 40.5
    assert fold.end[-1] == 59.5


def test_a_straight_line_bends_at_the_edges_of_a_cut() -> None:
    figure = of(0.0, 1.0, 90.0, 100.0)
    trend = Series("trend", "trend", np.array([0.0, 100.0]), np.array([0.0, 200.0]), kind="line")
    figure = replace(figure, panels=(replace(figure.panels[0], series=(trend,)),))
    fold = Fold(np.array([10.0]), np.array([90.0]), 1.0)
    bent = folding.with_corners(figure, fold).panels[0].series[0]
    assert bent.x.tolist() == [0.0, 10.0, 90.0, 100.0]
    assert bent.y.tolist() == [0.0, 20.0, 180.0, 200.0]


def test_places_of_a_known_fold() -> None:
    fold = Fold(np.array([10.0, 40.0]), np.array([30.0, 90.0]), 2.0)
    times = np.array([-5.0, 0.0, 10.0, 20.0, 30.0, 40.0, 90.0, 100.0])
    assert fold.place(times).tolist() == [-5.0, 0.0, 10.0, 11.0, 12.0, 22.0, 24.0, 34.0]
    assert np.allclose(fold.time(fold.place(times)), times)


@given(
    st.lists(st.floats(0.01, 1e4), min_size=2, max_size=20),
    st.lists(st.floats(-1e4, 3e5), min_size=2, max_size=50),
)
def test_the_order_of_times_stays_and_every_place_has_one_time(gaps: list[float], times: list[float]) -> None:
    edges = np.cumsum(gaps)[: len(gaps) // 2 * 2]
    start, end = edges[::2], edges[1::2]
    fold = Fold(start, end, float(np.min(end - start)) / 2)
    inside = np.sort(np.array(times))
    placed = fold.place(inside)
    assert np.all(np.diff(placed) >= -1e-6)
    assert np.allclose(fold.time(placed), inside, atol=1e-5)


@pytest.mark.parametrize(
    ("start", "end", "shown"), [([5.0], [4.0], 0.1), ([1.0], [2.0], 3.0), ([1.0], [2.0], 0.0)]
)
def test_a_fold_that_makes_no_sense_is_refused(start: list[float], end: list[float], shown: float) -> None:
    with pytest.raises(ValueError, match="cuts must be"):
        Fold(np.array(start), np.array(end), shown)


def test_ticks_stand_between_cuts_never_in_one_and_never_too_close() -> None:
    fold = Fold(np.array([12.0, 31.5]), np.array([31.0, 90.0]), 0.5)
    ticks = fold.ticks((0.0, 100.0), 5.0)
    assert ticks == [0.0, 5.0, 10.0, 90.0, 95.0, 100.0]  # 31 to 31.5 s has no room beside 10 s
    assert all(not 12.0 < tick < 31.0 and not 31.5 < tick < 90.0 for tick in ticks)
    short = Fold(np.array([5.0]), np.array([92.3]), 0.5)
    assert 95.0 in short.ticks((0.0, 97.0), 10.0)  # no multiple of 10 s is left there


@pytest.mark.parametrize(
    ("span", "most", "step"), [(100.0, 10, 10.0), (99.0, 10, 10.0), (0.9, 14, 0.1), (7.0, 3, 5.0)]
)
def test_steps_of_the_axis_are_round(span: float, most: int, step: float) -> None:
    assert fold_steps(span, most) == pytest.approx(step)


def test_the_print_shows_each_break_with_its_length_and_true_times_beside_it() -> None:
    figure = folding.folded(of(0.0, 1.0, 20.0, 80.0, 81.0, 100.0), 30.0)
    drawn = mpl.draw(figure)
    axes = drawn.axes[0]
    bands = [patch for patch in axes.patches if patch.get_gid() == "fold"]
    assert len(bands) == 1
    assert [text.get_text() for text in axes.texts if text.get_gid() == "fold-words"] == ["54.0 s"]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert "20" in labels
    assert "80" in labels or "85" in labels or "90" in labels
    assert not {"30", "40", "50", "60", "70"} & set(labels)
    points = next(line for line in axes.lines if line.get_gid() == "points")
    assert figure.fold is not None
    assert np.allclose(points.get_xdata(), figure.fold.place(figure.panels[0].series[0].x))


def test_absolute_time_is_folded_too() -> None:
    figure = replace(
        folding.folded(of(0.0, 1.0, 20.0, 80.0, 81.0, 100.0), 30.0), absolute=True, t0_ns=86_400 * 10**9 * 10
    )
    labels = [label.get_text() for label in mpl.draw(figure).axes[0].get_xticklabels()]
    assert "00:00:20" in labels
    assert not any(label.startswith("00:00:5") for label in labels)


def test_a_figure_without_a_time_axis_is_not_folded() -> None:
    figure = replace(of(0.0, 100.0), x=Axis("Utilization, rounded up", "%"))
    with pytest.raises(UsageError, match="no time axis to fold"):
        folding.folded(figure, 5.0)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_only_a_positive_threshold_makes_sense(seconds: float) -> None:
    with pytest.raises(UsageError, match="fold"):
        PlotOptions(fold_s=seconds)


def test_the_command_folds(tmp_path: Path) -> None:
    target = tmp_path / "folded.svg"
    assert main(["plot", str(SAMPLE), "--fold", "3", "-o", str(target)]) == 0
    assert 'id="fold"' in target.read_text()
