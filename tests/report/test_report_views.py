"""Several connections on one page: chosen, searched, linked to; a click on a point tells its packet."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support_page import Noticed, browser, opened, settled, window

import multitracer as mt
from multitracer.api.selection import select
from multitracer.api.views import each_connection, worth_seeing
from multitracer.plots.bokeh.pack import deflate
from multitracer.report import write
from multitracer.report.facts import Fact
from multitracer.report.sections import diagnosis, headline

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import generate


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("capture") / "many '<b>.pcap"
    with path.open("wb") as file:
        generate.write_to(file, "parallel", 15_000)
    whole = mt.read(path)
    return mt.analyze(select(whole, [3, 7, 11]))


@pytest.fixture(scope="module")
def path(analysis: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("page") / "page.html"
    write(analysis, page, each=each_connection(analysis.measurement, worth_seeing(analysis)))
    return page


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture
def page(chromium: Any, path: Path) -> Iterator[Any]:
    with opened(chromium, path) as (shown, noticed):
        viewed(shown, "all")
        yield shown
        assert noticed == Noticed(requests=[path.as_uri()])


def viewed(shown: Any, key: str) -> None:
    shown.wait_for_selector(f"html[data-view='{key}']", state="attached")


def drawn(shown: Any) -> tuple[float, float]:
    """Where the first retransmission is on the screen."""
    shown.locator("#figure").scroll_into_view_if_needed()
    settled(shown)
    found = shown.evaluate("""() => {
        for (const model of Bokeh.documents[0]._all_models.values())
            if (model.name === 'panel:sequence')
                for (const r of model.renderers) {
                    const words = r.data_source.data.words;
                    if (!words || !words[0].startsWith('fast retransmit')) continue;
                    const view = Bokeh.index.find_one(model);
                    const box = view.canvas_view.el.getBoundingClientRect();
                    return [box.left + view.frame.x_scale.compute(r.data_source.data.x[0]),
                            box.top + view.frame.y_scale.compute(r.data_source.data.y[0])];
                } }""")
    return float(found[0]), float(found[1])


def test_each_connection_is_what_a_selection_gives(analysis: Any) -> None:
    numbers = worth_seeing(analysis)
    assert numbers == [3, 7, 11]
    for number, alone in zip(numbers, each_connection(analysis.measurement, numbers), strict=True):
        assert alone.to_dict() == mt.analyze(select(analysis.measurement, [number])).to_dict()
    assert len(worth_seeing(analysis, most=2)) == 2
    assert worth_seeing(mt.analyze(select(analysis.measurement, [3]))) == []


def test_search_and_choose_and_all_follows(page: Any) -> None:
    assert page.inner_text("#diagnosis h2").startswith("Limited by: handshake, slow start")
    assert "2 more connections" in page.inner_text("#subtitle")
    page.click("#chooser summary")
    page.fill("#search", "40007 WINDOW")
    assert page.locator("#chooser tbody tr:visible").count() == 1
    page.keyboard.press("Enter")
    viewed(page, "7")
    assert page.url.endswith("#conn=7")
    assert "40007" in page.inner_text("#subtitle")
    assert "more connections" not in page.inner_text("#subtitle")
    assert page.inner_text("#chosen").startswith("7: 10.0.0.1:40007")
    assert page.locator("#connections tbody tr").count() == 1
    assert page.evaluate("() => Bokeh.documents.length") == 1
    page.fill("#search", "")
    page.click("#chooser tbody tr[data-view='11']")
    viewed(page, "11")
    assert "40011" in page.inner_text("#subtitle")
    page.click("#chooser button[data-view='all']")
    viewed(page, "all")
    assert "2 more connections" in page.inner_text("#subtitle")
    assert page.locator("#connections tbody tr").count() == 3


def test_a_chosen_figure_is_drawn_from_its_packed_points(page: Any, path: Path) -> None:
    page.click("#chooser summary")
    page.click("#chooser tbody tr[data-view='7']")
    viewed(page, "7")
    rows = page.evaluate("""async () => {
        const read = async (id) => JSON.parse(document.getElementById(id).textContent);
        const about = JSON.parse(new TextDecoder().decode(await inflate(await read("view-7")))).figure;
        const models = [...Bokeh.documents[0]._all_models.values()];
        const found = [];
        for (const layer of about.layers.filter((one) => one.apart)) {
            const packed = await read(`data-7-${layer.id}`);
            const mine = models.filter((m) => m.name === layer.id && m.type === "GlyphRenderer");
            found.push([packed.rows, mine.map((m) => m.data_source.data.x.length)]);
        }
        return found;
    }""")
    assert rows
    for packed, shown in rows:  # the panel first, then the strip, where most lie on others
        assert 100 < packed < 4_000
        assert max(shown) == packed
        assert min(shown) > 0


def test_times_of_other_layers_are_put_together(page: Any) -> None:
    sent = [0.5, 0.75, 1.0, 1.0, 2.5]
    acks = [0.25, 1.0, 2.0, 3.0]
    packed = {"rows": 9, "columns": [{"name": "x", "kind": "times", "of": ["L0", "L1"]}], "data": ""}
    packed["data"] = deflate(b"")
    found = page.evaluate(
        "async ([packed, known]) => [...(await unpack(packed, (id) => known[id])).x]",
        [packed, {"L0": sent, "L1": acks}],
    )
    assert found == sorted(sent + acks)


def test_a_click_tells_the_packet_and_its_story(page: Any) -> None:
    page.evaluate("() => document.getElementById('search').closest('details').open = true")
    page.click("#chooser tbody tr[data-view='7']")
    viewed(page, "7")
    x, y = drawn(page)
    page.mouse.click(x, y)
    card = page.locator("#point")
    card.wait_for()
    words = card.inner_text()
    number = re.search(r"frame\.number == (\d+)", words)
    assert number is not None
    assert f"Packet {int(number[1]):,} of many '<b>.pcap" in words
    assert f"tshark -r 'many '\"'\"'<b>.pcap' -Y \"frame.number == {number[1]}\"" in words
    assert "retransmitted (fast retransmit)" in words
    assert "duplicate ACKs since the last advance" in words
    card.locator(".copy button").first.click()
    page.wait_for_function("() => document.querySelector('#point .copy button').textContent === 'Copied'")
    page.keyboard.press("Escape")
    assert card.is_hidden()


def test_a_link_restores_the_view(chromium: Any, page: Any, path: Path) -> None:
    page.click("#chooser summary")
    page.click("#chooser tbody tr[data-view='3']")
    viewed(page, "3")
    page.keyboard.press("+")
    there = window(page)
    page.click("#link")
    page.wait_for_function("() => document.getElementById('link').textContent.startsWith('Link')")
    address = page.url
    assert re.search(r"#conn=3&from=-?[\d.]+&to=[\d.]+$", address)
    other = chromium.new_page()
    other.goto(address)
    viewed(other, "3")
    assert window(other) == there
    assert "40003" in other.inner_text("#subtitle")
    other.close()


@pytest.mark.parametrize(
    "hash_",
    ["conn=99", "conn=<img src=x onerror=alert(1)>", "conn=3&from=1e99&to=zz", "from=5&to=1", "=", "x=%zz"],
)
def test_a_wrong_address_harms_nothing(chromium: Any, path: Path, hash_: str) -> None:
    shown = chromium.new_page()
    errors: list[str] = []
    shown.on("pageerror", lambda error: errors.append(str(error)))
    shown.on("dialog", lambda dialog: (errors.append("dialog"), dialog.dismiss()))
    shown.goto(f"{path.as_uri()}#{hash_}")
    shown.wait_for_selector("html[data-data='complete']", state="attached")
    assert shown.locator("#figure canvas").count() > 0
    assert errors == []
    shown.close()


def test_a_phone_shows_list_and_card(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("#chooser summary")
    x, y = drawn(page)
    page.mouse.click(x, y)
    page.locator("#point").wait_for()
    settled(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    hidden = "() => getComputedStyle(document.querySelector('#chooser .scroll')).overflowY"
    assert page.evaluate(hidden) == "auto", "what is longer than its place does not lie over the text below"
    box = page.locator("#point").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_the_large_number_is_no_more_exact_than_its_sentence() -> None:
    use = Fact(
        3.0,
        "Use of the link",
        "Utilization about 43% (23% to 45%, estimated from captures).",
        kind="utilization",
    )
    contract = {"diagnosis": [], "inconclusive": {}}
    estimate = {"value": 0.4321, "basis": "estimate from captures"}
    words = str(diagnosis({**contract, "utilization": estimate}, [use]))
    assert ">about 43%<" in words
    assert "43.2%" not in words
    assert "Source" not in words
    words = str(diagnosis({**contract, "utilization": {"value": 0.4321, "basis": "link log"}}, [use]))
    assert ">43.2%<" in words
    assert "Source: link log." in words


def test_the_heading_claims_no_more_than_is_known() -> None:
    unknown = {"inconclusive": {"utilization": "needs a log"}}
    well = Fact(None, "All is well", "…", kind="well")
    use = Fact(3.0, "Use of the link", "…", kind="utilization")
    assert headline(unknown, []) == "No cause shows in these files"
    assert headline(unknown, [use]) == "No cause shows in these files"
    assert headline(unknown, [Fact(None, "Not known", "…", kind="unknown")]) == "The cause is not known"
    assert headline(unknown, [well, Fact(None, "", "…", kind="unknown")]) == "The cause is not known"
    assert headline({"inconclusive": {}}, [well]).startswith("All is well")
    loss = Fact(2.0, "Packet loss", "…", kind="loss", bounds_s=(0.0, 2.5))
    assert headline(unknown, [use, loss]) == "Packet loss, cost at most 2.50 s"
    wide = Fact(2.0, "Packet loss", "…", kind="loss", bounds_s=(1.0, 2.5))
    assert headline(unknown, [use, wide]) == "Packet loss, cost 2.00 s (1.00 s to 2.50 s)"
    assert headline(unknown, [use, Fact(2.0, "Packet loss", "…", kind="loss")]) == "Packet loss, cost 2.00 s"
    vague = replace(loss, cost_unknown=True)
    assert headline(unknown, [use, vague]) == "Packet loss, cost unknown"
    assert (loss.known_cost_s, vague.known_cost_s) == (2.0, None)
