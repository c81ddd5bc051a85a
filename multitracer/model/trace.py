"""What one file holds: a source, its tables, its issues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from multitracer.model.errors import Issue
from multitracer.model.frozen import changeable
from multitracer.model.table import Array, Table

if TYPE_CHECKING:
    from multitracer.model.linktype import LinkType

Layer = Literal["tcp", "kernel", "link", "dccp"]
ClockKind = Literal["realtime", "monotonic", "simulation", "unknown"]


class Flow(NamedTuple):
    """A socket as a kernel log names it: the local end first. IPv4-mapped addresses are plain IPv4."""

    local_address: str
    local_port: int
    remote_address: str
    remote_port: int


@changeable
class Source:
    """Where a trace came from, and on which clock.

    Attributes
    ----------
    path : str
        As the user gave it.
    format : str
        Name of the parser that read it.
    layer : {"tcp", "kernel", "link", "dccp"}
        tcp for captures, kernel for TCP-state logs, link for link-layer logs, dccp for captures and logs of
        that transport.
    records : int
        Packets or lines of data in the file.
    clock : {"realtime", "monotonic", "simulation", "unknown"}
        realtime: nanoseconds since the Unix epoch. simulation: since its start; all that is logged of it has
        this one clock.
    first_ns, last_ns : int or None
        Times of the first and last record on its own clock; None if empty.
    resolution_ns : int
        The step of the clock as written in the file.
    point : str or None
        Observation point: "snd", "rcv" (relative to the bulk of the data), link entities joined by "+", or
        None while unknown.
    tcp_segments : int or None
        Captures: segments among the records; None elsewhere.
    details : dict
        Format-specific facts for `info` (link types, packets by kind, header keys ...); JSON-serialisable.
    """

    path: str
    format: str
    layer: Layer
    records: int = 0
    clock: ClockKind = "unknown"
    first_ns: int | None = None
    last_ns: int | None = None
    resolution_ns: int = 1
    point: str | None = None
    tcp_segments: int | None = None
    details: dict[str, Any] = field(default_factory=dict)


@changeable
class Trace:
    """One file, read.

    Attributes
    ----------
    source : Source
    tables : dict of str to Table
        By schema name; `conn` and `source` columns are filled in by `align`.
    issues : list of Issue
    flows : list of Flow
        Kernel logs: sockets, indexed by the `flow` column.
    entities : list of str
        Link logs: entity names, indexed by the `entity` column.
    connections : sequence of dict
        Captures: summaries by the TCP tracker, indexed by the `conn` column; of a capture without tables
        each is made when it is asked for.
    links : list of LinkType
        Link logs: of what kind the link of each entity is; empty: a byte stream logged by its entities (RLP).
    others : list of Trace
        What the same file holds of another layer (the TCP segments in a capture of a radio link), a separate
        trace with the same path and clock.
    places : array or None
        Segments read inside frames that cut a stream: for each row of ``segments``, its first byte in the
        stream of the link's log; -1 where that is not known.
    piped : bytes or None
        Captures that came through a pipe: their content, which cannot be read again.
    """

    source: Source
    tables: dict[str, Table] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    connections: Sequence[dict[str, Any]] = field(default_factory=list)
    links: list[LinkType] = field(default_factory=list)
    others: list[Trace] = field(default_factory=list)
    places: Array | None = None
    piped: bytes | None = field(default=None, repr=False)
