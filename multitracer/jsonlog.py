"""JSON as logs hold it: documents of bounded size, values of whatever type, rows collected into tables."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from multitracer import native
from multitracer.errors import CorruptTrace, Issue
from multitracer.lazy import np
from multitracer.schema import Schema
from multitracer.table import Table

LIMIT_VARIABLE = "MULTITRACER_MAX_JSON_BYTES"
"""Environment variable with another size limit."""

LIMIT_BYTES = 128 << 20
"""A JSON document has to be held in memory, at some ten times its size: larger ones are refused."""

_NUMBER_LIMIT = 1 << 62


def document(path: str) -> str:
    """A whole file as text.

    Raises
    ------
    UnreadableFile
    CorruptTrace
        If it is empty or larger than the limit.
    """
    wanted = os.environ.get(LIMIT_VARIABLE, "")
    limit = int(wanted) if wanted.isascii() and wanted.isdigit() else LIMIT_BYTES
    content = native.head(path, limit + 1)
    if not content:
        raise CorruptTrace(f"{path}: the file is empty")
    if len(content) > limit:
        raise CorruptTrace(
            f"{path}: JSON of more than {limit:,} bytes; set {LIMIT_VARIABLE} to read it all the same"
        )
    return content.decode("utf-8", errors="replace")


def parsed(text: str | bytes) -> Any:
    """What JSON text says; None if it is none, nests too deep, or holds numbers beyond reason."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def value_at(decoder: json.JSONDecoder, text: str, at: int) -> tuple[Any, int] | None:
    """The JSON value that begins at a place, and where it ends; None if there is no whole one."""
    try:
        return decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def number(found: Mapping[str, Any], key: str) -> float | None:
    """A finite number of sane size; None if it is absent or something else."""
    value = found.get(key)
    if type(value) is int:  # nearly always; bool is another type
        return value if -_NUMBER_LIMIT <= value <= _NUMBER_LIMIT else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if abs(value) > _NUMBER_LIMIT else value


def whole(found: Mapping[str, Any], key: str, scale: int = 1) -> int:
    """A number times `scale` as a column holds it; -1 if it is absent, negative or too large."""
    value = found.get(key)
    if type(value) is int and 0 <= value * scale <= _NUMBER_LIMIT:
        return value * scale
    value = number(found, key)
    if value is None or value < 0 or value * scale > _NUMBER_LIMIT:
        return -1
    return round(value * scale)


def time_ns(value: Any) -> int | None:
    """RFC 3339 with any number of decimals as nanoseconds since the epoch; None if it is none."""
    if not isinstance(value, str) or not 20 <= len(value) <= 40:
        return None
    head, dot, rest = value.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))] if dot else ""
    zone = rest[len(digits) :] if dot else ""
    try:
        moment = datetime.fromisoformat(head + zone if dot else head)
    except ValueError:
        return None
    if moment.tzinfo is None or (dot and not digits):
        return None
    try:
        passed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    except OverflowError:
        return None
    seconds = passed.days * 86400 + passed.seconds
    t_ns = seconds * 10**9 + int(digits[:9].ljust(9, "0") or "0")
    return t_ns if abs(t_ns) < 1 << 63 else None


class Rows:
    """Rows of a table, one mapping of integers each."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._rows: list[Mapping[str, int]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: Mapping[str, int]) -> None:
        """Add one."""
        self._rows.append(row)

    def table(self) -> Table:
        """The table in order of time; what does not fit a column is absent."""
        names = dict.fromkeys(name for row in self._rows for name in row)
        columns = {}
        for name in names:
            values = [row.get(name, -1) for row in self._rows]
            try:
                column = np.array(values, np.int64)
            except OverflowError:
                column = np.array([v if -_NUMBER_LIMIT < v < _NUMBER_LIMIT else -1 for v in values], np.int64)
            limits = np.iinfo(self._schema.by_name[name].dtype)
            columns[name] = np.where((column >= limits.min) & (column <= limits.max), column, -1)
        columns.setdefault("t_ns", np.empty(0, np.int64))
        return Table.filled(self._schema, len(self._rows), columns).sorted_by("t_ns")

    def disorder(self, path: str) -> list[Issue]:
        """An issue if the rows are not in order of time."""
        t_ns = np.array([row["t_ns"] for row in self._rows], dtype=np.int64)
        back = np.flatnonzero(np.diff(t_ns) < 0)
        if not len(back):
            return []
        first = self._rows[int(back[0]) + 1]["record"]
        detail = f"{int(t_ns[back[0]] - t_ns[back[0] + 1])} ns older than the row before"
        return [Issue("out-of-order-lines", len(back), first, detail, path)]


class Tally:
    """Issues, counted by code."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._found: dict[str, list[Any]] = {}

    def add(self, code: str, record: int, detail: str) -> None:
        """Count one occurrence."""
        self._found.setdefault(code, [0, record, detail])[0] += 1

    def issues(self, others: Iterable[Issue] = ()) -> list[Issue]:
        """All of them, behind others."""
        own = [
            Issue(code, count, record, detail, self._path)
            for code, (count, record, detail) in sorted(self._found.items())
        ]
        return [*others, *own]
