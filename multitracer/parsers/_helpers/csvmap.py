"""A table of any make by its column map: which column is the time, which are series, of which layer."""

from __future__ import annotations

import csv
import io
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multitracer.model import fileoptions, schema
from multitracer.model.errors import CorruptTrace, UsageError
from multitracer.model.lazy import np
from multitracer.model.table import Table
from multitracer.model.trace import ClockKind, Layer, Source, Trace
from multitracer.parsers._helpers import jsonlog
from multitracer.parsers._helpers.timestamps import Clock, forms_of

_SAMPLE = 50
_MOST_WORDS = 1 << 12
_EPOCH_NS = 10**17  # 1973: no machine is up for so long
_CLOCKS: dict[str, ClockKind] = {"realtime": "realtime", "monotonic": "monotonic", "unknown": "unknown"}
_LAYERS: dict[str, Layer] = {"kernel": "kernel", "link": "link"}
_ABSENT = frozenset({"", "-", "--", "nan", "na", "n/a", "null", "none", "unknown"})


@dataclass
class _Column:
    """One series of the map, and what was read of it."""

    name: str
    place: int
    factor: float
    layer: Layer
    changes: bool
    t_ns: array[int] = field(default_factory=lambda: array("q"))
    record: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    words: list[str] = field(default_factory=list)
    last: str | None = None

    def take(self, t_ns: int, record: int, text: str) -> bool:
        """Take a field; False if it is neither a number nor absent."""
        if text.lower() in _ABSENT:
            return True
        if self.changes:
            if text == self.last:
                return True
            self.last = text
        value = _number(text)
        if value is None:
            if not self.changes:
                return False
            self.words.append(text[:60])
            value = 1.0
        else:
            self.words.append("")
        self.t_ns.append(t_ns)
        self.record.append(record)
        self.values.append(value * self.factor)
        return True


def read(path: str, settings: Mapping[str, Any]) -> Trace:
    """Read the series of a map; those of the link and those of the kernel are traces of their own.

    Raises
    ------
    UnreadableFile
    CorruptTrace
        If no row can be used, or the file is too large to be held in memory.
    UsageError
        A map that contradicts the file.
    """
    text = jsonlog.document(path).decode("utf-8", errors="replace").removeprefix("\ufeff")
    tally = jsonlog.Tally(path)
    text, _, rest = text.rpartition("\n")
    if rest:
        lost = text.count("\n") + 2
        tally.add("truncated-file", lost, f"the last line has no end, so it was skipped: {rest[:60]}")
    rows, titles = table(text, settings, path)
    places = [_place(name, titles, path) for name in _time_columns(settings, titles, path)]
    columns = [*_columns(settings, titles, path)]
    if not columns:
        raise UsageError(f"measurement.toml: the map of {path} names no series")
    clock = _clock(settings, path, places, text)
    lone = columns[0].layer
    taken = before = 0
    first = last = None
    for record, fields in rows:
        if len(fields) <= max(places):
            tally.add("unparsed-line", record, "the row has no time")
            continue
        t_ns = clock.ns(" ".join(fields[place].strip() for place in places))
        if t_ns is None:
            tally.add("bad-number", record, f"{fields[places[0]][:40]!r} is no time of the form {clock.form}")
            continue
        if last is not None and t_ns < last:
            before += 1
        first, last = t_ns if first is None else min(first, t_ns), t_ns
        taken += 1
        for column in columns:
            if column.place < len(fields) and not column.take(t_ns, record, fields[column.place].strip()):
                words = f"{fields[column.place][:40]!r} in column {titles[column.place]!r} is no number"
                tally.add("bad-number", record, words)
    if not taken or first is None or last is None:
        raise CorruptTrace(f"{path}: no row has a time of the form {clock.form}; see docs/formats/csv.md")
    if before:
        tally.add("out-of-order-lines", 0, f"{before} rows are older than the row before them")
    stated = fileoptions.text(settings, path, "clock", ("realtime", "monotonic", "unknown"))
    kind: ClockKind = "realtime" if first >= _EPOCH_NS else "unknown"
    if stated is not None:
        kind = _CLOCKS[stated]
    if not clock.has_date:
        tally.add("no-date", 1, "times of day without a date")
        kind = "unknown"
    traces = []
    for layer in dict.fromkeys(column.layer for column in columns):
        mine = [column for column in columns if column.layer == layer]
        series = _series(mine)
        source = Source(
            path=path,
            format="csv",
            layer=layer,
            records=taken,
            clock=kind,
            first_ns=first,
            last_ns=max(last, int(series["t_ns"].max(initial=last))),
            resolution_ns=1,
            details={
                "columns": [titles[column.place] for column in mine],
                "series": [column.name for column in mine],
                "time_format": clock.form,
                "zone": str(settings.get("zone", "UTC")),
            },
        )
        issues = tally.issues() if layer == lone else []
        traces.append(Trace(source, {"series": series}, issues))
    traces[0].others = traces[1:]
    return traces[0]


