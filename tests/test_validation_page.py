"""The table of docs/validation.md has no figure of its own: each stands on the page that its row names."""

from __future__ import annotations

import re

import pytest
from support_samples import ROOT

DOCS = ROOT / "docs"
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def rows(text: str) -> list[list[str]]:
    """The cells of every row of a page's tables, heads and rules left out."""
    lines = [line.strip() for line in text.splitlines()]
    tables = [line for line in lines if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in tables]


def numbers(text: str) -> list[float]:
    return [float(found.rstrip(",").replace(",", "")) for found in NUMBER.findall(text)]


def sums(text: str) -> set[float]:
    """Sums of the columns of each table of a page, of cells that are one number."""
    found = set()
    for table in re.findall(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE):
        for column in zip(*rows(table), strict=False):
            found.add(sum(float(cell.replace(",", "")) for cell in column if NUMBER.fullmatch(cell)))
    return found


RESULTS = [row for row in rows((DOCS / "validation.md").read_text(encoding="utf-8")) if row[0] != "what"]


def test_every_validation_page_has_a_row() -> None:
    pages = {path.name for path in DOCS.glob("validation-*.md")}
    named = {re.findall(r"\]\(([\w-]+\.md)\)", row[-1])[0] for row in RESULTS}
    assert len(pages) > 4
    assert pages <= named
    assert len(RESULTS) > 25


@pytest.mark.parametrize("row", RESULTS, ids=lambda row: str(row[0])[:60])
def test_figures_stand_on_the_page_that_is_named(row: list[str]) -> None:
    (name,) = re.findall(r"\]\(([\w-]+\.md)\)", row[-1])
    page = (DOCS / name).read_text(encoding="utf-8")
    there = {*numbers(page), *sums(page)}
    wanted = numbers(f"{row[2]} {row[3]}")
    assert wanted
    assert [number for number in wanted if number not in there] == []
