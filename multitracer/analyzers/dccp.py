"""What a DCCP connection did: RTTs, loss, rates, and how late congestion was reported to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.analyzers import _tfrc as tfrc
from multitracer.analyzers._needs import QUESTIONS
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.statistics import smoothed
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.lazy import np
from multitracer.model.schema.studies import DCCP_REPORTS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline
from multitracer.model.trace import Flow

_CARRIES_DATA = ("data", "dataack")
# An RTT of twice the min RTT: as much time in queues as in transit.
_QUEUED = 2.0


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Each connection as each capture saw it, by the direction that carries more data.

    ``rtt`` is the time from a packet to the first report that acknowledges it, less the time that the
    receiver reports to have held it; it belongs to the sender's capture. ``queue_packets`` is how many must
    have waited at the bottleneck for the largest RTT: the time above the min RTT over the service time of one
    packet at the rate that the receiver measured. ``late_notice_s`` is the time from the moment after which
    the RTT stayed above twice the min RTT to the first report of a loss event.

    References
    ----------
    RFC 4340 section 11 and 13; RFC 4342 section 8; RFC 5348 section 3.1.
    """
    found = []
    tables: list[Table] = []
    packets = m.table("dccp_packets")
    for source, trace in enumerate(m.traces):
        mine = packets.where(packets["source"] == source)
        for number in np.unique(mine["flow"]).tolist():
            seen = mine.where(mine["flow"] == number)
            entry, reports = _connection(m, source, trace.flows[number], seen)
            found.append(entry)
            tables.append(reports)
    table = Table.concat(DCCP_REPORTS, tables).sorted_by("t_ns")
    return Result("dccp", {"connections": found}, {"dccp_reports": table})


def _connection(m: Timeline, source: int, flow: Flow, seen: Table) -> tuple[dict[str, Any], Table]:
    sizes = [int(seen["length"][seen["dir"] == direction].sum()) for direction in (0, 1)]
    direction = int(sizes[1] > sizes[0])
    here, there = (flow.local_address, flow.local_port), (flow.remote_address, flow.remote_port)
    kinds = seen.words("kind")
    sent = seen.where((seen["dir"] == direction) & np.isin(kinds, _CARRIES_DATA))
    reports = seen.where((seen["dir"] != direction) & (seen["ack"] >= 0))
    measured, rtt_ns = _round_trips(seen.where(seen["dir"] == direction), reports)
    when = measured["t_ns"]
    mean = float(sent["length"].mean()) if len(sent) else 0.0
    span_ns = int(sent["t_ns"][-1] - sent["t_ns"][0]) if len(sent) > 1 else 0
    rated = reports["receive_rate_bps"][reports["receive_rate_bps"] > 0]
    intervals = reports.where(reports["loss_interval"] > 0)
    p_last = 1 / int(intervals["loss_interval"][-1]) if len(intervals) else None
    rtt_s = float(np.median(rtt_ns)) / 1e9 if len(rtt_ns) else None
    x_calc = tfrc.throughput_bps(mean, rtt_s, p_last) if rtt_s and p_last else None
    entry = {
        "source": source,
        "from": list((here, there)[direction]),
        "to": list((there, here)[direction]),
        "data_packets": len(sent),
        "data_bytes": int(sent["length"].sum()),
        "rate_bps": round(8e9 * int(sent["length"][1:].sum()) / span_ns, 3) if span_ns else None,
        "missing": _missing(seen.where(seen["dir"] == direction)["seq"]),
        "rtt": _quantiles(rtt_ns),
        "loss_event_rate": _sixth(p_last),
        "loss_event_rate_max": _sixth(1 / int(intervals["loss_interval"].min()) if len(intervals) else None),
        "x_recv_bps": _rates(rated),
        "x_calc": {"bps": None if x_calc is None else round(x_calc, 3), "s_bytes": round(mean, 3)},
        "queue_packets": _queue(rtt_ns, rated, mean),
        "late_notice_s": _late(when, rtt_ns, intervals),
        "first_loss_report": round(m.seconds(int(intervals["t_ns"][0])), 6) if len(intervals) else None,
    }
    return entry, _at_sender(measured, rtt_ns, mean)


