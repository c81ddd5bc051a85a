"""A table: NumPy columns under a declared schema, and the pandas view of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from multitracer.model.lazy import np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from multitracer.model.schema import Schema

    Array = npt.NDArray[Any]
    _Column: TypeAlias = "Array | Sparse | _Pick | _Parts | _Taken | _Back | _Of | _Later"
else:
    Array = Any


_ONE_CAPTURE, _MANY = "source", 1 << 16
"""A column that is one value in most measurements: of so many rows it is a view of that."""


class Table:
    """Columns of equal length, in the order and with the dtypes of a schema.

    pandas is loaded only when `frame` is called: analyses work on the arrays.

    Parameters
    ----------
    schema : Schema
    columns : mapping of str to array or Sparse
        Every column of the schema; converted to its dtype without a copy where it already has it. One that
        is `Sparse` becomes an array when it is first used.
    rows : int, optional
        Their length, where there may be no array to show it.

    Raises
    ------
    ValueError
        If a column is missing, unknown, or of another length.
    """

    __slots__ = ("_columns", "_constants", "_pick", "_rows", "schema")

    def __init__(self, schema: Schema, columns: Mapping[str, Any], rows: int | None = None) -> None:
        unknown = set(columns) - set(schema.by_name)
        missing = set(schema.by_name) - set(columns)
        if unknown or missing:
            raise ValueError(f"table {schema.name}: missing {sorted(missing)}, unknown {sorted(unknown)}")
        self.schema = schema
        self._columns: dict[str, _Column] = {
            column.name: given
            if isinstance(given := columns[column.name], Sparse)
            else np.asarray(given, dtype=_dtype(column.dtype))
            for column in schema.columns
        }
        lengths = {len(array) for array in self._columns.values() if not isinstance(array, Sparse)}
        if rows is not None:
            lengths.add(rows)
        if len(lengths) > 1:
            raise ValueError(f"table {schema.name}: columns of different lengths {sorted(lengths)}")
        self._rows = lengths.pop() if lengths else 0
        self._constants: dict[str, Sparse] | None = None
        self._pick: _Pick | None = None  # what all columns are picked by, but those that are one value

    @classmethod
    def _of(cls, schema: Schema, columns: dict[str, _Column], rows: int) -> Table:
        """A table out of columns that are known to fit."""
        table = cls.__new__(cls)
        table.schema, table._columns, table._rows = schema, columns, rows
        table._constants = table._pick = None
        return table

    @classmethod
    def empty(cls, schema: Schema) -> Table:
        """A table without rows."""
        return cls(schema, {column.name: [] for column in schema.columns})

    @classmethod
    def filled(cls, schema: Schema, rows: int, given: Mapping[str, Any]) -> Table:
        """A table of `rows` rows: the columns given, the others at their "absent" value.

        Absent is -1 for signed integers, 0 for unsigned integers and codes, NaN for floats, "" for text.
        Columns of it take no memory before they are used.

        Parameters
        ----------
        schema : Schema
        rows : int
            How many there are.
        given : mapping of str to Any
            Columns of `rows` values each, by name.
        """
        columns: dict[str, Any] = {}
        for column in schema.columns:
            if column.name in given:
                columns[column.name] = given[column.name]
                continue
            kind = np.dtype(_dtype(column.dtype)).kind
            absent: Any = {"i": 0 if column.categories else -1, "u": 0, "f": np.nan}.get(kind, "")
            columns[column.name] = Sparse(absent)
        for name in set(given) - set(columns):
            columns[name] = given[name]
        return cls(schema, columns, rows)

    @classmethod
    def later(cls, schema: Schema, rows: int, make: Callable[[], Table]) -> Table:
        """A table that is made when one of its columns is first used.

        Parameters
        ----------
        schema : Schema
        rows : int
            How many it will have.
        make : callable
            Makes it.
        """
        return cls._of(schema, dict.fromkeys(schema.by_name, _Later(make)), rows)

    @classmethod
    def in_time(cls, schema: Schema, given: Mapping[str, Any]) -> Table:
        """A table of the columns given, which have ``t_ns`` among them, in order of time; see `filled`."""
        return cls.filled(schema, len(given["t_ns"]), given).sorted_by("t_ns")

    @classmethod
    def concat(cls, schema: Schema, tables: Sequence[Table]) -> Table:
        """Rows of all tables, in the order given."""
        tables = [table for table in tables if len(table)]
        if len(tables) == 1 and tables[0].schema == schema:
            return tables[0]
        if not tables:
            return cls.empty(schema)
        columns: dict[str, Any] = {}
        for name in schema.by_name:
            shared = _shared(tables, name)
            columns[name] = np.concatenate([one[name] for one in tables]) if shared is None else shared
        return cls(schema, columns, sum(map(len, tables)))

    @classmethod
    def merged(cls, schema: Schema, tables: Sequence[Table], by: str) -> Table:
        """Rows of all tables in stable order of one column; a column is made when it is first used.

        Parameters
        ----------
        schema : Schema
        tables : sequence of Table
            Each of this schema.
        by : str
            The column.
        """
        tables = [table for table in tables if len(table)]
        if len(tables) < 2:
            return cls.concat(schema, tables).sorted_by(by)
        order = np.argsort(np.concatenate([table[by] for table in tables]), kind="stable")
        columns: dict[str, _Column] = dict.fromkeys(schema.by_name, _Parts(tables, order))
        for name in schema.by_name:
            if (shared := _shared(tables, name)) is not None:
                columns[name] = shared
        return cls._of(schema, columns, len(order))

    @property
    def columns(self) -> dict[str, Array]:
        """All columns by name."""
        return {name: self[name] for name in self._columns}

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> Array:
        column = self._columns[name]
        if isinstance(column, np.ndarray):
            return column
        if isinstance(column, _Pick):
            held, rows = column.table[name], column.rows
            column = held[rows] if isinstance(rows, slice) else held.take(rows)
            self._columns[name] = column
        elif isinstance(column, _Of):
            column = column.table[name]
        elif isinstance(column, _Later):
            made = column.make()
            self._columns = dict(made._columns)
            column = self[name]
        elif isinstance(column, _Taken):
            column = self._take(name, column)
        elif isinstance(column, _Back):
            column = self._columns[name] = column.table[name].take(column.places, mode="clip")  # unchecked
        elif isinstance(column, _Parts):
            column = np.concatenate([table[name] for table in column.tables]).take(column.rows)
            self._columns[name] = column
        elif isinstance(column, Sparse):
            dtype = _dtype(self.schema.by_name[name].dtype)
            if name == _ONE_CAPTURE and column.rows is None and self._rows >= _MANY:
                return np.broadcast_to(np.array(column.absent, dtype=dtype), (self._rows,))
            column = self._columns[name] = column.array(self._rows, dtype)
        return column

    def _take(self, name: str, column: _Taken) -> Array:
        """A column in another order, out of the table that held it until now, which has it back from here."""
        holder = column.table
        while isinstance(other := holder._columns[name], _Of):
            holder = other.table
        held = holder[name]
        taken = np.empty_like(held)
        # Read in its order, and written where each flow has come to: half the time of reading flow by flow.
        taken[column.places] = held
        taken.flags.writeable = False  # flows are views of it
        self._columns[name] = taken
        if isinstance(holder._columns[name], np.ndarray):
            holder._columns[name] = _Back(self, column.places)
        return taken

    def _constant(self, name: str) -> Any:
        """What all rows of a column are known to hold, None if that is not known."""
        column = self._columns[name]
        return column.absent if isinstance(column, Sparse) and column.rows is None else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.schema, self.columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __repr__(self) -> str:
        return f"<Table {self.schema.name}: {len(self):,} rows, {len(self._columns)} columns>"

    def where(self, mask: Array) -> Table:
        """The rows that a boolean mask or an index array picks; a column is copied when it is first used.

        Raises
        ------
        ValueError
            If a mask has not as many values as the table has rows.
        """
        rows = np.asarray(mask)
        if rows.dtype == np.bool_:
            if len(rows) != len(self):
                raise ValueError(f"table {self.schema.name}: a mask of {len(rows)} for {len(self)} rows")
            if rows.all():
                return self  # no copies of columns
            rows = np.flatnonzero(rows)
        return self._picked(rows, len(rows))

    def between(self, begin: int, end: int) -> Table:
        """Adjacent rows; their columns are no copies where those of this table are there.

        Parameters
        ----------
        begin, end : int
            The first row, and the one after the last.
        """
        return self._picked(slice(begin, end), end - begin)

    def reordered(self, order: Array) -> Table:
        """All rows in another order; a column moves there when it is first used, and comes back when it must.

        So one order of all rows is held, that which is asked for. Columns of it cannot be written to.

        Parameters
        ----------
        order : array of int64
            Every row number once.
        """
        holder, rows = self, order
        if self._pick is not None and not isinstance(self._pick.rows, slice):
            there = np.zeros(len(self._pick.table), dtype=np.bool_)
            there[self._pick.rows] = True
            if len(there) == len(self) and there.all():
                holder, rows = self._pick.table, self._pick.rows[order]
                self._put_back(self._pick)
        places = np.empty(len(rows), dtype=np.int64)
        places[rows] = np.arange(len(rows))
        taken = _Taken(holder, places)
        columns: dict[str, _Column] = dict.fromkeys(self._columns, taken)
        for name in columns:
            if (one := self._constant(name)) is not None:
                columns[name] = Sparse(one)
        return Table._of(self.schema, columns, len(order))

    def _put_back(self, pick: _Pick) -> None:
        """Drop what was copied of another table's columns: it is picked again where it is used again."""
        kind = np.int32 if len(pick.table) < 1 << 31 else np.int64
        pick = self._pick = _Pick(pick.table, np.asarray(pick.rows, dtype=kind))
        for name, held in self._columns.items():
            if isinstance(held, np.ndarray | _Pick) and pick.table._constant(name) is None:
                self._columns[name] = pick

    def _picked(self, rows: Array | slice, count: int) -> Table:
        # Rows of rows are taken from where those are: the columns between need not be made.
        table, before = (self, None) if self._pick is None else self._pick
        if isinstance(before, slice):
            first = before.start
            rows = slice(first + rows.start, first + rows.stop) if isinstance(rows, slice) else rows + first
        elif before is not None:
            rows = before[rows]
        pick = _Pick(table, rows)
        picked: dict[str, _Column] = dict.fromkeys(self._columns, pick)
        if self._constants is None:  # the same for all that is picked of it: often thousands of flows
            known = ((name, self._constant(name)) for name in self._columns)
            self._constants = {name: Sparse(one) for name, one in known if one is not None}
        picked.update(self._constants)
        found = Table._of(self.schema, picked, count)
        found._constants, found._pick = self._constants, pick
        return found

    def sorted_by(self, name: str) -> Table:
        """Rows in stable order of one column."""
        array = self[name]
        if len(array) < 2 or bool(np.all(array[1:] >= array[:-1])):
            return self
        return self.where(np.argsort(array, kind="stable"))

    def replace(self, **columns: Any) -> Table:
        """The same table with some columns exchanged.

        Raises
        ------
        ValueError
            If a column has not as many values as the table has rows.
        """
        rows = len(self)
        held = self._columns.items()
        changed: dict[str, _Column] = {
            name: _Of(self) if isinstance(one, np.ndarray | _Taken | _Back | _Later) else one
            for name, one in held
        }
        for name, values in columns.items():
            if isinstance(values, Sparse):
                changed[name] = values
                continue
            array = np.asarray(values, dtype=_dtype(self.schema.by_name[name].dtype))
            if len(array) != rows:
                raise ValueError(f"table {self.schema.name}: {name} has {len(array)} values for {rows} rows")
            if array is not self._columns[name]:
                changed[name] = array
        return Table._of(self.schema, changed, rows)

    def code(self, column: str, word: str) -> int:
        """The integer that stands for `word` in a column of codes."""
        return self.schema.code(column, word)

    def words(self, column: str) -> Array:
        """A column of codes as an array of words."""
        categories = np.array(self.schema.by_name[column].categories, dtype=object)
        return categories[self[column]]

    def frame(self) -> pd.DataFrame:
        """As a pandas DataFrame; columns of codes become categoricals; no copy of the others."""
        import pandas as pd

        data: dict[str, Any] = {}
        for column in self.schema.columns:
            array = np.ascontiguousarray(self[column.name])
            if column.categories:
                data[column.name] = pd.Categorical.from_codes(array, categories=pd.Index(column.categories))
            else:
                data[column.name] = array
        frame = pd.DataFrame(data, copy=False)
        frame.attrs["schema"] = self.schema.name
        return frame


