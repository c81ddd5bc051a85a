"""Retransmissions on the link: offered rate, retransmissions of frames, the longest burst."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.link.path import arrivals, first_rows, link_path
from multitracer.layers.link.sendings import sendings
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.regression import fit
from multitracer.model.arrays.statistics import medians
from multitracer.model.arrays.unique import sorted_difference
from multitracer.model.schema.results import LINK_ENTITIES
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Count frames, attempts and selective rejects of each entity; find the longest burst.

    A burst is a run of retransmitted frames without a first transmission between them: the link carried
    nothing new. It lasts from its first to its last frame.

    References
    ----------
    Paper 4.5 (rate, Figure 5), 5.4 (burst, Figure 11).
    """
    path = link_path(m)
    if path is None:
        return Result("link_retransmissions", inconclusive="the link log shows no data frame being sent")
    rows = [_entity(m, entity) for entity in range(len(m.entities))]
    table = Table.filled(LINK_ENTITIES, len(rows), {name: [row[name] for row in rows] for name in rows[0]})
    frames, again = int(table["frames"].sum()), int(table["retransmitted"].sum())
    summary = {
        "frames": frames,
        "retransmitted": again,
        "share": round(again / frames, 6),
        "data_entity": m.entities[path.sender],
        "entities": [_words(m, table, row) for row in range(len(table))],
    }
    return Result("link_retransmissions", summary, {"link_retransmissions": table})


def _entity(m: Timeline, entity: int) -> dict[str, Any]:
    frames = m.table("link_frames").sorted_by("t_ns")
    sent = sendings(m, frames)
    sent = sent.where((sent["entity"] == entity) & (sent["action"] == sent.code("action", "snd")))
    again = sent["attempt"] > 0
    first = sent.where(first_rows(m, sent))
    # Bytes counted, not offsets: what a reset flushed before it was sent took no time on the link.
    sizes = np.maximum(first["length"].astype(np.int64), 0)
    trend = fit((first["t_ns"] - m.t0_ns) / 1e9, np.cumsum(sizes) - sizes)
    attempts = _attempts(sent)
    start, end, count = _longest_run(sent["t_ns"], again)
    # Frames that are known by their arrival alone have no delay.
    with_delays = m.link_type(entity).observer != "receiver"
    delays = _delays(frames, first, entity) if with_delays else np.zeros(0, dtype=np.int64)
    return {
        "entity": entity,
        "frames": len(sent),
        "retransmitted": int(again.sum()),
        "first_bytes": int(sizes.sum()),
        "rate": trend.rate if trend else np.nan,
        "attempts_mean": float(attempts.mean()) if len(attempts) else np.nan,
        "attempts_max": int(attempts.max()) if len(attempts) else 0,
        "burst_start_ns": start,
        "burst_end_ns": end,
        "burst_frames": count,
        "srej_sent": _signals(m, entity, "snd"),
        "srej_received": _signals(m, entity, "rcv"),
        "delay_min_ns": int(delays.min()) if len(delays) else -1,
        "delay_median_ns": int(medians(delays)) if len(delays) else -1,
        "delay_max_ns": int(delays.max()) if len(delays) else -1,
    }


def _attempts(sent: Table) -> Any:
    """Transmissions of each frame (a place in the byte stream); empty where that is not logged."""
    if not len(sent) or np.any(sent["offset"] < 0):
        return np.zeros(0)
    _, frame = np.unique(sent["offset"], return_inverse=True)
    return np.bincount(frame.reshape(-1))


def _longest_run(t_ns: Any, again: Any) -> tuple[int, int, int]:
    """Start, end and frames of the longest run of retransmissions; -1, -1, 0 if there is none."""
    edges = np.diff(again.astype(np.int8), prepend=np.int8(0), append=np.int8(0))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    if not len(starts):
        return -1, -1, 0
    best = int(np.argmax(t_ns[ends] - t_ns[starts]))
    return int(t_ns[starts[best]]), int(t_ns[ends[best]]), int(ends[best] - starts[best] + 1)


def _delays(frames: Table, first: Table, entity: int) -> Any:
    """First sending to first reception of the frames that arrived."""
    others = sorted_difference(frames["entity"], np.array([entity]))
    peer = int(others[0]) if len(others) == 1 else None
    arrived = arrivals(first, frames, peer)
    return (arrived - first["t_ns"])[arrived >= 0]


def _signals(m: Timeline, entity: int, action: str) -> int:
    """Selective rejects; -1 where status reports are logged without what they report (it is not known)."""
    events = m.table("link_events")
    mine = (events["entity"] == entity) & (events["action"] == events.code("action", action))
    if m.link_type(entity).acknowledgement == "status":
        reports = mine & (events["kind"] == events.code("kind", "RR"))
        if np.any(reports & (events["nr"] < 0)):
            return -1
    return int(np.count_nonzero(mine & (events["kind"] == events.code("kind", "SREJ"))))


def _known(count: int) -> int | None:
    return None if count < 0 else count


def _words(m: Timeline, table: Table, row: int) -> dict[str, Any]:
    value = {name: table[name][row].item() for name in table}
    start, end = value["burst_start_ns"], value["burst_end_ns"]
    burst = {
        "start": round(m.seconds(start), 6),
        "end": round(m.seconds(end), 6),
        "duration_ms": round((end - start) / 1e6, 3),
        "frames": value["burst_frames"],
    }
    delay = {name: round(value[f"delay_{name}_ns"] / 1e6, 3) for name in ("min", "median", "max")}
    return {
        "entity": m.entities[value["entity"]],
        "seen_by": "receiver" if m.link_type(value["entity"]).observer == "receiver" else "sender",
        "frames": value["frames"],
        "retransmitted": value["retransmitted"],
        "share": round(value["retransmitted"] / value["frames"], 6) if value["frames"] else 0.0,
        "rate_bytes_per_s": _finite(value["rate"]),
        "attempts_per_frame": _finite(value["attempts_mean"]),
        "attempts_max": value["attempts_max"],
        "longest_burst": burst if value["burst_frames"] else None,
        "srej_sent": _known(value["srej_sent"]),
        "srej_received": _known(value["srej_received"]),
        "frame_delay_ms": delay if value["delay_min_ns"] >= 0 else None,
    }


def _finite(value: float) -> float | None:
    return round(value, 6) if np.isfinite(value) else None


ANALYZER = Analyzer(
    name="link_retransmissions",
    question="What rate did the link have, and how much of it did retransmitted frames take?",
    run=run,
    **QUESTIONS["link_retransmissions"]._asdict(),
)
