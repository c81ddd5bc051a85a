"""From joined sources to a `Measurement`: the last correction of clocks, and tables on one timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from multitracer.alignment import flows, graph
from multitracer.alignment.clocks import Piece
from multitracer.alignment.relation import Nominal
from multitracer.alignment.work import Work, entities
from multitracer.model import declared
from multitracer.model.errors import Issue
from multitracer.model.table import Table
from multitracer.model.timeline import Clock, Connection, Grade, Timeline

_ACCURATE_NS = 20_000_000
_WIDE_NS = 50_000_000
_SHIFTED_NS = 1_000_000_000  # real time is kept to this, or it is another clock


def finish(work: Work) -> Timeline:
    """Correct all clocks together and build the measurement."""
    _sharpen_skews(work)
    intervals, rejected, matrix = graph.solve(len(work.traces), work.reference, work.relations, work.nominal)
    for relation in rejected:
        relation.evidence["contradicts_others"] = True
        out = {id(other) for other in rejected}
        if any(other.b == relation.b and id(other) not in out for other in work.relations):
            continue
        detail = f"its order against {work.traces[relation.a].source.path} contradicts the other sources"
        path = work.traces[relation.b].source.path
        work.issues.append(Issue("unjoined-source", detail=detail, path=path))
    stamped = _as_stamped(work, intervals) or _open_sided(work, intervals)
    chosen = graph.pinned(matrix, work.reference, stamped) if stamped else intervals
    clocks: list[Clock] = []
    final: dict[int, Nominal] = {}
    for source in sorted(range(len(work.traces)), key=lambda source: work.twin(source) != source):
        twin = work.twin(source)
        if _shared(work, source, twin):
            final[source] = final[twin]
            clocks.append(_of_file(work, source, next(clock for clock in clocks if clock.source == twin)))
            continue
        clock, nominal = _clock(work, source, intervals[source], chosen[source], source in stamped)
        clocks.append(clock)
        final[source] = nominal
    clocks.sort(key=lambda clock: clock.source)
    _say_steps(work)
    _number_connections(work, final)
    tables = _tables(work, final)
    return _measurement(work, clocks, tables)


def _sharpen_skews(work: Work) -> None:
    """A link log between two captures may know their relative skew better than their packets do."""
    by_pair = {(relation.a, relation.b): relation for relation in work.relations}
    for (capture, log), relation in by_pair.items():
        direct = by_pair.get((work.reference, log))
        own = work.nominal.get(capture)
        if capture == work.reference or direct is None or own is None or log not in work.nominal:
            continue
        pieces = (own.pieces, relation.fit.pieces, direct.fit.pieces)
        if relation.method != "causality" or any(len(p) > 1 for p in pieces) or not own.free:
            continue
        mine, there, here = (p[0] for p in pieces)
        error = float(np.hypot(there.skew_error, here.skew_error))
        if error >= mine.skew_error / 2:
            continue
        first, last = work.span(capture)
        middle = (first + last) // 2
        change = here.line.skew - there.line.skew
        offset = int(mine.line.offset_at(middle)) - round(
            (mine.line.skew + change) * (middle - mine.line.origin_ns)
        )
        line = type(mine.line)(mine.line.origin_ns, offset, mine.line.skew + change)
        term = round(error * (last - first) / 2)
        work.nominal[capture] = Nominal((Piece(0, line, mine.half_width_ns, term, error),))


def _as_stamped(work: Work, intervals: dict[int, graph.Interval]) -> dict[int, float]:
    """Corrections that leave clocks as they were stamped, if a link log has nothing against it.

    That all realtime clocks agree within bounds far narrower than the path's delay is no accident: they
    are one clock, or are kept together. Without a link log the bounds are as wide as the delay, and say
    nothing.
    """
    logs = [i for i in work.layer("link") if work.settled(i) and work.traces[i].source.clock == "realtime"]
    if not logs or work.traces[work.reference].source.clock != "realtime":
        return {}
    chosen = {}
    for source in [*work.layer("tcp"), *logs]:
        nominal = work.nominal.get(source)
        if source == work.reference or nominal is None or _shared(work, source, work.twin(source)):
            continue
        interval = intervals[source]
        piece = nominal.pieces[0]
        if not nominal.free or len(nominal.pieces) > 1 or piece.line.skew != 0 or not interval.known:
            return {}
        value = -float(piece.line.offset_ns)
        if not interval.low <= value <= interval.high:
            return {}
        direct = [
            r.fit.bound_ns for r in work.relations if r.b == source and r.method == "hull" and r.fit.bound_ns
        ]
        if direct and max(value - interval.low, interval.high - value) > min(direct):
            return {}
        chosen[source] = value
    return chosen


def _open_sided(work: Work, intervals: dict[int, graph.Interval]) -> dict[int, float]:
    """Corrections that leave link logs as they were stamped where order bounds their clock on one side only.

    A log of one direction shows what was sent or what came, not both. The line that touches its bound is no
    better an answer than the clock's own, if that says real time and the bound allows it.
    """
    if work.traces[work.reference].source.clock != "realtime":
        return {}
    chosen = {}
    for source in work.layer("link"):
        nominal, interval = work.nominal.get(source), intervals[source]
        if nominal is None or not nominal.free or len(nominal.pieces) > 1 or interval.known:
            continue
        line = nominal.pieces[0].line
        stamped = work.traces[source].source.clock == "realtime" and abs(line.offset_ns) <= _SHIFTED_NS
        if stamped and line.skew == 0 and interval.low <= -line.offset_ns <= interval.high:
            chosen[source] = -float(line.offset_ns)
    return chosen


def _clock(
    work: Work, source: int, interval: graph.Interval, chosen: graph.Interval, stamped: bool
) -> tuple[Clock, Nominal]:
    nominal = work.nominal.get(source)
    trace = work.traces[source]
    if nominal is None:
        return _unjoined(work, source)
    if source != work.reference and work.simulated(source) and not nominal.free:
        # Rounding alone sets them apart: half a step of each clock as it is written.
        steps = [work.traces[i].source.resolution_ns for i in (source, work.reference)]
        why = {"why": "one simulation has one clock", "steps_ns": steps}
        apart = sum(step // 2 for step in steps)
        return Clock(source, work.reference, 0, 0.0, apart, "as-stamped", "exact", why), nominal
    correction = 0
    own = next((r for r in work.relations if r.b == source), None)
    if source != work.reference and nominal.free and chosen.known:
        correction = round(chosen.middle)
    pieces = tuple(
        Piece(p.first_order, p.line.moved(correction), p.half_width_ns, p.skew_term_ns, p.skew_error, p.doubt)
        for p in nominal.pieces
    )
    final = Nominal(pieces, nominal.free)
    line = pieces[0].line
    first = work.span(source)[0]
    offset, skew = int(line.offset_at(first)), round(line.skew * 1e6, 6)
    if source == work.reference:
        return Clock(source, None, offset, skew, 0, "reference", "reference"), final
    uncertainty: int | None = None
    if interval.known:
        worst = max(interval.high - correction, correction - interval.low)
        uncertainty = int(np.ceil(worst)) + nominal.skew_term_ns
    evidence: dict[str, Any] = dict(own.evidence) if own is not None else {}
    if own is not None:
        evidence["joined_to"] = work.traces[own.a].source.path
        evidence["direct_bound_ns"] = own.fit.bound_ns
        if own.fit.steps:
            evidence["steps"] = own.fit.steps
    if not nominal.free:
        stated = declared.number(work.settings, trace.source.path, "clock_uncertainty_s")
        if interval.known and not interval.low - 1000 <= 0 <= interval.high + 1000:
            away = max(interval.low, -interval.high) / 1e9
            detail = f"the declared clock offset contradicts the order of packets by {away:.6f} s"
            work.issues.append(Issue("inconsistent-metadata", detail=detail, path=trace.source.path))
        bound = uncertainty if stated is None else round(stated * 1e9)
        return Clock(source, work.reference, offset, skew, bound, "declared", "assumed", evidence), final
    method = "as-stamped" if stamped else own.method if own is not None else "none"
    grade: Grade = "approximate"
    if method == "as-stamped":
        grade = "assumed"
    elif uncertainty is not None and uncertainty <= _ACCURATE_NS and not (own and own.fit.violations_ns):
        grade = "accurate"
    if uncertainty is None or uncertainty > _WIDE_NS:
        words = "on one side only" if uncertainty is None else f"to {uncertainty / 1e6:.1f} ms"
        work.issues.append(Issue("wide-clock-bound", detail=f"known {words}", path=trace.source.path))
    return Clock(source, work.reference, offset, skew, uncertainty, method, grade, evidence), final


def _unjoined(work: Work, source: int) -> tuple[Clock, Nominal]:
    """A source without evidence: as stamped if it says real time and the times overlap, else on its own."""
    trace, other = work.traces[source].source, work.traces[work.reference].source
    nominal = work.identity(source)
    if source in work.left_out:
        return Clock(source, None, 0, 0.0, None, "none", "unjoined", {"copy": True}), nominal
    first, last = work.span(source)
    start, end = work.span(work.reference)
    overlap = first <= end and start <= last
    untried = trace.layer != "tcp" and source not in work.tried
    if untried and trace.clock == other.clock == "realtime" and overlap:
        evidence = {"why": "nothing to match it with; both clocks are real time and the times overlap"}
        return Clock(source, work.reference, 0, 0.0, None, "as-stamped", "assumed", evidence), nominal
    detail = "no packet, ACK or frame in it belongs to the other sources"
    work.issues.append(Issue("unjoined-source", detail=detail, path=trace.path))
    return Clock(source, None, 0, 0.0, None, "none", "unjoined"), nominal


def _shared(work: Work, source: int, twin: int) -> bool:
    """Whether a source has its clock from another trace of its file."""
    nominal = work.nominal.get(source)
    return source != twin and nominal is not None and nominal is work.nominal.get(twin)


def _of_file(work: Work, source: int, clock: Clock) -> Clock:
    """The clock of a trace whose file another trace brought to the timeline."""
    evidence = {**clock.evidence, "why": "one file has one clock"}
    if clock.source != work.reference:
        return replace(clock, source=source, evidence=evidence)
    return Clock(source, work.reference, 0, 0.0, 0, "same-file", "exact", evidence)


def _say_steps(work: Work) -> None:
    said = set()
    for relation in work.relations:
        if relation.fit.steps and relation.b not in said and relation.b in work.nominal:
            said.add(relation.b)
            step = relation.fit.steps[0]
            detail = (
                f"by {step['offset_change_ns'] / 1e9:+.6f} s against {work.traces[relation.a].source.path}"
            )
            if "doubtful" in step:
                first, last = step["doubtful"]
                detail += f"; nothing shows on which side of it the records {first} to {last} are"
            path = work.traces[relation.b].source.path
            work.issues.append(Issue("clock-step", len(relation.fit.steps), step["record"], detail, path))


def _number_connections(work: Work, final: dict[int, Nominal]) -> None:
    """Sort connections by the time of their first segment and rewrite the captures' columns."""
    count = len(work.merged)
    if not count:
        return
    first = np.full(count, np.iinfo(np.int64).max)
    for source, own in work.own.items():
        known = own["conn"] >= 0
        t = final[source].apply(own["t_ns"][known], own["record"][known])
        np.minimum.at(first, own["conn"][known], t)
    order = np.argsort(first, kind="stable")
    work.merged = [work.merged[i] for i in order]
    if work.main is not None:
        work.main = int(np.flatnonzero(order == work.main)[0])


