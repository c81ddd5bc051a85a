"""Idle phases of the link, and why TCP left it idle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.diagnosis.field.idle import idle, standstills, why_no_idle_times
from multitracer.layers.crosslayer.idle import EVIDENCE, Silence, empty_times, find_silence
from multitracer.layers.crosslayer.idlecause import Cause, Reasons, cause_of
from multitracer.layers.link.path import LinkPath, link_path
from multitracer.layers.link.resetlog import handshake_spans, handshakes
from multitracer.layers.tcp.bottleneck import why_no_bottleneck
from multitracer.layers.tcp.flow_batch import batches, one_batch
from multitracer.layers.tcp.senderstate import SenderState, sender_states
from multitracer.layers.tcp.transit import data_spans
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.intervals import (
    Intervals,
    intersect,
    intervals,
    overlap,
    subtract,
    total,
    union,
)
from multitracer.model.schema.results import IDLE_CAUSES, IDLE_PHASES
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

ESTIMATE = "estimate from captures"

_STALLED = 0.5
"""Data in flight stalled for this part of a phase whose cause is a stalled path."""

_FEW = 16


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Find the times in which the link could have carried data and had none, each with its cause.

    They lie between the first data frame and the last ACK of a connection. A time without frames is not
    always idle: the others (XOFF, reset, the link's window closed, a missed slot) are summed up separately.

    References
    ----------
    Paper 4.3.
    """
    path = link_path(m)
    if path is None or m.link_is_apart or _without(results, "flow_control"):
        return _estimated(m, results)
    span = transfer_span(m, path)
    held = intervals(_pairs(results["flow_control"].tables["flow_control"], path.sender))
    resets = handshake_spans(m, handshakes(m))
    silence = find_silence(m, path, span, union(held, resets))
    # Captured on a shared medium, a frame is over when a phase begins: its packet was there long before.
    slot_ns = 0 if path.kind.shared else path.slot_ns
    table = _table(m, path, slot_ns, silence.idle, _evidence(m, path, silence), results)
    summary = {
        "basis": "link log",
        "count": len(table),
        "idle_s": _s(total(silence.idle)),
        "span_s": _s(total(span)),
        "causes": _shares(table),
        "silence_s": _accounts(path, silence, held, resets),
        "phases": [_words(m, table, row) for row in range(len(table))],
    }
    return Result("idle_phases", summary, {"idle_phases": table})