def table(
    text: str, settings: Mapping[str, Any], path: str
) -> tuple[Iterator[tuple[int, list[str]]], list[str]]:
    """Rows with their line numbers, and the titles of the columns (numbers without a line of titles)."""
    separator = fileoptions.text(settings, path, "separator") or separator_of(text)
    if len(separator) != 1:
        raise UsageError(f"measurement.toml: separator of {path} must be one character")
    rows = _rows(text, separator)
    first = next(rows, None)
    if first is None:
        raise CorruptTrace(f"{path}: no line of values; is the file empty?")
    if settings.get("header") is False:
        return _chain(first, rows), [str(number) for number in range(1, len(first[1]) + 1)]
    return rows, [title.strip() for title in first[1]]


def separator_of(text: str) -> str:
    """What separates the fields of the first line that is no comment."""
    line = next((line for line in text.splitlines()[:200] if line.strip() and not line.startswith("#")), "")
    counts = {mark: line.count(mark) for mark in (",", ";", "\t", "|")}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else " "


def _rows(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    if separator == " ":
        for number, line in enumerate(io.StringIO(text), 1):
            if line.strip() and not line.startswith("#"):
                yield number, line.split()
        return
    # NUL ends a field of C strings; csv refuses it in some versions.
    reader = csv.reader(io.StringIO(text.replace("\0", ""), newline=""), delimiter=separator)
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue
        if any(field.strip() for field in fields) and not fields[0].lstrip().startswith("#"):
            yield reader.line_num, fields


def _chain(
    first: tuple[int, list[str]], rows: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from rows


def _time_columns(settings: Mapping[str, Any], titles: Sequence[str], path: str) -> list[str]:
    """Title of the column of times, or of several whose texts are joined (a date and a time)."""
    stated = settings.get("time")
    if isinstance(stated, str):
        return [stated]
    if isinstance(stated, list) and stated and all(isinstance(one, str) for one in stated):
        return list(stated)
    if stated is None:
        return [titles[0]]
    raise UsageError(f"measurement.toml: time of {path} must be the title of a column, or a list of them")


def _clock(settings: Mapping[str, Any], path: str, places: Sequence[int], text: str) -> Clock:
    zone = fileoptions.text(settings, path, "zone") or "UTC"
    form = fileoptions.text(settings, path, "time_format")
    if form is None:
        rows, _ = table(text, settings, path)
        samples = [
            " ".join(fields[place].strip() for place in places)
            for _, (_, fields) in zip(range(_SAMPLE), rows, strict=False)
            if len(fields) > max(places)
        ]
        forms = forms_of(samples)
        if not forms:
            raise UsageError(
                f"measurement.toml: the times of {path} ({samples[0][:40] if samples else 'none'!r}) have no "
                'known form; state time_format = "%d.%m.%Y %H:%M:%S" (as for strptime)'
            )
        form = forms[0]
    return Clock(form, zone)


def _columns(settings: Mapping[str, Any], titles: Sequence[str], path: str) -> Iterator[_Column]:
    stated = settings.get("series")
    if not isinstance(stated, Mapping):
        raise UsageError(f'measurement.toml: series of {path} must be a table: {{ rsrp_dbm = "RSRP" }}')
    usual = fileoptions.text(settings, path, "layer", tuple(_LAYERS)) or "kernel"
    for name, value in stated.items():
        entry = {"column": value} if isinstance(value, str) else value
        if not isinstance(entry, Mapping) or not isinstance(entry.get("column"), str):
            raise UsageError(
                f"measurement.toml: series.{name} of {path} must be the title of a column, or a table with "
                "column, factor, layer, changes"
            )
        factor = entry.get("factor", 1.0)
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not math.isfinite(factor):
            raise UsageError(f"measurement.toml: factor of series.{name} of {path} must be a number")
        layer = fileoptions.text(entry, path, "layer", tuple(_LAYERS)) or usual
        place = _place(entry["column"], titles, path)
        yield _Column(str(name)[:100], place, float(factor), _LAYERS[layer], entry.get("changes") is True)


def _place(title: str, titles: Sequence[str], path: str) -> int:
    if title in titles:
        return titles.index(title)
    if title.isascii() and title.isdigit() and 0 < int(title) <= len(titles):
        return int(title) - 1
    known = ", ".join(titles)[:300]
    raise UsageError(f"measurement.toml: {path} has no column {title!r}; it has {known}")


def _number(text: str) -> float | None:
    """A number; of ``-85 dBm`` that before the unit, of ``1,5`` with the comma as its point."""
    head = text.split(" ", 1)[0].rstrip("%")
    try:
        value = float(head)
    except ValueError:
        if head.count(",") != 1:
            return None
        try:
            value = float(head.replace(",", "."))
        except ValueError:
            return None
    return value if math.isfinite(value) else None


def _series(columns: Sequence[_Column]) -> Table:
    names = []
    for column in columns:
        distinct = set(column.words[:_MOST_WORDS])
        given = np.array(
            [f"{column.name}:{word}" if word else column.name for word in column.words], dtype=object
        )
        names.append(given if distinct - {""} else np.full(len(column.words), column.name, dtype=object))
    count = sum(len(column.t_ns) for column in columns)
    found = {
        "t_ns": np.concatenate([np.frombuffer(one.t_ns, np.int64) for one in columns]),
        "record": np.concatenate([np.frombuffer(one.record, np.int64) for one in columns]),
        "name": np.concatenate(names),
        "value": np.concatenate([np.frombuffer(one.values, np.float64) for one in columns]),
    }
    return Table.filled(schema.SERIES, count, found).sorted_by("t_ns")
