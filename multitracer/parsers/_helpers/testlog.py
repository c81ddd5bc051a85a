"""What speed tests and probes print: values by name and stream over time, as the table `series`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from multitracer.model import schema
from multitracer.model.lazy import np
from multitracer.model.table import Table
from multitracer.parsers._helpers import jsonlog

SIZES = {"": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3, "T": 1024.0**4}
"""Prefixes of bytes as iperf prints them."""
RATES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
"""Prefixes of bits per second."""
_MOST_NS = 1 << 62
MOST = 1e18
"""No rate, size, time or count of any test is so large: an exabit per second."""


def lines(path: str, tally: jsonlog.Tally) -> Iterator[tuple[int, str]]:
    """Lines of a log with their numbers, from 1; one without an end is cut: an issue, and left out.

    Raises
    ------
    UnreadableFile
    CorruptTrace
        If it is empty, or too large to be held in memory.
    """
    text = jsonlog.document(path).decode("utf-8", errors="replace")
    whole = text.split("\n")
    rest = whole.pop()
    for number, line in enumerate(whole, 1):
        yield number, line.rstrip("\r")
    if rest:
        detail = f"the last line has no end, so it was skipped: {rest[:60]}"
        tally.add("truncated-file", len(whole) + 1, detail)


def nanoseconds(seconds: float) -> int | None:
    """Seconds as nanoseconds; None if no time of any log is that large."""
    t_ns = seconds * 1e9
    return round(t_ns) if abs(t_ns) < _MOST_NS else None


@dataclass
class Values:
    """Rows of `series` while they are collected; of values beyond `MOST` only that they were there."""

    tally: jsonlog.Tally | None = None
    t_ns: list[int] = field(default_factory=list)
    record: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    label: list[str] = field(default_factory=list)

    def add(self, t_ns: int, record: int, name: str, value: float, label: str = "") -> None:
        """Add a value."""
        if abs(value) >= MOST:
            if self.tally is not None:
                self.tally.add("bad-number", record, f"{name} of {value:.3g}")
            return
        self.t_ns.append(t_ns)
        self.record.append(record)
        self.name.append(name)
        self.value.append(value)
        self.label.append(label)

    def __len__(self) -> int:
        return len(self.t_ns)

    def table(self, shift_ns: int = 0) -> Table:
        """In order of time, moved by some time."""
        columns = {
            "t_ns": np.array(self.t_ns, dtype=np.int64) + shift_ns,
            "record": np.array(self.record, dtype=np.int64),
            "name": np.array([*self.name, None], dtype=object)[:-1],
            "value": np.array(self.value, dtype=np.float64),
            "label": np.array([*self.label, None], dtype=object)[:-1],
        }
        return Table.filled(schema.SERIES, len(self), columns).sorted_by("t_ns")
