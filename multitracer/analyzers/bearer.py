"""What a radio bearer did to deliver: polls and reports, repetition, reordering, what it gave up, HARQ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.link.rlcdelays import polls, reorderings
from multitracer.layers.link.rlcdiscards import Units, discards, unconfirmed, units
from multitracer.layers.link.rlcpdus import Direction, directions
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.schema.rlc import DISCARDS, POLLS, REORDERINGS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Describe, for each direction of the bearer, how RLC and HARQ delivered it.

    A poll is answered by the first report on all that was transmitted before it. A PDU is overtaken from the
    time at which its receiver has a later one until it is complete. Both need the clock of one end only.

    References
    ----------
    3GPP TS 36.322, TS 38.322; TS 36.321, 38.321 (HARQ).
    """
    found = directions(m)
    if not found:
        return Result("bearer", inconclusive="the log of the bearer has no data PDU")
    entries, tables = [], {"polls": [], "reorderings": [], "discards": []}  # type: ignore[var-annotated]
    for one in found:
        asked = polls(one)
        overtaken, waits = reorderings(one)
        held = units(m, one)
        given_up = discards(m, one, held)
        for name, table in (("polls", asked), ("reorderings", overtaken), ("discards", given_up)):
            tables[name].append(table)
        entries.append(
            {
                "entity": m.entities[one.sender],
                "receiver": m.entities[one.receiver],
                "pdus": _transmissions(one),
                "sdus": _units(held),
                "polls": _polls(asked, one),
                "reports": _reports(one),
                "reordering": _reordering(overtaken, waits, one),
                "segmentation": _segmentation(one),
                "discards": _discards(given_up, one),
                "harq": _harq(m, one.sender),
            }
        )
    facts = next((t.source.details for t in m.traces if "rlc_pdus" in t.tables), {})
    summary = {
        "radio": facts.get("radio"),
        "bearer": facts.get("bearer"),
        "mode": facts.get("mode", "am"),
        "directions": entries,
    }
    joined = {
        declared.name: Table.concat(declared, tables[declared.name]).sorted_by("t_ns")
        for declared in (POLLS, REORDERINGS, DISCARDS)
    }
    return Result("bearer", summary, joined)


def _transmissions(found: Direction) -> dict[str, Any] | None:
    """How often PDUs were sent; None where only the receiver's view is there."""
    if not found.is_sender_seen:
        return None
    _, times = found.transmissions
    return {"sent": len(times), **_by_transmissions(times)}


def _units(held: Units) -> dict[str, Any] | None:
    if not len(held.table):
        return None
    return {"sent": len(held.table), **_by_transmissions(held.transmissions)}


def _by_transmissions(times: Array) -> dict[str, Any]:
    known = times[times > 0]
    values, counts = np.unique(known, return_counts=True)
    return {
        "again": int(np.count_nonzero(known > 1)),
        "transmissions_mean": round(float(known.mean()), 6) if len(known) else None,
        "transmissions_max": int(known.max(initial=0)),
        "by_transmissions": {str(v): c for v, c in zip(values.tolist(), counts.tolist(), strict=True)},
    }


def _polls(asked: Table, found: Direction) -> dict[str, Any]:
    answered = asked["end_ns"] >= 0
    return {
        "sent": len(asked),
        "answered": int(np.count_nonzero(answered)),
        "delay_ms": _quantiles((asked["end_ns"] - asked["t_ns"])[answered]),
    }


def _reports(found: Direction) -> dict[str, Any]:
    """Status reports about this direction."""
    kinds = found.reports["kind"]
    status = found.reports.where(kinds == found.reports.code("kind", "status"))
    nacks = found.reports.where(kinds == found.reports.code("kind", "nack"))
    each = np.isin(status["record"], nacks["record"])
    missing = int(np.maximum(nacks["length"], 1).sum())
    span = int(found.sent["t_ns"][-1] - found.sent["t_ns"][0]) / 1e9 if len(found.sent) else 0.0
    most = np.unique(nacks["record"], return_counts=True)[1]
    return {
        "count": len(status),
        "per_s": round(len(status) / span, 6) if span > 0 else None,
        "nacks": len(nacks),
        "pdus_missing": missing,
        "with_nacks": int(np.count_nonzero(each)),
        "nacks_per_report_max": int(most.max(initial=0)),
        "partial_nacks": int(np.count_nonzero(nacks["start"] >= 0)),
        "interval_ms": _quantiles(np.diff(status["t_ns"])),
    }


