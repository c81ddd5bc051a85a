"""Figures for papers and slides: size, type, names, axes; nothing is cut and nothing overlaps."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import support_plots
from matplotlib.figure import Figure as MplFigure
from matplotlib.transforms import Bbox

import multitracer as mt
from multitracer import registry
from multitracer.model.errors import UsageError
from multitracer.plots.appearance import WIDTHS, Appearance
from multitracer.plots.mpl import renderer as mpl
from multitracer.plots.mpl.text import text_width, wrapped
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Series
from multitracer.plots.plot import PlotOptions, Subject, build, split_options

KINDS = ("multilayer", "tsg", "rtt", "cwnd", "throughput", "queue", "cdf", "compare", "idle", "rto-backoff")
LOOKS = {
    "screen": Appearance(),
    "column": Appearance(width="column"),
    "page": Appearance(width="page"),
    "slide": Appearance(style="slide"),
    "titled": Appearance(width="column", title=True, legend="below"),
    "small": Appearance(width=5.0, height=5.5, font_size=7.0),
    "beside": Appearance(width="page", legend="right", font_size=8.0),
}


@pytest.fixture(scope="module")
def backoff(samples: Path) -> mt.Analysis:
    return mt.analyze(mt.read(samples / "backoff"))


def figure(kind: str, analysis: mt.Analysis) -> Figure:
    plot = registry.load(registry.PLOTS[kind])
    return build(plot, [Subject("backoff", analysis.measurement, analysis.results)], PlotOptions())


def simple(**changes: object) -> Figure:
    x = np.arange(1.0, 11.0)
    series = Series("s", "snd_data", x, x**3, label="data of 192.0.2.1:80")
    panel = Panel("sequence", Axis("Sequence number", "bytes"), (series,))
    return replace(Figure("simple", "192.0.2.1:80", (panel,), (0.0, 11.0), subtitle="facts"), **changes)


def within(box: Bbox, paper: Bbox) -> bool:
    return bool(paper.x0 <= box.x0 and box.x1 <= paper.x1 and paper.y0 <= box.y0 and box.y1 <= paper.y1)


def check(drawn: MplFigure) -> None:
    """No word and no legend leaves the paper; no legend lies on another, or on a panel."""
    drawn.canvas.draw()
    paper = drawn.bbox.padded(1)
    for one in (*drawn.texts, *drawn.legends):
        box = one.get_window_extent()
        assert within(box, paper), one
    for axes in drawn.axes:
        box = axes.get_tightbbox()
        assert within(box, paper), axes.get_ylabel()
    boxes = [one.get_window_extent() for one in drawn.legends]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.padded(-1).overlaps(other.padded(-1))
    for box in boxes:
        for axes in drawn.axes:
            assert not box.padded(-1).overlaps(axes.get_window_extent().padded(-1))


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_cut_and_no_legend_overlaps(backoff: mt.Analysis, kind: str, look: str) -> None:
    drawn = mpl.draw(figure(kind, backoff), appearance=LOOKS[look])
    check(drawn)
    words = "".join(text.get_text() for one in drawn.legends for text in one.get_texts())
    assert words
    assert "…" not in words


@pytest.mark.parametrize("width", WIDTHS)
def test_a_width_in_columns_is_that_of_the_file(width: str) -> None:
    drawn = mpl.draw(simple(), appearance=Appearance(width=width))
    assert drawn.get_size_inches()[0] == pytest.approx(WIDTHS[width])
    assert drawn.dpi == 300
    assert drawn.get_size_inches()[1] < drawn.get_size_inches()[0]


def test_a_stated_size_is_kept() -> None:
    drawn = mpl.draw(simple(), appearance=Appearance(width=5.0, height=3.0, dpi=200))
    assert drawn.get_size_inches().tolist() == [5.0, 3.0]
    assert drawn.dpi == 200


def test_a_height_without_room_is_refused_with_the_height_that_is_needed(backoff: mt.Analysis) -> None:
    shown = figure("multilayer", backoff)
    with pytest.raises(UsageError, match=r"give at least [\d.]+ inches") as refused:
        mpl.draw(shown, appearance=Appearance(width="column", height=2.0))
    needed = float(str(refused.value).split("at least ")[1].split()[0])
    check(mpl.draw(shown, appearance=Appearance(width="column", height=needed + 0.1)))


def test_a_size_of_the_program_grows_instead(backoff: mt.Analysis) -> None:
    drawn = mpl.draw(figure("multilayer", backoff), size=(3.0, 1.5), appearance=Appearance(font_size=7.0))
    assert drawn.get_size_inches()[1] > 1.5
    check(drawn)


def test_the_title_is_left_out_on_paper_and_kept_as_the_label() -> None:
    drawn = mpl.draw(simple(), appearance=Appearance(style="paper"))
    assert drawn.texts == []
    assert drawn.get_label() == "192.0.2.1:80. facts"
    titled = mpl.draw(simple(), appearance=Appearance(style="paper", title="Our link"))
    assert [text.get_text() for text in titled.texts] == ["Our link"]
    assert len(mpl.draw(simple(), appearance=Appearance(title=False)).texts) == 0


def test_no_legend_leaves_the_room_to_the_panels() -> None:
    with_legend, without = (
        mpl.draw(simple(), appearance=Appearance(legend=place)) for place in ("right", "none")
    )
    assert without.legends == []
    assert without.axes[0].get_position().width > with_legend.axes[0].get_position().width


def test_names_stand_in_the_place_of_addresses() -> None:
    drawn = Appearance(names={"192.0.2.1": "server"}).dressed(simple())
    assert drawn.title == "server:80"
    assert drawn.panels[0].series[0].label == "data of server:80"


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("10.0.0.1:80 → 10.0.0.10:5", "a:80 → 10.0.0.10:5"),
        ("110.0.0.1:80", "110.0.0.1:80"),
        ("[2001:db8::1]:80 → [2001:db8::10]:5", "six:80 → [2001:db8::10]:5"),
        ("10.0.0.2:443", "web"),
        ("10.0.0.2:4430", "10.0.0.2:4430"),
    ],
)
def test_a_name_replaces_whole_words(title: str, named: str) -> None:
    names = {"10.0.0.1": "a", "2001:db8::1": "six", "10.0.0.2:443": "web"}
    assert Appearance(names=names).dressed(simple(title=title)).title == named


def test_logarithmic_axes_leave_out_what_is_not_positive() -> None:
    x = np.array([-1.0, 0.0, 0.5, 50.0])
    panel = Panel(
        "p",
        Axis("y", "bytes"),
        (Series("s", "snd_data", x, np.array([1.0, 2.0, 0.0, 1e4])),),
        (Marks("m", "timeout", np.array([0.0, 20.0]), np.array([-3.0, 30.0]), letter="R", label="mark"),),
    )
    drawn = mpl.draw(Figure("f", "t", (panel,), (-1.0, 60.0)), appearance=Appearance(log="xy"))
    axes = drawn.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xlim()[0] > 0
    assert axes.get_ylim()[0] > 0
    assert axes.get_lines()[0].get_xdata().tolist() == [50.0]
    check(drawn)


def test_a_folded_time_axis_is_not_logarithmic(backoff: mt.Analysis) -> None:
    with pytest.raises(UsageError, match="neither folded"):
        mt.plot(backoff, "rtt", fold_s=3.0, log="x")


def test_a_colour_of_a_role_is_used(backoff: mt.Analysis) -> None:
    drawn = mt.plot(backoff, "throughput", colors={"throughput": "#123456"})
    assert "#123456" in {str(line.get_color()) for axes in drawn.axes for line in axes.get_lines()}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"style": "poster"}, "screen, paper, slide"),
        ({"width": "colum"}, "column, page"),
        ({"width": 0.1}, "between 1 and 200"),
        ({"height": float("nan")}, "between"),
        ({"legend": "left"}, "auto, right, below, none"),
        ({"log": "z"}, "x, y, xy"),
        ({"colors": {"goodputt": "red"}}, "did you mean goodput"),
        ({"font_size": 1.0}, "font size"),
    ],
)
def test_what_is_unusable_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Appearance(**options)  # type: ignore[arg-type]


def test_a_word_that_is_no_colour_is_refused() -> None:
    with pytest.raises(UsageError, match="no colour"):
        mpl.draw(simple(), appearance=Appearance(colors={"snd_data": "plaid"}))


def test_options_go_to_what_is_shown_and_to_how_it_is_drawn() -> None:
    content, look = split_options({"from_s": 1.0, "width": "page"})
    assert (content.from_s, look.width) == (1.0, "page")
    with pytest.raises(TypeError, match="did you mean width"):
        split_options({"widht": 3})


def test_lines_are_as_narrow_as_asked_and_lose_nothing() -> None:
    words = "TcpSnd_ssthresh (threshold) 2001:db8:85a3:8d3:1319:8a2e:370:7348 of the sender"
    lines = wrapped(words, 60.0, 7.0, most=20)
    assert all(text_width(line, 7.0) <= 60.0 for line in lines)
    assert "".join("".join(lines).split()) == "".join(words.split())
    assert wrapped("a b c d e f g h", 12.0, 10.0, most=1)[0].endswith("…")
    assert wrapped("", 10.0, 10.0) == [""]


def test_transfers_that_are_far_apart_share_a_logarithmic_axis(samples: Path) -> None:
    several = {name: mt.analyze(mt.read(samples / name)) for name in ("bbr", "backoff")}
    subjects = [Subject(name, one.measurement, one.results) for name, one in several.items()]
    shown = build(registry.load(registry.PLOTS["compare"]), subjects, PlotOptions())
    assert shown.x_log
    assert any("logarithmic" in note for note in shown.notes)
    check(mpl.draw(shown, appearance=Appearance(width="column")))
    alone = build(registry.load(registry.PLOTS["compare"]), subjects[:1], PlotOptions())
    assert not alone.x_log


def test_the_words_of_a_wait_do_not_meet_those_of_its_timeout(backoff: mt.Analysis) -> None:
    drawn = mpl.draw(figure("rto-backoff", backoff))
    drawn.canvas.draw()
    texts = [text for axes in drawn.axes for text in axes.texts if text.get_text()]
    assert sum("RTO" in text.get_text() for text in texts) == 3
    for one, other in itertools.combinations(texts, 2):
        boxes = one.get_window_extent().padded(-1), other.get_window_extent().padded(-1)
        assert not boxes[0].overlaps(boxes[1]), (one.get_text(), other.get_text())


def test_support_measurements_are_drawn_in_every_style() -> None:
    shown = registry.load(registry.PLOTS["multilayer"]).build(
        support_plots.measurement(), support_plots.results(), PlotOptions()
    )
    for look in LOOKS.values():
        check(mpl.draw(shown, appearance=look))
