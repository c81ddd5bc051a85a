"""Round-trip times three ways: by segment and ACK, by echoed timestamp, and as the kernel measured them.

They differ where it matters: Karn's rule leaves out retransmitted segments, so that the first way has no
samples during loss recovery; timestamps see through it, in ticks of the sender's clock; the kernel smooths
both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.tcp.transit import Flags, Times
from multitracer.layers.tcp.two_way import TwoWay, quantiles, stamp_echoes, two_way_batches
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.schema.sender import RTT_METHODS, RTT_SAMPLES
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Measure every connection's data direction in each way that its sources allow.

    References
    ----------
    Karn and Partridge, SIGCOMM 1987; RFC 6298 section 3; RFC 7323 section 4.
    """
    count, entries = 0, []
    states = m.table("tcp_states")
    logged = Grouped(states["conn"], states["dir"])
    for both in two_way_batches(m):
        found, stamped = _found(m, both)
        count += sum(len(rows) for rows, _, _ in found)
        statistics_by_method = [_statistics(both, *samples) for samples in found]
        acks = both.counted(both.acks_of)
        for at, connection in enumerate(both.connections):
            if not acks[at]:
                continue
            entry: dict[str, Any] = {"conn": connection.index, "point": m.sources[both.sources[at]].point}
            entry |= {
                RTT_METHODS[method]: statistics.get(at)
                for method, statistics in enumerate(statistics_by_method)
            }
            entry["kernel"] = _kernel(states, logged.rows(connection.index, connection.data_dir))
            entry["why_not"] = _why_not(entry, bool(stamped[at]))
            entries.append(entry)
    if not entries:
        return Result("round_trips", inconclusive="needs data and its ACKs in one capture")
    table = Table.later(RTT_SAMPLES, count, lambda: _by_connection(m))
    return Result("round_trips", {"connections": entries}, {"rtt_samples": table})


def _found(m: Timeline, both: TwoWay) -> tuple[tuple[tuple[Times, Times, Flags], ...], Flags]:
    """Samples by each of `RTT_METHODS`, and which connections use timestamps."""
    echoed = stamp_echoes(m, both)
    # Beyond Karn: the tracker took no sample from this ACK, for what it covers had been retransmitted.
    again = both.acks["rtt_ns"][echoed.row] < 0
    return (_by_segment(both), (echoed.row, echoed.rtt_ns, again)), echoed.stamped


def _by_segment(both: TwoWay) -> tuple[Times, Times, Flags]:
    """As the tracker found them: from the newest segment that an ACK covers, if none of them went twice.

    Rows of ACKs, RTTs, and which of them are of retransmitted segments.
    """
    rows = np.flatnonzero(both.acks["rtt_ns"] >= 0)
    return rows, both.acks["rtt_ns"][rows], np.zeros(len(rows), dtype=np.bool_)


def _table(both: TwoWay, rows: Times, rtt_ns: Times, again: Flags, method: int) -> Table:
    acks = both.acks.where(rows)
    columns = {name: acks[name] for name in ("t_ns", "source", "record", "conn")}
    methods = np.full(len(rows), method, dtype=np.int8)
    return Table(RTT_SAMPLES, {**columns, "way": methods, "rtt_ns": rtt_ns, "again": again.astype(np.int8)})


def _by_connection(m: Timeline) -> Table:
    """All samples, found once more, as few look at them: by connection, one way after the other."""
    tables = [
        _table(both, *samples, method)
        for both in two_way_batches(m)
        for method, samples in enumerate(_found(m, both)[0])
    ]
    table = Table.concat(RTT_SAMPLES, tables)
    return table.where(np.lexsort((table["way"], table["conn"])))


def _statistics(both: TwoWay, rows: Times, rtt_ns: Times, again: Flags) -> dict[int, dict[str, Any]]:
    """For each connection that has samples."""
    of = both.acks_of[rows]
    samples, twice = both.counted(of), both.counted(of[again])
    quartiles = quantiles(rtt_ns, of, len(both), (0, 0.5, 0.95, 1)).tolist()
    return {
        at: {
            "samples": int(samples[at]),
            "of_what_was_sent_again": int(twice[at]),
            "min_ms": round(low / 1e6, 3),
            "median_ms": round(middle / 1e6, 3),
            "p95_ms": round(high / 1e6, 3),
            "max_ms": round(most / 1e6, 3),
        }
        for at, (low, middle, high, most) in zip(np.flatnonzero(samples).tolist(), quartiles, strict=True)
    }


def _kernel(states: Table, rows: Times) -> dict[str, Any] | None:
    """The sender's smoothed RTT, min RTT and RTO, as reported by the kernel's log."""
    if not len(rows):
        return None
    srtt, smallest, timeout = (
        values[values > 0] for values in (states[name][rows] for name in ("srtt_ns", "min_rtt_ns", "rto_ns"))
    )
    if not len(srtt):
        return None
    return {
        "samples": len(srtt),
        "srtt_median_ms": round(float(np.median(srtt)) / 1e6, 3),
        "srtt_max_ms": round(float(srtt.max()) / 1e6, 3),
        "min_ms": round(float(smallest.min()) / 1e6, 3) if len(smallest) else None,
        "rto_median_ms": round(float(np.median(timeout)) / 1e6, 3) if len(timeout) else None,
    }


def _why_not(entry: Mapping[str, Any], stamped: bool) -> dict[str, str]:
    """For each way without an answer: why."""
    found = {}
    if entry["segment"] is None:
        found["segment"] = "no ACK for data that was sent once"
    if entry["timestamp"] is None:
        found["timestamp"] = "no echo of a captured segment" if stamped else "no timestamps option"
    if entry["kernel"] is None:
        found["kernel"] = "no kernel log of the sender with SRTT"
    return found


ANALYZER = Analyzer(
    name="round_trips",
    question="What was the RTT, by segment, by timestamp and by the kernel?",
    run=run,
    **QUESTIONS["round_trips"]._asdict(),
)
