"""Link resets: one result per reset, with the gap that it caused in the transfer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.crosslayer.resetlosses import reset_losses
from multitracer.layers.link.path import LinkPath, link_path
from multitracer.layers.link.resetlog import Handshake, handshakes
from multitracer.layers.tcp.transit import Delivery, in_order
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.schema.results import LINK_RESETS
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline

COUNTED = {
    "segment_lost": "segments_lost",
    "ack_lost": "acks_lost",
    "segment_corrupted": "segments_discarded",
}


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Combine what both entities, TCP and its receiver report about each reset.

    The gap is that of the connection that it hit hardest. What counts as lost to a reset is determined,
    segment by segment, by `multitracer.layers.crosslayer.resetlosses`; its table, `reset_losses`, is part of
    the result.

    References
    ----------
    Paper 3.2 and 5.3, Figures 8 to 10; RFC 1144 (decompressor failure).
    """
    if not len(m.table("link_frames")) and not len(m.table("link_events")):
        return Result("link_resets", inconclusive="needs a link log")
    if m.entities and not any(m.link_type(entity).tells("resets") for entity in range(len(m.entities))):
        return Result("link_resets", inconclusive="needs a link log that records resets")
    found = handshakes(m)
    path = link_path(m)
    rows = [_row(m, path, reset) for reset in found]
    if len(m.table("segments")):
        for connection in m.connections:
            delivery = in_order(m, connection)
            for reset, row in zip(found, rows, strict=True):
                _gap(delivery, reset, row)
        _count_timeouts(rows, results)
    taken, known = reset_losses(m, path, found, [row["gap_end_ns"] for row in rows])
    for what, name in COUNTED.items():
        for number, row in enumerate(rows if known[what] else []):
            mine = (taken["reset"] == number) & (taken["what"] == taken.code("what", what))
            row[name] = int(np.count_nonzero(mine))
    table = Table.filled(
        LINK_RESETS, len(rows), {name: [row[name] for row in rows] for name in LINK_RESETS.by_name}
    )
    resets = [_words(m, path, table, row, reset) for row, reset in enumerate(found)]
    for at, words in enumerate(resets):
        words["shares_gap_with"] = _first_of_gap(resets[:at], words)
    summary = {"count": len(found), "resets": resets}
    return Result("link_resets", summary, {"link_resets": table, "reset_losses": taken})


def _row(m: Timeline, path: LinkPath | None, reset: Handshake) -> dict[str, Any]:
    events = m.table("link_events").sorted_by("t_ns").where(np.array(reset.lines))
    flushed = np.maximum(events["flush_tx"], 0) + np.maximum(events["flush_rx"], 0)
    own = events["entity"] == (path.sender if path is not None else reset.entity)
    return {
        "t_ns": reset.start_ns,
        "end_ns": reset.end_ns if reset.end_ns is not None else -1,
        "entity": reset.entity,
        "cause": LINK_RESETS.code("cause", reset.cause),
        "lines": len(reset.lines),
        "flush_snd": int(flushed[own].sum()),
        "flush_rcv": int(flushed[~own].sum()),
        "gap_start_ns": -1,
        "gap_end_ns": -1,
        "segments_lost": -1,
        "acks_lost": -1,
        "segments_discarded": -1,
        "timeouts": -1,
        "gap_rate": np.nan,
        "record": int(events["record"][0]),
    }


def _count_timeouts(rows: list[dict[str, Any]], results: Mapping[str, Result]) -> None:
    """Timeouts in each gap, each counted once: by the last reset of that gap that began before it.

    One that fired before any of them is the first one's: the link was still trying then.
    """
    judged = results.get("timeouts")
    if judged is None or "timeouts" not in judged.tables:
        return
    for row in rows:
        row["timeouts"] = 0
    for t_ns in judged.tables["timeouts"]["t_ns"].tolist():
        inside = [row for row in rows if row["gap_start_ns"] < t_ns <= _gap_end(row)]
        before = [row for row in inside if row["t_ns"] <= t_ns]
        for row in before[-1:] or inside[:1]:
            row["timeouts"] += 1


