"""The chains of a transfer: columns, out of which a chain is put together when it is looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from multitracer import native
from multitracer.model.analysis import Result, summary_of
from multitracer.model.derived import Derived
from multitracer.model.lazy import np
from multitracer.model.table import Array, Table

Object = dict[str, Any]


class Columns:
    """Chains and their events.

    Parameters
    ----------
    paths : sequence of str
        The files of the measurement.
    t0_ns : int
        Zero of all times.
    table : Table
        All chains, rows of `CHAINS` in the order of their numbers.
    events : Table
        Their events, rows of `CHAIN_EVENTS`, chain by chain.
    dropped : array of int64
        Of the bytes that each chain retransmitted, those that the link had never carried.
    """

    def __init__(self, paths: Sequence[str], t0_ns: int, table: Table, events: Table, dropped: Array) -> None:
        self.paths, self.t0_ns, self.table, self.events, self.dropped = paths, t0_ns, table, events, dropped

    @cached_property
    def bounds(self) -> Array:
        """The row of the first event of each chain, and their number."""
        return np.append(0, np.cumsum(self.table["events"], dtype=np.int64))

    @cached_property
    def kinds(self) -> dict[str, Array]:
        """The rows of the events of each kind."""
        words = self.events["what"].tolist()
        codes = {word: code for code, word in enumerate(dict.fromkeys(words))}
        of = np.array([codes[word] for word in words], dtype=np.int64)
        return {word: np.flatnonzero(of == code) for word, code in codes.items()}

    def chain(self, row: int) -> Object:
        """A chain as it is printed."""
        return next(self.chains(row, row + 1))

    def chains(self, begin: int, end: int) -> Iterator[Object]:
        """Adjacent chains as they are printed, each made when it is its turn."""
        table, t0_ns, first = self.table, self.t0_ns, int(self.bounds[begin])
        kinds = table.schema.by_name["kind"].categories or ()
        own = slice(first, int(self.bounds[end]))
        events = list(zip(*(self.events[name][own].tolist() for name in _FIELDS), strict=True))
        bounds = (self.bounds[begin : end + 1] - first).tolist()
        columns = (*(table[name][begin:end].tolist() for name in _COLUMNS), self.dropped[begin:end].tolist())
        for place, values in enumerate(zip(*columns, strict=True)):
            number, kind, t_ns, end_ns, conn, idle_ns, held_ns, duplicate, cost_ns, silence_ns, dropped = (
                values
            )
            yield {
                "chain": number,
                "kind": kinds[kind],
                "start": round(float(t_ns - t0_ns) / 1e9, 6),
                "end": round(float(end_ns - t0_ns) / 1e9, 6),
                "conn": conn if conn >= 0 else None,
                "idle_s": _seconds(idle_ns),
                "held_s": _seconds(held_ns),
                "duplicate_bytes": duplicate,
                "dropped_bytes": dropped,
                "cost_s": _seconds(cost_ns),
                "silence_s": _seconds(silence_ns),
                "events": [
                    _event(self.paths, t0_ns, *event) for event in events[bounds[place] : bounds[place + 1]]
                ],
            }

    def text(self, begin: int, end: int) -> str:
        """Adjacent chains as entries of a list of the JSON object: the same as of `chains`."""
        table, events = self.table, self.events
        own = slice(int(self.bounds[begin]), int(self.bounds[end]))
        given: dict[str, Array | list[str]] = {name: events[name][own] for name in _FIELDS}
        paths = np.array([*self.paths, ""], dtype=object)  # the last one for those without a source
        given["source"] = paths[given["source"]].tolist()
        given |= {name: events[name][own].tolist() for name in ("what", "frames", "cause", "rule")}
        kinds = np.array(table.schema.by_name["kind"].categories, dtype=object)
        of: dict[str, Array | list[str] | None] = {name: table[name][begin:end] for name in _COLUMNS}
        of |= {"kind": kinds[of["kind"]].tolist(), "dropped": self.dropped[begin:end], "events": None}
        return native.json_nested_rows(
            [(key, kind, of[name]) for key, kind, name in _CHAIN],
            [(key, kind, given[name]) for key, kind, name in _EVENT],
            self.bounds[begin : end + 1] - own.start,
            self.t0_ns,
            level=2,
        )


_CHAIN = (
    ("chain", "number", "chain"),
    ("kind", "text", "kind"),
    ("start", "time", "t_ns"),
    ("end", "time", "end_ns"),
    ("conn", "known", "conn"),
    ("idle_s", "seconds", "idle_ns"),
    ("held_s", "seconds", "held_ns"),
    ("duplicate_bytes", "number", "duplicate"),
    ("dropped_bytes", "number", "dropped"),
    ("cost_s", "seconds", "cost_ns"),
    ("silence_s", "seconds", "silence_ns"),
    ("events", "rows", "events"),
)
"""Keys of a chain, how each is written, and its column; see `multitracer.native.values`."""

_EVENT = (
    ("event", "number", "event"),
    ("parent", "some", "parent"),
    ("what", "text", "what"),
    ("t", "time", "t_ns"),
    ("end", "known time", "end_ns"),
    ("source", "text", "source"),
    ("record", "some", "record"),
    ("seq", "known", "seq"),
    ("length", "known", "length"),
    ("frames", "text", "frames"),
    ("number", "number", "number"),
    ("wait_s", "known seconds", "wait_ns"),
    ("cause", "text", "cause"),
    ("rule", "text", "rule"),
)
"""The same of an event."""

_AT_ONCE = 512
"""Chains whose values are taken out of the columns at once."""

_COLUMNS = (
    *("chain", "kind", "t_ns", "end_ns", "conn", "idle_ns", "held_ns", "duplicate"),
    *("cost_ns", "silence_ns"),
)
_FIELDS = (
    *("event", "parent", "what", "t_ns", "end_ns", "source", "record", "seq", "length", "frames", "number"),
    *("wait_ns", "cause", "rule"),
)


def _event(
    paths: Sequence[str],
    t0_ns: int,
    number: int,
    parent: int,
    what: str,
    t_ns: int,
    end_ns: int,
    source: int,
    record: int,
    seq: int,
    length: int,
    frames: str,
    several: int,
    wait_ns: int,
    cause: str,
    rule: str,
) -> Object:
    return {
        "event": number,
        "parent": parent or None,
        "what": what,
        "t": round(float(t_ns - t0_ns) / 1e9, 6),
        "end": round(float(end_ns - t0_ns) / 1e9, 6) if end_ns >= 0 else None,
        "source": paths[source] if source >= 0 else None,
        "record": record or None,
        "seq": seq if seq >= 0 else None,
        "length": length if length >= 0 else None,
        "frames": frames or None,
        "number": several,
        "wait_s": round(wait_ns / 1e9, 6) if wait_ns >= 0 else None,
        "cause": cause or None,
        "rule": rule,
    }


def _seconds(value_ns: int) -> float:
    return round(value_ns / 1e9, 6) if value_ns else 0.0


class Chains(Derived[Object]):
    """Chains as ``multitracer analyze --json`` prints them, all or some, each made anew at every access.

    There may be tens of thousands: sentences count them in columns.

    Parameters
    ----------
    of : Columns
        All chains.
    rows : array of int64, optional
        Which these are; None: all.
    """

    __slots__ = ("of", "rows")

    def __init__(self, of: Columns, rows: Array | None = None) -> None:
        self.of = of
        self.rows: Array = np.arange(len(of.table)) if rows is None else rows
        super().__init__(
            len(self.rows),
            lambda at: of.chain(int(self.rows[at])),
            text=self._text if rows is None else None,
        )

    def __iter__(self) -> Iterator[Object]:
        if len(self.rows) < len(self.of.table):
            yield from super().__iter__()
            return
        for begin in range(0, len(self.rows), _AT_ONCE):
            yield from self.of.chains(begin, min(begin + _AT_ONCE, len(self.rows)))

    def _text(self, flat: bool) -> Iterator[bytes]:
        """All of them as entries of a JSON list (`multitracer.output.jsontext`)."""
        for begin in range(0, len(self.rows), _AT_ONCE):
            entries = self.of.text(begin, min(begin + _AT_ONCE, len(self.rows)))
            text = ("," if begin else "") + "\n    " + entries
            yield (re.sub("\n *", "", text) if flat else text).encode()

    def where(self, mask: Array) -> Chains:
        """Those that a boolean mask picks."""
        return Chains(self.of, self.rows[mask])

    def joined(self, others: Chains) -> Chains:
        """These, and others of the same measurement after them."""
        return Chains(self.of, np.append(self.rows, others.rows))

    def of_kind(self, kind: str) -> Chains:
        """Those of one kind."""
        table = self.of.table
        return self.where(table["kind"][self.rows] == table.code("kind", kind))

    def column(self, name: str) -> Array:
        """A column of `CHAINS`."""
        values: Array = self.of.table[name][self.rows]
        return values

    def seconds(self, name: str) -> list[float]:
        """A column of nanoseconds, as each chain has it in seconds."""
        return [_seconds(value) if value else 0.0 for value in self.column(name).tolist()]

    @property
    def dropped_bytes(self) -> int:
        """Of the bytes that they retransmitted, those that the link had never carried."""
        return int(self.of.dropped[self.rows].sum())

    def events(self, *what: str) -> Array:
        """Rows of their events of some kinds, in their order."""
        found = [self.of.kinds[one] for one in what if one in self.of.kinds]
        if not found:
            return np.empty(0, dtype=np.int64)
        rows = found[0] if len(found) == 1 else np.sort(np.concatenate(found))
        place = np.full(len(self.of.table), -1, dtype=np.int64)
        place[self.rows] = np.arange(len(self.rows))
        of = place[self.of.events["chain"][rows] - 1]
        mine: Array = rows[of >= 0]
        return mine[np.argsort(of[of >= 0], kind="stable")]

    def of_events(self, name: str, *what: str) -> Array:
        """A column of `CHAIN_EVENTS`, of their events of some kinds."""
        values: Array = self.of.events[name][self.events(*what)]
        return values

    def counts(self, *what: str, where: tuple[str, object] | None = None) -> Array:
        """How many events of some kinds each of them has.

        Parameters
        ----------
        *what : str
            The kinds.
        where : str and object, optional
            A column of `CHAIN_EVENTS`, and what it holds of those that count.
        """
        rows = self.events(*what)
        if where is not None:
            rows = rows[self.of.events[where[0]][rows] == where[1]]
        every: Array = np.bincount(self.of.events["chain"][rows] - 1, minlength=len(self.of.table))
        return every[self.rows]

    def segments(self, *what: str) -> int:
        """How many segments, or ACKs, their events of some kinds stand for."""
        return int(self.of_events("number", *what).sum())

    def records(self, most: int, *what: str) -> tuple[tuple[str, int], ...]:
        """File and record of the first of their events, kind by kind, none twice.

        Parameters
        ----------
        most : int
            So many at most.
        *what : str
            Kinds of events.
        """
        found: dict[tuple[str, int], None] = {}
        for kind in what:
            columns = (self.of_events(name, kind).tolist() for name in ("source", "record"))
            for source, record in zip(*columns, strict=True):
                if source >= 0 and record:
                    found[self.of.paths[source], record] = None
                    if len(found) == most:
                        return tuple(found)
        return tuple(found)


def chains_of(results: Mapping[str, Result]) -> Chains | None:
    """All chains, out of the results of the analyzers; None if the question was not answered."""
    found: Chains | None = summary_of(results, "chains").get("chains")
    return found
