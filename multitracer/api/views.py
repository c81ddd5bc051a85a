"""Every connection of a measurement on its own, as an analysis: what a page lets its reader choose from."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from multitracer.api.answering import answers
from multitracer.api.measurement import Measurement
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline
from multitracer.output.digest import digest
from multitracer.output.results import Answers

MOST_VIEWS = 60
"""Connections that a page lets its reader choose from; each is analysed alone."""


def worth_seeing(analysis: Answers, most: int = MOST_VIEWS) -> list[int]:
    """Numbers of the connections to look at, ascending: most trouble and most data first where not all fit.

    Parameters
    ----------
    analysis : Answers
        Of all connections.
    most : int

    Returns
    -------
    list of int
        ``index`` of each; empty where there is one connection or none.
    """
    known = analysis.measurement.connections
    if len(known) < 2:
        return []
    if len(known) <= most:
        return [one.index for one in known]
    entries = analysis.contract(most)["connections"]
    found = digest(entries, most)
    half = most // 2
    chosen = dict.fromkeys(found["worst"][:half])
    for place in (*found["largest"], *found["worst"]):
        if len(chosen) < most:
            chosen[place] = None
    return sorted(entries[place]["index"] for place in chosen)


def each_connection(measurement: Timeline, numbers: Sequence[int]) -> Iterator[Answers]:
    """Analyses of single connections, made one after the other so that one at a time is held.

    Parameters
    ----------
    measurement : Timeline
        With tables (`detail` full).
    numbers : sequence of int
        ``index`` of each.

    Yields
    ------
    Answers
        What `select` and `analyze` give of that connection, in the order of `numbers`.
    """
    if not numbers:
        return
    parts = {name: _Parts(table) for name, table in measurement.tables.items() if "conn" in table}
    for number in numbers:
        tables = dict(measurement.tables)
        tables.update({name: part.of(number) for name, part in parts.items()})
        kept = [_numbered(measurement.connections, number)]
        single = replace(measurement, connections=kept, tables=tables, _flows=None)
        assert isinstance(single, Measurement)
        yield Answers(single, answers(single))


def _numbered(known: Sequence[Connection], number: int) -> Connection:
    """The connection of a number; they are in its order, and of many each is made when it is asked for."""
    return known[bisect_left(known, number, key=lambda one: one.index)]


class _Parts:
    """A table in parts by connection: sorted once, not searched for each."""

    def __init__(self, table: Table) -> None:
        self.table = table
        numbers = table["conn"]
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]
        self._shared = self._order[: int(np.searchsorted(self._sorted, 0))]

    def of(self, number: int) -> Table:
        """Rows of one connection and those of none, in the table's order."""
        first, last = np.searchsorted(self._sorted, [number, number + 1])
        mine = self._order[first:last]
        return self.table.where(np.sort(np.concatenate([self._shared, mine])) if len(self._shared) else mine)
