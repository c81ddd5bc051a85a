"""What users read is in the field's terms: the docs, and the strings of the program."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from support_samples import ROOT
from words import OLD_WORDS, old_words

PACKAGE = ROOT / "multitracer"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

MADE_FROM_CODE = {"docs/diagnosis.md": "## Every kind"}
"""Pages of which a part is made from strings of rooms below: from this heading on."""

NOT_YET = ("diagnosis",)
"""Rooms whose strings are not yet all in these terms; take one out when it is."""

STILL_OLD = {
    "analyzers/acks.py": {"bunches"},
    "layers/crosslayer/idlecause.py": {"bytes outstanding"},
    "model/schema/results.py": {"bunches"},
    "plots/figures/link_burst.py": {"hole"},
}
"""Old words of the other rooms that are still there, by file: mostly names of tables and dimensions."""

FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in NOT_YET)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def said(findings: list[tuple[int, str, str]]) -> str:
    return "\n".join(f"line {line}: {word!r}: say {say}" for line, word, say in findings)


def written(page: Path) -> str:
    """The text of a page, without what is made from code."""
    text = page.read_text(encoding="utf-8")
    begin = MADE_FROM_CODE.get(name_of(page))
    if begin is None:
        return text
    head, found, _ = text.partition(f"\n{begin}\n")
    assert found, f"{name_of(page)} has no {begin!r} any more"
    return head


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """String constants that can reach users: all but docstrings, those of commands included."""
    inner = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list) or (isinstance(node, ast.FunctionDef) and node.decorator_list):
            continue  # click prints the docstring of a command
        inner |= {id(line.value) for line in body if isinstance(line, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.lineno, node.value


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_docs_are_in_the_fields_terms(page: Path) -> None:
    found = old_words(written(page))
    assert not found, said([tuple(one) for one in found])


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_strings_are_in_the_fields_terms(file: Path) -> None:
    known = STILL_OLD.get(str(file.relative_to(PACKAGE)), set())
    found = [
        (line, one.word, one.say)
        for line, text in strings(ast.parse(file.read_text(encoding="utf-8")))
        for one in old_words(text)
        if one.word not in known
    ]
    assert not found, said(found)


def test_rooms_are_there() -> None:
    assert {"cli", "plots", "report", "batch", "export"} <= {
        path.relative_to(PACKAGE).parts[0] for path in FILES
    }
    assert all((PACKAGE / room).is_dir() for room in NOT_YET)
    assert all((PACKAGE / file).is_file() for file in STILL_OLD)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("35 segments sent\n  again", ["sent again"]),
        ("It was Sent Twice; a hole.", ["Sent Twice", "hole"]),
        ("a whole packet; the wholesale pipeline; `pipe` of RFC 6675", []),
        ("round-trip time; test_round_trips", []),
        ("smallest round trip", ["round trip"]),
        ("slow start behind a timeout", ["behind a timeout", "start behind"]),
    ],
)
def test_words_are_found(text: str, words: list[str]) -> None:
    assert sorted(one.word for one in old_words(text)) == sorted(words)


def test_docstrings_of_commands_count_and_others_do_not() -> None:
    code = '''
"""A hole."""
@command
def run():
    """A hole in a command."""
    f"{x} was sent again"
def helper():
    """A hole that nobody reads."""
    return "ruined"
'''
    texts = [text for _, text in strings(ast.parse(code))]
    assert sorted(one.word for text in texts for one in old_words(text)) == ["hole", "ruined", "sent again"]


def test_replacements_are_given() -> None:
    assert all(old.say for old in OLD_WORDS)
