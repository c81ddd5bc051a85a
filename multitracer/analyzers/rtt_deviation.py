"""RTT deviation: how far RTTs are from what TCP expects, and how conservative that makes its timer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.tcp.flow_batch import FlowBatch, batches, valid_acks
from multitracer.layers.tcp.transit import near_sender
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.statistics import medians, quantiles, smoothed
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.schema.studies import RTT_SAMPLES
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

ALPHA, BETA, K = 1 / 8, 1 / 4, 4  # RFC 6298 2.3


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Mean linear deviation of RTT samples from the smoothed RTT that each of them found.

    The estimator is that of RFC 6298 over every sample that Karn's rule allows, without minimum and clock
    step: the timer that the path itself asks for. ``rto_share`` is its median over the median RTT.

    References
    ----------
    Figure 4a of the study behind docs/studies/radio-buffer-packet.md. RFC 6298 section 2;
    V. Jacobson, SIGCOMM 1988.
    """
    if near_sender(m) is None:
        return Result("rtt_deviation", inconclusive="needs a capture next to the data sender")
    count, entries = 0, []
    for some, acks in _sampled(m):
        if len(acks):
            _, estimates = _measured(acks)
            count += len(acks)
            entries += [{"conn": some[at].index, **estimates[at]} for at in sorted(estimates)]
    if not entries:
        return Result("rtt_deviation", inconclusive="needs an RTT sample in a capture")
    table = Table.later(RTT_SAMPLES, count, lambda: _samples(m))
    return Result("rtt_deviation", {"connections": entries}, {"rtt_samples": table})


def _sampled(m: Timeline) -> Iterator[tuple[list[Connection], FlowBatch]]:
    """Connections, and those of their ACKs that gave a sample."""
    for some in batches(m):
        acks = valid_acks(m, some, near_sender(m))
        yield some, acks.where(acks["rtt_ns"] >= 0)


def _samples(m: Timeline) -> Table:
    """All samples with the estimates, made once more, as few look at them."""
    tables = []
    for _, acks in _sampled(m):
        columns = {name: acks[name] for name in ("t_ns", "conn", "record", "rtt_ns")}
        tables.append(Table(RTT_SAMPLES, columns | _measured(acks)[0]))
    return Table.concat(RTT_SAMPLES, tables)


def _measured(acks: FlowBatch) -> tuple[dict[str, Array], dict[int, dict[str, Any]]]:
    """The estimates of each sample, and what they come to by connection."""
    rtt = acks["rtt_ns"].astype(np.float64)
    before, varies, timer = (np.empty(len(rtt)) for _ in range(3))
    estimates: dict[int, dict[str, Any]] = {}
    # Connections with as many samples are rows of one array.
    for size in sorted_unique(acks.sizes[acks.sizes > 0]).tolist():
        alike = np.flatnonzero(acks.sizes == size)
        rows = acks.bounds[alike][:, None] + np.arange(size)
        before[rows], varies[rows], timer[rows] = _estimates(rtt[rows])
        described = _describe(rtt[rows], before[rows], timer[rows])
        estimates.update(zip(alike.tolist(), described, strict=True))
    return {"srtt_ns": before, "rttvar_ns": varies, "rto_ns": timer}, estimates


def _estimates(rtt: Array) -> tuple[Array, Array, Array]:
    """The estimator's state at each sample: SRTT and RTTVAR before it, and the RTO after it."""
    first = rtt[:, :1]
    after = np.hstack([first, smoothed(rtt[:, 1:], ALPHA, rtt[:, 0])])
    before = np.hstack([first, after[:, :-1]])
    error = np.abs(rtt - before)
    varies = np.hstack([first / 2, smoothed(error[:, 1:], BETA, rtt[:, 0] / 2)])
    return before, varies, after + K * varies


def _describe(rtt: Array, before: Array, timer: Array) -> list[dict[str, Any]]:
    size = rtt.shape[1]
    error = np.abs(rtt - before)[:, 1:]  # the first sample is the estimate
    columns = (
        quantiles(rtt, (0.0, 0.05, 0.5, 0.95, 1.0)),
        rtt.mean(axis=1),
        rtt.std(ddof=1, axis=1) if size > 1 else np.zeros(len(rtt)),
        error.mean(axis=1) if size > 1 else np.zeros(len(rtt)),
        medians(timer),
    )
    found = []
    for (low, p5, middle, p95, high), mean, spread, far, rto in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        found.append(
            {
                "samples": size,
                "min_ms": _ms(low),
                "p5_ms": _ms(p5),
                "median_ms": _ms(middle),
                "mean_ms": _ms(mean),
                "p95_ms": _ms(p95),
                "max_ms": _ms(high),
                "std_ms": _ms(spread) if size > 1 else None,
                "deviation_ms": _ms(far) if size > 1 else None,
                "deviation_share": round(far / mean, 6) if size > 1 and high else None,
                "rto_ms": _ms(rto),
                "rto_share": round(rto / middle, 6) if middle else None,
            }
        )
    return found


def _ms(time_ns: float) -> float:
    return round(time_ns / 1e6, 6)


ANALYZER = Analyzer(
    name="rtt_deviation",
    question="How far did RTTs deviate from the smoothed RTT?",
    run=run,
    **QUESTIONS["rtt_deviation"]._asdict(),
)
