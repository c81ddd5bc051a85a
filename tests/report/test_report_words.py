"""The head of the page in words, and the command that writes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support_samples import Run

from multitracer.report.facts import facts, gap_of
from multitracer.report.tables import MOST_ROWS, Row, sortable, whole


def test_facts_come_by_cost(analyzed: Callable[[str], dict[str, Any]]) -> None:
    contract = analyzed("link-resets-vj")
    found = facts(contract)
    costs = [fact.cost_s for fact in found]
    assert costs == sorted(costs, key=lambda cost: -1 if cost is None else cost, reverse=True)
    assert found[0].title == "Link resets"
    gaps = [gap_of(reset) for reset in contract["link"]["resets"]]
    assert found[0].cost_s == pytest.approx(sum(end - start for start, end in filter(None, gaps)))
    assert found[0].places[0] == max(filter(None, gaps), key=lambda gap: gap[1] - gap[0])


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("flow-control", "Link flow control"),
        ("spurious-timeouts", "Link idle: receiver window"),
        ("local-drops", "Bytes sent twice"),
    ],
)
def test_the_story_comes_first(analyzed: Callable[[str], dict[str, Any]], name: str, first: str) -> None:
    assert facts(analyzed(name))[0].title == first


def test_two_resets_in_one_gap_cost_it_once(analyzed: Callable[[str], dict[str, Any]]) -> None:
    contract = json.loads(json.dumps(analyzed("link-resets-vj")))
    cost = facts(contract)[0].cost_s
    contract["link"]["resets"].append(contract["link"]["resets"][0])
    twice = next(fact for fact in facts(contract) if fact.title == "Link resets")
    assert twice.cost_s == pytest.approx(cost)


def test_long_tables_say_that_they_are_cut() -> None:
    made = sortable("t", "T", ("n",), (Row((whole(n),)) for n in range(MOST_ROWS + 7)))
    assert made.count("<tr>") == MOST_ROWS + 1
    assert f"{MOST_ROWS + 7:,} rows" in made


def test_the_command_writes_one_file(run: Run, samples: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("report", samples / "flow-control", "-o", page, "--json", "--title", "<Tuesday>")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"report": {"path": str(page), "bytes": page.stat().st_size}}
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    text = page.read_text(encoding="utf-8")
    assert "<title>&lt;Tuesday&gt; · MultiTracer</title>" in text
    assert "default-src &#x27;none&#x27;" in text
    assert "unsafe-eval" not in text.split("</head>")[0]


def test_a_log_without_segments_or_frames_has_a_page_without_a_figure(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    done = run("report", samples / "flow-control" / "ss.log.gz", "-o", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "Nothing to draw" in text
    assert len(text) < 100_000  # no figure, no BokehJS


@pytest.mark.parametrize("output", ["page.pdf", "missing/page.html"])
def test_places_that_cannot_be_written_are_refused(
    run: Run, samples: Path, tmp_path: Path, output: str
) -> None:
    done = run("report", samples / "flow-control", "-o", tmp_path / output)
    assert done.returncode == 2
    assert "page" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
