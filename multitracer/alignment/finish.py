"""From joined sources to a `Measurement`: the last correction of clocks, and tables on one timeline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from multitracer.alignment import flows, graph
from multitracer.alignment.clocks import Piece
from multitracer.alignment.connections import Endpoint, Merged, endpoints_of
from multitracer.alignment.relation import Nominal
from multitracer.alignment.state import AlignmentState, entities
from multitracer.model import declared
from multitracer.model.errors import Issue
from multitracer.model.quantities import duration
from multitracer.model.table import Table
from multitracer.model.timeline import Clock, Connection, Grade, Timeline

_ACCURATE_NS = 20_000_000
_WIDE_NS = 50_000_000
_SHIFTED_NS = 1_000_000_000  # real time is kept to this, or it is another clock


def finish(state: AlignmentState) -> Timeline:
    """Correct all clocks together and build the measurement."""
    _sharpen_skews(state)
    intervals, rejected, matrix = graph.solve(
        len(state.traces), state.reference, state.relations, state.nominal
    )
    for relation in rejected:
        relation.evidence["contradicts_others"] = True
        out = {id(other) for other in rejected}
        if any(other.b == relation.b and id(other) not in out for other in state.relations):
            continue
        detail = f"its order against {state.traces[relation.a].source.path} contradicts the other sources"
        path = state.traces[relation.b].source.path
        state.issues.append(Issue("unjoined-source", detail=detail, path=path))
    stamped = _as_stamped(state, intervals) or _open_sided(state, intervals)
    chosen = graph.pinned(matrix, state.reference, stamped) if stamped else intervals
    clocks: list[Clock] = []
    final: dict[int, Nominal] = {}
    for source in sorted(range(len(state.traces)), key=lambda source: state.clock_source(source) != source):
        base = state.clock_source(source)
        if _shared(state, source, base):
            final[source] = final[base]
            clocks.append(_of_file(state, source, next(clock for clock in clocks if clock.source == base)))
            continue
        clock, nominal = _clock(state, source, intervals[source], chosen[source], source in stamped)
        clocks.append(clock)
        final[source] = nominal
    clocks.sort(key=lambda clock: clock.source)
    _say_steps(state)
    _number_connections(state, final)
    tables = _tables(state, final)
    return _measurement(state, clocks, tables)


def _sharpen_skews(state: AlignmentState) -> None:
    """A link log between two captures may know their relative skew better than their packets do."""
    by_pair = {(relation.a, relation.b): relation for relation in state.relations}
    for (capture, log), relation in by_pair.items():
        direct = by_pair.get((state.reference, log))
        own = state.nominal.get(capture)
        if capture == state.reference or direct is None or own is None or log not in state.nominal:
            continue
        pieces = (own.pieces, relation.fit.pieces, direct.fit.pieces)
        if relation.method != "causality" or any(len(p) > 1 for p in pieces) or not own.free:
            continue
        mine, there, here = (p[0] for p in pieces)
        error = float(np.hypot(there.skew_error, here.skew_error))
        if error >= mine.skew_error / 2:
            continue
        first, last = state.span(capture)
        middle = (first + last) // 2
        change = here.line.skew - there.line.skew
        offset = int(mine.line.offset_at(middle)) - round(
            (mine.line.skew + change) * (middle - mine.line.origin_ns)
        )
        line = type(mine.line)(mine.line.origin_ns, offset, mine.line.skew + change)
        term = round(error * (last - first) / 2)
        state.nominal[capture] = Nominal((Piece(0, line, mine.half_width_ns, term, error),))


def _as_stamped(state: AlignmentState, intervals: dict[int, graph.Interval]) -> dict[int, float]:
    """Corrections that leave clocks as they were stamped, if a link log has nothing against it.

    That all realtime clocks agree within bounds far narrower than the path's delay is no accident: they
    are one clock, or are kept together. Without a link log the bounds are as wide as the delay, and show
    nothing.
    """
    logs = [i for i in state.layer("link") if state.settled(i) and state.traces[i].source.clock == "realtime"]
    if not logs or state.traces[state.reference].source.clock != "realtime":
        return {}
    chosen = {}
    for source in [*state.layer("tcp"), *logs]:
        nominal = state.nominal.get(source)
        if source == state.reference or nominal is None or _shared(state, source, state.clock_source(source)):
            continue
        interval = intervals[source]
        piece = nominal.pieces[0]
        if not nominal.free or len(nominal.pieces) > 1 or piece.line.skew != 0 or not interval.known:
            return {}
        value = -float(piece.line.offset_ns)
        if not interval.low <= value <= interval.high:
            return {}
        direct = [
            r.fit.bound_ns for r in state.relations if r.b == source and r.method == "hull" and r.fit.bound_ns
        ]
        if direct and max(value - interval.low, interval.high - value) > min(direct):
            return {}
        chosen[source] = value
    return chosen


def _open_sided(state: AlignmentState, intervals: dict[int, graph.Interval]) -> dict[int, float]:
    """Corrections that leave link logs as they were stamped where order bounds their clock on one side only.

    A log of one direction shows what was sent or what came, not both. The line that touches its bound is no
    better an answer than the clock's own, if that is real time and the bound allows it.
    """
    if state.traces[state.reference].source.clock != "realtime":
        return {}
    chosen = {}
    for source in state.layer("link"):
        nominal, interval = state.nominal.get(source), intervals[source]
        if nominal is None or not nominal.free or len(nominal.pieces) > 1 or interval.known:
            continue
        line = nominal.pieces[0].line
        stamped = state.traces[source].source.clock == "realtime" and abs(line.offset_ns) <= _SHIFTED_NS
        if stamped and line.skew == 0 and interval.low <= -line.offset_ns <= interval.high:
            chosen[source] = -float(line.offset_ns)
    return chosen


def _clock(
    state: AlignmentState, source: int, interval: graph.Interval, chosen: graph.Interval, stamped: bool
) -> tuple[Clock, Nominal]:
    nominal = state.nominal.get(source)
    trace = state.traces[source]
    if nominal is None:
        return _unjoined(state, source)
    if source != state.reference and state.simulated(source) and not nominal.free:
        # Rounding alone sets them apart: half a step of each clock as it is written.
        steps = [state.traces[i].source.resolution_ns for i in (source, state.reference)]
        why = {"why": "one simulation has one clock", "steps_ns": steps}
        apart = sum(step // 2 for step in steps)
        return Clock(source, state.reference, 0, 0.0, apart, "as-stamped", "exact", why), nominal
    correction = 0
    own = next((r for r in state.relations if r.b == source), None)
    if source != state.reference and nominal.free and chosen.known:
        correction = round(chosen.middle)
    pieces = tuple(
        Piece(
            p.first_order,
            p.line.moved(correction),
            p.half_width_ns,
            p.skew_term_ns,
            p.skew_error,
            p.doubt,
            p.skew_bound,
        )
        for p in nominal.pieces
    )
    final = Nominal(pieces, nominal.free)
    line = pieces[0].line
    first = state.span(source)[0]
    offset, skew = int(line.offset_at(first)), round(line.skew * 1e6, 6)
    if source == state.reference:
        return Clock(source, None, offset, skew, 0, "reference", "reference"), final
    uncertainty: int | None = None
    if interval.known:
        worst = max(interval.high - correction, correction - interval.low)
        uncertainty = int(np.ceil(worst)) + nominal.skew_term_ns
    evidence: dict[str, Any] = dict(own.evidence) if own is not None else {}
    if own is not None:
        evidence["joined_to"] = state.traces[own.a].source.path
        evidence["direct_bound_ns"] = own.fit.bound_ns
        if own.fit.steps:
            evidence["steps"] = own.fit.steps
    if not nominal.free:
        stated = declared.number(state.settings, trace.source.path, "clock_uncertainty_s")
        if interval.known and not interval.low - 1000 <= 0 <= interval.high + 1000:
            away = max(interval.low, -interval.high) / 1e9
            detail = f"the declared clock offset contradicts the order of packets by {away:.6f} s"
            state.issues.append(Issue("inconsistent-metadata", detail=detail, path=trace.source.path))
        bound = uncertainty if stated is None else round(stated * 1e9)
        return Clock(source, state.reference, offset, skew, bound, "declared", "assumed", evidence), final
    method = "as-stamped" if stamped else own.method if own is not None else "none"
    grade: Grade = "approximate"
    if method == "as-stamped":
        grade = "assumed"
    elif uncertainty is not None and uncertainty <= _ACCURATE_NS and not (own and own.fit.violations_ns):
        grade = "accurate"
    if uncertainty is None or uncertainty > _WIDE_NS:
        words = "on one side only" if uncertainty is None else f"to {uncertainty / 1e6:.1f} ms"
        state.issues.append(Issue("wide-clock-bound", detail=f"known {words}", path=trace.source.path))
    return Clock(source, state.reference, offset, skew, uncertainty, method, grade, evidence), final


def _unjoined(state: AlignmentState, source: int) -> tuple[Clock, Nominal]:
    """A source without evidence: as stamped if it is in real time and the times overlap, else on its own."""
    trace, other = state.traces[source].source, state.traces[state.reference].source
    nominal = state.identity(source)
    if source in state.left_out:
        return Clock(source, None, 0, 0.0, None, "none", "unjoined", {"copy": True}), nominal
    first, last = state.span(source)
    start, end = state.span(state.reference)
    overlap = first <= end and start <= last
    untried = trace.layer != "tcp" and source not in state.tried
    if untried and trace.clock == other.clock == "realtime" and overlap:
        evidence = {"why": "nothing to match it with; both clocks are real time and the times overlap"}
        return Clock(source, state.reference, 0, 0.0, None, "as-stamped", "assumed", evidence), nominal
    detail = "no packet, ACK or frame in it belongs to the other sources"
    if trace.clock == other.clock == "realtime" and not overlap:
        apart, side = (first - end, "behind") if first > end else (start - last, "before")
        detail += (
            f", and its times lie {duration(apart / 1e9)} {side} those of {os.path.basename(other.path)}"
        )
    state.issues.append(Issue("unjoined-source", detail=detail, path=trace.path))
    return Clock(source, None, 0, 0.0, None, "none", "unjoined"), nominal


def _shared(state: AlignmentState, source: int, base: int) -> bool:
    """Whether a source has its clock from another trace of its file."""
    nominal = state.nominal.get(source)
    return source != base and nominal is not None and nominal is state.nominal.get(base)


def _of_file(state: AlignmentState, source: int, clock: Clock) -> Clock:
    """The clock of a trace whose file another trace brought to the timeline."""
    evidence = {**clock.evidence, "why": "one file has one clock"}
    if clock.source != state.reference:
        return replace(clock, source=source, evidence=evidence)
    return Clock(source, state.reference, 0, 0.0, 0, "same-file", "exact", evidence)


def _say_steps(state: AlignmentState) -> None:
    said = set()
    for relation in state.relations:
        if relation.fit.steps and relation.b not in said and relation.b in state.nominal:
            said.add(relation.b)
            step = relation.fit.steps[0]
            detail = (
                f"by {step['offset_change_ns'] / 1e9:+.6f} s against {state.traces[relation.a].source.path}"
            )
            if "doubtful" in step:
                first, last = step["doubtful"]
                detail += f"; nothing shows on which side of it the records {first} to {last} are"
            path = state.traces[relation.b].source.path
            state.issues.append(Issue("clock-step", len(relation.fit.steps), step["record"], detail, path))


def _number_connections(state: AlignmentState, final: dict[int, Nominal]) -> None:
    """Sort connections by the time of their first segment and rewrite the captures' columns."""
    count = len(state.merged)
    if not count:
        return
    first = np.full(count, np.iinfo(np.int64).max)
    for source, own in state.own.items():
        known = own["conn"] >= 0
        t = final[source].apply(own["t_ns"][known], own["record"][known])
        np.minimum.at(first, own["conn"][known], t)
    order = np.argsort(first, kind="stable")
    state.merged = [state.merged[i] for i in order]
    state.leaving = None if state.leaving is None else state.leaving[order]
    if state.main is not None:
        state.main = int(np.flatnonzero(order == state.main)[0])


