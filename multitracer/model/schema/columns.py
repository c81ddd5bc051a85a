"""How tables are declared: columns with dtypes, units and meaning, and the columns that most tables share."""

from __future__ import annotations

from dataclasses import field

from multitracer.model.frozen import frozen


@frozen
class Column:
    """One column of a table."""

    name: str
    dtype: str
    unit: str
    meaning: str
    reference: str = ""
    categories: tuple[str, ...] = ()


@frozen
class Schema:
    """A table's columns in order."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    by_name: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {column.name: column for column in self.columns})

    def code(self, column: str, word: str) -> int:
        """The integer that stands for `word` in a column of codes."""
        return self.by_name[column].categories.index(word)


DIRECTIONS = ("forward", "reverse")

TIME = Column(
    "t_ns", "int64", "ns", "time on the reference timeline (before align: on the source's own clock)"
)
SOURCE = Column("source", "int16", "", "index of the source in `Measurement.sources`")
RECORD = Column("record", "int64", "", "packet number or line number in the source file, from 1")
CONN = Column("conn", "int32", "", "connection number; -1 if none")
DIR = Column(
    "dir", "int8", "", "direction within the connection: forward is from its first endpoint", "", DIRECTIONS
)
