"""What a published study says, row by row, beside ours: the table that a page begins with.

A study's own `findings.py` has `findings(rows)`, which computes ours from the kept summary, and may have
`notes(rows)`, paragraphs of the page. Medians over runs
(or over seeds), with the 95% interval of the median by bootstrap (Efron 1979); a verdict follows from the
numbers, so that other runs may turn it.
"""

from __future__ import annotations

import csv
import importlib.util
import math
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from multitracer.batch.parameters import plain
from multitracer.output.cells import original

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "studies"
RESAMPLES = 4000
WIDTH = 140
SEED = 20040216
HEADS = ("where", "published", "its number", "ours", "agrees, or why not")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """One figure, table or finding of the paper.

    Attributes
    ----------
    where : str
        Where the paper has it.
    published, number : str
        What it says, and the number that it gives.
    ours : str
        The same of our runs, with an interval.
    agrees : bool or None
        None: one of them has nothing to compare.
    why : str
        Why it does not, or what else is to be said; needed unless it agrees.
    """

    where: str
    published: str
    number: str
    ours: str
    agrees: bool | None
    why: str = ""

    def cells(self) -> tuple[str, ...]:
        """The row of the table.

        Raises
        ------
        ValueError
            A cell is empty: something is left unsaid.
        """
        verdict = {True: "**agrees**", False: "**differs**", None: "**not comparable**"}[self.agrees]
        told = f"{verdict}: {self.why}" if self.why else verdict
        cells = (self.where, self.published, self.number, self.ours, told)
        if not all(cells) or (self.agrees is not True and not self.why):
            raise ValueError(f"{self.where}: {self.published}: an empty cell")
        return cells


@dataclass(frozen=True)
class Interval:
    """A median, the 95% interval of it by bootstrap, and of how many values it is.

    Up to five values the interval is their range, which holds the median of all possible values with a
    probability of 1 - 2^(1 - n): 94% with five, 88% with four, 75% with three.
    """

    median: float
    low: float
    high: float
    n: int

    def text(self, digits: int = 2, unit: float = 1.0) -> str:
        """As cells have it; a single value has no interval."""
        middle, low, high = (f"{value / unit:.{digits}f}" for value in (self.median, self.low, self.high))
        return f"{middle} ({low} to {high})" if self.n > 1 else f"{middle} (n = 1)"

    @property
    def above_zero(self) -> bool:
        """Whether all of it is above zero."""
        return self.low > 0

    @property
    def below_zero(self) -> bool:
        """Whether all of it is below zero."""
        return self.high < 0


def interval(values: Iterable[float]) -> Interval:
    """The median of some values; resampling is the same at every call.

    Raises
    ------
    ValueError
        There are none.
    """
    found = np.array([value for value in values if not math.isnan(value)], dtype=float)
    if not len(found):
        raise ValueError("no values")
    drawn = np.random.default_rng(SEED).choice(found, (RESAMPLES, len(found)))
    low, high = np.percentile(np.median(drawn, axis=1), (2.5, 97.5))
    return Interval(float(np.median(found)), float(low), float(high), len(found))


def where(rows: Iterable[Row], **conditions: Any) -> list[Row]:
    """Rows in which the columns have these values; a tuple: one of them."""
    return [
        row
        for row in rows
        if all(
            row[name] in wanted if isinstance(wanted, tuple) else row[name] == wanted
            for name, wanted in conditions.items()
        )
    ]


def grouped(
    rows: Iterable[Row], metric: str, by: Sequence[str], middle: Callable[[Any], Any] = np.mean
) -> dict[tuple[Any, ...], float]:
    """A metric's mean (or other `middle`) for each combination of columns, of the rows that have it."""
    values: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        if row.get(metric) is not None:
            values.setdefault(tuple(row[name] for name in by), []).append(float(row[metric]))
    return {key: float(middle(mine)) for key, mine in values.items()}


def ratios(above: Mapping[Any, float], below: Mapping[Any, float]) -> list[float]:
    """Quotients of what both have."""
    return [above[key] / below[key] for key in above if below.get(key)]


def differences(above: Mapping[Any, float], below: Mapping[Any, float]) -> list[float]:
    """Differences of what both have."""
    return [above[key] - below[key] for key in above if key in below]


def kept(name: str) -> list[dict[str, Any]]:
    """The rows of docs/studies/NAME.csv; words that look like numbers are numbers, empty cells None."""
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return [
            {
                key: None if not value else original(value) if key == "name" else plain(original(value))
                for key, value in row.items()
            }
            for row in csv.DictReader(file)
        ]


def table(found: Sequence[Finding]) -> str:
    """The table of a page, in Markdown."""
    lines = ["| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|"]
    lines += ["| " + " | ".join(one.cells()) + " |" for one in found]
    return "\n".join(lines) + "\n"


def of_study(study: str, rows: Sequence[Row]) -> list[Finding]:
    """What the study's own module finds in its kept summary."""
    found: list[Finding] = _module(study).findings(rows)
    return found


def notes(study: str, rows: Sequence[Row]) -> str:
    """Paragraphs with numbers computed from the kept summary: `notes(rows)` of the study's own module."""
    paragraphs: list[str] = _module(study).notes(rows)
    text = ""
    for one in paragraphs:
        item = one.startswith("- ")
        text += "\n" if text and not item else ""
        text += textwrap.fill(one, WIDTH, subsequent_indent="  " * item, break_on_hyphens=False) + "\n"
    return text


def _module(study: str) -> ModuleType:
    file = Path(__file__).resolve().parent / study / "findings.py"
    spec = importlib.util.spec_from_file_location(f"findings_of_{study.replace('-', '_')}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
