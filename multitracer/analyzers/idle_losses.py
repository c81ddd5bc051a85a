"""Idle share and its losses: for how much of a transfer the link was idle, and which few losses caused it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.tcp.fates import ARRIVED, UNKNOWN
from multitracer.layers.tcp.flow_batch import FlowBatch, Times, batches, payload
from multitracer.layers.tcp.transit import near_sender
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.schema import CAUSES
from multitracer.model.schema.results import IDLE_CAUSES
from multitracer.model.schema.studies import LOST_SEGMENTS, REPAIRS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

_AFTER_LOSS = ("timeout_wait", "recovery_stall", "local_drop")
# Slow-start (go-back-N) retransmissions after a timeout count with that timer, too.
_REPAIRED_BY = {"timeout": "timeout", "slow_start": "timeout", "fast": "fast"}


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Share of the transfer in which nothing was in flight, and the losses that caused it.

    Idle are the phases of `idle_phases`, over its span: first data to last ACK. Of them, ``after_losses``
    waited for a timer, stalled in loss recovery, or followed a drop in the sender's own queue. Each lost or
    damaged data segment is assigned to what retransmitted its first byte next: a timer (or the slow start
    after one), fast retransmit, something else, nothing. Only both captures together show which were lost;
    ``lost`` is None without them.

    References
    ----------
    Figure 4b of the study behind docs/studies/radio-buffer-packet.md.
    """
    phases = results["idle_phases"]
    table, span_s = phases.tables["idle_phases"], float(phases.summary["span_s"])
    lengths = (table["end_ns"] - table["t_ns"]).astype(np.float64) / 1e9
    causes = {
        word: float(lengths[table["cause"] == code].sum())
        for code, word in enumerate(IDLE_CAUSES)
        if word in _AFTER_LOSS
    }
    idle_s = float(lengths.sum())
    summary: dict[str, Any] = {
        "value": _share(idle_s, span_s),
        "basis": phases.summary["basis"],
        "span_s": round(span_s, 6),
        "idle_s": round(idle_s, 6),
        "after_losses": {"s": round(sum(causes.values()), 6), "share": _share(sum(causes.values()), span_s)}
        | {word: round(s, 6) for word, s in causes.items()},
        **_segments(m),
        "lost": None,
    }
    lost = _lost(m, results)
    if lost is None:
        return Result("idle_losses", summary)
    words = lost.words("repair")
    summary["lost"] = {"total": len(lost)} | {word: int(np.count_nonzero(words == word)) for word in REPAIRS}
    return Result("idle_losses", summary, {"lost_segments": lost})


def _segments(m: Timeline) -> dict[str, int]:
    """Data segments that the senders sent: with a new byte, and with duplicate bytes."""
    new = again = 0
    for some in batches(m):
        for _, sent in _sent(m, some):
            new += int(np.count_nonzero(sent["duplicate"] < sent["length"]))
            again += int(np.count_nonzero(sent["duplicate"] > 0))
    return {"segments": new, "retransmissions": again}


def _sent(m: Timeline, connections: list[Connection]) -> list[tuple[Times, FlowBatch]]:
    """Data where it left, of the connections with these places: at the end that saw it first."""
    if m.snd is None or m.rcv is None:
        source = near_sender(m)
        return [(np.arange(len(connections)), payload(m, connections, source))]
    near, far = payload(m, connections, m.snd), payload(m, connections, m.rcv)
    along = near.sizes > 0
    along &= (far.sizes == 0) | (near.first(near["t_ns"], 0) <= far.first(far["t_ns"], 0))
    split = ((np.flatnonzero(along), near), (np.flatnonzero(~along), far))
    return [(places, end.chosen(places)) for places, end in split]


def _lost(m: Timeline, results: Mapping[str, Result]) -> Table | None:
    losses = results.get("losses")
    if losses is None or losses.inconclusive is not None:
        return None
    fates = losses.tables["fates"]
    gone = fates.where(~np.isin(fates["fate"], (ARRIVED, UNKNOWN)) & (fates["length"] > 0))
    grouped = Grouped(gone["conn"], gone["dir"])
    missing = set(sorted_unique(gone["conn"]).tolist())
    found = {}
    for some in batches(m, [one for one in m.connections if one.index in missing]):
        for places, sent in _sent(m, some):
            again = sent.where(sent["duplicate"] > 0)
            for row, at in enumerate(places.tolist()):
                mine = gone.where(grouped.rows(some[at].index, some[at].data_dir))
                if len(mine):
                    found[some[at].index] = _repaired(mine, again.one(row))
    return Table.concat(LOST_SEGMENTS, [found[index] for index in sorted(found)]).sorted_by("t_ns")


def _repaired(lost: Table, again: Table) -> Table:
    """What retransmitted the first byte of each lost segment next."""
    at = _next_copy(lost["seq"], lost["t_ns"], again["seq"], again["t_ns"])
    known = at >= 0
    codes = np.zeros(len(lost), dtype=np.int8)
    by_cause = np.array([REPAIRS.index(_REPAIRED_BY.get(word, "other")) for word in CAUSES], dtype=np.int8)
    codes[known] = by_cause[again["cause"][at[known]]]
    when, record = np.full(len(lost), -1, dtype=np.int64), np.zeros(len(lost), dtype=np.int64)
    when[known], record[known] = again["t_ns"][at[known]], again["record"][at[known]]
    columns = {name: lost[name] for name in ("t_ns", "conn", "record", "seq", "length")}
    return Table(LOST_SEGMENTS, columns | {"repair": codes, "repaired_ns": when, "repair_record": record})


def _next_copy(seq: Array, t_ns: Array, again_seq: Array, again_ns: Array) -> Array:
    """Row of the first retransmission that begins with the same byte, after each; -1 if there is none."""
    order = np.lexsort((again_ns, again_seq))
    starts, times = again_seq[order], again_ns[order]
    first, end = np.searchsorted(starts, seq), np.searchsorted(starts, seq, side="right")
    found = np.full(len(seq), -1, dtype=np.int64)
    for row in range(len(seq)):
        at = first[row] + int(np.searchsorted(times[first[row] : end[row]], t_ns[row], side="right"))
        if at < end[row]:
            found[row] = order[at]
    return found


def _share(part_s: float, span_s: float) -> float | None:
    return round(part_s / span_s, 6) if span_s > 0 else None


ANALYZER = Analyzer(
    name="idle_losses",
    question="For how much of the transfer was the link idle, and which losses caused it?",
    run=run,
    **QUESTIONS["idle_losses"]._asdict(),
)
