"""All traces to one measurement: sources are joined one after the other, then corrected together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from multitracer.alignment import path, simulated
from multitracer.alignment.finish import finish
from multitracer.alignment.flows import sockets
from multitracer.alignment.path import outward
from multitracer.alignment.relation import Relation
from multitracer.alignment.state import AlignmentState
from multitracer.model import declared
from multitracer.model.errors import AlignmentError
from multitracer.model.timeline import Timeline
from multitracer.model.trace import Trace

_MANY_ANCHORS = 20
_LOSSY_SHARE = 0.02  # gaps in what a monitor saw, by its rows: beyond, order shows nothing of clocks


def align(traces: Sequence[Trace], settings: Mapping[str, Any] | None = None) -> Timeline:
    """Put the traces of one transfer on one timeline.

    The reference is the sender-side capture's clock (else the only capture's, else the best source's).
    Captures are joined by the packets that both have, kernel logs by the ACK rule, counters by their
    values, link logs by causality. What cannot be joined stays on its own clock, and an issue reports it.

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
    `uncertainty_ns` is that bound, or less where other sources narrow it.

    Reference: Jabbarifar et al., "LIANA: Live Incremental Time Synchronization" (convex hulls).
    """
    state = AlignmentState(list(traces), dict(settings or {}))
    if not state.traces:
        raise AlignmentError("nothing to align: no trace was given")
    path.leave_out_copies(state)
    path.find_simulated(state)
    path.read_connections(state)
    path.order_captures(state)
    path.set_reference(state)
    simulated.name_sockets(state)
    path.place_simulated(state)
    _join_captures(state)
    state.share_clocks()
    _join_links(state)
    _join_uncaptured(state)
    _join_repeated(state)
    state.share_clocks()
    _join_kernels(state)
    _join_dccp(state)
    for source, trace in enumerate(state.traces):
        if (
            not state.settled(source)
            and declared.number(state.settings, trace.source.path, "clock_offset_s") is not None
        ):
            state.place(source, state.identity(source).pieces)
    return finish(state)


# Ways of joining are loaded if there is something to join: loading takes longer than reading one capture.


def _join_captures(state: AlignmentState) -> None:
    if len(state.path) > 1:
        from multitracer.alignment import capturejoin

        capturejoin.join(state)


def _join_uncaptured(state: AlignmentState) -> None:
    if len(state.traces) > 1:
        from multitracer.alignment import uncaptured

        uncaptured.join(state)


def _join_links(state: AlignmentState) -> None:
    logs = [i for i in state.layer("link") if "link_frames" in state.traces[i].tables]
    if not logs:
        return
    from multitracer.alignment import linkpair
    from multitracer.alignment.anchors import side_of

    sides = side_of({i: state.traces[i] for i in logs})
    state.entity_sides = sides
    on = [i for i in state.path if state.settled(i) and not state.on_air(i)]
    for log in logs:
        found = _link_relations(state, log, sides, on)
        for relation in found:
            if not state.settled(log):
                state.place(log, relation.fit.pieces)
            state.relations.append(replace(relation, b=state.clock_source(log)))
    for a in logs:  # two logs of one link
        for b in logs:
            ends = {state.clock_source(a), state.clock_source(b)}
            if len(ends) > 1 and state.settled(a) and not any({r.a, r.b} == ends for r in state.relations):
                between = linkpair.join(
                    a, b, state.traces[a], state.traces[b], state.nominal[a].apply, state.span(b)
                )
                if between is None:
                    continue
                if not state.settled(b):
                    state.place(b, between.fit.pieces)
                state.relations.append(replace(between, a=state.clock_source(a), b=state.clock_source(b)))


def _join_repeated(state: AlignmentState) -> None:
    if sum("link_frames" in state.traces[i].tables for i in state.layer("link")) > 1:
        from multitracer.alignment import linktwice

        linktwice.join(state)


def _link_relations(
    state: AlignmentState, log: int, sides: Mapping[tuple[int, int], int], on: Sequence[int]
) -> list[Relation]:
    """Each entity against the capture on its side."""
    from multitracer.alignment import linkair, linkinside, linklog
    from multitracer.alignment.linksearch import Packets

    found: list[Relation] = []
    if not on:
        return found
    lossy_monitor = _missed_share(state.traces[log]) > _LOSSY_SHARE
    if linkair.may_hold_packets(state, log):
        found = linkair.join(state, log, (on[0], on[-1]), None, lossy_monitor)
    if found or lossy_monitor:
        return _trusted(state, found)
    hint = 0 if state.traces[log].source.clock == "realtime" else None
    lead_ns = int(state.traces[log].source.details.get("gps_time_is_ahead_s", 0)) * 10**9
    tries = [
        (entity, sides[log, entity], on[0] if sides[log, entity] == 0 else on[-1])
        for entity in range(len(state.traces[log].entities))
    ]
    alone = {"snd": 0, "rcv": 1}.get(state.traces[on[0]].source.point or "") if len(on) == 1 else None
    if alone is not None:
        tries = [one for one in tries if one[1] == alone]  # the other entity is across the link
    readable = linkinside.is_readable(state, log)
    for entity, side, capture in sorted(tries, key=lambda one: one[2] != state.reference):
        if readable:
            exact = linkinside.join(state, log, entity, capture, side)
            found += [exact] if exact is not None else []
            continue
        table = state.mapped(capture)
        away = outward(state, table)
        known = table["conn"] >= 0
        near = away if side == 0 else ~away
        packets = Packets.at(table.where(known), near[known])
        own = state.own[capture].where(known)
        relation = linklog.join(
            log, state.traces[log], entity, capture, packets, own, state.span(log), hint, lead_ns
        )
        if relation is not None:
            found.append(relation)
            line = relation.fit.pieces[0].line
            hint = line.offset_ns if hint is None else hint
        elif linklog.anchor_count(state.traces[log], entity) >= _MANY_ANCHORS and len(own) >= _MANY_ANCHORS:
            state.tried.add(log)
    # A capture of unknown place is next to one entity, not to both.
    if len(on) == 1 and alone is None and not readable:
        found = sorted(found, key=lambda r: -r.evidence["votes"] / r.evidence["voters"])[:1]
    found = _trusted(state, found)
    if found and linkair.may_hold_packets(state, log):
        # Now that it is known about when: packet by packet.
        found = _trusted(state, linkair.join(state, log, (on[0], on[-1]), found[0], lossy_monitor)) or found
    return found


def _trusted(state: AlignmentState, found: list[Relation]) -> list[Relation]:
    """The one against the reference first: it carries no error of another capture's clock."""
    return sorted(found, key=lambda r: (r.fit.bound_ns is None, r.a != state.reference, r.fit.bound_ns or 0))


