"""All traces to one measurement: sources are joined one after the other, then corrected together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from multitracer import schema
from multitracer.alignment import (
    application,
    captures,
    connections,
    dccp,
    declared,
    kernel,
    linklog,
    roles,
    samples,
    simulated,
    uncaptured,
)
from multitracer.alignment.connections import Merged
from multitracer.alignment.finish import finish
from multitracer.alignment.flows import connections_of
from multitracer.alignment.relation import Nominal, Relation, place_steps
from multitracer.clocks import Line, Piece, fit
from multitracer.errors import AlignmentError, Issue
from multitracer.measurement import Measurement
from multitracer.table import Table
from multitracer.trace import Trace

_FEW_MATCHES = 3
_AT_HOSTS = ("ns2", "ns3-ascii")  # of a whole simulation: what hosts saw, and what links did
_SIMULATED_NS = 10**16  # 116 days: captures of simulations begin in 1970
_MANY_ANCHORS = 20


@dataclass
class Work:
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
    left_out : set of int
        Copies of other sources.
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
    reference: int = 0
    left_out: set[int] = field(default_factory=set)
    tried: set[int] = field(default_factory=set)
    entity_sides: dict[tuple[int, int], int] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)

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

    def twin(self, source: int) -> int:
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
            twin = self.twin(source)
            for one, other in ((source, twin), (twin, source)):
                if not self.settled(one) and self.settled(other) and one not in self.left_out:
                    self.nominal[one] = self.nominal[other]

    def mapped(self, source: int) -> Table:
        """A capture's segments in common terms with times on the reference timeline."""
        own = self.own[source]
        return own.replace(t_ns=self.nominal[source].apply(own["t_ns"], own["record"]))

    def identity(self, source: int) -> Nominal:
        """A clock that is taken as it is."""
        return Nominal((Piece(0, Line(self.span(source)[0], 0), 0, 0, 0.0),))

    def place(self, source: int, pieces: tuple[Piece, ...]) -> None:
        """Put a source on the timeline: as declared, else as fitted."""
        path = self.traces[source].source.path
        offset_s = declared.number(self.settings, path, "clock_offset_s")
        if offset_s is None:
            self.nominal[source] = Nominal(pieces)
            return
        skew = (declared.number(self.settings, path, "clock_skew_ppm") or 0.0) / 1e6
        line = Line(self.span(source)[0], round(offset_s * 1e9), skew)
        self.nominal[source] = Nominal((Piece(0, line, 0, 0, 0.0),), free=False)

    def layer(self, layer: str) -> list[int]:
        """Sources of a layer that take part."""
        return [
            i for i, trace in enumerate(self.traces) if trace.source.layer == layer and i not in self.left_out
        ]


def align(traces: Sequence[Trace], settings: Mapping[str, Any] | None = None) -> Measurement:
    """Put the traces of one transfer on one timeline.

    The reference is the sender-side capture's clock (else the only capture's, else the best source's).
    Captures are joined by the packets that both have, kernel logs by the ACK rule, counters by their
    values, link logs by causality. What cannot be joined stays on its own clock, and an issue says so.

    Parameters
    ----------
    traces : sequence of Trace
    settings : mapping, optional
        Contents of measurement.toml. ``[sources."file name"]`` may hold ``point``, ``clock_offset_s``,
        ``clock_skew_ppm`` and ``clock_uncertainty_s``.

    Returns
    -------
    Measurement

    Raises
    ------
    AlignmentError
        If all captures are copies of one and no other source is given.

    Notes
    -----
    Path asymmetry bounds the error of a capture's offset by half of the smallest round-trip time; the clock's
    `uncertainty_ns` says so, or less where other sources narrow it.

    Reference: METRICS "Cross-layer"; PEERS "Convex hull clock fit".
    """
    work = Work(list(traces), dict(settings or {}))
    if not work.traces:
        raise AlignmentError("nothing to align: no trace was given")
    _leave_out_copies(work)
    _find_simulated(work)
    found = work.layer("tcp")
    work.merged = connections.merge(work.traces, found)
    for source in found:
        work.own[source] = _own_segments(work, source)
    _main_connection(work)
    _order_captures(work)
    _set_reference(work)
    simulated.name_sockets(work)
    _place_simulated(work)
    _join_captures(work)
    work.share_clocks()
    _join_links(work)
    uncaptured.join(work)
    work.share_clocks()
    _join_kernels(work)
    _join_dccp(work)
    for source, trace in enumerate(work.traces):
        if (
            not work.settled(source)
            and declared.number(work.settings, trace.source.path, "clock_offset_s") is not None
        ):
            work.place(source, work.identity(source).pieces)
    return finish(work)