def _reordering(overtaken: Table, waits: Array, found: Direction) -> dict[str, Any] | None:
    """None where no log was written at the receiver: what is retransmitted need not have been missing."""
    if not len(found.received):
        return None
    filled = overtaken["end_ns"] >= 0
    reported = overtaken["reported_ns"] >= 0
    return {
        "overtaken": len(overtaken),
        "filled": int(np.count_nonzero(filled)),
        "delay_ms": _quantiles((overtaken["end_ns"] - overtaken["t_ns"])[filled]),
        "reported_ms": _quantiles((overtaken["reported_ns"] - overtaken["t_ns"])[reported]),
        "pdus_held": int(np.count_nonzero(waits > 0)),
        "held_ms": _quantiles(waits[waits > 0]),
    }


def _segmentation(found: Direction) -> dict[str, int] | None:
    """PDUs segmented at their first transmission, and those segmented differently when retransmitted."""
    if not found.is_sender_seen:
        return None
    sent = found.sent.where(found.sent["number"] >= 0)
    first = sent.where(sent["attempt"] == 0)
    again = sent.where((sent["attempt"] > 0) & (sent["part"] == 1))
    known = set(_pieces(first))
    new = np.array([piece not in known for piece in _pieces(again)], dtype=bool)
    return {
        "segmented": len(np.unique(first["number"][first["part"] == 1])),
        "resegmented": len(np.unique(again["number"][new])) if len(new) else 0,
        "segments_again": int(np.count_nonzero(new)),
    }


def _pieces(rows: Table) -> list[tuple[int, int, int]]:
    columns = (rows[name].tolist() for name in ("number", "start", "length"))
    return list(zip(*columns, strict=True))


def _discards(given_up: Table, found: Direction) -> dict[str, Any]:
    words = given_up.words("reason")
    return {
        "total": len(given_up),
        **{
            reason: int(np.count_nonzero(words == reason))
            for reason in given_up.schema.by_name["reason"].categories
        },
        "pdus_unconfirmed": unconfirmed(found)[0],
        "certain": not np.any((words == "unfilled") | (words == "held")),
    }


def _harq(m: Timeline, entity: int) -> dict[str, Any] | None:
    """Transport blocks by the attempt that was captured; None where the framing does not show attempts."""
    radio = m.table("link_radio")
    attempts = radio["attempt"][(radio["entity"] == entity) & (radio["attempt"] >= 0)]
    if not len(attempts):
        return None
    values, counts = np.unique(attempts, return_counts=True)
    return {
        "blocks": len(attempts),
        "again": int(np.count_nonzero(attempts > 0)),
        "attempts_max": int(attempts.max()) + 1,
        "by_attempt": {str(v + 1): c for v, c in zip(values.tolist(), counts.tolist(), strict=True)},
    }


def _quantiles(times_ns: Array) -> dict[str, float] | None:
    if not len(times_ns):
        return None
    low, middle, high, most = np.percentile(times_ns, [0, 50, 95, 100]) / 1e6
    return {
        "min": round(float(low), 3),
        "median": round(float(middle), 3),
        "mean": round(float(times_ns.mean()) / 1e6, 3),
        "p95": round(float(high), 3),
        "max": round(float(most), 3),
    }


ANALYZER = Analyzer(
    name="bearer",
    question="How did RLC and HARQ deliver what the radio bearer carried, and what did they give up?",
    run=run,
    **QUESTIONS["bearer"]._asdict(),
)
