"""Columns as the core gives them."""

from __future__ import annotations

from typing import Any

from multitracer.model.lazy import np


class Columns(dict[str, Any]):
    """Columns of a table by name.

    The core gives a column most of whose rows are "none" as a tuple: what those hold, the numbers of the
    other rows, and what these hold (`multitracer.model.table.Sparse`). Asked for by name it is an array;
    `items` has it as it is.
    """

    def __getitem__(self, name: str) -> Any:
        column = super().__getitem__(name)
        if isinstance(column, tuple):
            absent, rows, values = column
            whole = np.full(len(self["t_ns"]), absent, dtype=values.dtype)
            whole[rows] = values
            self[name] = column = whole
        return column