class Sparse(NamedTuple):
    """A column most of whose rows hold the same, without the memory for them.

    Attributes
    ----------
    absent : object
        What all rows hold that are not named.
    rows : array, optional
        Row numbers, ascending.
    values : array, optional
        What those hold.
    """

    absent: Any
    rows: Array | None = None
    values: Array | None = None

    @classmethod
    def of_core(cls, column: Any) -> Any:
        """A column as the core gives it: a tuple of these three becomes one."""
        if not isinstance(column, tuple):
            return column
        absent, rows, values = column
        return cls(absent, rows, values) if len(rows) else cls(absent)

    def array(self, length: int, dtype: npt.DTypeLike) -> Array:
        """The whole column."""
        column = np.full(length, self.absent, dtype=dtype)
        if self.rows is not None:
            column[self.rows] = self.values
        return column


class _Pick(NamedTuple):
    """A column still to be taken from another table."""

    table: Table
    rows: Array | slice


class _Later(NamedTuple):
    """A column of a table still to be made."""

    make: Callable[[], Table]


class _Of(NamedTuple):
    """A column that another table has."""

    table: Table


class _Taken(NamedTuple):
    """A column still to be taken over from another table, in another order: each row has a place here."""

    table: Table
    places: Array


class _Back(NamedTuple):
    """A column that another table has taken over: it holds each row at this place."""

    table: Table
    places: Array


class _Parts(NamedTuple):
    """A column still to be put together from several tables."""

    tables: Sequence[Table]
    rows: Array


def _dtype(name: str) -> npt.DTypeLike:
    return np.dtype(object) if name == "str" else np.dtype(name)


def _shared(tables: Sequence[Table], name: str) -> Sparse | None:
    """What all rows of all tables are known to hold."""
    constants = {table._constant(name) for table in tables}
    found = constants.pop() if len(constants) == 1 else None
    return None if found is None else Sparse(found)
