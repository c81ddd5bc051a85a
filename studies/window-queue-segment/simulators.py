"""The runs of one simulator, as the kept summaries have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from published import Interval, Row, grouped, interval, where

SIZES = (2000, 8000, 32000, 64000)
SEGMENTS = (128, 256, 512)
CASE = ("flavour", "window", "queue", "segment")
KBIT = 1e3
BYTES_PER_S = 8.0
"""Bit/s in a byte per second: the published deviations are in bytes per second, as far as their size tells."""


def per_run(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One row for each run of ten flows in ns-3, whose summary has one for each flow, in order of their beginnings.

    A flow without goodput (empty, not 0) never sent data and is left out.
    """
    runs: dict[str, dict[str, Any]] = {}
    for row in where(rows, param_flows=10):
        run = runs.setdefault(str(row["name"]), dict(row) | {"flows": []})
        if row["goodput_bps"] is not None:
            run["flows"].append(float(row["goodput_bps"]))
    return [run | {"goodput_bps": float(np.mean(run["flows"]))} for run in runs.values()]


def from_words(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The same of ns-2, whose summary has a row for each run."""
    return [
        dict(row) | {"flows": [float(one) * KBIT for one in str(row["by_start_kbps"]).split()]}
        for row in where(rows, param_flows=10)
    ]


class Simulator:
    """The runs of one of both."""

    def __init__(self, name: str, single: Sequence[Row], ten: Sequence[Row]) -> None:
        self.name, self.single, self.ten = name, single, ten
        self.goodput = grouped(single, "goodput_bps", CASE, np.median)

    def cell(self, flavour: str, window: int, queue: int, segment: int) -> float:
        """Goodput of one flow [kbit/s]."""
        return self.goodput[flavour, window, queue, segment] / KBIT

    def by_run(self, metric: str, cases: Callable[[Row], bool], middle: Any = np.mean) -> Interval:
        """A statistic over cases for each run, and the interval over runs."""
        return interval(grouped(filter(cases, self.ten), metric, ("run",), middle).values())


def each(both: Sequence[Simulator], text: Callable[[Simulator], str]) -> str:
    """What each says, by name."""
    return "; ".join(f"{one.name}: {text(one)}" for one in both)
