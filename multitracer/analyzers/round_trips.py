"""Round-trip times three ways: by segment and ACK, by echoed timestamp, and as the kernel measured them.

They differ where it matters: Karn's rule leaves out what was sent twice, so that the first way is blind
during loss recovery; timestamps see through it, in ticks of the sender's clock; the kernel smooths both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analysis import Analyzer, Result
from multitracer.measurement import Connection, Measurement
from multitracer.schema.sender import RTT_SAMPLES, RTT_WAYS
from multitracer.table import Table
from multitracer.transfer.transit import Flags, Times, data_at, near_sender, valid_acks

_LATEST_NS = 86_400_000_000_000
"""Longer than a day is an error of a clock."""


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """Measure every connection's data direction in each way that its sources allow.

    References
    ----------
    Karn and Partridge, SIGCOMM 1987; RFC 6298 section 3; RFC 7323 section 4.
    """
    tables, entries = [], []
    for connection in m.connections:
        source = _source(m, connection)
        data, acks = data_at(m, connection, source), valid_acks(m, connection, source)
        if not len(acks):
            continue
        found = [_by_segment(data, acks), _by_timestamp(data, acks)]
        entry: dict[str, Any] = {"conn": connection.index, "point": m.sources[source].point}
        for way, (rows, rtt_ns, again) in enumerate(found):
            tables.append(_table(rows, rtt_ns, again, way))
            entry[RTT_WAYS[way]] = _statistics(rtt_ns, again)
        entry["kernel"] = _kernel(m, connection)
        entry["why_not"] = _why_not(entry, data, acks)
        entries.append(entry)
    if not entries:
        return Result("round_trips", inconclusive="needs data and its ACKs in one capture")
    return Result("round_trips", {"connections": entries}, {"rtt_samples": Table.concat(RTT_SAMPLES, tables)})


def _source(m: Measurement, connection: Connection) -> int:
    near = near_sender(m)
    return near if near is not None and near in connection.summaries else min(connection.summaries, default=0)


def _by_segment(data: Table, acks: Table) -> tuple[Table, Times, Flags]:
    """As the tracker found them: from the newest segment that an ACK covers, if none of them went twice."""
    rows = acks.where(acks["rtt_ns"] >= 0)
    return rows, rows["rtt_ns"], np.zeros(len(rows), dtype=np.bool_)


def _by_timestamp(data: Table, acks: Table) -> tuple[Table, Times, Flags]:
    """ACKs that advance, from the first segment that carried the stamp that they echo (RTTM)."""
    sent = data.where(data["ts_val"] >= 0)
    highest = np.maximum.accumulate(acks["ack"]) if len(acks) else acks["ack"]
    advancing = np.diff(highest, prepend=np.int64(0)) > 0
    echoing = acks.where(advancing & (acks["ts_ecr"] >= 0))
    if not len(sent) or not len(echoing):
        return echoing.where(np.zeros(len(echoing), dtype=np.bool_)), *_nothing()
    values, first = np.unique(sent["ts_val"], return_index=True)
    at = np.minimum(np.searchsorted(values, echoing["ts_ecr"]), len(values) - 1)
    rtt_ns = echoing["t_ns"] - sent["t_ns"][first[at]]
    good = (values[at] == echoing["ts_ecr"]) & (rtt_ns > 0) & (rtt_ns <= _LATEST_NS)
    # Beyond Karn: the tracker took no sample from this ACK, for what it covers had been sent again.
    return echoing.where(good), rtt_ns[good], (echoing["rtt_ns"] < 0)[good]


def _nothing() -> tuple[Times, Flags]:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)


def _table(rows: Table, rtt_ns: Times, again: Flags, way: int) -> Table:
    columns = {name: rows[name] for name in ("t_ns", "source", "record", "conn")}
    ways = np.full(len(rows), way, dtype=np.int8)
    return Table(RTT_SAMPLES, {**columns, "way": ways, "rtt_ns": rtt_ns, "again": again.astype(np.int8)})


def _statistics(rtt_ns: Times, again: Flags) -> dict[str, Any] | None:
    if not len(rtt_ns):
        return None
    low, middle, high = np.percentile(rtt_ns, (0, 50, 95))
    return {
        "samples": len(rtt_ns),
        "of_what_was_sent_again": int(np.count_nonzero(again)),
        "min_ms": round(float(low) / 1e6, 3),
        "median_ms": round(float(middle) / 1e6, 3),
        "p95_ms": round(float(high) / 1e6, 3),
        "max_ms": round(float(rtt_ns.max()) / 1e6, 3),
    }


def _kernel(m: Measurement, connection: Connection) -> dict[str, Any] | None:
    """The sender's smoothed round trip, its smallest and its timeout, as the kernel's log has them."""
    states = m.table("tcp_states")
    states = states.where((states["conn"] == connection.index) & (states["dir"] == connection.data_dir))
    srtt = states["srtt_ns"][states["srtt_ns"] > 0]
    if not len(srtt):
        return None
    smallest = states["min_rtt_ns"][states["min_rtt_ns"] > 0]
    timeout = states["rto_ns"][states["rto_ns"] > 0]
    return {
        "samples": len(srtt),
        "srtt_median_ms": round(float(np.median(srtt)) / 1e6, 3),
        "srtt_max_ms": round(float(srtt.max()) / 1e6, 3),
        "min_ms": round(float(smallest.min()) / 1e6, 3) if len(smallest) else None,
        "rto_median_ms": round(float(np.median(timeout)) / 1e6, 3) if len(timeout) else None,
    }


def _why_not(entry: Mapping[str, Any], data: Table, acks: Table) -> dict[str, str]:
    """For each way without an answer: why."""
    found = {}
    if entry["segment"] is None:
        found["segment"] = "no ACK for data that was sent once"
    if entry["timestamp"] is None:
        used = bool(np.any(data["ts_val"] >= 0)) and bool(np.any(acks["ts_ecr"] >= 0))
        found["timestamp"] = "no echo of a captured segment" if used else "no timestamps option"
    if entry["kernel"] is None:
        found["kernel"] = "no kernel log of the sender with SRTT"
    return found


ANALYZER = Analyzer(
    name="round_trips",
    question="How long were round trips, by segment, by timestamp and by the kernel?",
    run=run,
    needs=("segments",),
    uses=("tcp_states", "snd", "rcv"),
)
