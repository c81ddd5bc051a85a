"""Parameters of runs: from measurement.toml, from directory names, from a table."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from multitracer.batch.rows import COLUMNS
from multitracer.model.errors import UnreadableFile, UsageError
from multitracer.model.frozen import frozen

_LEADING = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*?)[=_.-]?\(")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


@frozen
class NamePattern:
    """A parameter, or several, in the names of measurements."""

    names: tuple[str, ...]
    pattern: re.Pattern[str]

    def read(self, name: str) -> dict[str, Any]:
        """Parameters of one measurement; empty if its name does not match."""
        match = self.pattern.search(name)
        if match is None:
            return {}
        found = match.groups() if len(self.names) == 1 else [match.group(one) for one in self.names]
        return {one: plain(text) for one, text in zip(self.names, found, strict=True) if text is not None}


def name_pattern(text: str) -> NamePattern:
    r"""Understand ``mtu=(\d+)`` or ``(?P<flavour>[a-z]+)_w(?P<window>\d+)``.

    Raises
    ------
    UsageError
        No valid regular expression, or it is not clear what the parameter is called.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"--param {text!r}: not a regular expression: {error}") from error
    names = tuple(pattern.groupindex)
    if not names and pattern.groups == 1 and (leading := _LEADING.match(text)):
        names = (leading[1],)
    if not names or len(names) != pattern.groups:
        raise UsageError(
            f"--param {text!r}: write NAME=(...) with one group, or name each group: (?P<mtu>[0-9]+)"
        )
    return NamePattern(names, pattern)


def plain(text: str) -> int | float | str:
    """A number where the text is one."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        value = float(text)
        return value if abs(value) < 1e300 else text
    return text


def read_table(path: str, content: bytes) -> dict[str, dict[str, Any]]:
    """A CSV of parameters: a column ``name``, and one column for each parameter.

    Raises
    ------
    UnreadableFile
        No text in UTF-8.
    UsageError
        No column ``name``, or a measurement twice.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path}: not a CSV in UTF-8: {error.reason}") from error
    try:
        reader = csv.DictReader(io.StringIO(text))
        if "name" not in (reader.fieldnames or ()):
            raise UsageError(
                f"{path}: no column 'name' in its first line; it names the measurement of each row"
            )
        found: dict[str, dict[str, Any]] = {}
        for row in reader:
            name = (row.pop("name") or "").strip().strip("/")
            if name in found:
                raise UsageError(f"{path}: line {reader.line_num}: measurement {name!r} is there twice")
            found[name] = {
                str(key): plain(value)
                for key, value in row.items()
                if key and isinstance(value, str) and value
            }
    except csv.Error as error:
        raise UsageError(f"{path}: not a CSV: {error}") from error
    return found


def column(name: str) -> str:
    """The column of a parameter: its own name, unless the summary has a column of that name."""
    return f"param_{name}" if name in COLUMNS else name


def merge(
    name: str,
    own: dict[str, Any],
    patterns: Sequence[NamePattern],
    table: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """All parameters of one measurement, by column: the table wins over the name, the name over its file.

    Parameters
    ----------
    name : str
        Of the measurement: its path below the batch's root.
    own : dict of str to Any
        What its own measurement.toml states.
    patterns : sequence of NamePattern
        What names of directories mean, as the user described it.
    table : dict of str to dict of str to Any
        By name of a measurement: its row of the user's table.

    Returns
    -------
    dict of str to value
        By column.
    """
    found = dict(own)
    for pattern in patterns:
        found |= pattern.read(name)
    found |= table.get(name, {})
    return {column(key): value for key, value in found.items()}