def _estimated(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Without a link log: the times in which nothing was in the bottleneck, as captures show it."""
    entries = results["connections"].summary.get("connections", []) if "connections" in results else []
    estimate = idle(m, entries)
    if estimate is None:
        return Result("idle_phases", inconclusive=why_no_idle_times(m, entries) or why_no_bottleneck(m))
    phases = estimate.phases
    stalled = standstills(m, entries)
    # A queue that is served is empty until the next data reaches it; what came out had been transmitted
    # earlier.
    slot_ns = 0 if estimate.by_queue else estimate.found.packet_ns
    known = [ESTIMATE] * len(phases)
    table = _table(m, None, slot_ns, phases, known, results, stalled, estimate.later_ns)
    summary = {
        "basis": ESTIMATE,
        "count": len(table),
        "idle_s": _s(total(phases)),
        "span_s": _s(total(estimate.span)),
        "causes": _shares(table),
        "silence_s": {},
        "phases": [_words(m, table, row) for row in range(len(table))],
    }
    return Result("idle_phases", summary, {"idle_phases": table})


def _table(
    m: Timeline,
    path: LinkPath | None,
    slot_ns: int,
    idle: Intervals,
    evidence: list[str],
    results: Mapping[str, Result],
    stalled: Sequence[tuple[int, int, int]] = (),
    later_ns: int = 0,
) -> Table:
    """The phases with their causes.

    Each of `stalled` has the start and the end of a time in which what was in flight stalled, as ACKs show
    it (`later_ns` later than at the link), and the number of its connection.
    """
    states = [state for some in batches(m) for state in _states(m, some)] if len(idle) else []
    reasons = Reasons(m, slot_ns, states, results, idle[:, 0])
    rows = []
    for (start, end), known in zip(idle.tolist(), evidence, strict=True):
        cause = _of_stalled_path(m, stalled, start + later_ns, end + later_ns)
        cause = cause or cause_of(reasons, start, end)
        frame = -1
        if path is not None:
            frame = int(np.searchsorted(path.first["t_ns"], start, side="right")) - 1
        rows.append(
            {
                "t_ns": start,
                "end_ns": end,
                "entity": path.sender if path is not None else -1,
                "conn": cause.conn,
                "cause": IDLE_CAUSES.index(cause.word),
                "evidence": known,
                "because": cause.because,
                "frame_record": int(path.first["record"][frame]) if path is not None and frame >= 0 else 0,
                "wake_record": cause.wake_record,
            }
        )
    return Table.filled(IDLE_PHASES, len(rows), {n: [row[n] for row in rows] for n in IDLE_PHASES.by_name})


def _states(m: Timeline, some: list[Connection]) -> Iterator[SenderState]:
    """Of one batch; a few long connections one by one, as columns of one need not be copied."""
    for part in [[one] for one in some] if len(some) <= _FEW and not one_batch(m, some) else [some]:
        found = sender_states(m, part)
        if found is not None:
            yield from (found.one(at) for at in range(len(found.connections)))


def _of_stalled_path(
    m: Timeline, stalled: Sequence[tuple[int, int, int]], start_ns: int, end_ns: int
) -> Cause | None:
    """The cause of a phase in most of which a path was stalled; None if none was."""
    for begin_ns, over_ns, conn in stalled:
        both_ns = min(end_ns, over_ns) - max(start_ns, begin_ns)
        if both_ns >= _STALLED * (end_ns - start_ns):
            span = f"from {m.seconds(begin_ns):.3f} s to {m.seconds(over_ns):.3f} s"
            return Cause("stalled_path", f"what was in flight stalled {span}", conn)
    return None


def _without(results: Mapping[str, Result], name: str) -> bool:
    return name not in results or results[name].inconclusive is not None


def transfer_span(m: Timeline, path: LinkPath) -> Intervals:
    """First data frame to last ACK of each connection; without a capture, first to last frame of the log."""
    spans = data_spans(m)
    if not len(spans):
        return intervals([(int(path.sent["t_ns"][0]), int(path.sent["t_ns"][-1]))])
    first = np.searchsorted(path.first["t_ns"], spans[:, 0])
    starts = np.append(path.first["t_ns"], np.iinfo(np.int64).max)[first]
    return intervals(np.column_stack([starts, spans[:, 1]]))


def _pairs(held: Table, entity: int) -> Intervals:
    mine = held.where(held["entity"] == entity)
    return np.column_stack([mine["t_ns"], mine["end_ns"]])


def _evidence(m: Timeline, path: LinkPath, silence: Silence) -> list[str]:
    """The kind of evidence that covers most of each phase."""
    kinds = empty_times(m, path, silence.silent)
    lengths = np.stack([overlap(silence.idle, kind) for kind in kinds])
    return [EVIDENCE[index] for index in lengths.argmax(axis=0).tolist()]


def _accounts(path: LinkPath, silence: Silence, held: Intervals, resets: Intervals) -> dict[str, float]:
    """Every time without frames once; what remains are single missed slots, or frames that are not logged."""
    left = silence.silent
    found = {"total": _s(total(left))}
    for name, part in (
        ("reset", resets),
        ("xoff", held),
        ("idle", silence.idle),
        ("link_window", silence.full_window),
        ("link_checkpoint", silence.checkpoint),
        ("supervisory", intervals(path.slots(path.reports_ns))),
    ):
        found[name] = _s(total(intersect(left, part)))
        left = subtract(left, part)
    found["other"] = _s(total(left))
    return found


def _shares(table: Table) -> dict[str, dict[str, float | int]]:
    """Time, share of the idle time and number of phases of each cause that occurs, longest first."""
    lengths = table["end_ns"] - table["t_ns"]
    whole = int(lengths.sum())
    sums = [(int(lengths[table["cause"] == code].sum()), code) for code in range(len(IDLE_CAUSES))]
    return {
        IDLE_CAUSES[code]: {
            "s": _s(time),
            "share": round(time / whole, 6),
            "phases": int(np.count_nonzero(table["cause"] == code)),
        }
        for time, code in sorted(sums, reverse=True)
        if time > 0
    }


def _words(m: Timeline, table: Table, row: int) -> dict[str, Any]:
    value = {name: table[name][row] for name in table}
    return {
        "start": round(m.seconds(value["t_ns"]), 6),
        "end": round(m.seconds(value["end_ns"]), 6),
        "cause": IDLE_CAUSES[int(value["cause"])],
        "because": str(value["because"]),
        "conn": int(value["conn"]) if value["conn"] >= 0 else None,
        "evidence": str(value["evidence"]),
        "frame_record": int(value["frame_record"]) or None,
        "wake_record": int(value["wake_record"]) or None,
    }


def _s(time_ns: int) -> float:
    return round(time_ns / 1e9, 6)


ANALYZER = Analyzer(
    name="idle_phases",
    question="When was the link idle though it could have carried data, and why?",
    run=run,
    **QUESTIONS["idle_phases"]._asdict(),
)
