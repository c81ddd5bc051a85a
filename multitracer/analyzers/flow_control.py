"""Flow control on the link: when the peer held the sender off, and what that did to the rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.link.path import LinkPath, link_path
from multitracer.layers.tcp.transit import data_spans
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.intervals import Intervals, intersect, intervals, overlap, total
from multitracer.model.arrays.statistics import quantiles
from multitracer.model.schema.results import XOFF_INTERVALS
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Find the XOFF intervals of both entities, their share of the transfer and the rate inside and outside.

    References
    ----------
    Paper 5.5, Figure 12.
    """
    path = link_path(m)
    if path is None:
        return Result("flow_control", inconclusive="the link log shows no data frame being sent")
    rows = [_held(m, entity) for entity in range(len(m.entities))]
    table = Table.concat(XOFF_INTERVALS, rows).sorted_by("t_ns")
    held = table.where(table["entity"] == path.sender)
    span = data_spans(m)
    if not len(span):
        span = intervals([(int(path.sent["t_ns"][0]), int(path.sent["t_ns"][-1]))])
    summary = {
        "entity": m.entities[path.sender],
        "count": len(held),
        "share": _share(held, span),
        "xoff_s": round(total(intersect(_pairs(held), span)) / 1e9, 6),
        "gap_ms": _quantiles(held["gap_ns"][held["gap_ns"] >= 0]),
        "rate_bytes_per_s": _rates(path, _pairs(held), span),
        "intervals": [
            {"start": round(m.seconds(start), 6), "end": round(m.seconds(end), 6)}
            for start, end in zip(held["t_ns"], held["end_ns"], strict=True)
        ],
        "count_by_entity": {
            name: int(np.count_nonzero(table["entity"] == entity)) for entity, name in enumerate(m.entities)
        },
    }
    return Result("flow_control", summary, {"flow_control": table})


def _held(m: Timeline, entity: int) -> Table:
    """XOFF intervals of one entity: as it received them, or else as its peer sent them."""
    events = m.table("link_events").sorted_by("t_ns")
    kinds = (events.code("kind", "RNR"), events.code("kind", "RR"))
    signal = np.isin(events["kind"], kinds)
    received = signal & (events["action"] == events.code("action", "rcv")) & (events["entity"] == entity)
    if not np.any(received) and not _logged(m, entity):
        received = signal & (events["action"] == events.code("action", "snd")) & (events["entity"] != entity)
    rows = events.where(received)
    off = rows["kind"] == kinds[0]
    change = np.flatnonzero(np.diff(off.astype(np.int8), prepend=np.int8(0)))
    starts, ends = change[off[change]], change[~off[change]]
    open_end = len(ends) < len(starts)  # the log ends before XON
    end_ns = rows["t_ns"][ends]
    end_records = rows["record"][ends]
    if open_end:
        end_ns = np.append(end_ns, _last_ns(m))
        end_records = np.append(end_records, 0)
    given = {
        "t_ns": rows["t_ns"][starts],
        "end_ns": end_ns,
        "entity": np.full(len(starts), entity),
        "record": rows["record"][starts],
        "end_record": end_records,
        "gap_ns": _gaps(m, entity, rows["t_ns"][starts], end_ns),
    }
    return Table(XOFF_INTERVALS, given)


def _gaps(m: Timeline, entity: int, starts: Any, ends: Any) -> Any:
    """Longest pause between data frames around each interval; -1 where no frame came before or after."""
    frames = m.table("link_frames")
    sent = np.sort(
        frames["t_ns"][(frames["entity"] == entity) & (frames["action"] == frames.code("action", "snd"))]
    )
    gaps = np.full(len(starts), -1, dtype=np.int64)
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        first = max(int(np.searchsorted(sent, start)) - 1, 0)
        last = int(np.searchsorted(sent, end))
        if first < last < len(sent) and sent[first] <= start:
            gaps[row] = np.diff(sent[first : last + 1]).max()
    return gaps


def _rates(path: LinkPath, held: Intervals, span: Intervals) -> dict[str, float | None]:
    """User bytes per second sent first time: overall, inside and outside XOFF.

    A frame occupies the slot that begins when it is sent, so one sent just before XOFF counts partly inside.
    """
    slots = path.slots(path.first["t_ns"])
    size = np.maximum(path.first["length"].astype(np.int64), 0)
    covered = intersect(held, span)
    during = overlap(slots, span)
    inside = overlap(slots, covered)
    time = total(span), total(covered)
    sums = (
        float((size * during).sum()) / path.slot_ns,
        float((size * inside).sum()) / path.slot_ns,
    )
    return {
        "overall": _rate(sums[0], time[0]),
        "inside": _rate(sums[1], time[1]),
        "outside": _rate(sums[0] - sums[1], time[0] - time[1]),
    }


def _rate(size: float, time_ns: int) -> float | None:
    return round(size / (time_ns / 1e9), 3) if time_ns > 0 else None


def _share(held: Table, span: Intervals) -> float:
    length = total(span)
    return round(total(intersect(_pairs(held), span)) / length, 6) if length else 0.0


def _pairs(held: Table) -> Intervals:
    return np.column_stack([held["t_ns"], held["end_ns"]])


def _quantiles(gaps_ns: Any) -> dict[str, float] | None:
    if not len(gaps_ns):
        return None
    low, middle, high = quantiles(gaps_ns, (0.0, 0.5, 1.0)) / 1e6
    return {"min": round(float(low), 3), "median": round(float(middle), 3), "max": round(float(high), 3)}


def _logged(m: Timeline, entity: int) -> bool:
    """Whether the log has this entity's own receptions."""
    for name in ("link_frames", "link_events"):
        rows = m.table(name)
        if np.any((rows["entity"] == entity) & (rows["action"] == rows.code("action", "rcv"))):
            return True
    return False


def _last_ns(m: Timeline) -> int:
    times = [m.table(name)["t_ns"] for name in ("link_frames", "link_events")]
    return int(max(column.max() for column in times if len(column)))


ANALYZER = Analyzer(
    name="flow_control",
    question="When did the link's peer stop the sender (XOFF), and what did it cost?",
    run=run,
    **QUESTIONS["flow_control"]._asdict(),
)
