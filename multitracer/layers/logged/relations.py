"""Whether throughput went with a number of the link: with RSRP, SNR, MCS, or with changes of the cell.

A coincidence in time, not a proof: the rank correlation, and the value below (or above) which throughput was
lowest compared with the rest, with the number of separate stretches that it rests on.

References
----------
Spearman, American Journal of Psychology 15 (1904).
"""

from __future__ import annotations

from typing import NamedTuple

from multitracer.layers.logged.conditions import Condition, conditions
from multitracer.layers.logged.flows import LoggedFlow, uncaptured
from multitracer.model.lazy import np
from multitracer.model.table import Array
from multitracer.model.timeline import Timeline

LEAST_INTERVALS = 20
LEAST_CORRELATION = 0.4
LEAST_RATIO = 2.0
LEAST_STRETCHES = 2
"""What has to be there before a threshold is named; of one stretch it may be chance."""
_STALE_NS = 5_000_000_000
_STEP_NS = 1_000_000_000
_QUANTILES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
_FEW_VALUES = 4


class Relation(NamedTuple):
    """Throughput against a metric of the link.

    Attributes
    ----------
    condition : Condition
    transfer : str
        Whose throughput: "log" or "capture".
    intervals : int
        Intervals in which both are known.
    correlation : float
        Spearman's rank correlation.
    low_is_bad : bool
        Throughput is low where the value is low.
    threshold : float or None
        None where no value divides throughput clearly.
    bad_bps, good_bps : float or None
        Median throughput on the bad side, and on the other.
    bad_share : float or None
        Share of the intervals on the bad side.
    stretches : int
        Separate stretches of intervals on the bad side.
    start_ns, end_ns : int
        The longest of them.
    record : int
        The value's line where the longest begins.
    """

    condition: Condition
    transfer: str
    intervals: int
    correlation: float
    low_is_bad: bool
    threshold: float | None
    bad_bps: float | None
    good_bps: float | None
    bad_share: float | None
    stretches: int
    start_ns: int
    end_ns: int
    record: int


def relations(m: Timeline) -> list[Relation]:
    """One for each metric of the link that can be compared with a throughput, in order of the files."""
    known = conditions(m)
    if not known:
        return []
    rate = rates(m)
    if rate is None:
        return []
    found = (_related(one, *rate) for one in known)
    return [one for one in found if one is not None]


def rates(m: Timeline) -> tuple[Array, Array, Array, str] | None:
    """Begin, end and throughput by interval: of the captures, else of the largest logged transfer."""
    if m.connections:
        return _captured(m)
    flows = [one for one in uncaptured(m) if one.rates and len(one.rates.end_ns) >= LEAST_INTERVALS]
    if not flows:
        return None
    found = max(flows, key=_size).rates
    return None if found is None else (found.begin_ns, found.end_ns, found.rate_bps, "log")


def _size(flow: LoggedFlow) -> float:
    return float(np.nansum(flow.rates.size)) if flow.rates else 0.0


def _captured(m: Timeline) -> tuple[Array, Array, Array, str] | None:
    """Payload by second, of all connections, at the capture with most data."""
    segments = m.table("segments")
    if not len(segments):
        return None
    sums = np.bincount(segments["source"], weights=segments["length"])
    mine = (segments["source"] == int(sums.argmax())) & (segments["length"] > 0)
    t_ns, size = segments["t_ns"][mine], segments["length"][mine].astype(np.float64)
    if not len(t_ns) or int(t_ns.max()) - int(t_ns.min()) > 10**6 * _STEP_NS:
        return None
    first = int(t_ns.min())
    step = (t_ns - first) // _STEP_NS
    sums = np.bincount(step, weights=size)
    begin = first + np.arange(len(sums), dtype=np.int64) * _STEP_NS
    return begin, begin + _STEP_NS, sums * 8e9 / _STEP_NS, "capture"


def _related(one: Condition, begin: Array, end: Array, rate: Array, of: str) -> Relation | None:
    samples = one.samples
    at = np.searchsorted(samples.t_ns, end, side="right") - 1
    known = (at >= 0) & (end - samples.t_ns[np.maximum(at, 0)] <= _STALE_NS)
    value, rate, begin, end, at = samples.value[at[known]], rate[known], begin[known], end[known], at[known]
    count = len(value)
    if count < LEAST_INTERVALS or len(np.unique(value)) < _FEW_VALUES:
        return None
    correlation = float(np.corrcoef(_ranks(value), _ranks(rate))[0, 1]) if np.ptp(rate) > 0 else 0.0
    low = correlation >= 0
    if abs(correlation) < LEAST_CORRELATION:
        return Relation(one, of, count, correlation, low, None, None, None, None, 0, 0, 0, 0)
    turned = value if low else -value
    best: tuple[float, float] | None = None
    for threshold in np.unique(np.quantile(turned, _QUANTILES)).tolist():
        bad = turned < threshold
        if int(bad.sum()) < 3 or int((~bad).sum()) < 3:
            continue
        good_bps, bad_bps = float(np.median(rate[~bad])), float(np.median(rate[bad]))
        # The least share of the good side's rate, and of equal ones the wider threshold.
        score = good_bps / max(bad_bps, 1e-3 * good_bps, 1.0)
        if best is None or score >= 0.9 * best[0]:
            best = (max(score, best[0] if best else 0.0), threshold)
    if best is None:
        return Relation(one, of, count, correlation, low, None, None, None, None, 0, 0, 0, 0)
    bad = turned < best[1]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], bad, [False]]).astype(np.int8)))
    starts, behind = edges[::2], edges[1::2]
    longest = int(np.argmax(end[behind - 1] - begin[starts]))
    return Relation(
        one,
        of,
        count,
        correlation,
        low,
        best[1] if low else -best[1],
        float(np.median(rate[bad])),
        float(np.median(rate[~bad])),
        float(bad.mean()),
        len(starts),
        int(begin[starts[longest]]),
        int(end[behind[longest] - 1]),
        int(samples.record[at[starts[longest]]]),
    )


def _ranks(values: Array) -> Array:
    """Ranks, equal values at their mean."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]
