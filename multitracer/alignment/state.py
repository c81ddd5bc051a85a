"""What is known so far while sources are joined."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.alignment.clocks import ClockLine, Piece
from multitracer.alignment.connections import Merged
from multitracer.alignment.relation import Nominal, Relation
from multitracer.model import declared
from multitracer.model.errors import Issue
from multitracer.model.frozen import changeable
from multitracer.model.table import Array, Table
from multitracer.model.trace import Trace

if TYPE_CHECKING:
    from multitracer.alignment.captures import Matches

_AT_HOSTS = ("ns2", "ns3-ascii")  # of a whole simulation: what hosts saw, and what links did


@changeable
class AlignmentState:
    """What is known so far while sources are joined.

    Attributes
    ----------
    traces : list of Trace
    settings : dict
    merged : list of Merged
    own : dict of int to Table
        By capture: segments in common terms, times on the capture's clock.
    nominal : dict of int to Nominal
        Sources that are on the timeline.
    relations : list of Relation
        In order of trust.
    path : list of int
        Captures from the data sender to the receiver.
    main : int or None
        Index of the connection with most data.
    leaving : int8 array or None
        By connection, the direction that leaves the side of the main connection's data sender; -1 unknown.
    left_out : set of int
        Copies of other sources.
    repeated : dict of int to dict
        By link log and table, a mask of the rows that another log of the same link has, too.
    tried : set of int
        Sources that had enough to be joined by: if they are not, they do not belong to the others.
    """

    traces: list[Trace]
    settings: dict[str, Any]
    merged: list[Merged] = field(default_factory=list)
    own: dict[int, Table] = field(default_factory=dict)
    nominal: dict[int, Nominal] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    path: list[int] = field(default_factory=list)
    main: int | None = None
    leaving: Array | None = None
    reference: int = 0
    left_out: set[int] = field(default_factory=set)
    tried: set[int] = field(default_factory=set)
    entity_sides: dict[tuple[int, int], int] = field(default_factory=dict)
    repeated: dict[int, dict[str, Array]] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)
    _matches: dict[tuple[int, int], Matches] = field(default_factory=dict)
    _ways: dict[tuple[int, int], tuple[Array, Array]] = field(default_factory=dict)

    def matches(self, a: int, b: int) -> Matches:
        """The packets that two captures both have, found once."""
        if (a, b) not in self._matches:
            from multitracer.alignment import captures

            back = self._matches.get((b, a))
            if back is None:
                self._matches[a, b] = captures.match(self.own[a], self.own[b])
            else:
                order = np.argsort(self.own[a]["t_ns"][back.second], kind="stable")
                self._matches[a, b] = captures.Matches(back.second[order], back.first[order])
        return self._matches[a, b]

    def way(self, a: int, b: int) -> tuple[Array, Array]:
        """As `ways.first_pass`: for each connection the direction that passes capture a before b."""
        if (a, b) not in self._ways:
            from multitracer.alignment import ways

            back = self._ways.get((b, a))
            if back is None:
                found = ways.first_pass(self.own[a], self.own[b], self.matches(a, b), self.merged)
            else:
                found = np.where(back[0] < 0, back[0], 1 - back[0]), back[1]
            self._ways[a, b] = found
        return self._ways[a, b]

    def settled(self, source: int) -> bool:
        """Whether a source is on the timeline."""
        return source in self.nominal

    def span(self, source: int) -> tuple[int, int]:
        """First and last time of a source on its own clock."""
        found = self.traces[source].source
        first = found.first_ns if found.first_ns is not None else 0
        last = found.last_ns if found.last_ns is not None else first
        for table in self.traces[source].tables.values():
            if len(table):
                first = (
                    min(first, int(table["t_ns"].min()))
                    if found.first_ns is not None
                    else int(table["t_ns"].min())
                )
                last = max(last, int(table["t_ns"].max()))
        return first, max(first, last)

    def simulated(self, source: int) -> bool:
        """Whether a source has the reference's clock, as both are of one simulation."""
        kinds = {self.traces[i].source.clock for i in (source, self.reference)}
        return kinds == {"simulation"}

    def clock_source(self, source: int) -> int:
        """The trace that the clock of a source's file is fitted by: its TCP, else its first; often itself."""
        path = self.traces[source].source.path
        same = [i for i, trace in enumerate(self.traces) if trace.source.path == path]
        return min(same, key=lambda i: (self.traces[i].source.layer != "tcp", i))

    def on_air(self, source: int) -> bool:
        """Whether a capture was taken on a link, between its ends: its file has the link's frames, too."""
        mine = self.traces[source].source
        if mine.layer != "tcp" or mine.format in _AT_HOSTS:
            return False
        return any(trace.source.path == mine.path and trace.source.layer == "link" for trace in self.traces)

    def share_clocks(self) -> None:
        """Put on the timeline what is of a file that another trace has brought there."""
        for source in range(len(self.traces)):
            base = self.clock_source(source)
            for one, other in ((source, base), (base, source)):
                if not self.settled(one) and self.settled(other) and one not in self.left_out:
                    self.nominal[one] = self.nominal[other]

    def mapped(self, source: int) -> Table:
        """A capture's segments in common terms with times on the reference timeline."""
        own = self.own[source]
        return own.replace(t_ns=self.nominal[source].apply(own["t_ns"], own["record"]))

    def identity(self, source: int) -> Nominal:
        """A clock that is taken as it is."""
        return Nominal((Piece(0, ClockLine(self.span(source)[0], 0), 0, 0, 0.0),))

    def place(self, source: int, pieces: tuple[Piece, ...]) -> None:
        """Put a source on the timeline: as declared, else as fitted."""
        path = self.traces[source].source.path
        offset_s = declared.number(self.settings, path, "clock_offset_s")
        if offset_s is None:
            self.nominal[source] = Nominal(pieces)
            return
        skew = (declared.number(self.settings, path, "clock_skew_ppm") or 0.0) / 1e6
        line = ClockLine(self.span(source)[0], round(offset_s * 1e9), skew)
        self.nominal[source] = Nominal((Piece(0, line, 0, 0, 0.0),), free=False)

    def layer(self, layer: str) -> list[int]:
        """Sources of a layer that take part."""
        return [
            i for i, trace in enumerate(self.traces) if trace.source.layer == layer and i not in self.left_out
        ]


def entities(state: AlignmentState) -> list[str]:
    """Names of all link entities, the sender's side first where it is known."""
    names: dict[str, int] = {}
    for source in state.layer("link"):
        for number, name in enumerate(state.traces[source].entities):
            names.setdefault(name, state.entity_sides.get((source, number), 2))
    return sorted(names, key=lambda name: names[name])
