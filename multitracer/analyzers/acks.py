"""How the receiver acknowledged: how often, how late, in bunches, and what its window did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analysis import Analyzer, Result
from multitracer.measurement import Connection, Measurement
from multitracer.schema import ACK_KINDS
from multitracer.schema.results import ACK_BUNCHES
from multitracer.table import Array, Table
from multitracer.transfer.transit import Times, data_at, near_sender, valid_acks

_COMPRESSED = 0.5
"""ACKs closer than this share of the spacing of the data that they acknowledge are compressed."""

_LEAST_BUNCH = 3
_DELAYED_NS = 500_000_000
"""The latest that a receiver may delay an ACK (RFC 9293 section 3.8.6.3)."""


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """Describe the ACKs of each connection's data direction.

    ACK compression is judged at the sender's side, where ACKs arrive; ACK delay at the receiver's, where they
    are made: each needs the capture there.

    References
    ----------
    Paper [18] (ACK compression); RFC 9293 section 3.8.6.3, RFC 5681 section 4.2 (delayed ACKs); RFC 9293
    section 3.8.6.1 (zero window).
    """
    tables, entries = [], []
    for connection in m.connections:
        source = near_sender(m)
        if connection.summaries and source not in connection.summaries:
            source = min(connection.summaries)
        data, acks = data_at(m, connection, source), valid_acks(m, connection, source)
        data = data.where(data["length"] > 0)
        if not len(data) or not len(acks):
            continue
        table, compression = _compression(m, connection, data, acks)
        tables.append(table)
        entries.append(
            {
                "conn": connection.index,
                "acks": _kinds(acks),
                "compression": compression,
                "delayed": _delayed(m, connection),
                "window": _window(m, acks),
            }
        )
    if not entries:
        return Result("acks", inconclusive="needs data and its ACKs in one capture")
    return Result("acks", {"connections": entries}, {"bunches": Table.concat(ACK_BUNCHES, tables)})


def _kinds(acks: Table) -> dict[str, int]:
    counts = np.bincount(acks["ack_kind"].astype(np.int64), minlength=len(ACK_KINDS))
    return {"total": len(acks), **{name: int(counts[code]) for code, name in enumerate(ACK_KINDS) if name}}


def _compression(
    m: Measurement, connection: Connection, data: Table, acks: Table
) -> tuple[Table, dict[str, Any]]:
    """Runs of ACKs that arrived closer together than half the spacing of the data that they acknowledge."""
    advancing = acks.where(_advances(acks["ack"]))
    sent_ns = _sent_ns(data, advancing["ack"])
    known = sent_ns >= 0
    t_ns, sent_ns = advancing["t_ns"][known], sent_ns[known]
    record, number = advancing["record"][known], advancing["ack"][known]
    apart_ns, spaced_ns = np.diff(t_ns), np.diff(sent_ns)
    close = (spaced_ns > 0) & (apart_ns < _COMPRESSED * spaced_ns)
    first, last = _runs(close)
    keep = last - first + 1 >= _LEAST_BUNCH
    first, last = first[keep], last[keep]
    table = Table(
        ACK_BUNCHES,
        {
            "t_ns": t_ns[first],
            "end_ns": t_ns[last],
            "conn": np.full(len(first), connection.index),
            "acks": last - first + 1,
            "bytes": number[last] - number[first],
            "data_span_ns": sent_ns[last] - sent_ns[first],
            "record": record[first],
        },
    )
    judged = int(np.count_nonzero(spaced_ns > 0))
    point = m.sources[int(acks["source"][0])].point
    return table, {
        "pairs": judged,
        "compressed": int(np.count_nonzero(close)),
        "share": round(float(np.count_nonzero(close)) / judged, 6) if judged else 0.0,
        "bunches": len(first),
        "longest": int((last - first + 1).max(initial=0)),
        "basis": "sender's capture" if point == "snd" else "not seen at the sender: a lower bound",
    }


def _runs(close: Array) -> tuple[Times, Times]:
    """First and last ACK of each run of close pairs."""
    edges = np.diff(np.concatenate([[0], close.astype(np.int8), [0]]))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def _advances(numbers: Times) -> Array:
    highest = np.maximum.accumulate(numbers)
    return np.asarray(np.diff(highest, prepend=np.int64(-1)) > 0, dtype=np.bool_)


def _sent_ns(data: Table, numbers: Times) -> Times:
    """When the byte before each ACK number was sent; -1 if more than once (Karn) or never."""
    ends = data["seq"] + data["length"]
    order = np.argsort(ends, kind="stable")
    at = np.minimum(np.searchsorted(ends[order], numbers), len(order) - 1)
    row = order[at]
    fits = (data["seq"][row] < numbers) & (ends[row] >= numbers)
    repeated = np.unique(data["seq"][data["duplicate"] > 0])
    once = ~np.isin(data["seq"][row], repeated)
    return np.where(fits & once, data["t_ns"][row], -1)


def _delayed(m: Measurement, connection: Connection) -> dict[str, Any] | None:
    """How long the receiver held its ACKs, and how many segments each covers; None without its capture."""
    if m.rcv is None or m.rcv not in connection.summaries:
        return None
    data, acks = data_at(m, connection, m.rcv), valid_acks(m, connection, m.rcv)
    data = data.where(data["length"] > 0)
    acks = acks.where(_advances(acks["ack"]) & (acks["length"] == 0))
    if not len(data) or len(acks) < 2:
        return None
    ends = data["seq"] + data["length"]
    order = np.argsort(ends, kind="stable")
    at = np.searchsorted(ends[order], acks["ack"])
    there = at < len(order)
    row = order[np.minimum(at, len(order) - 1)]
    exact = there & (ends[row] == acks["ack"])
    held_ns = (acks["t_ns"] - data["t_ns"][row])[exact]
    held_ns = held_ns[(held_ns >= 0) & (held_ns <= _DELAYED_NS)]
    covered = np.diff(np.searchsorted(ends[order], acks["ack"], side="right"))
    covered = covered[covered > 0]
    if not len(held_ns) or not len(covered):
        return None
    return {
        "segments_per_ack": round(float(covered.mean()), 3),
        "every_segment_share": round(float(np.mean(covered == 1)), 6),
        "every_second_share": round(float(np.mean(covered == 2)), 6),
        "held_median_ms": round(float(np.median(held_ns)) / 1e6, 3),
        "held_max_ms": round(int(held_ns.max()) / 1e6, 3),
        "held_over_20ms": int(np.count_nonzero(held_ns > 20_000_000)),
    }


def _window(m: Measurement, acks: Table) -> dict[str, Any]:
    """What the receiver offered: the largest and smallest window, updates, and times at zero."""
    known = acks.where(acks["window"] >= 0)
    updates = int(np.count_nonzero(acks.words("ack_kind") == "window_update"))
    if not len(known):
        return {"largest": None, "smallest": None, "updates": updates, "zero": [], "zero_s": None}
    zero = known["window"] == 0
    edges = np.diff(np.concatenate([[0], zero.astype(np.int8), [0]]))
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    times = np.append(known["t_ns"], known["t_ns"][-1])
    spans = [(int(times[begin]), int(times[end])) for begin, end in zip(begins, ends, strict=True)]
    return {
        "largest": int(known["window"].max()),
        "smallest": int(known["window"].min()),
        "updates": updates,
        "zero": [
            {
                "start": round(m.seconds(begin), 6),
                "end": round(m.seconds(end), 6),
                "record": int(known["record"][row]),
            }
            for (begin, end), row in list(zip(spans, begins, strict=True))[:100]
        ],
        "zero_s": round(sum(end - begin for begin, end in spans) / 1e9, 6),
    }


ANALYZER = Analyzer(
    name="acks",
    question="How did the receiver acknowledge: delayed, in bunches, with which window?",
    run=run,
    needs=("segments",),
)
