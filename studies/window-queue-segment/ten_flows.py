"""Ten flows: goodput, its deviation, and the order in which they began."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from published import Finding, Interval, Row, grouped, interval, where
from simulators import BYTES_PER_S, KBIT, SEGMENTS, Simulator, each


def _monotone(flows: Sequence[float]) -> bool:
    return all(a >= b for a, b in itertools.pairwise(flows))


def _rank(flows: Sequence[float]) -> float:
    """Spearman's correlation of the order of beginning and goodput; -1: the earlier, the more."""
    ranks = np.argsort(np.argsort(flows))
    return float(np.corrcoef(np.arange(len(flows)), ranks)[0, 1])


def ten_flows(both: Sequence[Simulator]) -> list[Finding]:
    """Section 2.1."""

    def mean(one: Simulator, window: int) -> Interval:
        return one.by_run("goodput_bps", lambda row: row["window"] == window and row["queue"] > 2000)

    def deviation(one: Simulator, segment: int) -> Interval:
        return one.by_run("goodput_std_bps", lambda row: row["segment"] == segment)

    def fair(one: Simulator) -> list[float]:
        cells = where(one.ten, window=2000, queue=(32000, 64000))
        return [row["goodput_std_bps"] / BYTES_PER_S for row in cells]

    def others(one: Simulator) -> list[float]:
        return [
            row["goodput_std_bps"] / BYTES_PER_S
            for row in one.ten
            if not (row["window"] == 2000 and row["queue"] >= 32000)
        ]

    def whole(one: Simulator) -> list[Sequence[float]]:
        return [row["flows"] for row in one.ten if len(row["flows"]) == 10 and row["window"] > 2000]

    def order(one: Simulator) -> Interval:
        found = [dict(row) | {"rho": _rank(row["flows"])} for row in one.ten if len(row["flows"]) == 10]
        return interval(
            grouped([row for row in found if row["window"] > 2000], "rho", ("run",), np.median).values()
        )

    def tahoe(one: Simulator) -> list[Row]:
        return [row for row in one.ten if len(row["flows"]) == 10 and row["flavour"] == "tahoe"]

    def indices(one: Simulator) -> list[float]:
        return [float(row["jain"]) for row in tahoe(one)]

    def spread(one: Simulator, most: bool) -> str:
        """The flows of the fairest or the least fair run, least and most goodput."""
        run = (max if most else min)(tahoe(one), key=lambda row: float(row["jain"]))
        return (
            f"{min(run['flows']) / KBIT:.1f} to {max(run['flows']) / KBIT:.1f} kbit/s (window {run['window']}, queue "
            f"{run['queue']}, segments of {run['segment']}; Jain's index {run['jain']:.3f})"
        )

    return [
        Finding(
            "2.1, averages of 48 cases",
            "a small window costs one flow much, ten flows little on average",
            "none in the text",
            each(
                both,
                lambda one: (
                    f"{mean(one, 2000).text(1, KBIT)} kbit/s a flow with 2,000, "
                    f"{mean(one, 8000).text(1, KBIT)} with 8,000, {mean(one, 64000).text(1, KBIT)} with 64,000"
                ),
            ),
            all(mean(one, 2000).median > 0.85 * mean(one, 64000).median for one in both),
            "queues of 8,000 and more",
        ),
        Finding(
            "2.1, standard deviation, Tahoe",
            "it varies most with segments of 256 and 512",
            "none in the text",
            each(
                both,
                lambda one: (
                    ", ".join(f"{s}: {deviation(one, s).text(1, KBIT)}" for s in SEGMENTS) + " kbit/s"
                ),
            ),
            all(min(deviation(one, s).low for s in (256, 512)) > deviation(one, 128).high for one in both),
            "mean over windows, queues and flavours for each run, interval over runs: 128 is lowest in both simulators, but its "
            "interval touches the others'",
        ),
        Finding(
            "2.1, two special cases",
            "the deviation is below 100 with a window of 2,000 and queues of 32,000 and 64,000, only there",
            "below 100",
            each(
                both,
                lambda one: (
                    f"{interval(fair(one)).text(0)} byte/s, at most {max(fair(one)):.0f}; "
                    f"elsewhere at least {min(others(one)):.0f}"
                ),
            ),
            all(max(fair(one)) < min(others(one)) and interval(fair(one)).high < 105 for one in both),
            "taken as bytes per second, as the published unit is not stated. In ns-2 segments of 512 are as low with a queue of "
            "8,000: ten windows of three packets fit path and queue, and nothing is dropped",
        ),
        Finding(
            "2.1, a fair and an unfair case",
            "ten flows can have the same goodput, or very different ones",
            "2 cases drawn",
            each(both, lambda one: f"fairest {spread(one, True)}, least fair {spread(one, False)}"),
            all(max(indices(one)) > 0.999 and min(indices(one)) < 0.8 for one in both),
            "Tahoe; which cases were drawn is not stated",
        ),
        Finding(
            "2.1, ten flows by start order",
            "goodput does not fall monotonously in the order in which flows begin",
            "3 cases drawn",
            each(
                both,
                lambda one: (
                    f"monotonous in {sum(map(_monotone, whole(one)))} of {len(whole(one))} runs; rank "
                    f"correlation of order and goodput {order(one).text(2)}"
                ),
            ),
            all(sum(map(_monotone, whole(one))) < 0.05 * len(whole(one)) for one in both),
            "windows above 2,000; -1 would be: the earlier, the more. One of the runs of ns-2 has the published starts",
        ),
    ]
