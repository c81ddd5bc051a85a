"""docs/accuracy-coverage.md: the files and tests that it names exist."""

from __future__ import annotations

import re

import pytest
from support_samples import ROOT

PAGE = (ROOT / "docs" / "accuracy-coverage.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| what")
]
FOLDERS = {
    "tracker/": "rust/core/src/tracker/",
    "capture/": "rust/core/src/capture/",
    "analyzers/": "multitracer/analyzers/",
    "tests/": "tests/",
}


def full(path: str) -> str:
    for short, long in FOLDERS.items():
        if path.startswith(short):
            return long + path.removeprefix(short)
    return f"tests/analyzers/{path}"


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_page_has_its_rows() -> None:
    assert len(ROWS) >= 35
    assert all(len(row) == 3 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_is_named_exists(row: list[str]) -> None:
    _, places, tests = row
    (place,) = names(places)
    assert (ROOT / full(place)).is_file()
    assert names(tests)
    for one in names(tests):
        path, _, function = one.partition("::")
        word = "fn" if path.endswith(".rs") else "def"
        source = (ROOT / full(path)).read_text(encoding="utf-8")
        assert re.search(rf"^\s*{word} {function}\(", source, re.MULTILINE), one
