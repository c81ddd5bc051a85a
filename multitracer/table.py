"""A table: NumPy columns under a declared schema, and the pandas view of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from multitracer.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]


class Table:
    """Columns of equal length, in the order and with the dtypes of a schema.

    pandas is loaded only when `frame` is called: analyses work on the arrays.

    Parameters
    ----------
    schema : Schema
    columns : mapping of str to array
        Every column of the schema; converted to its dtype without a copy where it already has it.

    Raises
    ------
    ValueError
        If a column is missing, unknown, or of another length.
    """

    __slots__ = ("columns", "schema")

    def __init__(self, schema: Schema, columns: Mapping[str, Any]) -> None:
        unknown = set(columns) - set(schema.by_name)
        missing = set(schema.by_name) - set(columns)
        if unknown or missing:
            raise ValueError(f"table {schema.name}: missing {sorted(missing)}, unknown {sorted(unknown)}")
        self.schema = schema
        self.columns: dict[str, Array] = {
            column.name: np.asarray(columns[column.name], dtype=_dtype(column.dtype))
            for column in schema.columns
        }
        lengths = {len(array) for array in self.columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"table {schema.name}: columns of different lengths {sorted(lengths)}")

    @classmethod
    def empty(cls, schema: Schema) -> Table:
        """A table without rows."""
        return cls(schema, {column.name: [] for column in schema.columns})

    @classmethod
    def filled(cls, schema: Schema, rows: int, given: Mapping[str, Any]) -> Table:
        """A table of `rows` rows: the columns given, the others at their "absent" value.

        Absent is -1 for signed integers, 0 for unsigned integers and codes, NaN for floats, "" for text.
        """
        columns: dict[str, Any] = {}
        for column in schema.columns:
            if column.name in given:
                columns[column.name] = given[column.name]
                continue
            kind = np.dtype(_dtype(column.dtype)).kind
            absent: Any = {"i": 0 if column.categories else -1, "u": 0, "f": np.nan}.get(kind, "")
            columns[column.name] = np.full(rows, absent, dtype=_dtype(column.dtype))
        for name in set(given) - set(columns):
            columns[name] = given[name]
        return cls(schema, columns)

    @classmethod
    def concat(cls, schema: Schema, tables: Sequence[Table]) -> Table:
        """Rows of all tables, in the order given."""
        if not tables:
            return cls.empty(schema)
        return cls(
            schema,
            {c.name: np.concatenate([table[c.name] for table in tables]) for c in schema.columns},
        )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __repr__(self) -> str:
        return f"<Table {self.schema.name}: {len(self):,} rows, {len(self.columns)} columns>"

    def where(self, mask: Array) -> Table:
        """The rows that a boolean mask or an index array picks."""
        return Table(self.schema, {name: array[mask] for name, array in self.columns.items()})

    def sorted_by(self, name: str) -> Table:
        """Rows in stable order of one column."""
        array = self.columns[name]
        if len(array) < 2 or bool(np.all(array[1:] >= array[:-1])):
            return self
        return self.where(np.argsort(array, kind="stable"))

    def replace(self, **columns: Any) -> Table:
        """The same table with some columns exchanged."""
        return Table(self.schema, {**self.columns, **columns})

    def code(self, column: str, word: str) -> int:
        """The integer that stands for `word` in a column of codes."""
        return self.schema.code(column, word)

    def words(self, column: str) -> Array:
        """A column of codes as an array of words."""
        categories = np.array(self.schema.by_name[column].categories, dtype=object)
        return categories[self.columns[column]]

    def frame(self) -> pd.DataFrame:
        """As a pandas DataFrame; columns of codes become categoricals; no copy of the others."""
        import pandas as pd

        data: dict[str, Any] = {}
        for column in self.schema.columns:
            array = self.columns[column.name]
            if column.categories:
                data[column.name] = pd.Categorical.from_codes(array, categories=pd.Index(column.categories))
            else:
                data[column.name] = array
        frame = pd.DataFrame(data, copy=False)
        frame.attrs["schema"] = self.schema.name
        return frame


def _dtype(name: str) -> npt.DTypeLike:
    return np.dtype(object) if name == "str" else np.dtype(name)