def _at_sender(reports: Table, rtt_ns: Array, mean: float) -> Table:
    """What the sender could work out at each report."""
    if not len(reports):
        return Table.empty(DCCP_REPORTS)
    rtt = rtt_ns.astype(np.float64)
    smooth = np.append(rtt[0], smoothed(rtt[1:], 0.1, rtt[0]))
    interval, rate = reports["loss_interval"], reports["receive_rate_bps"].astype(np.float64)
    p = np.where(interval > 0, 1 / np.maximum(interval, 1), np.where(interval == 0, 0.0, np.nan))
    columns = {name: reports[name] for name in ("t_ns", "source", "flow", "record")}
    more = {
        "rtt_ns": rtt_ns,
        "srtt_ns": smooth,
        "receive_rate_bps": np.where(rate >= 0, rate, np.nan),
        "loss_event_rate": p,
        "x_calc_bps": tfrc.throughputs_bps(mean, smooth / 1e9, p),
    }
    return Table(DCCP_REPORTS, columns | more)


def _round_trips(sent: Table, reports: Table) -> tuple[Table, Array]:
    """Reports that measure an RTT: the time since the packet they acknowledge, less the receiver's delay."""
    order = np.argsort(sent["seq"], kind="stable")
    numbers, first = np.unique(sent["seq"][order], return_index=True)
    if not len(numbers) or not len(reports):
        return reports.where(np.empty(0, np.int64)), np.empty(0, np.int64)
    _, once = np.unique(reports["ack"], return_index=True)  # a later report of the same packet waited
    once = np.sort(once)
    reports = reports.where(once)
    ack = reports["ack"]
    at = np.minimum(np.searchsorted(numbers, ack), len(numbers) - 1)
    known = numbers[at] == ack
    reports = reports.where(known)
    held = np.maximum(reports["elapsed_ns"], 0)
    rtt = reports["t_ns"] - sent["t_ns"][order][first[at[known]]] - held
    return reports.where(rtt > 0), rtt[rtt > 0]


def _missing(seq: Array) -> int:
    """Sequence numbers between the first and the last that the capture never saw."""
    if not len(seq):
        return 0
    return int(seq.max() - seq.min() + 1) - len(sorted_unique(seq))


def _queue(rtt_ns: Array, rated: Array, mean: float) -> float | None:
    if not len(rtt_ns) or not len(rated) or mean <= 0:
        return None
    service_s = 8 * mean / float(np.median(rated))
    return round(float(rtt_ns.max() - rtt_ns.min()) / 1e9 / service_s, 1)


def _late(when: Array, rtt_ns: Array, intervals: Table) -> float | None:
    """From the last time that the RTT rose above twice the min RTT, to the first report of a loss."""
    if not len(intervals):
        return None
    before = when < int(intervals["t_ns"][0])
    high = rtt_ns[before] >= _QUEUED * rtt_ns.min() if before.any() else np.empty(0, dtype=bool)
    if not len(high) or not high[-1]:
        return None
    low = np.flatnonzero(~high)
    rose = when[before][low[-1] + 1 if len(low) else 0]
    return round((int(intervals["t_ns"][0]) - int(rose)) / 1e9, 6)


def _quantiles(values_ns: Array) -> dict[str, float | int] | None:
    if not len(values_ns):
        return None
    low, middle, high = (float(v) / 1e9 for v in np.percentile(values_ns, (0, 50, 100)))
    return {
        "samples": len(values_ns),
        "min_s": round(low, 9),
        "median_s": round(middle, 9),
        "max_s": round(high, 9),
    }


def _rates(rates: Array) -> dict[str, float] | None:
    if not len(rates):
        return None
    return {"median": round(float(np.median(rates)), 3), "max": float(rates.max()), "last": float(rates[-1])}


def _sixth(value: float | None) -> float | None:
    return None if value is None else round(value, 9)


ANALYZER = Analyzer(
    name="dccp",
    question="How did each DCCP connection perform, and how late was congestion reported to it?",
    run=run,
    **QUESTIONS["dccp"]._asdict(),
)