def _find_simulated(work: Work) -> None:
    """Captures next to other logs of a simulation are of it, if they count from zero as it does."""
    if not any(trace.source.clock == "simulation" for trace in work.traces):
        return
    for source in work.layer("tcp"):
        found = work.traces[source].source
        if found.clock == "realtime" and 0 <= (found.first_ns or 0) <= (found.last_ns or 0) < _SIMULATED_NS:
            found.clock = "simulation"
            found.details["clock_by"] = "it counts from zero, as the other sources of a simulation do"


def _leave_out_copies(work: Work) -> None:
    """Of captures with the same records only the first takes part."""
    found = work.layer("tcp")
    tables = {i: work.traces[i].tables.get("segments") for i in found}
    for place, i in enumerate(found):
        for j in found[:place]:
            a, b = tables[j], tables[i]
            if j in work.left_out or a is None or b is None or not captures.identical(a, b):
                continue
            names = f"{work.traces[j].source.path} and {work.traces[i].source.path} hold the same records"
            work.left_out.add(i)
            work.issues.append(Issue("identical-sources", detail=names, path=work.traces[i].source.path))
            break
    if work.left_out and len(work.traces) - len(work.left_out) == 1:
        raise AlignmentError(f"{work.issues[-1].detail}: give the capture of the other side")


def _own_segments(work: Work, source: int) -> Table:
    trace = work.traces[source]
    table = trace.tables.get("segments", Table.empty(schema.SEGMENTS))
    if not len(table):
        return table
    return table.replace(**connections.columns(table, source, work.merged, len(trace.connections)))


def _main_connection(work: Work) -> None:
    if not work.merged:
        return
    sizes = [sum(merged.data_bytes) for merged in work.merged]
    shared = [len(merged.members) for merged in work.merged]
    most = max(shared)
    work.main = max(range(len(sizes)), key=lambda i: (shared[i] == most and sizes[i] > 0, sizes[i]))


