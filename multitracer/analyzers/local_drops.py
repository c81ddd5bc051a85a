"""Local drops: segments that TCP sent and that never reached the link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers import framemap
from multitracer.layers.link.path import link_path
from multitracer.layers.link.resetlog import handshake_spans, handshakes
from multitracer.layers.tcp.losses import LOG_LAG_NS, losses, queue_drops, segment_facts
from multitracer.layers.tcp.transit import data_at, near_sender
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.schema.results import LOCAL_DROPS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Match the queue's drops to segments; without a queue log, compare the two captures.

    By the captures a loss is local only if the link cannot have lost it: a reliable link loses data at
    resets, and where it gives a packet up, so the log must show neither between the arrivals of the segments
    around it. Without a link log this is unknown.

    References
    ----------
    Paper 5.2, Figure 7.
    """
    if not len(m.table("link_frames")) and not len(m.table("link_events")):
        return Result("local_drops", inconclusive="needs a link log")
    # A log of drops alone (of a simulation) has them all: captures would call losses elsewhere local.
    rows = _logged(m) or (_by_captures(m) if len(m.table("link_frames")) else [])
    rows.sort(key=lambda row: int(row["t_ns"]))
    repeats: dict[tuple[int, int], Table] = {}
    for row in rows:
        _recover(m, row, repeats)
    table = Table.filled(
        LOCAL_DROPS, len(rows), {name: [row[name] for row in rows] for name in LOCAL_DROPS.by_name}
    )
    recovery = table.words("recovery")
    summary = {
        "count": len(table),
        "matched": int(np.count_nonzero(table["record"] > 0)),
        "evidence": sorted(set(table.words("evidence").tolist())),
        "recovery": {
            name: int(np.count_nonzero(recovery == name)) for name in sorted(set(recovery.tolist())) if name
        },
        "drops": [_words(m, table, row) for row in range(len(table))],
    }
    return Result("local_drops", summary, {"local_drops": table})


def _logged(m: Timeline) -> list[dict[str, Any]]:
    """One row per line of the queue, with the segment that it dropped where one fits."""
    rows = []
    for drop in queue_drops(m, link_path(m)):
        segment = {name: value for name, value in (drop.segment or {}).items() if name != "t_ns"}
        rows.append(_row(drop.t_ns, "queue_log") | {"drop_record": drop.record} | segment)
    return rows


def _by_captures(m: Timeline) -> list[dict[str, Any]]:
    """Segments that only the sender's capture has, lost at a time without a link reset.

    Where a capture of the link shows the packets themselves: those that it does not have, at a time at which
    it missed nothing.
    """
    lossy = [*handshake_spans(m, handshakes(m)).tolist(), *_around(m, "discard", LOG_LAG_NS)]
    read = _read_on_the_link(m)
    if read is not None:
        lossy = _around(m, "unseen", 0)
    rows = []
    for connection in m.connections:
        lost = losses(m, connection)
        if lost is None:
            continue
        arrived = data_at(m, connection, m.rcv)
        # What was sent last may still have been in transit when the captures ended.
        local = (lost.before_ns < np.iinfo(np.int64).max) & ~lost.seen & bool(len(arrived))
        if read is not None:
            local = local & ~np.isin(lost.segments["record"], read)
        for start, end in lossy:
            local = local & ~lost.during(start, end)
        for index in np.flatnonzero(local).tolist():
            facts = segment_facts(lost.segments, index)
            rows.append(_row(facts.pop("t_ns"), "captures") | facts)
    return rows


def _around(m: Timeline, kind: str, after_ns: int) -> list[tuple[int, int]]:
    """Times around events of the link: it gave a packet up, a monitor missed one."""
    events = m.table("link_events")
    times = events["t_ns"][events["kind"] == events.code("kind", kind)]
    return [(t_ns - LOG_LAG_NS, t_ns + after_ns) for t_ns in times.tolist()]


def _read_on_the_link(m: Timeline) -> Array | None:
    """Records at the sender's capture of packets that were read in frames of the link; None if none were."""
    spans = framemap.of(m).spans
    read = (spans["source"] == m.snd) & (spans["method"] == spans.code("method", "content"))
    return spans["record"][read & (spans["first"] >= 0)] if np.any(read) else None


def _row(t_ns: int, evidence: str) -> dict[str, Any]:
    return {
        "t_ns": t_ns,
        "conn": -1,
        "dir": 0,
        "seq": -1,
        "length": -1,
        "record": 0,
        "drop_record": 0,
        "evidence": LOCAL_DROPS.code("evidence", evidence),
        "recovery": 0,
        "recovered_ns": -1,
    }


def _recover(m: Timeline, row: dict[str, Any], repeats: dict[tuple[int, int], Table]) -> None:
    """Find the segment that retransmitted the dropped bytes, and why."""
    if row["record"] <= 0 or row["length"] <= 0:
        return
    flow = (row["conn"], row["dir"])
    if flow not in repeats:
        rows = m.table("segments")
        mine = (rows["conn"] == flow[0]) & (rows["dir"] == flow[1]) & (rows["source"] == near_sender(m))
        repeats[flow] = rows.where(mine & (rows["duplicate"] > 0)).sorted_by("t_ns")
    sent = repeats[flow]
    covers = (sent["seq"] <= row["seq"]) & (sent["seq"] + sent["length"] > row["seq"])
    again = np.flatnonzero(covers & (sent["record"] > row["record"]))
    if len(again):
        cause = sent.words("cause")[again[0]]
        row["recovery"] = LOCAL_DROPS.code("recovery", cause or "unknown")
        row["recovered_ns"] = int(sent["t_ns"][again[0]])


def _words(m: Timeline, table: Table, row: int) -> dict[str, Any]:
    value = {name: table[name][row].item() for name in table}
    known = value["record"] > 0
    recovered = value["recovered_ns"]
    return {
        "t": round(m.seconds(value["t_ns"]), 6),
        "conn": value["conn"] if known else None,
        "seq": value["seq"] if known else None,
        "length": value["length"] if known else None,
        "record": value["record"] if known else None,
        "drop_record": value["drop_record"] or None,
        "evidence": str(table.words("evidence")[row]),
        "recovery": str(table.words("recovery")[row]) or None,
        "recovered": round(m.seconds(recovered), 6) if recovered >= 0 else None,
    }


ANALYZER = Analyzer(
    name="local_drops",
    question="Which segments never reached the link, and how did TCP recover them?",
    run=run,
    **QUESTIONS["local_drops"]._asdict(),
)
