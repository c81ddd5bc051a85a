"""docs/paper.md: each command that it names works, and shows the sentence that it says it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support_samples import ROOT, SAMPLES, Run

import multitracer as mt
from multitracer import registry
from multitracer.diagnosis.findings.rules import RULES

PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
QUOTED = [shlex.split(text) for text in re.findall(r"`([^`]+)`", PAGE)]
COMMANDS = sorted(
    {
        tuple(words)
        for words in QUOTED
        if words[0] in ("analyze", "plot", "export") and len(words) > 1 and (SAMPLES / words[1]).is_dir()
    }
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_of_the_page_works(
    words: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SAMPLES)
    output = () if words[0] == "analyze" else ("-o", tmp_path / "out.png")
    assert run(*words, *output).returncode == 0


def test_the_page_names_figures_sentences_and_scenarios_that_exist() -> None:
    assert len(COMMANDS) > 10
    assert {words[1] for words in QUOTED if words[0] == "-k"} <= set(registry.PLOTS)
    kinds = set(re.findall(r"the sentence `(\w+)`", PAGE))
    assert len(kinds) >= 5
    assert kinds <= set(RULES)
    scenarios = {path.stem for path in (ROOT / "multitracer" / "lab" / "scenarios").glob("*.toml")}
    named = set(re.findall(r"scenario `([\w-]+)`", PAGE))
    assert named
    assert named <= scenarios


@pytest.mark.parametrize(
    ("sample", "kinds"),
    [
        ("local-drops", {"queue", "local_drop"}),
        ("link-resets-sack", {"link_burst_harmless"}),
        ("flow-control", {"xoff"}),
        ("call-dropped", {"call_dropped"}),
        ("link-resets-vj", {"utilization", "link_reset"}),
    ],
)
def test_a_measurement_shows_what_the_page_says(sample: str, kinds: set[str]) -> None:
    assert kinds <= {one["kind"] for one in mt.analyze(str(SAMPLES / sample)).to_dict()["diagnosis"]}
