"""Columns packed small: what a page carries of millions of points.

Each column is written as differences between its neighbours, in four planes of bytes, and deflated as a
whole; browsers inflate it without a library. A column that is not made of integers, or jumps too far, is
written as it is. Times that are those of layers packed before (bytes in flight change where a segment is sent
and where an ACK comes) are not written again.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from multitracer.plots.bokeh.layers import Array

LEVEL = 5
STEPS_NS = (1_000_000, 1_000, 1)


def pack(columns: Mapping[str, Array], before: Mapping[str, Array] | None = None) -> dict[str, Any]:
    """Columns of equal length as a JSON object that the page unpacks.

    Parameters
    ----------
    columns : mapping of str to array
        "x" and "x1" are seconds and kept to the nanosecond.
    before : mapping of str to array, optional
        "x" of each layer that the page unpacks before, by its id.

    Returns
    -------
    dict
        "rows", "columns" (name, kind, base, scale; name, kind, of where times are those of other layers) and
        "data" (base64).
    """
    heads: list[dict[str, Any]] = []
    parts: list[bytes] = []
    rows = 0
    for name, values in columns.items():
        rows = len(values)
        if name == "x" and (same := _times_of(values, before or {})):
            heads.append({"name": name, "kind": "times", "of": list(same)})
            continue
        kind, base, scale, data = _column(values, seconds=name in ("x", "x1"))
        heads.append({"name": name, "kind": kind, "base": base, "scale": scale})
        parts.append(data)
    return {"rows": rows, "columns": heads, "data": deflate(b"".join(parts))}


def _times_of(x: Array, before: Mapping[str, Array]) -> tuple[str, ...]:
    """The layer that has the same times, or the two that have them together; empty without."""
    for one, its in before.items():
        if np.array_equal(its, x):
            return (one,)
    for one, other in combinations(before, 2):
        parts = before[one], before[other]
        if len(parts[0]) + len(parts[1]) == len(x) and np.array_equal(np.sort(np.concatenate(parts)), x):
            return one, other
    return ()


def pack_words(words: Sequence[str]) -> str:
    """A list of words, deflated and in base64."""
    return deflate(json.dumps(words).encode())


def deflate(data: bytes) -> str:
    """Bytes, deflated (zlib) and in base64."""
    return base64.b64encode(zlib.compress(data, LEVEL)).decode("ascii")


def _column(values: Array, *, seconds: bool) -> tuple[str, float, float, bytes]:
    """Kind, first value, unit, and bytes of a column."""
    scale = 1.0
    if len(values) and bool(np.all(np.abs(values) < 2.0**52 / (1e9 if seconds else 1.0))):
        whole = np.rint(values * 1e9 if seconds else values).astype(np.int64)
        if seconds:
            step = next(step for step in STEPS_NS if not np.any(whole % step))
            whole //= step
            # Whole divisors: 1 / 1e6 is exact to the last digit shown, 1e-6 is not.
            scale = 1e9 / step
        differences = np.diff(whole, prepend=whole[:1])
        exact = seconds or bool(np.array_equal(whole, values))
        if exact and bool(np.all(np.abs(differences) < 2**31)):
            planes = differences.astype("<i4").view(np.uint8).reshape(-1, 4).T
            return "delta", float(whole[0]), scale, planes.tobytes()
    return "float", 0.0, 1.0, np.asarray(values, dtype="<f8").tobytes()
