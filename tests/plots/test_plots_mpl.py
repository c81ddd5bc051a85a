"""The matplotlib renderer: valid files, safe words, nothing global."""

from __future__ import annotations

import concurrent.futures
import io
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import matplotlib as mpl_package
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as MplFigure
from PIL import Image
from support_plots import measurement, results

from multitracer import registry
from multitracer.model.errors import UsageError
from multitracer.plots import plot as plotting
from multitracer.plots.drawable_text import FONT, drawable
from multitracer.plots.figures import multilayer
from multitracer.plots.mpl import png, renderer as mpl
from multitracer.plots.mpl.axes import clock
from multitracer.plots.mpl.label_placement import LabelPlacement
from multitracer.plots.mpl.text import HINTED, text_width, wrapped
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Role, Series, Spans
from multitracer.plots.plot import PlotOptions
from multitracer.plots.theme import THEMES

MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}


def built(**options) -> Figure:
    return multilayer.build(measurement(), results(), PlotOptions(**options))


def texts(fig: MplFigure) -> list[str]:
    from matplotlib.text import Text

    fig.canvas.draw()
    return [text.get_text() for text in fig.findobj(Text) if text.get_text()]


def simple(**changes) -> Figure:
    x = np.arange(10.0)
    panel = Panel(
        "sequence", Axis("Sequence number", "bytes"), (Series("s", "snd_data", x, x, label="data"),)
    )
    return replace(Figure("simple", "Title", (panel,), (0.0, 9.0)), **changes)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_file_of_each_format_is_valid(tmp_path, suffix):
    path = tmp_path / f"figure{suffix}"
    mpl.draw(built(), path)
    content = path.read_bytes()
    assert content.startswith(MAGIC[suffix])
    if suffix == ".svg":
        assert ET.fromstring(content).tag.endswith("svg")
    if suffix == ".pdf":
        assert content.rstrip().endswith(b"%%EOF")
    assert os.listdir(tmp_path) == [path.name]


def test_a_png_has_the_size_asked_for(tmp_path):
    path = tmp_path / "figure.png"
    mpl.draw(built(), path, size=(16, 10), dpi=100)
    assert int.from_bytes(path.read_bytes()[16:20], "big") == 1600
    assert int.from_bytes(path.read_bytes()[20:24], "big") == 1000


@pytest.mark.parametrize("name", ["figure.gif", "figure", "figure.png.txt"])
def test_an_unknown_suffix_lists_the_known(tmp_path, name):
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        mpl.draw(simple(), tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_does_not_exist_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="cannot write"):
        mpl.draw(simple(), tmp_path / "missing" / "figure.png")