def _gap(delivery: Delivery, reset: Handshake, row: dict[str, Any]) -> None:
    """From the last byte in order before the reset was over to the first after it (Paper 5.3)."""
    before, after = delivery.around(reset.end_ns if reset.end_ns is not None else reset.start_ns)
    known = row["gap_end_ns"] - row["gap_start_ns"] if row["gap_start_ns"] >= 0 else -1
    if before is None or after is None or after - before <= known:
        return
    row["gap_start_ns"], row["gap_end_ns"] = before, after
    row["gap_rate"] = (delivery.at(after) - delivery.at(before)) / ((after - before) / 1e9)


def _gap_end(row: dict[str, Any]) -> int:
    end = int(row["gap_end_ns"])
    return end if end >= 0 else int(np.iinfo(np.int64).max)


def _words(m: Timeline, path: LinkPath | None, table: Table, row: int, reset: Handshake) -> dict[str, Any]:
    value = {name: table[name][row].item() for name in table}
    events = m.table("link_events").sorted_by("t_ns").where(np.array(reset.lines))
    start, end = value["gap_start_ns"], value["gap_end_ns"]
    gap = start >= 0 and end >= 0
    done = value["end_ns"] >= 0 and reset.cause != "peer"
    return {
        "t": round(m.seconds(value["t_ns"]), 6),  # always known, also before the epoch
        "entity": m.entities[value["entity"]],
        "cause": reset.cause,
        "end": _seconds(m, value["end_ns"]),
        "handshake_s": round((value["end_ns"] - value["t_ns"]) / 1e9, 6) if done else None,
        "flushed_bytes": _flushed(m, events),
        "gap_s": round((end - start) / 1e9, 6) if gap else None,
        "gap_start": _seconds(m, start),
        "gap_end": _seconds(m, end),
        "gap_throughput_bps": round(8 * value["gap_rate"], 3) if gap else None,
        "segments_lost": _known(value["segments_lost"]),
        "acks_lost": _known(value["acks_lost"]),
        "segments_discarded": _known(value["segments_discarded"]),
        "timeouts": _known(value["timeouts"]),
        "variant": _variant(value),
        "records": events["record"].tolist(),
    }


def _first_of_gap(before: list[dict[str, Any]], words: dict[str, Any]) -> float | None:
    """When the first reset with the same gap was; None if this one is the first, or has none."""
    if words["gap_s"] is None:
        return None
    same = ("gap_start", "gap_end")
    return next((one["t"] for one in before if all(one[name] == words[name] for name in same)), None)


def _variant(value: dict[str, Any]) -> str | None:
    """What the reset did to TCP: Figure 9 (data, decompressor) or Figure 10 (acknowledgements only)."""
    if value["segments_lost"] < 0:
        return None
    if value["segments_discarded"] > 0:
        return "decompressor"
    if value["segments_lost"] > 0:
        return "data_lost"
    return "acks_lost" if value["acks_lost"] > 0 else "harmless"


def _flushed(m: Timeline, events: Table) -> dict[str, dict[str, int]]:
    found = {}
    for entity in sorted_unique(events["entity"]).tolist():
        mine = events.where(events["entity"] == entity)
        found[m.entities[entity]] = {
            "tx": int(np.maximum(mine["flush_tx"], 0).sum()),
            "rx": int(np.maximum(mine["flush_rx"], 0).sum()),
        }
    return found


def _known(value: int) -> int | None:
    return value if value >= 0 else None


def _seconds(m: Timeline, t_ns: int) -> float | None:
    return round(m.seconds(t_ns), 6) if t_ns >= 0 else None


ANALYZER = Analyzer(
    name="link_resets",
    question="When was the link reset, what did it flush, and for how long did TCP stall?",
    run=run,
    **QUESTIONS["link_resets"]._asdict(),
)
