"""RTT deviation: how far round trips are from what TCP expects, and how conservative that makes its timer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analysis import Analyzer, Result
from multitracer.measurement import Connection, Measurement
from multitracer.schema.studies import RTT_SAMPLES
from multitracer.spread import smoothed
from multitracer.table import Table
from multitracer.transfer.transit import near_sender, valid_acks

ALPHA, BETA, K = 1 / 8, 1 / 4, 4  # RFC 6298 2.3


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """Mean linear deviation of RTT samples from the smoothed RTT that each of them found.

    The estimator is that of RFC 6298 over every sample that Karn's rule allows, without minimum and clock
    step: the timer that the path itself asks for. ``rto_share`` is its median over the median round trip.

    References
    ----------
    Figure 4a of the study behind docs/studies/radio-buffer-packet.md. RFC 6298 section 2;
    V. Jacobson, SIGCOMM 1988.
    """
    if near_sender(m) is None:
        return Result("rtt_deviation", inconclusive="needs a capture next to the data sender")
    rows = m.table("segments")
    # Of many connections, most may have none.
    sampled = set(np.unique(rows["conn"][rows["rtt_ns"] >= 0]).tolist())
    found = [(one, _samples(m, one)) for one in m.connections if one.index in sampled]
    kept = [(one, samples) for one, samples in found if len(samples)]
    if not kept:
        return Result("rtt_deviation", inconclusive="needs a round trip that the ACKs of a capture measure")
    table = Table.concat(RTT_SAMPLES, [samples for _, samples in kept])
    entries = [_describe(one, samples) for one, samples in kept]
    return Result("rtt_deviation", {"connections": entries}, {"rtt_samples": table})


def _samples(m: Measurement, connection: Connection) -> Table:
    acks = valid_acks(m, connection, near_sender(m))
    acks = acks.where(acks["rtt_ns"] >= 0)
    rtt = acks["rtt_ns"].astype(np.float64)
    if not len(rtt):
        return Table.empty(RTT_SAMPLES)
    after = np.append(rtt[0], smoothed(rtt[1:], ALPHA, rtt[0]))
    before = np.append(rtt[0], after[:-1])
    error = np.abs(rtt - before)
    varies = np.append(rtt[0] / 2, smoothed(error[1:], BETA, rtt[0] / 2))
    columns = {name: acks[name] for name in ("t_ns", "conn", "record", "rtt_ns")}
    more = {"srtt_ns": before, "rttvar_ns": varies, "rto_ns": after + K * varies}
    return Table(RTT_SAMPLES, columns | more)


def _describe(connection: Connection, samples: Table) -> dict[str, Any]:
    rtt = samples["rtt_ns"].astype(np.float64)
    low, p5, middle, p95, high = np.percentile(rtt, (0, 5, 50, 95, 100))
    error = np.abs(rtt - samples["srtt_ns"])[1:]  # the first sample is the estimate
    far = float(error.mean()) if len(error) else None
    rto = float(np.median(samples["rto_ns"]))
    return {
        "conn": connection.index,
        "samples": len(rtt),
        "min_ms": _ms(low),
        "p5_ms": _ms(p5),
        "median_ms": _ms(middle),
        "mean_ms": _ms(rtt.mean()),
        "p95_ms": _ms(p95),
        "max_ms": _ms(high),
        "std_ms": _ms(rtt.std(ddof=1)) if len(rtt) > 1 else None,
        "deviation_ms": None if far is None else _ms(far),
        "deviation_share": None if far is None or not rtt.any() else round(far / float(rtt.mean()), 6),
        "rto_ms": _ms(rto),
        "rto_share": round(rto / float(middle), 6) if middle else None,
    }


def _ms(time_ns: float) -> float:
    return round(float(time_ns) / 1e6, 6)


ANALYZER = Analyzer(
    name="rtt_deviation",
    question="How far were round trips from what TCP expected of them?",
    needs=("segments",),
    run=run,
)
