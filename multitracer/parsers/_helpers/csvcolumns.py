"""Columns of a generic CSV log: which of ours each is, and in what unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.model import fileoptions, schema
from multitracer.model.errors import CorruptTrace, UsageError
from multitracer.model.frozen import frozen

LONG = ("time", "name", "value")
FRAME_WORDS = ("entity", "action", "kind", "cause")
FRAME_NUMBERS = ("seq", "offset", "length", "attempt", "duplicate", "nr")
SOCKETS = ("local", "remote")
_NOT_STATES = ("t_ns", "source", "record", "conn", "dir", "flow", "trigger")
STATES = {
    column.name.removesuffix("_ns"): column
    for column in schema.TCP_STATES.columns
    if column.name not in _NOT_STATES
}
"""Columns of `tcp_states` by the name that a file may give them; times without their unit."""

_TIMES = {"s": 0, "ms": 3, "us": 6, "ns": 9}


@frozen
class State:
    """A column of `tcp_states` as a file has it: ``column = value * factor``, in bytes if `per_mss`."""

    column: str
    factor: float
    per_mss: bool


def state_of(name: str, units: Mapping[str, str], path: str) -> State | None:
    """The column that a name stands for: ``cwnd``, ``cwnd_bytes``, ``srtt_ms``; None if it is not ours.

    The unit is that of `units`, else the one at the end of the name, else the schema's (seconds for times).
    """
    base, unit = name, units.get(name)
    if name not in STATES:
        base, _, ending = name.rpartition("_")
        if base not in STATES or ending not in (*fileoptions.SECONDS, *fileoptions.BYTES):
            return None
        unit = unit or ending
    column = STATES[base]
    if column.unit == "ns":
        return State(column.name, fileoptions.unit(unit or "s", fileoptions.SECONDS, path) * 1e9, False)
    if column.unit == "packets":
        if unit in (None, "packets"):
            return State(column.name, 1.0, False)
        return State(column.name, fileoptions.unit(str(unit), fileoptions.BYTES, path), True)
    if column.unit == "bytes" and unit is not None:
        return State(column.name, fileoptions.unit(unit, fileoptions.BYTES, path), False)
    return State(column.name, 1.0, False)


def is_ours(names: Sequence[str]) -> bool:
    """Whether these are column titles of our own making: a log of values, of TCP state or of frames."""
    found = set(names)
    if len(found) != len(names) or not {name.partition("_")[0] for name in found} & {"time"}:
        return False
    rest = {name for name in found if name != "time" and not name.startswith("time_")}
    if len(found) - len(rest) != 1 or not any(time_digits(name) is not None for name in found - rest):
        return False
    if {"name", "value"} <= rest:
        return rest <= {"name", "value", *SOCKETS}
    if {"entity", "action"} <= rest:
        return rest <= {*FRAME_WORDS, *FRAME_NUMBERS}
    states = rest - set(SOCKETS)
    return bool(states) and all(_is_state(name) for name in states)


def _is_state(name: str) -> bool:
    try:
        return state_of(name, {}, "") is not None
    except UsageError:  # srtt_bytes
        return False


def time_digits(name: str) -> int | None:
    """Decimals of the unit of a time column by its title (``time`` is seconds); None if it is none."""
    return (
        0 if name == "time" else _TIMES.get(name.removeprefix("time_")) if name.startswith("time_") else None
    )


@frozen
class Layout:
    """How a file is laid out.

    Attributes
    ----------
    header : int
        Line of the titles; 0 without one.
    separator : str
    titles : list of str
        By column: our name for it; "" if it is not read.
    digits : int
        Decimals of the unit of the times.
    """

    header: int
    separator: str
    titles: list[str]
    digits: int

    def kinds(self) -> list[str]:
        """By column, as the scanner wants them."""
        words = {"name", *SOCKETS, *FRAME_WORDS}
        return [
            f"time:{self.digits}"
            if title == "time"
            else "word"
            if title in words
            else "number"
            if title
            else "skip"
            for title in self.titles
        ]


def first_line(head: bytes) -> tuple[int, list[str], str] | None:
    """Number, fields and separator of the first line that is no comment; None without one."""
    for number, line in enumerate(head.split(b"\n"), 1):
        text = line.decode("utf-8", "replace").strip().removeprefix("\ufeff")
        if text and not text.startswith("#"):
            separator = next((mark for mark in ",;\t" if mark in text), " ")
            fields = text.split() if separator == " " else text.split(separator)
            return number, [field.strip().strip('"') for field in fields], separator
    return None


def layout(head: bytes, settings: Mapping[str, Any], path: str) -> Layout:
    """The layout by the first line and by measurement.toml.

    Raises
    ------
    CorruptTrace
        Without a line, or without a column of times.
    UsageError
        Settings that name a column which is not there.
    """
    first = first_line(head)
    if first is None:
        raise CorruptTrace(f"{path}: no line of values; is the file empty?")
    number, fields, separator = first
    columns = fileoptions.words(settings, path, "columns")
    units = fileoptions.words(settings, path, "units")
    separator = fileoptions.text(settings, path, "separator") or separator
    if len(separator) != 1 or not separator.isascii():
        raise UsageError(f"measurement.toml: separator of {path} must be one character")
    titles = list(fields)
    if settings.get("header") is False:
        number, titles = 0, [""] * len(fields)
    given = {}
    for ours, theirs in columns.items():
        given[_place(theirs, fields if number else [], len(fields), path)] = ours
    titles = [given.get(place, "" if given else title) for place, title in enumerate(titles)]
    for place, title in enumerate(titles):
        digits = time_digits(title)
        if digits is not None:
            titles[place] = "time"
            unit = units.get("time")
            if unit is not None:
                fileoptions.unit(unit, fileoptions.SECONDS, path)
                digits = _TIMES.get(unit, 0)
            return Layout(number, separator, titles, digits)
    raise CorruptTrace(
        f"{path}: no column of times; name it in measurement.toml: "
        f'[sources."FILE"] columns = {{ time = "...", name = "...", value = "..." }}'
    )


def _place(theirs: str, fields: Sequence[str], count: int, path: str) -> int:
    if theirs in fields:
        return fields.index(theirs)
    if theirs.isascii() and theirs.isdigit() and 0 < int(theirs) <= count:
        return int(theirs) - 1
    raise UsageError(
        f"measurement.toml: {path} has no column {theirs!r}; it has {', '.join(fields) or f'1 to {count}'}"
    )