def _tables(work: Work, final: dict[int, Nominal]) -> dict[str, Table]:
    from multitracer.alignment.tables import capture_tables, kernel_tables, link_tables

    parts: dict[str, list[Table]] = {}
    spans: Sequence[tuple[int, int]] = []
    for source in work.layer("tcp"):
        for name, table in capture_tables(work, source, final[source]).items():
            parts.setdefault(name, []).append(table)
    spans = _spans(work, parts.get("segments", []))
    for source in [*work.layer("kernel"), *work.layer("dccp")]:
        for name, table in kernel_tables(work, source, final[source], spans).items():
            parts.setdefault(name, []).append(table)
    for source in work.layer("link"):
        for name, table in link_tables(work, source, final[source]).items():
            parts.setdefault(name, []).append(table)
    return {name: Table.merged(found[0].schema, found, "t_ns") for name, found in parts.items()}


def _spans(work: Work, segments: Sequence[Table]) -> list[tuple[int, int]]:
    low = np.full(len(work.merged), np.iinfo(np.int64).max)
    high = np.full(len(work.merged), np.iinfo(np.int64).min)
    for table in segments:
        known = table["conn"] >= 0
        np.minimum.at(low, table["conn"][known], table["t_ns"][known])
        np.maximum.at(high, table["conn"][known], table["t_ns"][known])
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _measurement(work: Work, clocks: list[Clock], tables: dict[str, Table]) -> Timeline:
    segments = tables.get("segments")
    times: list[int] = []
    if segments is not None and len(segments):
        at_reference = segments["t_ns"][segments["source"] == work.reference]
        times = [int((at_reference if len(at_reference) else segments["t_ns"]).min())]
    else:
        times = [int(table["t_ns"][0]) for table in tables.values() if len(table)]
    found = [
        Connection(
            index,
            merged.endpoints,
            merged.data_dir,
            {m.source: work.traces[m.source].connections[m.conn] for m in merged.members},
        )
        for index, merged in enumerate(work.merged)
    ]
    points = {work.traces[i].source.point: i for i in reversed(work.path) if work.settled(i)}
    _kernel_points(work)
    return Timeline(
        traces=work.traces,
        clocks=clocks,
        connections=found,
        entities=entities(work),
        tables=tables,
        snd=points.get("snd"),
        rcv=points.get("rcv"),
        t0_ns=min(times, default=0),
        issues=[issue for trace in work.traces for issue in trace.issues] + work.issues,
        settings=work.settings,
    )


def _kernel_points(work: Work) -> None:
    for source in work.layer("link"):
        work.traces[source].source.point = "+".join(work.traces[source].entities) or None
    if work.main is None:
        return
    for source in work.layer("kernel"):
        trace = work.traces[source]
        ends = {
            "snd" if one.sends == work.merged[one.conn].data_dir else "rcv"
            for one in flows.sockets(trace.flows, work.merged)
        }
        wanted = declared.point(work.settings, trace.source.path)
        trace.source.point = wanted or "+".join(sorted(ends, reverse=True)) or None
