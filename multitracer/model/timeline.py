"""The traces of one transfer on one timeline."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from multitracer.model.errors import Issue, UsageError
from multitracer.model.frozen import changeable, frozen
from multitracer.model.lazy import np
from multitracer.model.quantities import count
from multitracer.model.table import Array, Table
from multitracer.model.trace import Source, Trace

if TYPE_CHECKING:
    from multitracer.model.linktype import LinkType

T = TypeVar("T")
FAR_NS = 2**62
"""Beyond every time of every trace."""
Grade = Literal["reference", "exact", "accurate", "approximate", "assumed", "unjoined"]


@frozen
class Clock:
    """How one source's clock maps to the reference timeline.

    ``t_reference = t_source + offset_ns`` at the source's first event, and drifts by `skew_ppm` from there.

    Attributes
    ----------
    source : int
        Index of the source.
    reference : int or None
        Index of the source it was joined to; None for the reference itself and for unjoined sources.
    offset_ns : int
    skew_ppm : float
    uncertainty_ns : int or None
        Bound of the error of the offset against the reference timeline; None if unknown.
    method : str
        How it was found: "reference", "hull", "ack-match", "causality", "declared", "as-stamped",
        "same-file", "none".
    grade : str
        reference; exact (same clock); accurate; approximate; assumed (no evidence against); unjoined.
    evidence : dict
        Matches, residual percentiles, bounds; JSON-serialisable.
    """

    source: int
    reference: int | None
    offset_ns: int
    skew_ppm: float
    uncertainty_ns: int | None
    method: str
    grade: Grade
    evidence: dict[str, Any] = field(default_factory=dict)

    def uncertainty_at(self, record: int) -> int | None:
        """Bound of the error at one record, in ns.

        It is wider by a step of the clock where nothing shows on which side of it the record is, and by what
        the clock may drift to records far from the connections that joined it.
        """
        if self.uncertainty_ns is None:
            return None
        steps = self.evidence.get("steps", ())
        doubts = (s for s in steps if "doubtful" in s and s["doubtful"][0] <= record <= s["doubtful"][1])
        first, last = self.evidence.get("covers_records", (record, record))
        drift = 0 if first <= record <= last else int(self.evidence.get("outside_ns", 0))
        return self.uncertainty_ns + drift + sum(abs(int(step["offset_change_ns"])) for step in doubts)


@frozen
class Connection:
    """One TCP connection of the measurement, however many captures saw it.

    Attributes
    ----------
    index : int
        Value of the `conn` columns.
    endpoints : tuple
        ``((address, port), (address, port))``; direction "forward" is from the first to the second.
    data_dir : int
        Direction that carries the bulk of the data: 0 forward, 1 reverse.
    summaries : dict of int to dict
        The tracker's summary per capture (key: source index).
    leaving : int
        Direction that leaves the side of the measurement's main sender; -1 unknown or not asked for.
    translated : dict of int to tuple
        Endpoints by capture, in this orientation, where not all captures have the same (NAT); else empty.
    """

    index: int
    endpoints: tuple[tuple[str, int], tuple[str, int]]
    data_dir: int
    summaries: dict[int, dict[str, Any]]
    leaving: int = -1
    translated: Mapping[int, tuple[tuple[str, int], tuple[str, int]]] = field(default_factory=dict)


class FlowIndex:
    """The rows of each connection, direction and capture in a table of segments.

    Parameters
    ----------
    segments : Table

    Attributes
    ----------
    segments : Table
        The same, those of each flow together in time order.
    """

    def __init__(self, segments: Table) -> None:
        conn, source = segments["conn"], segments["source"]
        self._sources = int(source.max(initial=0)) + 1
        self._connections = int(conn.max(initial=-1)) + 2
        # Small keys take less memory, and are sorted digit by digit.
        kind = np.dtype("uint16" if 2 * self._sources * self._connections <= 1 << 16 else "int64")
        way = segments["dir"].astype(kind)
        if self._sources > 1:
            way = way + 2 * source.astype(kind)
        key: Array = way * self._connections + conn.astype(kind) + 1
        t_ns = segments["t_ns"]
        # Rows are in time order already; a stable sort keeps them so within each flow.
        in_time = not np.any(t_ns[1:] < t_ns[:-1])
        order = np.argsort(key, kind="stable") if in_time else np.lexsort((t_ns, key))
        key = key.take(order)
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
        self._keys = key[starts].astype(np.int64)
        self._bounds = np.append(starts, len(key))
        # After the last flow: one that has no rows.
        self._keys_and_none = np.append(self._keys, -1)
        self._begins = np.append(starts, 0)
        self._ends = np.append(self._bounds[1:], 0)
        self.segments = segments.reordered(order)
        self._tables: dict[int, Table] = {}
        self._carrying: list[int] | None = None

    def of(self, conn: int, direction: int, source: int | None) -> Table:
        """The segments of one flow; the same table at every call.

        Parameters
        ----------
        conn : int
            The connection.
        direction : int
            0 or 1.
        source : int or None
            The capture among the sources; None as if there were none.
        """
        at = self._place(conn, direction, source)
        known = self._tables.get(at)
        if known is None:
            begin, end = self._bounds[at : at + 2].tolist() if at >= 0 else (0, 0)
            known = self._tables[at] = self.segments.between(begin, end)
        return known

    def carrying(self, conn: int, direction: int, source: int | None) -> int:
        """How many segments of a flow carry data.

        Parameters
        ----------
        conn, direction : int
        source : int or None
        """
        at = self._place(conn, direction, source)
        if self._carrying is None:
            data = self.segments["length"] > 0
            self._carrying = np.add.reduceat(data, self._bounds[:-1], dtype=np.int64).tolist()
        return 0 if at < 0 else self._carrying[at]

    def flows(self, conn: Array, direction: Array, source: int | Array) -> tuple[Table, Array]:
        """The segments of many flows, sorted by flow, then by time.

        Parameters
        ----------
        conn, direction : array of int64, shape (n,)
        source : int or array of int64, shape (n,)
            Capture; a flow that it does not have has no rows.

        Returns
        -------
        segments : Table
        of : array of int64
            For each row, its flow, from 0 to n - 1.
        """
        begin, end = self.bounds(conn, direction, source)
        sizes = end - begin
        of = np.repeat(np.arange(len(sizes)), sizes)
        first, several = begin[sizes > 0], sizes[sizes > 0]
        if np.array_equal(first[1:], (first + several)[:-1]):
            start = int(first[0]) if len(first) else 0
            return self.segments.between(start, start + len(of)), of
        rows = np.arange(len(of)) + (begin - np.cumsum(sizes) + sizes)[of]
        return self.segments.where(rows), of

    def bounds(self, conn: Array, direction: Array, source: int | Array) -> tuple[Array, Array]:
        """The rows of many flows among all segments (`segments`).

        Parameters
        ----------
        conn, direction : array of int64, shape (n,)
        source : int or array of int64, shape (n,)
            Capture; a flow that it does not have has no rows.

        Returns
        -------
        begin, end : array of int64, shape (n,)
            The first row of each flow, and the one after its last; both 0 without rows.
        """
        key = (source * np.int64(2) + direction) * self._connections + conn + 1
        at = self._keys.searchsorted(key)
        there = self._keys_and_none[at] == key
        # Any other number of a capture or a connection would be that of another flow.
        there &= conn < self._connections - 1
        there &= (np.asarray(source) >= 0) & (np.asarray(source) < self._sources)
        at[~there] = len(self._keys)
        return self._begins[at], self._ends[at]

    def by_connection(self) -> Array:
        """How many segments each connection has, up to the last that has any."""
        conn = self._keys % self._connections - 1
        known = conn >= 0
        sizes = np.diff(self._bounds)[known]
        return np.bincount(conn[known], sizes).astype(np.int64)

    def _place(self, conn: int, direction: int, source: int | None) -> int:
        """Which flow this is; -1: none that there is."""
        if source is None or not 0 <= source < self._sources or conn >= self._connections - 1:
            return -1
        key = (source * 2 + direction) * self._connections + conn + 1
        at = int(self._keys.searchsorted(key))
        return at if at < len(self._keys) and self._keys[at] == key else -1


@changeable
class Timeline:
    """What all sources recorded, on the reference timeline.

    Pure data: what is derived from it is found by functions of `multitracer.layers`, each at its first call
    (`once`). Tables are dense `Table`s with `source`, `conn` and `t_ns` filled in.

    Attributes
    ----------
    snd, rcv : int or None
        Source index of the capture next to the data sender and next to the data receiver.
    t0_ns : int
        First TCP event on the reference timeline: zero of all printed times.
    settings : dict
        Contents of measurement.toml.
    summarised : bool
        Read without tables: only what the tracker keeps of each connection is known.
    """

    traces: list[Trace]
    clocks: list[Clock]
    connections: Sequence[Connection]
    entities: list[str]
    tables: dict[str, Table]
    snd: int | None
    rcv: int | None
    t0_ns: int
    issues: list[Issue] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    summarised: bool = False
    _flows: FlowIndex | None = field(default=None, repr=False)
    _known: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def sources(self) -> list[Source]:
        """The sources, in the order that the `source` columns index."""
        return [trace.source for trace in self.traces]

    @property
    def link_is_apart(self) -> bool:
        """Whether no link log is on the timeline: what TCP did while the link did something is unknown."""
        grades = [clock.grade for clock in self.clocks if self.sources[clock.source].layer == "link"]
        return bool(grades) and all(grade == "unjoined" for grade in grades)

    def connection(self, index: int) -> Connection:
        """A connection by its number, which is not its place where some were chosen.

        Parameters
        ----------
        index : int

        Raises
        ------
        KeyError
            It is none of those that were read.
        """
        at = bisect_left(self.connections, index, key=lambda one: one.index)
        if at == len(self.connections) or self.connections[at].index != index:
            raise KeyError(index)
        return self.connections[at]

    def link_type(self, entity: int) -> LinkType:
        """Of what kind the link of an entity is, and what its log leaves out; RLP where no log names it."""
        from multitracer.model.linktype import RLP

        name = self.entities[entity]
        for trace in self.traces:
            if trace.links and name in trace.entities:
                return trace.links[trace.entities.index(name)]
        return RLP

    def table(self, name: str) -> Table:
        """A dense table by schema name; empty if no source provides it.

        Raises
        ------
        UsageError
            No such table.
        """
        found = self.tables.get(name)
        if found is not None:
            return found
        from multitracer.model.schema import SCHEMAS

        if name not in SCHEMAS:
            raise UsageError(f"no table {name!r}; there are {', '.join(sorted(SCHEMAS))}")
        return self.once(f"empty {name}", lambda: Table.empty(SCHEMAS[name]))

    def rows(self, *names: str) -> int:
        """Rows of these tables together."""
        return sum(len(self.tables[name]) for name in names if name in self.tables)

    def flow(self, conn: int, direction: int, source: int | None) -> Table:
        """Segments of one connection and direction at one capture, in time order.

        All flows are sorted out at the first call, so that asking for each of many costs only its rows.

        Parameters
        ----------
        conn : int
            The connection: its index.
        direction : int
            0 or 1; `Connection.data_dir` is that of the bulk of the data.
        source : int or None
            The capture among the sources.

        Returns
        -------
        Table
            Empty if the flow has no segments there.
        """
        return self._flow_index().of(conn, direction, source)

    def carrying(self, conn: int, direction: int, source: int | None) -> int:
        """How many segments of `flow` carry data: for most short connections that is all one needs.

        Parameters
        ----------
        conn : int
            The connection: its index.
        direction : int
            0 or 1.
        source : int or None
            The capture among the sources.
        """
        return self._flow_index().carrying(conn, direction, source)

    @property
    def segments_by_flow(self) -> Table:
        """All segments, those of each flow together in time order."""
        return self._flow_index().segments

    def flows(self, conn: Array, direction: Array, source: int | Array) -> tuple[Table, Array]:
        """Segments of many flows, flow after flow, each in time order; the flow of each.

        Parameters
        ----------
        conn, direction : array
            Of each flow.
        source : int | Array
            The capture among the sources, of each flow or of all.

        Returns
        -------
        segments : Table
        flow : int array
            For each row, its flow's place in `conn`.
        """
        return self._flow_index().flows(conn, direction, source)

    def segments_by_connection(self) -> Array:
        """How many segments each connection has, up to the last that has any."""
        return self._flow_index().by_connection()

    def flow_bounds(self, conn: Array, direction: Array, source: int | Array) -> tuple[Array, Array]:
        """The rows of many flows in `segments_by_flow`.

        Parameters
        ----------
        conn, direction : array
            Of each flow.
        source : int | Array
            The capture among the sources, of each flow or of all.

        Returns
        -------
        begin, end : int array
            The first row of each flow, and the one after its last.
        """
        return self._flow_index().bounds(conn, direction, source)

    def _flow_index(self) -> FlowIndex:
        if self._flows is None:
            self._flows = FlowIndex(self.table("segments"))
        return self._flows

    def once(self, name: str, find: Callable[[], T]) -> T:
        """What several questions ask of it, found at the first time."""
        if name not in self._known:
            self._known[name] = find()
        found: T = self._known[name]
        return found

    def seconds(self, t_ns: int | np.integer[Any]) -> float:
        """A time on the reference timeline as seconds from the first TCP event."""
        return float(int(t_ns) - self.t0_ns) / 1e9

    def nanoseconds(self, seconds: float) -> int:
        """A time on the reference timeline from any finite number of seconds from the first TCP event.

        Times beyond all that a trace can hold are limited to ``FAR_NS``, so that differences stay in 64 bits.
        """
        if abs(seconds) >= FAR_NS / 1e9:
            return FAR_NS if seconds > 0 else -FAR_NS
        return min(max(self.t0_ns + round(seconds * 1e9), -FAR_NS), FAR_NS)

    def __repr__(self) -> str:
        files = ", ".join(source.path for source in self.sources)
        return f"<Timeline of {files}: {count(len(self.connections), 'connection')}>"
