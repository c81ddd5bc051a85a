"""The index page: in a browser, with names and words that want to be more than text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_page import browser, opened

from multitracer.batch.budget import budgets
from multitracer.batch.comparison import compare
from multitracer.batch.difference import difference
from multitracer.batch.difference_page import difference_page
from multitracer.batch.find import Unread
from multitracer.batch.index import index_page
from multitracer.batch.outcome import Batch, flag_rule, goodput_bps
from multitracer.batch.rows import COLUMNS
from multitracer.batch.verdicts import markdown

EVIL = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>\u202e\udcff"


def record(name: str, value: float | None, **parameters: Any) -> dict[str, Any]:
    row = dict.fromkeys(COLUMNS, None) | dict.fromkeys(
        ("bytes", "duplicate_bytes", "retransmissions", "timeouts", "timeouts_spurious"), 3
    )
    row |= {"goodput_bps": 1000.0, "utilization": value, "flows": 2, "jain": 0.9, "goodput_std_bps": 7.0}
    return {
        "name": name,
        "status": "done",
        "page": None,
        "utilization": {"value": value, "basis": "link log"},
        "causes": [{"cause": EVIL, "kind": "idle", "share": 0.2, "s": 1.0}],
        "diagnosis": [{"title": EVIL, "text": EVIL, "kind": "x", "cost_s": 2.0}],
        "issues": [
            {"code": "unreadable-file", "severity": "error", "count": 1, "detail": EVIL, "path": EVIL}
        ],
        "parameters": parameters,
        "connections": [row],
    }


def batch_of(*values: float | None) -> Batch:
    records = [
        record(f"{at:02d} {EVIL}", value, **{EVIL: EVIL, "mtu": 576 + at % 2})
        for at, value in enumerate(values)
    ]
    failed = {"name": EVIL, "status": "failed", "error": {"kind": "unreadable", "text": EVIL}}
    return Batch([*records, failed], [Unread(EVIL, EVIL)])


def test_figures_fit_a_phone(tmp_path: Path) -> None:
    page_file = tmp_path / "index.html"
    page_file.write_text(index_page(batch_of(0.99, 0.5, 0.95), [], None), encoding="utf-8")
    with browser(tmp_path / "profile") as context, opened(context, page_file) as (page, _):
        for width, narrow in ((390, True), (1400, False)):
            page.set_viewport_size({"width": width, "height": 900})
            image = page.locator("figure img").first
            image.scroll_into_view_if_needed()
            box = image.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert image.evaluate("(one) => one.currentSrc !== one.src") is narrow


def test_nothing_runs_and_everything_filters(tmp_path: Path) -> None:
    found = batch_of(0.99, 0.5, None, 0.95, 0.97)
    pivots = [found.pivot("utilization", "mtu"), found.pivot("goodput_bps", EVIL, "mtu")]
    page_file = tmp_path / "index.html"
    text = index_page(found, pivots, compare(found.rows, found.rows))
    page_file.write_text(text, encoding="utf-8")
    with browser(tmp_path / "profile") as context, opened(context, page_file) as (page, noticed):
        assert page.inner_text("#count") == "6 shown"
        assert page.locator("#flagged .facts > li").count() == 2
        assert "50.0%" in page.inner_text("#flagged .facts > li:first-child")
        page.click("details.tools > summary")
        page.fill("#most", "96")
        assert page.inner_text("#count") == "2 of 6 shown"
        page.fill("#most", "")
        page.select_option("select[aria-label=state]", "failed")
        assert page.inner_text("#count") == "1 of 6 shown"
        page.select_option("select[aria-label=state]", "")
        page.select_option("select[aria-label=mtu]", "577")
        assert page.inner_text("#count") == "2 of 6 shown"
        page.select_option("select[aria-label=mtu]", "")
        page.fill("#find", "04 <img")
        assert page.inner_text("#count") == "1 of 6 shown"
        page.fill("#find", "")
        page.click("#measurements thead th:nth-child(3) button")
        assert page.inner_text("#measurements tbody tr:first-child td:nth-child(3)") == "50.0%"
        assert page.locator("img[src=x]").count() == 0
        assert (noticed.errors, noticed.dialogs, noticed.requests[1:]) == ([], [], [])


def test_a_phone_shows_every_cell_with_its_name(tmp_path: Path) -> None:
    page_file = tmp_path / "index.html"
    page_file.write_text(index_page(batch_of(0.99, 0.5), [], None), encoding="utf-8")
    with browser(tmp_path / "profile") as context, opened(context, page_file) as (page, noticed):
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
        beyond = "() => [...document.querySelectorAll('#measurements td')]"
        beyond += ".filter((one) => one.getBoundingClientRect().right > innerWidth).length"
        assert page.evaluate(beyond) == 0
        cell = page.locator("#measurements tbody tr:first-child td:nth-child(3)")
        assert cell.get_attribute("data-name") == "utilization"
        page.click("#measurements thead th:nth-child(3) button")
        assert cell.inner_text() == "50.0%", "headings sort on a phone, too"
        assert noticed.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_histogram_is_shown_once(tmp_path: Path, scheme: str) -> None:
    page_file = tmp_path / "index.html"
    page_file.write_text(index_page(batch_of(0.99, 0.5), [], None), encoding="utf-8")
    with (
        browser(tmp_path / "profile") as context,
        opened(context, page_file, color_scheme=scheme) as (page, _),
    ):
        for inverted in (scheme == "dark", scheme == "light"):
            assert page.locator("figure img:visible").count() == 1
            turned = page.locator("figure img").evaluate("(one) => getComputedStyle(one).filter")
            assert ("invert" in turned) is inverted
            page.click("#theme")


def test_what_broke_off_or_stalled_is_flagged() -> None:
    records = [record(name, value) for name, value in (("a", None), ("b", 0.99), ("c", None), ("d", 0.97))]
    for one, kind in zip(records, ("unfinished", "standstill", "loss", "loss"), strict=True):
        one["diagnosis"] = [{"title": "Title", "text": "Text.", "kind": kind, "cost_s": None}]
    # A stall that is not the main cause.
    records[3]["diagnosis"].append({"title": "Title", "text": "Text.", "kind": "standstill", "cost_s": None})
    found = Batch(records)
    assert [one["name"] for one in found.flagged] == ["a", "b"]
    assert flag_rule(found) == "utilization of 95% or less; the path stalled, the transfer broke off"
    text = index_page(found, [], None)
    assert "unknown" in text
    assert "the transfer broke off" in text
    assert "| a | unknown |" in markdown(found, [])


def test_numbers_without_a_browser() -> None:
    text = index_page(batch_of(None, None), [], None)
    assert "no utilization is known" in text.lower()
    assert "<img src=x" not in text
    assert "script-src &#x27;sha256-" in text
    assert [one["name"][:2] for one in batch_of(0.9, 0.2, 0.96).flagged] == ["01", "00"]


@pytest.mark.parametrize("width", [800, 1400])
def test_no_table_of_a_comparison_goes_beyond_the_page(tmp_path: Path, width: int) -> None:
    def side(prefix: str, share: float) -> list[dict[str, Any]]:
        limits = {"limit_bandwidth": share, "limit_loss_recovery": 1 - share, "limits_method": "inferred"}
        facts = {"bytes": 641_374, "duration_s": 2.0 - share, "limits_s": 2.0 - share, "rtt_base_ms": 35.0}
        return [limits | facts | {"name": f"{prefix}{n}", "retransmissions": n} for n in range(5)]

    found = difference(budgets(side("a", 0.9)), budgets(side("b", 0.2)), ("before", "after"))
    page_file = tmp_path / "compare.html"
    page_file.write_text(difference_page(found), encoding="utf-8")
    with browser(tmp_path / "profile") as context, opened(context, page_file) as (page, _):
        page.set_viewport_size({"width": width, "height": 800})
        beyond = (
            "() => [...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth - one.clientWidth)"
        )
        assert page.evaluate(beyond) == [0, 0]


def test_goodput_and_bytes_are_of_all_connections() -> None:
    flows = [
        {"bytes": 1_000_000, "start_s": 0.0, "duration_s": 1.0, "goodput_bps": 8e6},
        {"bytes": 3_000_000, "start_s": 2.0, "duration_s": 2.0, "goodput_bps": 12e6},
    ]
    assert goodput_bps({"connections": flows}) == 8e6
    assert goodput_bps({"connections": flows[:1]}) == 8e6
    assert goodput_bps({"connections": flows[1:]}) == 12e6
    assert goodput_bps({"connections": []}) is None
