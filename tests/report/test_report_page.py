"""The page in a browser: opened, zoomed, pointed at, clicked; nothing but itself is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_page import Noticed, browser, opened, settled, window

import multitracer as mt
from multitracer import registry
from multitracer.plots.folding import find
from multitracer.plots.mpl.axes import NUMBERS
from multitracer.plots.plot import PlotOptions
from multitracer.report import stills, write

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "link-resets-vj"


@pytest.fixture(scope="module")
def path(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("page") / "page.html"
    write(mt.analyze(mt.read(samples / "link-resets-vj")), page)
    return page


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture
def page(chromium: Any, path: Path) -> Iterator[tuple[Any, Noticed]]:
    with opened(chromium, path) as found:
        yield found
        assert found[1] == Noticed(requests=[path.as_uri()])


def test_keys_and_buttons_move_the_window(page):
    shown, _ = page
    start, end = window(shown)
    assert start < 0 < 138 < end
    shown.keyboard.press("+")
    closer = window(shown)
    assert closer[1] - closer[0] == pytest.approx((end - start) / 2, abs=0.01)
    shown.keyboard.press("ArrowRight")
    later = window(shown)
    assert later[0] - closer[0] == pytest.approx(0.2 * (closer[1] - closer[0]), abs=0.01)
    shown.click("#bar [data-key='-']")
    wider = window(shown)
    assert wider[1] - wider[0] == pytest.approx(end - start, abs=0.01)
    shown.keyboard.press("0")
    assert window(shown) == (start, end)


def test_zoom_brings_the_points_that_were_thinned_out(page):
    shown, _ = page
    shown.wait_for_selector("html[data-data='complete']", state="attached")
    count = """() => { let n = 0;
        for (const model of Bokeh.documents[0]._all_models.values())
            if (model.name === 'panel:sequence')
                for (const r of model.renderers)
                    if (r.glyph.type === 'Scatter' && r.data_source.data.ns !== undefined)
                        n = Math.max(n, r.data_source.data.x.length);
        return n; }"""
    over_all = shown.evaluate(count)
    assert 100 < over_all < 5_001  # the frames of this sample are 5,001
    for _ in range(3):
        shown.keyboard.press("+")
    settled(shown)
    # An eighth of the time, in which the link sent without a pause: its own frames, nothing thinned out.
    assert 300 < shown.evaluate(count) < 5_001 / 4


def test_a_click_on_a_row_goes_to_its_time(page):
    shown, _ = page
    shown.click("#resets tbody tr:nth-child(2)")
    start, end = window(shown)
    assert start < 50.743 < end < 80
    assert shown.get_attribute("#resets tbody tr:nth-child(2)", "data-here") == ""
    shown.click("#diagnosis .fact >> nth=0")
    first = window(shown)
    assert first != (start, end)
    windows = []
    for at in range(2):
        shown.click(f"#diagnosis .place >> nth={at}")
        windows.append(window(shown))
    assert windows[0] < windows[1], "in the order of time"
    assert first in windows, "the line goes to the most expensive"


def layers(shown: Any) -> Any:
    """Place and true time of the points of each layer of the main panel, as the page draws them."""
    settled(shown)
    return shown.evaluate("""() => {
        const plot = [...Bokeh.documents[0]._all_models.values()].find(m => m.name === 'panel:sequence');
        return plot.renderers.filter(r => r.data_source.data.t !== undefined && r.name.startsWith('L'))
            .map(r => [[...r.data_source.data.x], [...r.data_source.data.t]]); }""")


def test_empty_time_is_folded_and_unfolded_and_times_stay_true(page, path):
    shown, _ = page
    shown.wait_for_selector("html[data-data='complete']", state="attached")
    start, end = window(shown)
    before = layers(shown)
    assert all(x == t for x, t in before)
    shown.click("#fold")
    assert window(shown) == (start, end)  # in true time
    analysis = mt.analyze(mt.read(SAMPLE))
    figure = registry.plots()["multilayer"].build(analysis.measurement, analysis.results, PlotOptions())
    fold = find(figure, 0.04 * (figure.window[1] - figure.window[0]))
    assert fold is not None
    folded = layers(shown)
    assert len(folded) == len(before)
    for x, t in folded:
        assert np.allclose(x, fold.place(np.array(t)))
    ticks = shown.evaluate("""() => {
        const axis = [...Bokeh.documents[0]._all_models.values()].find(m => m.name === 'folded');
        return axis.ticker.ticks.map(place => [place, axis.major_label_overrides.get(place)]); }""")
    assert len(ticks) > 4
    assert np.allclose(
        fold.time(np.array([place for place, _ in ticks])), [float(words) for _, words in ticks]
    )
    shown.click("#resets tbody tr:nth-child(3)")  # the reset whose gap is cut
    low, high = window(shown)
    assert low < 115 < 120 < high
    shown.click("#fold")
    assert window(shown) == pytest.approx((low, high), abs=0.002)
    shown.keyboard.press("0")
    assert window(shown) == (start, end)
    assert [x for x, _ in layers(shown)] == [x for x, _ in before]


def test_a_page_can_begin_folded_with_the_time_of_day(chromium, samples, tmp_path):
    page = tmp_path / "folded.html"
    write(mt.analyze(mt.read(SAMPLE)), page, fold_s=3.0)
    with opened(chromium, page) as (shown, noticed):
        assert shown.get_attribute("#fold", "aria-pressed") == "true"
        shown.click("#clock")
        settled(shown)
        words = shown.evaluate("""() => {
            const axis = [...Bokeh.documents[0]._all_models.values()].find(m => m.name === 'folded');
            return [axis.visible, ...axis.major_label_overrides.values()]; }""")
        assert words[0] is True
        assert len(words) > 3
        assert all(re.fullmatch(r"\d\d:\d\d:\d\d(\.\d{3})?", one) for one in words[1:])
        assert noticed == Noticed(requests=[page.as_uri()])


def test_a_heading_sorts(page):
    shown, _ = page
    gaps = (
        "() => [...document.querySelectorAll('#resets tbody tr')].map(r => Number(r.cells[3].dataset.value))"
    )
    shown.click("#resets thead th:nth-child(4) button")
    assert shown.evaluate(gaps) == sorted(shown.evaluate(gaps))
    shown.click("#resets thead th:nth-child(4) button")
    assert shown.evaluate(gaps) == sorted(shown.evaluate(gaps), reverse=True)
    assert shown.get_attribute("#resets thead th:nth-child(4)", "aria-sort") == "descending"


def test_the_hover_names_the_segment_and_its_verdict(page):
    shown, _ = page
    # Where the first timeout is drawn, asked from the plot itself.
    where = """() => {
        for (const model of Bokeh.documents[0]._all_models.values())
            if (model.name === 'panel:sequence')
                for (const r of model.renderers) {
                    const words = r.data_source.data.words;
                    if (words && words[0].startsWith('timeout, genuine')) {
                        const view = Bokeh.index.find_one(model);
                        const box = view.canvas_view.el.getBoundingClientRect();
                        const frame = view.frame;
                        const x = frame.x_scale.compute(r.data_source.data.x[0]);
                        const y = frame.y_scale.compute(r.data_source.data.y[0]);
                        return [box.left + x, box.top + y];
                    }
                } }"""
    shown.locator("#figure").scroll_into_view_if_needed()
    settled(shown)
    x, y = shown.evaluate(where)
    shown.mouse.move(x - 3, y - 3)
    shown.mouse.move(x, y)
    card = shown.locator(
        ".bk-Tooltip >> text=/timeout, genuine; idle for 14\\.\\d+ s before the RTO, backoff x1/"
    )
    card.first.wait_for()


def test_a_legend_entry_hides_its_series(page):
    shown, _ = page
    button = shown.locator("#legend button", has_text="RlpSnd_data (frames)")
    layer = button.get_attribute("data-layer")
    visible = f"""() => [...Bokeh.documents[0]._all_models.values()]
        .filter(m => m.type === 'GlyphRenderer' && m.name === '{layer}').map(m => m.visible)"""
    assert all(shown.evaluate(visible))
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert not any(shown.evaluate(visible))


def test_time_of_day(page):
    shown, _ = page
    axis = """() => [...Bokeh.documents[0]._all_models.values()]
        .filter(m => m.type === 'DatetimeAxis').map(m => m.visible)"""
    assert shown.evaluate(axis) == [False]
    shown.click("#clock")
    assert shown.evaluate(axis) == [True]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_and_the_switch(chromium, path, scheme):
    other = "dark" if scheme == "light" else "light"
    with opened(chromium, path, color_scheme=scheme) as (shown, noticed):
        ground = "() => getComputedStyle(document.body).backgroundColor"
        bright = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 28)"}
        assert shown.evaluate(ground) == bright[scheme]
        filtered = "() => getComputedStyle(document.querySelector('#gaps img')).filter != 'none'"
        assert shown.evaluate(filtered) == (scheme == "dark")
        shown.click("#theme")
        assert shown.evaluate(ground) == bright[other]
        assert shown.evaluate(filtered) == (other == "dark")
        assert not noticed.errors


def test_a_phone_shows_it_without_scrolling_sideways(chromium, path):
    with opened(chromium, path) as (shown, noticed):
        shown.set_viewport_size({"width": 390, "height": 844})
        settled(shown)
        assert shown.evaluate("() => document.documentElement.scrollWidth") <= 390
        for image in shown.locator("#gaps img").all():
            image.scroll_into_view_if_needed()
            box = image.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390
            assert box["width"] / stills.SIZE[0] * NUMBERS / 72 > 9, "pixels of its numbers"
            key = image.locator("xpath=../*[@class='key']")
            assert key.bounding_box()["y"] >= box["y"] + box["height"], "its legend is below it"
        assert shown.evaluate(
            "() => [...document.querySelectorAll('#gaps figure')]"
            ".every((one) => one.scrollWidth <= one.clientWidth)"
        )
        assert not noticed.errors


def test_a_wide_screen_has_the_legend_of_a_picture_beside_it(chromium, path):
    with opened(chromium, path) as (shown, noticed):
        shown.set_viewport_size({"width": 1280, "height": 900})
        settled(shown)
        for one in shown.locator("#gaps figure").all():
            box, key = one.locator("img").bounding_box(), one.locator(".key")
            assert key.bounding_box()["x"] >= box["x"] + box["width"]
            assert key.bounding_box()["y"] < box["y"] + box["height"]
            assert key.locator("li", has_text="TcpSnd_data (segments)").count() == 1
            assert key.locator("li svg").count() == key.locator("li").count()
        assert not noticed.errors


def test_a_table_is_saved_as_csv(page, samples):
    shown, _ = page
    with shown.expect_download() as saved:
        shown.click("#resets .csv")
    assert saved.value.suggested_filename == "link-resets.csv"
    heading, *rows = Path(saved.value.path()).read_text(encoding="utf-8").splitlines()
    assert heading.startswith("at,")
    assert len(rows) == 3
    resets = mt.analyze(mt.read(samples / "link-resets-vj")).to_dict()["link"]["resets"]
    assert [float(row.split(",")[0]) for row in rows] == pytest.approx([one["t"] for one in resets])