def _tables(state: AlignmentState, final: dict[int, Nominal]) -> dict[str, Table]:
    from multitracer.alignment.tables import capture_tables, kernel_tables, link_tables

    parts: dict[str, list[Table]] = {}
    for source in state.layer("tcp"):
        for name, table in capture_tables(state, source, final[source]).items():
            parts.setdefault(name, []).append(table)
    logs = [*state.layer("kernel"), *state.layer("dccp")]
    spans = _spans(state, parts.get("segments", [])) if logs else []
    for source in logs:
        for name, table in kernel_tables(state, source, final[source], spans).items():
            parts.setdefault(name, []).append(table)
    for source in state.layer("link"):
        for name, table in link_tables(state, source, final[source]).items():
            parts.setdefault(name, []).append(table)
    return {name: Table.merged(found[0].schema, found, "t_ns") for name, found in parts.items()}


def _spans(state: AlignmentState, segments: Sequence[Table]) -> list[tuple[int, int]]:
    low = np.full(len(state.merged), np.iinfo(np.int64).max)
    high = np.full(len(state.merged), np.iinfo(np.int64).min)
    for table in segments:
        known = table["conn"] >= 0
        np.minimum.at(low, table["conn"][known], table["t_ns"][known])
        np.maximum.at(high, table["conn"][known], table["t_ns"][known])
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _measurement(state: AlignmentState, clocks: list[Clock], tables: dict[str, Table]) -> Timeline:
    segments = tables.get("segments")
    times: list[int] = []
    if segments is not None and len(segments):
        # In order of time: the first at the reference, or the first of all without any.
        times = [int(segments["t_ns"][(segments["source"] == state.reference).argmax()])]
    else:
        times = [int(table["t_ns"][0]) for table in tables.values() if len(table)]
        # A test begins before its first interval ends.
        firsts = [(clock, state.traces[clock.source].source) for clock in clocks]
        times += [
            source.first_ns + clock.offset_ns
            for clock, source in firsts
            if times and source.layer == "kernel" and source.first_ns is not None
        ]
    found = [
        Connection(
            index,
            merged.endpoints,
            merged.data_dir,
            {m.source: state.traces[m.source].connections[m.conn] for m in merged.members},
            -1 if state.leaving is None else int(state.leaving[index]),
            _names(state, merged),
        )
        for index, merged in enumerate(state.merged)
    ]
    points = {state.traces[i].source.point: i for i in reversed(state.path) if state.settled(i)}
    if len(tables.get("kernel_events", ())):
        from multitracer.alignment.kernelcauses import by_kernel

        tables, found = by_kernel(tables, found, clocks, (points.get("snd"), points.get("rcv")))
    _kernel_points(state)
    return Timeline(
        traces=state.traces,
        clocks=clocks,
        connections=found,
        entities=entities(state),
        tables=tables,
        snd=points.get("snd"),
        rcv=points.get("rcv"),
        t0_ns=min(times, default=0),
        issues=[issue for trace in state.traces for issue in trace.issues] + state.issues,
        settings=state.settings,
    )


def _names(state: AlignmentState, merged: Merged) -> dict[int, tuple[Endpoint, Endpoint]]:
    """Endpoints of a connection at each capture, if they change on the path."""
    if not merged.also:
        return {}
    found = {}
    for member in merged.members:
        names = endpoints_of(state.traces[member.source].connections[member.conn])
        found[member.source] = names[::-1] if member.flipped else names
    return found


def _kernel_points(state: AlignmentState) -> None:
    for source in state.layer("link"):
        state.traces[source].source.point = "+".join(state.traces[source].entities) or None
    if state.main is None:
        return
    for source in state.layer("kernel"):
        trace = state.traces[source]
        ends = {
            "snd" if one.sends == state.merged[one.conn].data_dir else "rcv"
            for one in flows.sockets(trace.flows, state.merged)
        }
        wanted = declared.point(state.settings, trace.source.path)
        trace.source.point = wanted or "+".join(sorted(ends, reverse=True)) or None
