"""All files about a whole batch; those of single measurements are there already."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from multitracer.batch.budget import budgets
from multitracer.batch.comparison import compare
from multitracer.batch.difference import Difference, difference
from multitracer.batch.index import index_page
from multitracer.batch.naming import folder, page_file, record_file
from multitracer.batch.outcome import Batch
from multitracer.batch.rows import COLUMNS
from multitracer.batch.rules import Rule, broken, slowdown
from multitracer.batch.storage import Store
from multitracer.batch.study import pivot
from multitracer.batch.summary import csv_bytes, dataset_files, has_parquet, parquet_bytes
from multitracer.batch.verdicts import junit, markdown

_NAME = re.compile(r"[^\0\ud800-\udc7f\udd00-\udfff]+")  # as os.fsdecode may return it
PIVOT_COLUMNS = ("metric", "median", "q1", "q3", "min", "max", "std", "n", "runs")
CHANGE_COLUMNS = (
    "metric", "before", "after", "n_before", "n_after", "difference", "low", "high", "paired", "sure",
)  # fmt: skip


def write_all(
    place: Store,
    found: Batch,
    pivots: Sequence[tuple[str, str, str | None]],
    baseline: Sequence[Mapping[str, Any]] | None,
    partition_by: Sequence[str],
    dataset: bool,
    rules: Sequence[Rule] = (),
) -> None:
    """Write summary, studies, data set, page, and last batch.json, which marks them as complete.

    Rules that are broken go into `Batch.broken`, junit.xml and summary.md.

    What the run before wrote and this one does not is taken away: its other studies, and the results of
    measurements that no longer exist (`Batch.removed`).

    Parameters
    ----------
    place : Store
        Where files are written.
    found : Batch
        The batch.
    pivots : sequence of (str, str, str or None)
        Of each study: the metric, the parameter by row, and the one by column or None.
    baseline : sequence of mapping of str to Any or None
        Rows of the summary to compare with; None without one.
    partition_by : sequence of str
        Columns by which the data set is partitioned.
    dataset : bool
        Whether to write a data set in addition to the summary.
    rules : sequence of Rule
        What no measurement may show.
    """
    rows, names = found.rows, [*COLUMNS, *found.parameters]
    files: dict[str, bytes] = {"summary.csv": csv_bytes(rows, names)}
    if has_parquet():
        files["summary.parquet"] = parquet_bytes(rows, names)
    if dataset:
        files |= dataset_files(rows, names, partition_by)
    studies = [pivot(rows, *one) for one in pivots]
    for one in studies:
        keys = [one.rows, *([one.columns] if one.columns else [])]
        name = folder(f"{one.metric}-over-{'-'.join(keys)}")
        files[f"studies/{name}.csv"] = csv_bytes(one.table(), [*keys, *PIVOT_COLUMNS])
    changes = None if baseline is None else compare(baseline, rows)
    if changes is not None:
        files["comparison.csv"] = csv_bytes([one.to_dict() for one in changes], CHANGE_COLUMNS)
    slower = _difference(baseline, rows)
    found.broken = broken(rules, found.records)
    if slower is not None:
        tested = slower.verdict not in ("no difference shown", "too few runs")
        about = [rule for rule in rules if rule.name == "slowdown"]
        found.broken += [bad for rule in about if (bad := slowdown(rule, slower.share, tested))]
    files["junit.xml"] = junit(found, found.broken)
    files["summary.md"] = markdown(found, found.broken).encode("utf-8", "backslashreplace")
    files["index.html"] = index_page(found, studies, changes, slower).encode("utf-8")
    before = _before(place)
    for stale in sorted(_written_by(before) - files.keys()):
        place.remove(stale)
    found.removed = sorted(_measured_by(before) - {record["name"] for record in found.records})
    for name in found.removed:
        place.remove(page_file(name))
        place.remove(record_file(name))
    for name, content in files.items():
        place.write(name, content)
    place.write("batch.json", json.dumps(state(found, sorted(files)), indent=1, allow_nan=False).encode())


def _difference(
    baseline: Sequence[Mapping[str, Any]] | None, rows: Sequence[Mapping[str, Any]]
) -> Difference | None:
    """Transfer time against the baseline; None without one, or without data on a side."""
    before, after = budgets(baseline or ()), budgets(rows)
    return difference(before, after, ("baseline", "this batch")) if before and after else None


def state(found: Batch, files: Sequence[str]) -> dict[str, Any]:
    """What batch.json holds, and ``multitracer batch --json`` prints."""
    import multitracer

    return {
        "multitracer": multitracer.__version__,
        "batch": 1,
        "done": len(found.done),
        "flagged": [
            {"name": record["name"], "utilization": record["utilization"]["value"]}
            for record in found.flagged
        ],
        "failed": [{"name": record["name"], **record["error"]} for record in found.failed],
        "unread": [asdict(one) for one in found.unread],
        "flag_below": found.flag_below,
        "spurious_timeouts": spurious(found),
        "broken": [asdict(one) for one in found.broken],
        "causes": [
            {
                "cause": one["cause"],
                "kind": one["kind"],
                "measurements": one["measurements"],
                "s": round(one["s"], 6),
            }
            for one in found.causes()
        ],
        "parameters": found.parameters,
        "measurements": [record["name"] for record in found.records],
        "files": list(files),
    }


def spurious(found: Batch) -> int:
    """Spurious timeouts of all connections."""
    return sum(one["timeouts_spurious"] or 0 for record in found.done for one in record["connections"])


def _before(place: Store) -> dict[str, Any]:
    """What batch.json records of the last run; empty if there was none."""
    try:
        found = json.loads(place.read("batch.json") or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _written_by(run: Mapping[str, Any]) -> set[str]:
    """Files of a run, only such as a run may write."""
    return {
        name
        for name in _words(run.get("files"))
        if name.startswith(("dataset/", "studies/", "comparison.csv")) and ".." not in name
    }


def _measured_by(run: Mapping[str, Any]) -> set[str]:
    return set(_words(run.get("measurements")))


def _words(listed: Any) -> list[str]:
    """Of what should be a list of names, those that a file can have."""
    if not isinstance(listed, list):
        return []
    return [name for name in listed if isinstance(name, str) and _NAME.fullmatch(name)]
