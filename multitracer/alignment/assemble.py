"""All traces to one measurement: sources are joined one after the other, then corrected together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from multitracer.alignment import captures, path, simulated
from multitracer.alignment.clocks import fit
from multitracer.alignment.finish import finish
from multitracer.alignment.flows import sockets
from multitracer.alignment.path import FEW_MATCHES, outward
from multitracer.alignment.relation import Relation, place_steps
from multitracer.alignment.work import Work
from multitracer.model import declared
from multitracer.model.errors import AlignmentError
from multitracer.model.timeline import Timeline
from multitracer.model.trace import Trace

_MANY_ANCHORS = 20
_DEAF = 0.02  # gaps in what a monitor saw, by its rows: beyond, order says nothing of clocks


def align(traces: Sequence[Trace], settings: Mapping[str, Any] | None = None) -> Timeline:
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
    Timeline

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
    path.leave_out_copies(work)
    path.find_simulated(work)
    path.read_connections(work)
    path.order_captures(work)
    path.set_reference(work)
    simulated.name_sockets(work)
    path.place_simulated(work)
    _join_captures(work)
    work.share_clocks()
    _join_links(work)
    _join_uncaptured(work)
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


def _join_uncaptured(work: Work) -> None:
    if len(work.traces) > 1:
        from multitracer.alignment import uncaptured

        uncaptured.join(work)


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
        if best is None or best[0] < FEW_MATCHES:
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
            if len(matches) >= FEW_MATCHES:
                _join_pair(work, a, b, matches, new=False)


def _join_pair(work: Work, a: int, b: int, matches: captures.Matches, new: bool = True) -> None:
    data = outward(work, work.own[a])[matches.first]
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
    if not logs:
        return
    # Ways of joining are loaded where there is something to join: for a lone capture, this takes longer.
    from multitracer.alignment import linkpair
    from multitracer.alignment.anchors import side_of

    sides = side_of({i: work.traces[i] for i in logs})
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
                between = linkpair.join(
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
    from multitracer.alignment import linkair, linkinside, linklog
    from multitracer.alignment.linksearch import Packets

    found: list[Relation] = []
    if not on:
        return found
    deaf = _missed_share(work.traces[log]) > _DEAF
    if linkair.may_hold_packets(work, log):
        found = linkair.join(work, log, (on[0], on[-1]), None, deaf)
    if found or deaf:
        return _trusted(work, found)
    hint = 0 if work.traces[log].source.clock == "realtime" else None
    lead_ns = int(work.traces[log].source.details.get("gps_time_is_ahead_s", 0)) * 10**9
    tries = [
        (entity, sides[log, entity], on[0] if sides[log, entity] == 0 else on[-1])
        for entity in range(len(work.traces[log].entities))
    ]
    alone = {"snd": 0, "rcv": 1}.get(work.traces[on[0]].source.point or "") if len(on) == 1 else None
    if alone is not None:
        tries = [one for one in tries if one[1] == alone]  # the other entity is across the link
    readable = linkinside.is_readable(work, log)
    for entity, side, capture in sorted(tries, key=lambda one: one[2] != work.reference):
        if readable:
            exact = linkinside.join(work, log, entity, capture, side)
            found += [exact] if exact is not None else []
            continue
        table = work.mapped(capture)
        away = outward(work, table)
        known = table["conn"] >= 0
        near = away if side == 0 else ~away
        packets = Packets.at(table.where(known), near[known])
        own = work.own[capture].where(known)
        relation = linklog.join(
            log, work.traces[log], entity, capture, packets, own, work.span(log), hint, lead_ns
        )
        if relation is not None:
            found.append(relation)
            line = relation.fit.pieces[0].line
            hint = line.offset_ns if hint is None else hint
        elif linklog.anchor_count(work.traces[log], entity) >= _MANY_ANCHORS and len(own) >= _MANY_ANCHORS:
            work.tried.add(log)
    # A capture of unknown place is next to one entity, not to both.
    if len(on) == 1 and alone is None and not readable:
        found = sorted(found, key=lambda r: -r.evidence["votes"] / r.evidence["voters"])[:1]
    found = _trusted(work, found)
    if found and linkair.may_hold_packets(work, log):
        # Now that it is known about when: packet by packet.
        found = _trusted(work, linkair.join(work, log, (on[0], on[-1]), found[0], deaf)) or found
    return found


def _trusted(work: Work, found: list[Relation]) -> list[Relation]:
    """The one against the reference first: it carries no error of another capture's clock."""
    return sorted(found, key=lambda r: (r.fit.bound_ns is None, r.a != work.reference, r.fit.bound_ns or 0))


def _missed_share(trace: Trace) -> float:
    """How often a monitor knows that it missed something: what it saw first need not have been sent first."""
    events, frames = trace.tables.get("link_events"), trace.tables.get("link_frames")
    if events is None or frames is None or not len(frames):
        return 0.0
    return int((events["kind"] == events.code("kind", "unseen")).sum()) / len(frames)


def _join_kernels(work: Work) -> None:
    logs = work.layer("kernel")
    if not logs:
        return
    from multitracer.alignment import application, kernel, samples

    on = [i for i in work.path if work.settled(i)]
    preferred = sorted(on, key=lambda i: i != work.reference)
    segments = {i: work.mapped(i) for i in preferred}
    for log in logs:
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
        if preferred and not sockets(trace.flows, work.merged):
            work.tried.add(log)
        if relation is not None:
            work.place(log, relation.fit.pieces)
            work.relations.append(relation)


def _join_dccp(work: Work) -> None:
    """Captures of DCCP, to the first of them that is on the timeline."""
    found = [i for i in work.layer("dccp") if "dccp_packets" in work.traces[i].tables]
    if not found:
        return
    from multitracer.alignment import dccp

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