def test_a_failed_save_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "figure.png"
    path.write_bytes(b"old")
    fig = mpl.draw(simple())
    monkeypatch.setattr(png, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(UsageError, match="No space left"):
        mpl.save(fig, path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_colours_ground_and_words(theme):
    from matplotlib.colors import to_hex

    fig = mpl.draw(built(dark=theme == "dark"))
    assert to_hex(fig.get_facecolor()) == THEMES[theme].ground
    assert to_hex(fig.axes[0].get_facecolor()) == THEMES[theme].ground


def test_every_role_has_a_look_in_every_theme():
    from typing import get_args

    for theme in THEMES.values():
        assert set(theme.looks) == set(get_args(Role))


def test_axes_carry_units_and_legends_the_rates():
    words = texts(mpl.draw(built()))
    assert "Time since the first TCP event [s]" in words
    assert "Sequence number (layers offset) [bytes]" in words
    assert "trend: 6.4 kbit/s" in words
    assert "T: timeout, genuine (1)" in words
    assert "RlpSnd_rst: link resets (1)" in words


def test_labels_of_the_figure_do_not_overlap():
    from matplotlib.text import Text

    fig = mpl.draw(built())
    fig.canvas.draw()
    boxes = []
    for text in fig.findobj(Text):
        ticks = [
            tick for axes in fig.axes for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_ticklabels()
        ]
        if text.get_text() and text.get_visible() and text not in ticks:
            boxes.append((text.get_text(), text.get_window_extent()))
    for i, (one, box) in enumerate(boxes):
        for other, another in boxes[i + 1 :]:
            overlap = min(box.x1, another.x1) - max(box.x0, another.x0)
            height = min(box.y1, another.y1) - max(box.y0, another.y0)
            assert overlap <= 1 or height <= 1, (one, other)


@pytest.mark.parametrize(
    "hostile",
    [
        "$\\frac{1}{0$",
        "a$b$c^{",
        "\x00\x1b[31m\x07",
        "x" * 100_000,
        "</text><script>",
        "\ud800",
        "漢字 \U0001f4a9",
        "",
        "%s{}",
    ],
)
def test_hostile_words_are_drawn_as_words(tmp_path, hostile):
    x = np.array([1.0, 2.0])
    panel = Panel(
        "sequence",
        Axis(hostile, hostile),
        (Series(hostile, "snd_data", x, x, label=hostile, group=hostile),),
        (
            Marks(hostile, "timeout_genuine", x, x, letter="R", label=hostile, texts=(hostile, hostile)),
            Marks("v", "link_reset", x, label=hostile, texts=(hostile, hostile)),
        ),
    )
    lanes = Panel(
        "lanes",
        Axis("", ""),
        lanes=(hostile,),
        spans=(Spans("s", "idle_unknown", x, x + 50, hostile, hostile, texts=(hostile, "")),),
    )
    figure = Figure("f", hostile, (lanes, panel), (0.0, 3.0), subtitle=hostile, notes=(hostile,))
    for suffix in (".png", ".svg"):
        mpl.draw(figure, tmp_path / f"figure{suffix}", size=(8, 5))
    ET.fromstring((tmp_path / "figure.svg").read_bytes())


def test_words_are_cut_and_made_drawable():
    assert drawable("a" * 50, 10) == "a" * 9 + "…"
    assert drawable("one\n\ttwo\x00", 20) == "one two?"


def test_a_million_points_are_drawn_as_few(tmp_path):
    n = 1_000_000
    x = np.linspace(0.0, 100.0, n)
    y = 1e6 * np.sin(x / 7) ** 2
    y[123_456] = 5e6  # a single extreme that decimation must not lose
    panel = Panel(
        "sequence",
        Axis("Sequence number", "bytes"),
        (
            Series("p", "snd_data", x, y, label="points"),
            Series("s", "snd_ack", x, y, kind="steps", label="steps"),
        ),
        (Marks("m", "fast_retransmit", x[::100], y[::100], letter="3", label="marks"),),
    )
    path = tmp_path / "million.svg"
    fig = mpl.draw(Figure("f", "Title", (panel,), (0.0, 100.0)), path)
    drawn = {line.get_gid(): line for line in fig.axes[0].get_lines()}
    assert len(drawn["p"].get_xdata()) < 100_000
    assert drawn["p"].get_ydata().max() == 5e6
    assert drawn["s"].get_ydata().max() == 5e6
    assert len(drawn["m"].get_xdata()) == n // 100
    assert path.stat().st_size < 3_000_000


def test_values_that_are_not_numbers_are_left_out():
    x = np.array([0.0, 1.0, 2.0, np.nan])
    y = np.array([1.0, np.nan, np.inf, 3.0])
    panel = Panel("sequence", Axis("y", "bytes"), (Series("s", "snd_data", x, y),))
    fig = mpl.draw(Figure("f", "t", (panel,), (0.0, 2.0)))
    assert fig.axes[0].get_lines()[0].get_xdata().tolist() == [0.0]


def test_an_unusable_size_is_a_usage_error():
    with pytest.raises(UsageError, match="too small or too large"):
        mpl.draw(simple(), size=(1e6, 1e6))


def test_drawing_leaves_global_settings_alone_and_works_in_threads(tmp_path):
    before = dict(mpl_package.rcParams)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        paths = [tmp_path / f"{i}.png" for i in range(4)]
        list(pool.map(lambda path: mpl.draw(built(), path, size=(8, 5)), paths))
    assert dict(mpl_package.rcParams) == before
    assert len({path.read_bytes() for path in paths}) == 1


def test_the_package_never_loads_pyplot():
    code = (
        "import sys; import numpy as np; from multitracer.plots.mpl import renderer as mpl;"
        "from multitracer.plots.panel import *;"
        "p = Panel('p', Axis('y', 'B'), (Series('s', 'snd_data', np.arange(3.), np.arange(3.)),));"
        "mpl.draw(Figure('f', 't', (p,), (0., 2.)));"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_description_is_free_of_matplotlib():
    code = (
        "import sys, multitracer.plots.figures.multilayer;"
        "sys.exit('matplotlib' in sys.modules or 'pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_plot_draw_and_save_are_the_short_way(tmp_path):
    plot = registry.load(registry.PLOTS["multilayer"])
    fig = plotting.draw(plot, measurement(), results())
    plotting.save(fig, tmp_path / "short.png")
    assert (tmp_path / "short.png").read_bytes().startswith(MAGIC[".png"])


def test_absolute_time_is_the_time_of_day():
    words = texts(mpl.draw(built(absolute_time=True)))
    assert "Time of day (UTC, 2023-11-14) [h:min:s]" in words
    assert "22:13:30" in words


@pytest.mark.parametrize(
    ("seconds", "decimals", "said"),
    [
        (0.0, 0, "00:00:00"),
        (59.9996, 3, "00:01:00.000"),
        (86_399.6, 0, "00:00:00"),
        (3_725.25, 3, "01:02:05.250"),
    ],
)
def test_clock_words(seconds, decimals, said):
    assert clock(seconds, decimals) == said


def test_placement_refuses_what_is_taken_and_what_leaves():
    placement = LabelPlacement(100.0, 100.0)
    assert placement.take(50, 50, 20, 10)
    assert not placement.take(55, 52, 20, 10)
    assert not placement.take(2, 50, 20, 10)
    placement.block(np.array([80.0, -5.0, np.nan]), np.array([20.0, 20.0, 20.0]), data=True)
    assert not placement.take(80, 20, 8, 8)
    assert placement.take(80, 20, 8, 8, over_data=True)


def test_placement_knows_lines_between_points():
    placement = LabelPlacement(400.0, 100.0)
    placement.trace(np.array([10.0, 300.0, np.nan]), np.array([50.0, 50.0, 1.0]))
    assert not placement.take(150, 50, 20, 10)
    assert placement.take(150, 70, 20, 10)
    assert placement.take(350, 50, 20, 10)
    placement.trace(np.zeros(0), np.zeros(0))


def test_placement_keeps_off_rules_where_it_can():
    placement = LabelPlacement(400.0, 100.0)
    placement.rule(np.array([200.0, -4.0, 1e9]))
    assert not placement.take(190, 50, 40, 10, over_rules=False)
    assert placement.take(190, 50, 40, 10)
    assert placement.take(100, 50, 40, 10, over_rules=False)


def test_a_number_keeps_its_unit() -> None:
    words = "reset handshake (3 × 4.5 s)"
    room = text_width("reset handshake (3 × 4.5", 9.0)
    assert wrapped(words, room, 9.0) == ["reset handshake", "(3 × 4.5 s)"]
    assert wrapped(words, 2 * room, 9.0) == [words]
    assert wrapped("newreno (n = 10)", 50.0, 8.0) == ["newreno", "(n = 10)"]


def test_a_png_has_the_pixels_that_matplotlib_writes(tmp_path):
    fig = mpl.draw(built())
    fig.savefig(tmp_path / "theirs.png", dpi=fig.dpi, facecolor=fig.get_facecolor())
    mpl.save(fig, tmp_path / "ours.png")
    with Image.open(tmp_path / "ours.png") as ours, Image.open(tmp_path / "theirs.png") as theirs:
        assert ours.mode == "RGB"
        assert ours.info == theirs.info
        assert (np.asarray(ours.convert("RGBA")) == np.asarray(theirs)).all()
    assert os.path.getsize(tmp_path / "ours.png") < 1.1 * os.path.getsize(tmp_path / "theirs.png")


def test_a_png_of_a_ground_that_lets_through_keeps_doing_so(tmp_path):
    fig = mpl.draw(built())
    fig.set_facecolor("none")
    mpl.save(fig, tmp_path / "figure.png")
    with Image.open(tmp_path / "figure.png") as image:
        assert image.mode == "RGBA"


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("words", ["10.77.9.1:43012 \u2192 10.77.9.2", "AVATAR To. 4 \u00d7 21 ms", "i", ""])
def test_width_of_words_is_that_of_matplotlib(words, bold):
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family=FONT, size=10.0, weight="bold" if bold else "normal")
    theirs = TextToPath().get_text_width_height_descent(words, font, False)[0]
    assert text_width(words, 10.0, bold=bold) / HINTED == pytest.approx(theirs, abs=1.0)


def test_a_palette_without_memory_for_it_is_no_fault_of_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Pillow raises where it cannot allocate: the command then says that memory is what is missing."""

    def refuse(*_: object, **__: object) -> None:
        raise ValueError("quantization error")

    monkeypatch.setattr(Image.Image, "quantize", refuse)
    figure = MplFigure()
    FigureCanvasAgg(figure)
    with pytest.raises(MemoryError, match="quantization error"):
        png.write(figure, io.BytesIO(), colors=64)
