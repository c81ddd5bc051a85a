"""Fairness: how equally the connections of a measurement shared the path."""

from __future__ import annotations

from collections.abc import Mapping

from multitracer.analysis import Analyzer, Result
from multitracer.measurement import Measurement
from multitracer.spread import deviation, jain


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """Spread of goodput over the connections that delivered data.

    Each connection counts with its goodput over its own time (`throughput`), from its first data segment to
    its last ACK. The standard deviation is that of a sample (n - 1). With one connection there is nothing to
    share: deviation and index are None.

    References
    ----------
    METRICS: from the other seeds (ten flows in ns-3). R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984.
    """
    rates = [
        float(entry["goodput_bps"])
        for entry in results["throughput"].summary["connections"]
        if entry["goodput_bps"]
    ]
    if not rates:
        return Result("fairness", inconclusive="needs a connection that delivered data")
    mean = sum(rates) / len(rates)
    spread = deviation(rates)
    summary = {
        "flows": len(rates),
        "value": jain(rates),
        "goodput_mean_bps": round(mean, 3),
        "goodput_std_bps": spread,
        "goodput_min_bps": min(rates),
        "goodput_max_bps": max(rates),
        "relative_std": None if spread is None else round(spread / mean, 6),
    }
    return Result("fairness", summary)


ANALYZER = Analyzer(
    name="fairness",
    question="How equally did the connections share the path?",
    needs=("segments", "result:throughput"),
    run=run,
)
