"""Metrics of the link against the throughput: which correlate with it, and below which value it fell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.logged import conditions
from multitracer.layers.logged.changes import WINDOW_NS, Change, changes, is_name
from multitracer.layers.logged.relations import Relation, relations
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.timeline import Timeline

_LISTED = 200
"""Changes listed of each series."""


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Each number of the link over time, and how throughput went with it.

    References
    ----------
    Spearman, American Journal of Psychology 15 (1904).
    """
    # Cell numbers are names: their order means nothing for throughput.
    found = {
        (one.condition.source, one.condition.words): one for one in relations(m) if not is_name(one.condition)
    }
    series = []
    for one in conditions(m):
        values = one.samples.value
        related = found.get((one.source, one.words))
        series.append(
            {
                "name": one.name,
                "words": one.words,
                "unit": one.unit,
                "source": m.sources[one.source].path,
                "samples": len(values),
                "min": float(values.min()),
                "max": float(values.max()),
                "throughput": None if related is None else _described(m, related),
            }
        )
    return Result("conditions", {"series": series, "changes": [_changed(m, one) for one in changes(m)]})


def _changed(m: Timeline, one: Change) -> dict[str, Any]:
    return {
        "name": one.name,
        "words": one.words,
        "source": m.sources[one.source].path,
        "count": len(one.t_ns),
        "different": one.different,
        "times": [round(m.seconds(t_ns), 6) for t_ns in one.t_ns[:_LISTED].tolist()],
        "records": one.record[:_LISTED].tolist(),
        "throughput": None
        if one.after_bps is None or one.otherwise_bps is None
        else {
            "of": one.transfer,
            "window_s": WINDOW_NS / 1e9,
            "after_bps": round(one.after_bps),
            "otherwise_bps": round(one.otherwise_bps),
        },
    }


def _described(m: Timeline, one: Relation) -> dict[str, Any]:
    threshold = one.threshold
    return {
        "of": one.transfer,
        "intervals": one.intervals,
        "rank_correlation": round(one.correlation, 3),
        "low_is_bad": one.low_is_bad,
        "threshold": None if threshold is None else round(threshold, 3),
        "bad_bps": None if one.bad_bps is None else round(one.bad_bps),
        "good_bps": None if one.good_bps is None else round(one.good_bps),
        "bad_share": None if one.bad_share is None else round(one.bad_share, 4),
        "stretches": one.stretches,
        "longest": None
        if threshold is None
        else {"start": round(m.seconds(one.start_ns), 6), "end": round(m.seconds(one.end_ns), 6)},
        "record": one.record or None,
    }


ANALYZER = Analyzer(
    name="conditions",
    question="Did throughput correlate with a metric of the link (RSRP, SNR, MCS ...)?",
    run=run,
    **QUESTIONS["conditions"]._asdict(),
)