def _outward(work: Work, table: Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each segment, whether it goes the way that the bulk of the data goes (from the sender's host)."""
    if work.main is None:
        return np.zeros(len(table), dtype=bool)
    main = work.merged[work.main]
    sender = main.endpoints[main.data_dir][0]
    to_forward = np.array(
        [_first_side(merged, sender, main.endpoints[1 - main.data_dir][0]) for merged in work.merged] + [-1]
    )
    first = to_forward[np.where(table["conn"] >= 0, table["conn"], len(work.merged))]
    return np.asarray((first >= 0) & (table["dir"] == first))


def _first_side(merged: Merged, sender: str, receiver: str) -> int:
    """The direction of a connection that leaves the sender's host; -1 if it is between other hosts."""
    for direction in (0, 1):
        if merged.endpoints[direction][0] == sender and merged.endpoints[1 - direction][0] == receiver:
            if sender == receiver:  # both ends on one address: each connection by its own data
                return merged.data_dir
            return direction
    return -1


def _order_captures(work: Work) -> None:
    """Captures from the data sender to the receiver, by content; then `point` of each, or as declared."""
    shared = [i for i in work.layer("tcp") if len(work.own[i])]
    path: list[int] = []
    for source in shared:
        place = len(path)
        for at, other in enumerate(path):
            matches = captures.match(work.own[source], work.own[other])
            data = _outward(work, work.own[source])[matches.first]
            if (
                len(matches) >= _FEW_MATCHES
                and captures.order_of(work.own[source], work.own[other], matches, data) == 0
            ):
                place = at
                break
        path.insert(place, source)
    work.path = path
    for place, source in enumerate(path):
        target = work.traces[source].source
        target.point = _point(work, source, place, path)
        wanted = declared.point(work.settings, target.path)
        if wanted is not None and wanted != target.point:
            if target.point is not None:
                detail = f"declared as {wanted}, but what it saw is {target.point}"
                work.issues.append(Issue("inconsistent-metadata", detail=detail, path=target.path))
            target.point = wanted
            target.details["point_by"] = "measurement.toml"


def _point(work: Work, source: int, place: int, path: list[int]) -> str | None:
    details = work.traces[source].source.details
    assert work.main is not None
    main = work.merged[work.main]
    if work.on_air(source):
        details["point_by"] = "it was captured on the link"
        return "mid"
    mates = [i for i in path if main.member(i) is not None and not work.on_air(i)]
    if len(mates) > 1 and source in mates:
        details["point_by"] = "order of the captures that share packets"
        return "snd" if source == mates[0] else "rcv" if source == mates[-1] else "mid"
    sizes = [(sum(m.data_bytes), i) for i, m in enumerate(work.merged) if m.member(source) is not None]
    if not sizes:
        return None
    conn = max(sizes)[1]
    split = roles.split_of_rtt(work.own[source], conn, work.merged[conn].data_dir)
    if split is None:
        return None
    details["point_by"] = split.words()
    return split.point


def _set_reference(work: Work) -> None:
    points = {work.traces[i].source.point: i for i in reversed(work.path)}
    if "snd" in points:
        work.reference = points["snd"]
    elif work.path:
        work.reference = work.path[0]
    else:
        others = [i for i in range(len(work.traces)) if i not in work.left_out]
        rank = {"tcp": 0, "dccp": 1, "link": 2, "kernel": 3}
        work.reference = min(
            others,
            key=lambda i: (work.traces[i].source.clock != "realtime", rank[work.traces[i].source.layer]),
        )
    work.place(work.reference, work.identity(work.reference).pieces)


def _place_simulated(work: Work) -> None:
    """Logs of the reference's simulation are on its clock; those of other sockets are of another run."""
    nominal = work.nominal[work.reference]
    for source in [*work.path, *work.layer("kernel"), *work.layer("link")]:
        flows = work.traces[source].flows
        ours = not flows or any(connections_of(flow, work.merged) for flow in flows)
        if source != work.reference and work.simulated(source) and ours:
            work.nominal[source] = Nominal(nominal.pieces, free=False)


def _join_captures(work: Work) -> None:
    """Grow from the reference: each time the capture that shares most packets with one on the timeline."""
    waiting = [i for i in work.path if not work.settled(i)]
    while waiting:
        options = [
            (len(matches := captures.match(work.own[a], work.own[b])), a, b, matches)
            for b in waiting
            for a in work.path
            if work.settled(a)
        ]
        best = max(options, key=lambda option: option[0], default=None)
        if best is None or best[0] < _FEW_MATCHES:
            break
        _, a, b, matches = best
        _join_pair(work, a, b, matches)
        waiting.remove(b)
    on = [i for i in work.path if work.settled(i)]
    for place, b in enumerate(on):  # further pairs narrow the bounds
        for a in on[:place]:
            if any({relation.a, relation.b} == {a, b} for relation in work.relations):
                continue
            if work.simulated(a) and work.simulated(b):
                continue
            matches = captures.match(work.own[a], work.own[b])
            if len(matches) >= _FEW_MATCHES:
                _join_pair(work, a, b, matches, new=False)


def _join_pair(work: Work, a: int, b: int, matches: captures.Matches, new: bool = True) -> None:
    data = _outward(work, work.own[a])[matches.first]
    a_is_near = captures.order_of(work.own[a], work.own[b], matches, data) != 1
    a_first, b_first = captures.pairs(work.own[a], work.own[b], matches, data == a_is_near)
    nominal = work.nominal[a]
    lower, upper = (pair.points(nominal.apply(pair.t_a, pair.record_a)) for pair in (a_first, b_first))
    fitted = fit(lower, upper, work.span(b))
    fitted = place_steps(fitted, work.own[b]["t_ns"], work.own[b]["record"], lower, upper)
    relation = Relation(
        a, b, a_first, b_first, "hull", fitted, None, {"matches": len(matches), **fitted.evidence}
    )
    work.relations.append(relation)
    if new:
        work.place(b, fitted.pieces)


def _join_links(work: Work) -> None:
    logs = [i for i in work.layer("link") if "link_frames" in work.traces[i].tables]
    sides = linklog.side_of({i: work.traces[i] for i in logs})
    work.entity_sides = sides
    on = [i for i in work.path if work.settled(i) and not work.on_air(i)]
    for log in logs:
        found = _link_relations(work, log, sides, on)
        for relation in found:
            if not work.settled(log):
                work.place(log, relation.fit.pieces)
            work.relations.append(replace(relation, b=work.twin(log)))
    for a in logs:  # two logs of one link
        for b in logs:
            ends = {work.twin(a), work.twin(b)}
            if len(ends) > 1 and work.settled(a) and not any({r.a, r.b} == ends for r in work.relations):
                between = linklog.join_logs(
                    a, b, work.traces[a], work.traces[b], work.nominal[a].apply, work.span(b)
                )
                if between is None:
                    continue
                if not work.settled(b):
                    work.place(b, between.fit.pieces)
                work.relations.append(replace(between, a=work.twin(a), b=work.twin(b)))


def _link_relations(
    work: Work, log: int, sides: Mapping[tuple[int, int], int], on: Sequence[int]
) -> list[Relation]:
    """Each entity against the capture on its side."""
    found: list[Relation] = []
    if not on:
        return found
    hint = 0 if work.traces[log].source.clock == "realtime" else None
    tries = [
        (entity, sides[log, entity], on[0] if sides[log, entity] == 0 else on[-1])
        for entity in range(len(work.traces[log].entities))
    ]
    alone = {"snd": 0, "rcv": 1}.get(work.traces[on[0]].source.point or "") if len(on) == 1 else None
    if alone is not None:
        tries = [one for one in tries if one[1] == alone]  # the other entity is across the link
    for entity, side, capture in sorted(tries, key=lambda one: one[2] != work.reference):
        table = work.mapped(capture)
        outward = _outward(work, table)
        known = table["conn"] >= 0
        near = outward if side == 0 else ~outward
        packets = linklog.Packets.at(table.where(known), near[known])
        own = work.own[capture].where(known)
        relation = linklog.join(log, work.traces[log], entity, capture, packets, own, work.span(log), hint)
        if relation is not None:
            found.append(relation)
            line = relation.fit.pieces[0].line
            hint = line.offset_ns if hint is None else hint
        elif linklog.anchor_count(work.traces[log], entity) >= _MANY_ANCHORS and len(own) >= _MANY_ANCHORS:
            work.tried.add(log)
    if len(on) == 1 and alone is None:  # a capture of unknown place is next to one entity, not to both
        found = sorted(found, key=lambda r: -r.evidence["votes"] / r.evidence["voters"])[:1]
    # The one against the reference first: it carries no error of another capture's clock.
    found.sort(key=lambda r: (r.fit.bound_ns is None, r.a != work.reference, r.fit.bound_ns or 0))
    return found


def _join_kernels(work: Work) -> None:
    on = [i for i in work.path if work.settled(i)]
    preferred = sorted(on, key=lambda i: i != work.reference)
    segments = {i: work.mapped(i) for i in preferred}
    for log in work.layer("kernel"):
        if work.settled(log):
            continue
        trace = work.traces[log]
        span = work.span(log)
        relation = kernel.join(log, trace, work.merged, segments, span, preferred)
        states = trace.tables.get("tcp_states")
        if relation is None and states is not None and len(states):
            points = {i: work.traces[i].source.point for i in preferred}
            relation = samples.join(log, trace, work.merged, segments, span, preferred, points)
            if relation is None:
                relation = application.join(log, trace, work.merged, segments, span, preferred, points)
        if preferred and not any(connections_of(flow, work.merged) for flow in trace.flows):
            work.tried.add(log)
        if relation is not None:
            work.place(log, relation.fit.pieces)
            work.relations.append(relation)


def _join_dccp(work: Work) -> None:
    """Captures of DCCP, to the first of them that is on the timeline."""
    found = [i for i in work.layer("dccp") if "dccp_packets" in work.traces[i].tables]
    for source in found:
        a = next((i for i in found if i != source and work.settled(i)), None)
        if a is None or work.settled(source):
            continue
        traces = work.traces[a], work.traces[source]
        relation = dccp.join(a, source, *traces, work.nominal[a], work.span(source))
        if relation is None:
            work.tried.add(source)
            continue
        work.place(source, relation.fit.pieces)
        work.relations.append(relation)
