"""The head of the page in words, and the command that writes it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support_samples import Run

import multitracer as mt
from multitracer.output.unanswered import by_reason, unanswered
from multitracer.report.facts import facts
from multitracer.report.page_text import portable
from multitracer.report.sections import diagnosis
from multitracer.report.sortable import MOST_ROWS, Row, sortable, whole
from multitracer.report.tables import sources


def test_the_page_says_what_analyze_says(analyzed: Callable[[str], dict[str, Any]]) -> None:
    contract = analyzed("link-resets-vj")
    found = facts(contract)
    said = [sentence["text"] for sentence in contract["diagnosis"]]
    assert [fact.text.lower() for fact in found] == [f"{text}.".lower() for text in said]
    resets = next(fact for fact in found if fact.kind == "link_reset")
    assert resets.title == "Link resets"
    assert resets.cost_s == contract["diagnosis"][1]["cost_s"]
    assert "rlp.log.gz 4,640, 2,932, 10,699" in resets.evidence
    # The most expensive reset first: that is also the one of the command.
    chains = {chain["chain"]: chain for chain in contract["chains"]}
    costs = {chain["start"]: chain["cost_s"] for chain in chains.values()}
    assert [costs[start] for start, _ in resets.places] == sorted(
        (costs[start] for start, _ in resets.places), reverse=True
    )
    assert len(resets.places) == 3
    assert f"--from {int(resets.places[0][0]) - 1}" in resets.command


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("flow-control", ["utilization", "queue", "xoff"]),
        ("local-drops", ["utilization", "local_drop"]),
        ("backoff", ["utilization", "link_reset"]),
    ],
)
def test_the_story_comes_first(
    analyzed: Callable[[str], dict[str, Any]], name: str, kinds: list[str]
) -> None:
    found = facts(analyzed(name))
    assert [fact.kind for fact in found][: len(kinds)] == kinds
    assert all(fact.places for fact in found[1:3] if fact.kind != "queue")


def test_idle_phases_that_belong_to_no_chain_are_the_places_of_their_sentence() -> None:
    contract = {
        "chains": [{"chain": 1, "events": [{"what": "idle", "t": 3.0}], "start": 0.0, "end": 9.0}],
        "idle_phases": [
            {"start": 3.0, "end": 8.0, "cause": "application"},
            {"start": 10.0, "end": 11.0, "cause": "application"},
            {"start": 12.0, "end": 15.0, "cause": "application"},
            {"start": 20.0, "end": 29.0, "cause": "receiver_window"},
        ],
        "diagnosis": [
            {
                "text": "the link was idle",
                "kind": "idle_application",
                "cost_s": 4.0,
                "cost_bounds_s": [4.0, 4.0],
                "evidence": [],
                "command": None,
                "chains": [],
            }
        ],
    }
    (only,) = facts(contract)
    assert only.title == "Limited by: application"
    assert only.places == ((12.0, 15.0), (10.0, 11.0))


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


def test_no_path_of_the_machine_is_on_the_page(run: Run, samples: Path, tmp_path: Path) -> None:
    folder = tmp_path / "home of someone" / "run 7"
    shutil.copytree(samples / "link-resets-vj", folder)
    done = run("report", folder.resolve(), "-o", tmp_path / "report.html")
    assert done.returncode == 0
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "home of someone" not in text
    assert "multitracer plot &#x27;run 7&#x27; --from" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plot", "/data/run 7/snd.pcap", "--from", "3"], "plot snd.pcap --from 3"),
        (["plot", "C:\\data\\snd.pcap"], "plot snd.pcap"),
        (["plot", "runs/7", "-o", "a b.png"], "plot runs/7 -o 'a b.png'"),
        (["plot", "/"], "plot /"),
        ([], ""),
    ],
)
def test_commands_of_a_page_name_files_without_their_folder(words: list[str], said: str) -> None:
    assert portable(words) == said


def test_a_log_without_segments_or_frames_has_a_page_without_a_figure(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    drops = tmp_path / "drops.tr"
    drops.write_text("d 1.5 2 3 tcp 1040 ------- 1 0.0 3.0 7 12\n" * 3)
    done = run("report", drops, "-o", page)
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


def test_page_and_terminal_leave_the_same_questions_open(
    samples: Path,
) -> None:
    found = mt.analyze(mt.read(samples / "local-drops" / "snd.pcap"))
    contract = found.to_dict()
    assert {"goodput", "losses"} <= contract["inconclusive"].keys(), "answered from one capture all the same"
    open_questions = unanswered(contract)
    assert not {"goodput", "losses"} & open_questions.keys()
    listed = str(sources(contract)).partition("Not answered ")[2]
    for reason, names in by_reason(open_questions):
        assert f"<b>{', '.join(name.replace('_', ' ') for name in names)}</b>: {reason}" in listed
    assert listed.count("<li>") == len(by_reason(open_questions))


@pytest.mark.parametrize("together", [1, 2])
def test_nobody_asks_one_connection_how_it_shares_nor_one_capture_for_hops(
    samples: Path, together: int
) -> None:
    run = samples / "local-drops"
    both = [run / "snd.pcap", run / "rcv.pcap"]
    contract = mt.analyze(mt.read(*both[:together])).to_dict()
    contract["inconclusive"] |= {"hops": "needs three", "fairness": "needs a capture"}
    assert ("hops" in unanswered(contract)) == (together > 1)
    assert "fairness" not in unanswered(contract)
    contract["connections"] *= 2
    assert "fairness" in unanswered(contract)
    contract["inconclusive"]["fairness"] = "no two connections competed at the same time"
    assert "fairness" not in unanswered(contract), "no other capture would tell"


def test_without_a_cost_nothing_is_said_of_costs(analyzed: Callable[[str], dict[str, Any]]) -> None:
    contract = analyzed("link-resets-vj")
    found = facts(contract)
    dear = str(diagnosis(contract, found))
    assert "Cost: how much sooner the transfer of" in dear
    assert "unpriced" not in dear
    free = str(diagnosis(contract, [replace(fact, cost_s=None) for fact in found]))
    assert "sooner" not in free
    assert 'class="facts unpriced"' in free
