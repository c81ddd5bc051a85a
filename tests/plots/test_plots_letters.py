"""Words and pixels of pictures: shaped, painted and packed once, and the same as matplotlib's."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure as MplFigure
from matplotlib.font_manager import FontProperties
from PIL import Image
from support_plots import measurement, results

from multitracer.plots.drawable_text import FONT
from multitracer.plots.figures import multilayer
from multitracer.plots.mpl import agg, label, png, renderer as mpl, rules
from multitracer.plots.plot import PlotOptions

LINES = (
    "10.77.9.1:43012 → 10.77.9.2",
    "AVATAR To. 4 × 21 ms",
    "office first",
    "i",
    "",
    " ",
    "  a  b ",
    '" "',
)

by_letter = pytest.mark.skipif(not agg.BY_LETTER, reason="this matplotlib draws a line of words at once")


@by_letter
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(("size", "weight", "dpi"), [(10.0, "normal", 100.0), (9.5, "bold", 84.0)])
def test_words_are_as_large_as_matplotlib_measures_them(line, size, weight, dpi):
    font = FontProperties(family=FONT, size=size, weight=weight)
    ours, theirs = agg.Renderer(9, 9, dpi), RendererAgg(9, 9, dpi)
    for _ in range(2):  # the second time they are remembered
        found = ours.get_text_width_height_descent(line, font, False)
        assert found == pytest.approx(theirs.get_text_width_height_descent(line, font, False), abs=1e-9)


@by_letter
@pytest.mark.parametrize("angle", [0.0, 30.0, 90.0])
@pytest.mark.parametrize(("x", "y"), [(60.0, 60.0), (60.4, 60.7)])
def test_letters_stand_at_most_half_a_pixel_from_where_matplotlib_paints_them(angle, x, y):
    font = FontProperties(family=FONT, size=11.0)
    middles, inks = [], []
    for make in (agg.Renderer, RendererAgg):
        renderer = make(150, 150, 100.0)
        gc = renderer.new_gc()
        gc.set_foreground("black")
        renderer.draw_text(gc, x, y, "To 4 ms", font, angle)
        ink = np.asarray(renderer.buffer_rgba())[..., 3].astype(float)
        middles.append([(np.indices(ink.shape)[axis] * ink).sum() / ink.sum() for axis in (0, 1)])
        inks.append(ink.sum())
    assert middles[0] == pytest.approx(middles[1], abs=0.55)
    assert inks[0] == pytest.approx(inks[1], rel=0.03)


def test_a_panel_without_numbers_has_a_line_where_the_last_one_has_a_tick():
    """Also where its limits are changed later, as in a notebook."""
    fig = mpl.draw(multilayer.build(measurement(), results(), PlotOptions()), size=(8.0, 5.0), dpi=80.0)
    upper, *_, last = fig.axes
    for window in (last.get_xlim(), (1.0, 3.0)):
        last.set_xlim(*window)
        fig.canvas.draw()
        ticks = last.xaxis.get_majorticklocs()
        seen = ticks[(ticks >= window[0]) & (ticks <= window[1])]
        (grid,) = (one for one in upper.get_children() if isinstance(one, rules.Grid))
        (strokes,) = (one for one in upper.get_children() if isinstance(one, rules.Strokes))
        assert np.asarray(strokes.get_xdata()) == pytest.approx(seen)
        assert np.asarray(grid.get_xdata())[::3] == pytest.approx(seen)
        assert len(seen) > 1


def test_a_text_is_laid_out_anew_when_its_words_change():
    fig = MplFigure(figsize=(2.0, 1.0), dpi=100.0)
    renderer = agg.Canvas(fig).get_renderer()
    words = label.Label(0.0, 0.0, "short", figure=fig)
    fig.add_artist(words)
    before = words.get_window_extent(renderer)
    assert words.get_window_extent(renderer).bounds == before.bounds
    words.set_text("longer words")
    assert words.get_window_extent(renderer).width > before.width
    words.set_rotation(90.0)
    assert words.get_window_extent(renderer).height > before.height


def _drawn() -> MplFigure:
    return mpl.draw(multilayer.build(measurement(), results(), PlotOptions()), size=(8.0, 5.0), dpi=80.0)


@pytest.mark.parametrize("most", [png.SHADES, 0])
def test_a_palette_hardly_changes_a_picture(monkeypatch, most):
    """Made of the colours, or of the pixels where there are too many colours."""
    monkeypatch.setattr(png, "SHADES", most)
    fig, file = _drawn(), io.BytesIO()
    png.write(fig, file, colors=192)
    wanted = np.asarray(fig.canvas.buffer_rgba())[..., :3].astype(int)
    with Image.open(file) as image:
        assert image.mode == "P"
        found = np.asarray(image.convert("RGB")).astype(int)
    assert found[0, 0].tolist() == wanted[0, 0].tolist(), "the ground"
    assert np.abs(found - wanted).max() < 40
    assert np.abs(found - wanted).mean() < 1.5


def test_few_colours_are_kept_as_they_are():
    fig, file = MplFigure(figsize=(1.0, 1.0), facecolor="#123456"), io.BytesIO()
    agg.Canvas(fig)
    png.write(fig, file, colors=16)
    with Image.open(file) as image:
        assert image.convert("RGB").getcolors() == [(100 * 100, (0x12, 0x34, 0x56))]
