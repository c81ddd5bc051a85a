"""docs/diagnosis.md has a row for every kind of sentence, as the code has its rule; `explain` prints it."""

from __future__ import annotations

import json
import re

import pytest
from support_samples import ROOT, Run

from multitracer.diagnosis.field.sentences import SENTENCES
from multitracer.diagnosis.findings.logs import KINDS
from multitracer.diagnosis.findings.rules import RULES
from multitracer.model.schema.results import IDLE_CAUSES

PAGE = ROOT / "docs" / "diagnosis.md"
BEGIN = "|---|---|---|---|\n"


def rows() -> str:
    return "".join(
        f"| `{kind}`: {rule.title} | {rule.when} | {rule.measured} | {rule.source} |\n"
        for kind, rule in RULES.items()
    )


def test_the_page_has_the_rules_of_the_code(request: pytest.FixtureRequest) -> None:
    head, _, table = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(head + BEGIN + rows(), encoding="utf-8")
        return
    assert table == rows(), "make golden writes the page anew"


def test_every_kind_that_is_said_has_a_rule() -> None:
    said: set[str] = set()
    for path in (ROOT / "multitracer" / "diagnosis" / "findings").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        said |= set(re.findall(r'Finding\(\w+(?:\([^)]*\))?, [\w.]+, "([a-z_]+)"', text))
        said |= set(_kinds(text))
        said |= set(re.findall(r'_finding\(\s*m,\s*"([a-z_]+)"', text))
    said |= set(SENTENCES) | set(KINDS.values()) | {"kernel_count", "ack_queue", "other_traffic", "late_data"}
    idle = {f"idle_{cause.replace('/', '_')}" for cause in IDLE_CAUSES}
    assert said | idle <= set(RULES)
    assert set(RULES) <= said | idle


def _kinds(text: str) -> list[str]:
    """Names that a line gives to `kind`, one or one of two."""
    lines = re.findall(r"^\s*kind = (.*)$", text, re.MULTILINE)
    return [word for line in lines for word in re.findall(r'"([a-z_]+)"', re.sub(r"if .* else", "", line))]


@pytest.mark.parametrize("kind", RULES)
def test_rules_are_for_people(kind: str) -> None:
    for text in RULES[kind]:
        assert text
        assert not re.search(r"\b(None|nan|True)\b|[{}|]|  ", text), text


def test_explain_prints_a_rule(run: Run) -> None:
    done = run("explain", "--sentence", "bearer_repeats")
    assert done.returncode == 0, done.stderr
    assert "200 ms" in done.stdout
    assert "TS 36.322" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 104
    found = json.loads(run("explain", "--sentence", "all", "--json").stdout)
    assert found == {kind: rule._asdict() for kind, rule in RULES.items()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sentence", "nonsense"], "no kind of sentence is called 'nonsense'"),
        (["--sentence", "loss", "--at", "3"], "give it alone"),
        (["--at", "3"], "needs the files of a measurement"),
    ],
)
def test_explain_says_what_is_wrong(run: Run, words: list[str], message: str) -> None:
    done = run("explain", *words)
    assert done.returncode == 2
    assert message in done.stderr
