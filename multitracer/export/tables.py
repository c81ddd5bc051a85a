"""CSV and Parquet of any table: of the layers, of all events, of the results."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from multitracer.export.files import named, writing
from multitracer.layers.events import unified
from multitracer.model.errors import UsageError
from multitracer.output.cells import neutral

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.table import Table
    from multitracer.output.results import Answers

ROWS = 50_000  # put into text at a time
CONNECTIONS = "connections"
LAZY = 1_000  # connections from which on entries are made one at a time
ENDINGS = {"csv": ".csv", "parquet": ".parquet"}


def names(analysis: Answers) -> list[str]:
    """Every table: the layers', ``events``, ``connections``, the results' (``result.table``)."""
    found = ["events", CONNECTIONS, *analysis.measurement.tables]
    for result in analysis.results.values():
        found += [name if name == result.name else f"{result.name}.{name}" for name in result.tables]
    return list(dict.fromkeys(found))


def table(analysis: Answers, name: str) -> Table:
    """A table by its name.

    Raises
    ------
    UsageError
        If there is none of that name; the message lists what there is.
    """
    if name == "events":
        return unified(analysis.measurement)
    # What an analysis made of a table (verdicts on timeouts) goes before what the core wrote.
    question, _, inner = name.partition(".")
    result = analysis.results.get(question)
    if result is not None and (inner or question) in result.tables:
        return result.tables[inner or question]
    if name in analysis.measurement.tables:
        return analysis.measurement.tables[name]
    raise UsageError(f"no table {name!r}; there are {', '.join(names(analysis))}")


def write(analysis: Answers, path: str, kind: str, name: str | None = None) -> list[str]:
    """Write one table to a file, or all of them into a directory.

    Parameters
    ----------
    analysis : Answers
    path : str
        A file if it ends as the format does (CSV also with ``.gz``, compressed); else a directory.
    kind : {"csv", "parquet"}
    name : str, optional
        Which table; ``events`` by default for a file, all that have rows for a directory.

    Returns
    -------
    list of str
        Paths written.

    Raises
    ------
    UsageError
        No such table, no pyarrow for Parquet, or the file cannot be written.
    """
    if kind == "parquet" and find_spec("pyarrow") is None:
        raise UsageError("Parquet needs pyarrow: pip install 'multitracer[parquet]', or export --to csv")
    ending = path.lower().removesuffix(".gz") if kind == "csv" else path.lower()
    if os.path.splitext(ending)[1] == ENDINGS[kind]:
        _one(_frame(analysis, name or "events"), path, kind)
        return [path]
    wanted = [name] if name is not None else names(analysis)
    found = [
        one
        for one in wanted
        if len(analysis.measurement.connections if one == CONNECTIONS else table(analysis, one))
    ]
    paths = named(path, found, ENDINGS[kind])
    for one, target in zip(found, paths, strict=True):
        _one(_frame(analysis, one), target, kind)
    return paths


def _frame(analysis: Answers, name: str) -> pd.DataFrame:
    """A table as pandas: of connections one row each, with a column for every number (``rtt_ms.mean``)."""
    if name != CONNECTIONS:
        return table(analysis, name).frame()
    import pandas as pd

    entries = [
        {"index": one["index"], "from": one["endpoints"][0], "to": one["endpoints"][1]} | _single(one)
        for one in analysis.contract(LAZY)["connections"]
    ]
    return pd.json_normalize(entries)


def _single(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What of an entry fits into a row: no lists; of a path only the name, as a table leaves its machine."""
    return {
        key: _single(value)
        if isinstance(value, Mapping)
        else _cell(os.path.basename(value) if key == "source" and isinstance(value, str) else value)
        for key, value in entry.items()
        if not isinstance(value, list | tuple)
    }


def _cell(value: object) -> object:
    """A text as a cell: bytes of names that are no UTF-8 are spelt out, and no spreadsheet computes it."""
    if not isinstance(value, str):
        return value
    return neutral(value.encode("utf-8", "backslashreplace").decode("utf-8"))


def _one(frame: pd.DataFrame, path: str, kind: str) -> None:
    if kind == "parquet":
        import_module("pyarrow.parquet")  # pandas does not report why it cannot be loaded: perhaps no memory
        with writing(path, binary=True) as file:
            frame.to_parquet(file, engine="pyarrow", index=False)
        return
    with writing(path) as file:
        frame.iloc[:0].to_csv(file, index=False, lineterminator="\n")
        for first in range(0, len(frame), ROWS):
            frame.iloc[first : first + ROWS].to_csv(file, index=False, header=False, lineterminator="\n")
