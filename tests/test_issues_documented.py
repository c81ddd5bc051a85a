"""The list of issues: documented as it is, and each one provoked somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from multitracer import registry
from multitracer.model.errors import ISSUE_KINDS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "issues.md"
HEAD = """# Issues

An issue is damage or doubt, in a file or between files, that does not stop the work. Each has a code,
how often it was seen, its first record (packet or line number, from 1; 0 if no single record is the
cause) and a description. `multitracer info` and `multitracer analyze` print issues, the most severe
first; `--json` has all of them. With `--strict`, an issue of lost data ends in [status 4](exit-
status.md).

This page is made from `ISSUE_KINDS` in `multitracer/model/errors.py`;
`pytest tests/test_issues_documented.py --update-golden` writes it anew.
"""


def page() -> str:
    """The page as the list of issues has it."""
    parts = [HEAD]
    for severity, title in (("error", "Errors"), ("warning", "Warnings"), ("info", "Information")):
        parts.append(f"\n## {title}\n")
        kinds = sorted(ISSUE_KINDS.values(), key=lambda kind: kind.code)
        parts += [
            f"\n### {kind.code}\n{kind.meaning}\n\n*What to do*: {kind.advice}\n"
            for kind in kinds
            if kind.severity == severity
        ]
    return "".join(parts)


def test_page_is_the_list(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()


def test_every_severity_is_on_the_page() -> None:
    assert {kind.severity for kind in ISSUE_KINDS.values()} <= {"error", "warning", "info"}
    assert all(code == kind.code for code, kind in ISSUE_KINDS.items())


@pytest.mark.parametrize("code", ISSUE_KINDS)
def test_every_issue_is_provoked_by_a_test(code: str) -> None:
    texts = [path.read_text() for path in (ROOT / "tests").rglob("*.py") if path.name != Path(__file__).name]
    for path in (ROOT / "rust").rglob("*.rs"):
        text = path.read_text()
        inner = text.find("#[cfg(test)]")
        if "tests" in path.parts[-2:] or path.stem == "tests":
            texts.append(text)
        elif inner >= 0:
            texts.append(text[inner:])
    assert any(re.search(rf'"{code}"', text) for text in texts)


@pytest.mark.parametrize("name", registry.PARSERS)
def test_every_format_has_its_page(name: str) -> None:
    assert (ROOT / registry.parsers()[name].page).read_text().startswith("# ")
