"""What is compared: outputs of batches, directories of measurements, single measurements."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from multitracer.batch.budget import Budget, budgets
from multitracer.batch.comparison import Change, compare as compare_metrics, read_summary
from multitracer.batch.difference import Difference, difference
from multitracer.batch.progress import Report
from multitracer.batch.rows import COLUMNS, record_of
from multitracer.batch.run import batch
from multitracer.batch.storage import is_remote, store
from multitracer.model.errors import NothingToRead
from multitracer.model.frozen import frozen

FACTORS = (
    "goodput_bps", "rtt_base_ms", "rtt_mean_ms", "bottleneck_bps", "retransmissions", "timeouts",
    "timeouts_spurious", "duplicate_bytes", "utilization", "link_resets", "local_drops",
)  # fmt: skip
"""Metrics shown with the causes."""

MOST_LEFT_OUT = 20


@frozen
class _Side:
    rows: Sequence[Mapping[str, Any]]
    failed: tuple[str, ...]


def compare(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    *,
    processes: int | None = None,
    progress: Report | None = None,
) -> Difference:
    """Compare the transfers of two measurements, or of two sets of them: how much time differs, and why.

    Parameters
    ----------
    before, after : path
        Each the output of a batch (its summary is read), a directory whose measurements are analysed now, or
        a file. Paths of fsspec work for outputs and directories.
    processes : int, optional
        For directories: as many as there are cores by default.
    progress : callable, optional
        As of `multitracer.batch`.

    Returns
    -------
    Difference

    Raises
    ------
    UsageError
        A set has no measurement with data.
    UnreadableFile, NothingToRead
        No such path, or nothing readable in it, or no measurement of it could be analysed.
    MemoryError
        No measurement of a directory could be analysed, for want of memory.

    Examples
    --------
    >>> import multitracer as mt
    >>> found = mt.compare("sample_traces/flow-control", "sample_traces/link-resets-vj")
    >>> found.verdict
    'one measurement each'
    """
    paths = os.fspath(before), os.fspath(after)
    sides = [_side(path, processes, progress) for path in paths]
    sets = [budgets(side.rows) for side in sides]
    found = difference(sets[0], sets[1], paths)
    return replace(
        found,
        before=replace(found.before, left_out=_left_out(sides[0], sets[0])),
        after=replace(found.after, left_out=_left_out(sides[1], sets[1])),
        factors=_factors(sides),
        settings=_settings(sides),
        notes=_notes(found, sets),
    )


def _side(path: str, processes: int | None, progress: Report | None) -> _Side:
    if is_remote(path) or os.path.isdir(path):
        place = store(path)
        if place.exists("batch.json") and place.exists("summary.csv"):
            return _Side(read_summary(path, place.read("summary.csv")), ())
        found = batch(path, processes=processes, pages="none", progress=progress)
        if found.failed and not found.rows:
            why = found.failed[0]["error"]
            if why["kind"] == "memory-limit":
                raise MemoryError
            raise NothingToRead(f"{path}: {why['text']}")
        return _Side(found.rows, tuple(record["name"] for record in found.failed))
    return _Side(_one(path), ())


def _one(path: str) -> list[dict[str, Any]]:
    """The rows of a file: named as a directory that is one measurement, so that both make a pair."""
    from multitracer.api.pipeline import analyze, read

    measurement = read(path, detail="auto")
    record = record_of(analyze(measurement).to_dict(), measurement.settings)
    return [{"name": "."} | one | record["parameters"] for one in record["connections"]]


def _left_out(side: _Side, used: Sequence[Budget]) -> tuple[str, ...]:
    names = {one.name for one in used}
    idle = sorted({str(row["name"]) for row in side.rows} - names)
    return tuple([*side.failed, *idle][:MOST_LEFT_OUT])


def _factors(sides: Sequence[_Side]) -> list[Change]:
    return compare_metrics(sides[0].rows, sides[1].rows, FACTORS)


def _settings(sides: Sequence[_Side]) -> dict[str, tuple[Any, Any]]:
    """Parameters that have one value in each set, and not the same."""
    values: list[dict[str, Any]] = []
    for side in sides:
        mine: dict[str, set[Any]] = {}
        for row in side.rows:
            for name, value in row.items():
                if name not in COLUMNS:
                    mine.setdefault(name, set()).add(value)
        values.append({name: next(iter(all_)) for name, all_ in mine.items() if len(all_) == 1})
    before, after = values
    return {
        name: (before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }


def _notes(found: Difference, sets: Sequence[Sequence[Budget]]) -> list[str]:
    notes = []
    if found.verdict == "one measurement each":
        notes.append(
            "One measurement each: a repetition could differ as much. Repeat both, and compare sets."
        )
    elif found.verdict == "too few runs":
        notes.append("Too few measurements for a test: it needs 4 in each set, or 6 pairs of the same names.")
    methods = [frozenset().union(*(one.methods for one in side)) for side in sets]
    if methods[0] != methods[1]:
        sources = [" and ".join(sorted(one)) or "none" for one in methods]
        notes.append(
            f"The limits have different sources: {sources[0]} before, {sources[1]} after; shifts between "
            "application, receiver window and the others may come from that."
        )
    unknown = [
        sum(one.seconds["unknown"] for one in side) / sum(one.total_s for one in side) for side in sets
    ]
    if max(unknown) > 0.2:
        notes.append(
            f"The cause is unknown for {100 * max(unknown):.0f}% of the time; a capture at the "
            "sender shows more."
        )
    return notes
