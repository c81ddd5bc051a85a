"""JSON as logs hold it: documents of bounded size, values of any type, rows collected into tables."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from multitracer import native
from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.lazy import np
from multitracer.model.schema import Schema
from multitracer.model.table import Array

LIMIT_VARIABLE = "MULTITRACER_MAX_JSON_BYTES"
"""Environment variable with another size limit."""

LIMIT_BYTES = 128 << 20
"""Of a document that Python holds; the core has the same limit."""

_NUMBER_LIMIT = 1 << 62


def most_bytes() -> int | None:
    """How large a document may be that is held as a whole, in bytes; None: as the core has it (128 MiB)."""
    wanted = os.environ.get(LIMIT_VARIABLE, "")
    return min(int(wanted), _NUMBER_LIMIT) if wanted.isascii() and wanted.isdigit() else None


def document(path: str) -> bytes:
    """The text of a whole file.

    Raises
    ------
    UnreadableFile
    CorruptTrace
        If it is empty or larger than the limit.
    """
    limit = most_bytes() or LIMIT_BYTES
    content = native.head(path, limit + 1)
    if not content:
        raise CorruptTrace(f"{path}: the file is empty")
    if len(content) > limit:
        raise CorruptTrace(
            f"{path}: JSON of more than {limit:,} bytes; set {LIMIT_VARIABLE} to read it all the same"
        )
    return content


def parsed(text: bytes) -> Any:
    """The value of JSON text; None if it is none, nests too deep, or holds numbers beyond reason."""
    try:
        return json.loads(text.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


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


def fitting(schema: Schema, name: str, column: Array) -> Array:
    """Integers as a column holds them: -1 where they do not fit."""
    limits = np.iinfo(schema.by_name[name].dtype)
    return np.where((column >= limits.min) & (column <= limits.max), column, -1)


class Tally:
    """Issues, counted by code."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._found: dict[str, list[Any]] = {}

    def add(self, code: str, record: int, detail: str) -> None:
        """Count one occurrence."""
        self._found.setdefault(code, [0, record, detail])[0] += 1

    def issues(self, others: Iterable[Issue] = ()) -> list[Issue]:
        """All of them, after others."""
        own = [
            Issue(code, count, record, detail, self._path)
            for code, (count, record, detail) in sorted(self._found.items())
        ]
        return [*others, *own]
