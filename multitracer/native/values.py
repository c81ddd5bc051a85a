"""Plain values as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import multitracer._core as _core
from multitracer.model.lazy import np
from multitracer.model.table import Array


def json_text(value: Any, level: int = 0) -> str:
    """A plain value as ``json.dumps(value, indent=2, allow_nan=False)``, for a place `level` steps inside.

    Raises
    ------
    TypeError, ValueError
        What has no place in JSON: an object of another type, NaN, infinity.
    """
    return _core.json_text(value, level)


def json_rows(
    fields: Sequence[tuple[str, str, Array | list[str]]], t0_ns: int = 0, level: int = 0
) -> list[str]:
    """Rows of a table as JSON objects, each as `json_text` writes it, without the objects.

    Parameters
    ----------
    fields : sequence of (str, str, values)
        Key, kind and values of each. Kinds of whole numbers are ``number``, ``known`` (null below zero),
        ``some`` (null if zero), ``seconds`` and ``time`` (nanoseconds, those of a time from `t0_ns` on,
        written as seconds with six decimals at most), ``known seconds`` and ``known time``; of text ``text``
        (null if it is empty) and ``json`` (as it is).
    t0_ns : int
        Zero of all times.
    level : int
        How many steps inside each stands.

    Returns
    -------
    list of str
        A text for each row.

    Raises
    ------
    ValueError
        A kind that there is none of, or columns of different lengths.
    """
    columns = [
        (key, kind, values if isinstance(values, list) else values.astype(np.int64))
        for key, kind, values in fields
    ]
    return _core.json_rows(columns, t0_ns, level)
