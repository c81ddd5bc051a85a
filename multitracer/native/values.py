"""Plain values as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

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


_Field: TypeAlias = "tuple[str, str, Array | list[str] | None]"


def json_rows(fields: Sequence[_Field], t0_ns: int = 0, level: int = 0) -> list[str]:
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
    return _core.json_rows(_columns(fields), t0_ns, level)


def json_nested_rows(
    fields: Sequence[_Field], inner: Sequence[_Field], bounds: Array, t0_ns: int = 0, level: int = 0
) -> str:
    """Rows of a table as entries of a JSON list, each with a list of rows of another table.

    Parameters
    ----------
    fields : sequence of (str, str, values)
        As of `json_rows`; a field of kind ``rows``, whose values are None, holds the list.
    inner : sequence of (str, str, values)
        The other table.
    bounds : array of int64, shape (n + 1,)
        The first row of the other table that each of the n rows has, and their end.
    t0_ns : int
        As of `json_rows`.
    level : int
        As of `json_rows`.

    Returns
    -------
    str
        The entries, with commas between them.

    Raises
    ------
    ValueError
        As of `json_rows`, or bounds that are not those of the rows.
    """
    return _core.json_nested_rows(_columns(fields), _columns(inner), bounds.astype(np.int64), t0_ns, level)


def _columns(fields: Sequence[_Field]) -> list[tuple[str, str, Any]]:
    return [
        (key, kind, values if values is None or isinstance(values, list) else values.astype(np.int64))
        for key, kind, values in fields
    ]
