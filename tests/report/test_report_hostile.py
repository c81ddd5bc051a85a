"""A trace that attacks the page: nothing of it runs, everything of it is shown as text."""

from __future__ import annotations

import html
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support_page import browser, opened, settled

import multitracer as mt
from multitracer.model.errors import Issue
from multitracer.report import render
from multitracer.report.markup import data_block, raw, tag

ATTACKS = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "' onmouseover='alert(4)",
    "javascript:alert(5)",
    "</title></style><svg onload=alert(6)>",
    "<!--<script>",
    "$$\\href{javascript:alert(7)}{x}$$",
    "@x{safe}<b onclick=alert(8)>",
    "\u202egnp.exe\u2028\ud800\x00\x1b[31m",
)
ALL = " ".join(ATTACKS)


def attacked(samples: Path, sample: str = "link-resets-vj") -> Any:
    """An analysis in which every word that a trace or a setting can carry attacks."""
    measurement = mt.read(samples / sample)
    measurement.entities[:] = [ALL for _ in measurement.entities]
    measurement.settings = {ALL: {ALL: ALL}}
    analysis = mt.analyze(measurement)  # while the files can still be found: some answers read them again
    for trace in measurement.traces:
        source = trace.source
        source.path = f"/{ALL.replace('/', '')}/{ALL.replace('/', '')}-{source.layer}"
        source.details = {ALL: ALL}
        source.point = ALL
        trace.issues.append(Issue("skipped-file", detail=ALL, path=source.path))
    measurement.issues.append(Issue("skipped-file", detail=ALL, path=ALL))
    for result in analysis.results.values():
        _poison(result.summary)
    return analysis


def _poison(value: Any) -> None:
    """Free words of the results (causes, evidence) as if a plug-in had copied them from a trace."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("because", "evidence", "cause", "recovery", "entity") and isinstance(inner, str):
                value[key] = ALL
            else:
                _poison(inner)
    elif isinstance(value, list):
        for inner in value:
            _poison(inner)


class Elements(HTMLParser):
    """Names of the elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts: list[dict[str, str | None]] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        if name == "script":
            self.scripts.append(found)
        self.attributes |= set(found)
        self.links += [str(found[key]) for key in ("href", "src", "action") if key in found]


@pytest.fixture(scope="module")
def hostile(samples: Path) -> Any:
    return attacked(samples)


def test_nothing_of_a_trace_becomes_markup(hostile: Any) -> None:
    page = render(hostile, title=ALL)
    found = Elements(page)
    runs = [script for script in found.scripts if script.get("type") != "application/json"]
    assert runs == [{}, {}]  # Bokeh and ours, inline
    assert not any(name.startswith("on") for name in found.attributes)
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in found.links)
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "\x00" not in page


def test_nothing_of_a_trace_runs(hostile: Any, tmp_path: Path) -> None:
    path = tmp_path / "<img src=x onerror=alert(9)>.html"
    hostile.report(path)
    with browser(tmp_path / "profile") as context, opened(context, path) as (shown, noticed):
        box = shown.locator("#figure").bounding_box()
        for share in (0.2, 0.3, 0.5, 0.84):  # hovers, over lanes, marks and curves
            for down in (60, 90, 120, 250, 330, 420, 600):
                shown.mouse.move(box["x"] + share * box["width"], box["y"] + down)
        shown.click("#resets tbody tr")
        shown.click("#legend button >> nth=0")
        shown.click("#issues thead button >> nth=0")
        shown.click("#theme")
        settled(shown)
        assert noticed.dialogs == []
        assert noticed.errors == []
        assert noticed.requests == [path.as_uri()]
        assert ATTACKS[0] in shown.inner_text("#issues")


def test_a_notebook_shows_it_as_text(hostile: Any) -> None:
    for shown in (hostile, hostile.measurement):
        found = Elements(shown._repr_html_())
        assert found.scripts == []
        assert not any(name.startswith("on") for name in found.attributes)


@pytest.mark.parametrize("words", ATTACKS)
def test_markup_escapes(words: str) -> None:
    made = tag("p", words, title=words)
    assert made.count("<") == 2  # <p ...> and </p>
    assert html.unescape(made).count("\x00") == 0
    block = data_block("id", {"words": words})
    assert block.lower().count("</script") == 1
    assert "<!--" not in block


def test_a_script_that_would_end_early_is_refused() -> None:
    for content in ("a</SCRIPT>b", "a<!-- b"):
        with pytest.raises(ValueError, match="unsafe"):
            raw("script", content)
