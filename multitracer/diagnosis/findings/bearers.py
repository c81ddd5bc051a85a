"""Sentences about a radio bearer: what RLC retransmitted, what had to wait for it, what it gave up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.diagnosis.findings.finding import (
    MOST_EVIDENCE,
    Finding,
    joined,
    plot_command,
    seconds,
    several,
    share,
    transfer_spans,
)
from multitracer.layers.events import sender_entity
from multitracer.model.analysis import Result
from multitracer.model.arrays.intervals import Intervals, intersect, intervals, total
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

STILL_SHARE = 0.1
STILL_NS = 200_000_000  # the smallest timeout of Linux: a timer of TCP may run out in less than no other
AGAIN_SHARE = 0.05
POLL_NS = 100_000_000
POLL_TIMES = 3.0

Object = Mapping[str, Any]


def bearer(m: Timeline, results: Mapping[str, Result]) -> list[Finding]:
    """How the bearer delivered, where that took time, and what it gave up.

    A direction is reported if delivery in it stalled for long, or if much was retransmitted where its
    receiver left no log.

    Parameters
    ----------
    m : Timeline
    results : mapping
        With that of `bearer`, and of `local_drops` where it is there.

    References
    ----------
    3GPP TS 36.322, 38.322 section 5.2 (ARQ), 36.323, 38.323 section 5.3 (discard).
    """
    found = results.get("bearer")
    span = transfer_spans(m)
    if found is None or found.inconclusive is not None or not len(span):
        return []
    sentences = []
    for direction in found.summary["directions"]:
        repeats = _repeats(m, found, direction, span)
        # ACKs that were given up are made good by the next.
        is_data = m.entities.index(direction["entity"]) == sender_entity(m)
        lost = _given_up(m, found, direction, results) if is_data else None
        sentences += [one for one in (repeats, lost) if one is not None]
    return sentences


def _repeats(m: Timeline, found: Result, direction: Object, span: Intervals) -> Finding | None:
    sender, receiver = (m.entities.index(direction[name]) for name in ("entity", "receiver"))
    gaps = found.tables["reorderings"]
    gaps = gaps.where((gaps["entity"] == receiver) & (gaps["end_ns"] >= 0))
    still = intersect(intervals(np.stack([gaps["t_ns"], gaps["end_ns"]], axis=1)), span)
    waits = still[:, 1] - still[:, 0]
    again = direction["pdus"]
    portion = again["again"] / again["sent"] if again is not None and again["sent"] else 0.0
    carried = "data" if sender == sender_entity(m) else "ACKs"
    # ACKs are cumulative: many short waits of theirs hold nothing up.
    is_long = bool(len(still)) and (
        int(waits.max()) >= STILL_NS or (carried == "data" and total(still) >= STILL_SHARE * total(span))
    )
    unheard = direction["reordering"] is None and portion >= AGAIN_SHARE
    asked = _late_poll(found, sender)
    if not is_long and not unheard:
        return None
    parts = []
    if again is not None and again["again"]:
        parts.append(
            f"sent {again['again']:,} of {again['sent']:,} PDUs ({share(portion)}) more than once, up to "
            f"{again['transmissions_max']} times" + ("," if is_long else "")
        )
    if is_long:
        most = "" if len(still) == 1 else f", up to {seconds(int(waits.max()) / 1e9)} at a time"
        parts.append(
            f"held {carried} back, waiting for missing PDUs, for {seconds(total(still) / 1e9)} of "
            f"{seconds(total(span) / 1e9)}{most}"
        )
    text = f"the radio bearer from {direction['entity']} to {direction['receiver']} {' and '.join(parts)}"
    evidence = _records(m, gaps["t_ns"], gaps["record"], gaps["end_ns"] - gaps["t_ns"], receiver)
    if asked is not None:
        row, wait_ns, usual_ns = asked
        text += (
            f"; a poll waited {seconds(wait_ns / 1e9)} for its status report "
            f"(median {seconds(usual_ns / 1e9)})"
        )
        polls = found.tables["polls"]
        evidence = (
            *_records(m, polls["t_ns"][[row]], polls["record"][[row]], np.array([1]), sender),
            *evidence,
        )
    kind = "bearer_repeats" if carried == "data" else "bearer_repeats_back"
    window = _window(m, still if len(still) else span)
    return Finding(text, 0.0, kind, plot_command(m, *window, "bearer"), evidence[:MOST_EVIDENCE])


def _late_poll(found: Result, sender: int) -> tuple[int, int, int] | None:
    """Row, wait and middle wait of the poll that waited longest; None where none waited unusually long."""
    polls = found.tables["polls"]
    rows = np.flatnonzero((polls["entity"] == sender) & (polls["end_ns"] >= 0))
    if not len(rows):
        return None
    waits = polls["end_ns"][rows] - polls["t_ns"][rows]
    row, usual = int(rows[np.argmax(waits)]), int(np.median(waits))
    most = int(waits.max())
    return (row, most, usual) if most >= POLL_NS and most >= POLL_TIMES * usual else None


def _given_up(m: Timeline, found: Result, direction: Object, results: Mapping[str, Result]) -> Finding | None:
    """What the bearer gave up for certain; what its log may only have missed is left out."""
    lost = direction["discards"]
    if not lost["certain"] or not lost["unsent"] + lost["reset"]:
        return None
    sender = m.entities.index(direction["entity"])
    skipped = "its number" if lost["unsent"] == 1 else "their numbers"
    parts = [
        f"{several(lost['unsent'], 'packet')} before sending a byte (PDCP skipped {skipped})",
        f"{several(lost['reset'], 'packet')} when it was set up anew",
    ]
    how = joined(part for part, number in zip(parts, (lost["unsent"], lost["reset"]), strict=True) if number)
    text = f"the radio bearer from {direction['entity']} to {direction['receiver']} gave up {how}"
    dropped = results.get("local_drops")
    if dropped is not None and dropped.inconclusive is None:
        rows = dropped.tables["local_drops"]
        if len(rows) and len(rows) == lost["unsent"]:
            text += "; these are the drops in front of the link"
    rows = found.tables["discards"]
    rows = rows.where((rows["entity"] == sender) & (rows["reason"] != rows.code("reason", "held")))
    window = _window(m, np.stack([rows["t_ns"], rows["t_ns"]], axis=1))
    kind = "bearer_discards"
    return Finding(text, 0.0, kind, plot_command(m, *window), _behind(m, rows, sender))


def _window(m: Timeline, spans: Intervals) -> tuple[float, float]:
    """The longest of some spans, in seconds."""
    start, end = spans[int(np.argmax(spans[:, 1] - spans[:, 0]))]
    return m.seconds(int(start)), m.seconds(int(end))


def _records(
    m: Timeline, t_ns: Array, record: Array, weight: Array, entity: int
) -> tuple[tuple[str, int], ...]:
    """File and record of PDUs that an entity logged, the weightiest first."""
    pdus = m.table("rlc_pdus")
    pdus = pdus.where(pdus["entity"] == entity)
    order = np.argsort(-weight, kind="stable")
    _, first = np.unique(record[order], return_index=True)
    found = []
    for row in order[np.sort(first)][:MOST_EVIDENCE].tolist():
        same = np.flatnonzero((pdus["t_ns"] >= t_ns[row]) & (pdus["record"] == record[row]))
        if len(same):
            found.append((m.sources[int(pdus["source"][same[0]])].path, int(record[row])))
    return tuple(found)


def _behind(m: Timeline, rows: Table, sender: int) -> tuple[tuple[str, int], ...]:
    """The packets that were sent where those given up would have been, or a part of these themselves."""
    sdus = m.table("rlc_sdus")
    sdus = sdus.where(sdus["entity"] == sender)
    found: dict[tuple[str, int], None] = {}
    for t_ns in rows["t_ns"].tolist():
        same = np.flatnonzero((sdus["t_ns"] == t_ns) | (sdus["end_ns"] == t_ns))
        if len(same):
            one = int(same[0])
            found[m.sources[int(sdus["source"][one])].path, int(sdus["record"][one])] = None
            if len(found) == MOST_EVIDENCE:
                break
    return tuple(found)