def _missed_share(trace: Trace) -> float:
    """How often a monitor knows that it missed something: what it saw first need not have been sent first."""
    events, frames = trace.tables.get("link_events"), trace.tables.get("link_frames")
    if events is None or frames is None or not len(frames):
        return 0.0
    return int((events["kind"] == events.code("kind", "unseen")).sum()) / len(frames)


def _join_kernels(state: AlignmentState) -> None:
    logs = state.layer("kernel")
    if not logs:
        return
    from multitracer.alignment import application, kernel, samples
    from multitracer.alignment.joining import Captures, Log

    on = sorted((i for i in state.path if state.settled(i)), key=lambda i: i != state.reference)
    captures = Captures(
        state.merged, {i: state.mapped(i) for i in on}, on, {i: state.traces[i].source.point for i in on}
    )
    for log in logs:
        if state.settled(log):
            continue
        trace = state.traces[log]
        given = Log(log, trace, state.span(log))
        relation = kernel.join(given, captures)
        if relation is None and len(trace.tables.get("tcp_states", ())):
            relation = samples.join(given, captures) or application.join(given, captures)
        if on and not sockets(trace.flows, state.merged):
            state.tried.add(log)
        if relation is not None:
            state.place(log, relation.fit.pieces)
            state.relations.append(relation)


def _join_dccp(state: AlignmentState) -> None:
    """Captures of DCCP, to the first of them that is on the timeline."""
    found = [i for i in state.layer("dccp") if "dccp_packets" in state.traces[i].tables]
    if not found:
        return
    from multitracer.alignment import dccp

    for source in found:
        a = next((i for i in found if i != source and state.settled(i)), None)
        if a is None or state.settled(source):
            continue
        traces = state.traces[a], state.traces[source]
        relation = dccp.join(a, source, *traces, state.nominal[a], state.span(source))
        if relation is None:
            state.tried.add(source)
            continue
        state.place(source, relation.fit.pieces)
        state.relations.append(relation)
