"""BDP, load and the queue in front of the bottleneck, and what a smaller window would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.diagnosis.field.entries import flow
from multitracer.diagnosis.field.facts import Flow
from multitracer.diagnosis.field.looked_at import looked_at
from multitracer.diagnosis.field.offered import offered
from multitracer.layers.tcp.bottleneck import bottleneck, why_no_bottleneck
from multitracer.layers.tcp.transit import data_at, near_sender, valid_acks
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.statistics import medians, quantiles
from multitracer.model.schema.chains import LOAD
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Follow the RTT of each connection and what it shows about the queue.

    The BDP (bandwidth-delay product) is what the path holds without a queue: rate of the bottleneck times the
    base RTT of a full segment. What the sender has in flight beyond that waits in a queue and only adds
    delay; a window of one BDP would carry the same data without it. Rate, base and usual delay are those of
    `connections` where it knows them.

    References
    ----------
    Paper 3.3 (BDP, load), 5.2 (delay by large buffers).
    """
    found = bottleneck(m)
    if found is None:
        return Result("queueing", inconclusive=why_no_bottleneck(m))
    known = results["connections"].summary.get("connections", ()) if "connections" in results else ()
    facts = {one.index: one for entry in looked_at(m, known) if (one := flow(entry)) is not None}
    rate_bps = offered(m, known).rate_bps if known else None
    rate = found.rate if rate_bps is None else rate_bps / 8
    loaded, entries, count = [], [], 0
    for connection in m.connections:
        of = facts.get(connection.index)
        table = _load(m, connection, rate, of)
        if table is None:
            continue
        loaded.append((connection, of))
        count += len(table)
        entries.append(_words(connection, table, of))
    if not entries:
        return Result("queueing", inconclusive="no RTT of data was measured")
    summary = {
        "rate_bytes_per_s": round(rate, 3),
        "rate_basis": found.basis if rate_bps is None else "connections",
        "connections": entries,
    }
    table = Table.later(LOAD, count, lambda: _loads(m, loaded, rate))
    return Result("queueing", summary, {"load": table})


def _loads(m: Timeline, connections: Sequence[tuple[Connection, Flow | None]], rate: float) -> Table:
    """The load of all connections; made once more, as few look at it and it is long."""
    tables = (_load(m, connection, rate, of) for connection, of in connections)
    return Table.concat(LOAD, [one for one in tables if one is not None]).sorted_by("t_ns")


def _load(m: Timeline, connection: Connection, rate: float, of: Flow | None) -> Table | None:
    source = near_sender(m)
    acks = valid_acks(m, connection, source)
    samples = acks.where(acks["rtt_ns"] > 0)
    data = data_at(m, connection, source)
    data = data.where(data["length"] > 0)
    if not len(samples) or not len(data):
        return None
    highest = np.maximum.accumulate(data["seq"] + data["length"])
    at = np.searchsorted(data["t_ns"], samples["t_ns"], side="right") - 1
    sent = np.where(at >= 0, highest[np.maximum(at, 0)], data["seq"][0])
    load = np.maximum(sent - np.maximum.accumulate(samples["ack"]), 0)
    base_ns = _base_ns(samples, of)
    share = _payload_share(data)
    capacity = rate * share * base_ns / 1e9
    queue = np.maximum(load - capacity, 0)
    return Table.filled(
        LOAD,
        len(samples),
        {
            "t_ns": samples["t_ns"],
            "conn": samples["conn"],
            "record": samples["record"],
            "rtt_ns": samples["rtt_ns"],
            "delay_ns": np.maximum(samples["rtt_ns"] - base_ns, 0),
            "load": load,
            "queue": np.round(queue).astype(np.int64),
            "drain_ns": np.round(queue / (rate * share) * 1e9).astype(np.int64),
        },
    )


def _base_ns(samples: Table, of: Flow | None) -> int:
    """RTT of a full segment without a queue; without a known one, the smallest that was measured."""
    if of is not None and of.full_base_ms:
        return round(of.full_base_ms * 1e6)
    return int(samples["rtt_ns"].min())


def _payload_share(data: Table) -> float:
    """Payload per byte of IP packet."""
    return max(float(data["length"].sum()) / max(float(data["ip_length"].sum()), 1.0), 1e-3)


def _words(connection: Connection, table: Table, of: Flow | None) -> dict[str, Any]:
    smallest, base_ns = int(table["rtt_ns"].min()), _base_ns(table, of)
    middle, most = (part / 1e9 for part in quantiles(table["delay_ns"], [0.5, 1.0]).tolist())
    if of is not None and of.queue_ms is not None:
        middle, most = of.queue_ms[0] / 1e3, max(most, of.queue_ms[1] / 1e3)
    load = float(medians(table["load"]))
    capacity = (
        float(medians((table["load"] - table["queue"])[table["queue"] > 0]))
        if np.any(table["queue"] > 0)
        else None
    )
    return {
        "conn": connection.index,
        "samples": len(table),
        "rtt_min_s": round(smallest / 1e9, 6),
        "base_rtt_s": round(base_ns / 1e9, 6),
        "queueing_delay_s": {"median": round(middle, 6), "max": round(most, 6)},
        "pipe_capacity_bytes": None if capacity is None else round(capacity),
        "load_bytes": {"median": round(load), "max": int(table["load"].max())},
        "queue_bytes": {"median": round(float(medians(table["queue"]))), "max": int(table["queue"].max())},
        "drain_s": {
            "median": round(float(medians(table["drain_ns"])) / 1e9, 6),
            "max": round(int(table["drain_ns"].max()) / 1e9, 6),
        },
        "overload": None if not capacity else round(load / capacity, 3),
        "smaller_window": None
        if not capacity
        else {
            "window_bytes": round(2 * capacity),
            "rtt_s": round(2 * base_ns / 1e9, 6),
            "saves_s": round(max(middle - base_ns / 1e9, 0.0), 6),
        },
    }


ANALYZER = Analyzer(
    name="queueing",
    question="How much data was queued at the bottleneck, for how long, and was the queue needed?",
    run=run,
    **QUESTIONS["queueing"]._asdict(),
)
