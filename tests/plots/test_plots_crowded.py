"""Figures with little room: words keep off each other, nothing is torn, hidden, or named for nothing."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import multitracer as mt
from multitracer import registry
from multitracer.plots.appearance import Appearance
from multitracer.plots.figures import utilization
from multitracer.plots.mpl import legend, renderer as mpl
from multitracer.plots.panel import Axis, Figure, Panel, Series
from multitracer.plots.plot import Subject, build
from multitracer.plots.series.window_layer import _beyond
from multitracer.plots.theme import THEMES


def figure(kind: str, path: Path) -> Figure:
    analysis = mt.analyze(mt.read(path))
    return build(
        registry.load(registry.PLOTS[kind]), [Subject(path.name, analysis.measurement, analysis.results)]
    )


@pytest.fixture(scope="module")
def gaps(samples: Path) -> Figure:
    return figure("reset-gaps", samples / "link-resets-vj")


@pytest.mark.parametrize("width", [3.3, 3.4, 5.0, 7.0])
def test_words_of_gaps_are_whole_apart_and_inside_at_any_width(gaps: Figure, width: float) -> None:
    drawn = mpl.draw(gaps, appearance=Appearance(style="paper", width=width))
    drawn.canvas.draw()
    axes = drawn.axes[0]
    found = [one for one in axes.texts if one.get_text()]
    words = {one.get_text().replace("\n", " ") for one in found}
    assert "gap of 13.4 s: 2 lost, 8 discarded, 5 ACKs lost" in words
    assert sum(one.startswith("gap of") for one in words) == 3
    boxes = [one.get_window_extent().padded(-1) for one in found]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    inside = axes.get_window_extent().padded(2)
    assert all(inside.containsx(x) for box in boxes for x in (box.x0, box.x1))


@pytest.mark.parametrize("height", [1.2, 2.5, 6.0])
def test_the_name_of_an_axis_is_not_torn(height: float) -> None:
    x = np.arange(10.0)
    panels = tuple(
        Panel(name, Axis("Retrans.", "segments"), (Series(name, "flight", x, x, label=name),), height=part)
        for name, part in (("a", 1.0), ("b", 0.6))
    )
    drawn = mpl.draw(
        Figure("two", "Two", panels, (0.0, 9.0)),
        appearance=Appearance(style="slide", font_size=11.0),
        size=(6, height),
    )
    for axes in drawn.axes:
        assert axes.get_ylabel().split() == ["Retrans.", "[segments]"]


def test_columns_of_a_legend_are_of_about_one_height() -> None:
    def block(name: str, entries: int) -> list[legend.Row]:
        x = np.zeros(1)
        rows = [legend.Row(Series(f"{name}{n}", "cwnd", x, x), f"{name} {n}") for n in range(entries)]
        return [legend.Row(None, name), *rows]

    blocks = [block("a", 3), block("b", 5), block("c", 1), block("d", 1)]
    dealt = legend.columns(blocks, 3, 200.0, 8.0)
    heights = [legend.height_of(one, 200.0, 8.0) for one in dealt]
    assert len(dealt) == 3
    assert max(heights) <= legend.height_of([block("a", 3), block("d", 1)], 200.0, 8.0)
    named = [row.words for column in dealt for some in column for row in some if row.entry is not None]
    assert named == [row.words for some in blocks for row in some if row.entry is not None]


def test_a_range_is_that_of_several_measurements() -> None:
    rows = [
        {"name": name, "utilization": share, "goodput_bps": rate}
        for name, share, rate in (("a", 0.9, 5000.0), ("b", 0.8, 4000.0), ("c", 0.8, 7000.0))
    ]
    ranges = utilization.build_rows(rows).panel("throughput").pieces
    assert [one.x.tolist() for one in ranges] == [[80.0]]
    assert utilization.build_rows(rows[:2]).panel("throughput").pieces == ()


def test_dropped_packets_are_drawn_over_received_ones(samples: Path) -> None:
    names = [one.name for one in figure("host", samples / "host-queue").panel("host").pieces]
    assert names.index("drop") > names.index("came")


def test_a_curve_above_the_panel_has_its_value_in_the_legend() -> None:
    above = _beyond(Series("w", "rwnd", np.arange(3.0), np.full(3, 9e5), label="window"))
    assert (above.label, above.in_limits) == ("w: mostly above (median 900,000)", False)


def test_the_minimum_rtt_is_seen(samples: Path) -> None:
    series = figure("rtt", samples / "backoff").panel("rtt").series
    assert any(one.role == "min_rtt" for one in series)
    assert all(theme.looks["min_rtt"].alpha > 0.6 for theme in THEMES.values())


@pytest.mark.parametrize("size", [(3.4, 4.5), (4.3, 5.6), (9.0, 5.0)])
def test_the_number_of_the_highest_bar_stands_on_it(size: tuple[float, float]) -> None:
    shares = [0.78, 0.8, 0.81, 0.87, 0.91, 0.99, 0.99, 0.99]
    rows = [{"name": str(at), "utilization": one, "goodput_bps": 5e3} for at, one in enumerate(shares)]
    drawn = mpl.draw(utilization.build_rows(rows), size=size, dpi=300.0)
    axes = drawn.axes[0]
    (number,) = (one for one in axes.texts if one.get_text() == "3")
    assert number.get_window_extent().y0 > axes.transData.transform((99.0, 100.0 * 3 / 8))[1]
