"""The course project's findings, beside ours in ns-3 and in ns-2."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from findings import Finding, Interval, Row, grouped, interval, kept, ratios, where

SIZES = (2000, 8000, 32000, 64000)
SEGMENTS = (128, 256, 512)
CASE = ("flavour", "window", "queue", "segment")
KBIT = 1e3
BYTES_PER_S = 8.0
"""Bit/s in a byte per second: the published deviations are in bytes per second, as far as their size tells."""

Cells = dict[tuple[Any, ...], float]


def per_run(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One row for each run of ten flows in ns-3, whose summary has one for each flow, in order of their beginnings."""
    runs: dict[str, dict[str, Any]] = {}
    for row in where(rows, param_flows=10):
        run = runs.setdefault(str(row["name"]), dict(row) | {"flows": []})
        if row["goodput_bps"]:
            run["flows"].append(float(row["goodput_bps"]))
    return [run | {"goodput_bps": float(np.mean(run["flows"]))} for run in runs.values()]


def from_words(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The same of ns-2, whose summary has a row for each run."""
    return [
        dict(row) | {"flows": [float(one) * KBIT for one in str(row["by_start_kbps"]).split()]}
        for row in where(rows, param_flows=10)
    ]


class Simulator:
    """The runs of one of both."""

    def __init__(self, name: str, single: Sequence[Row], ten: Sequence[Row]) -> None:
        self.name, self.single, self.ten = name, single, ten
        self.goodput = grouped(single, "goodput_bps", CASE, np.median)

    def cell(self, flavour: str, window: int, queue: int, segment: int) -> float:
        """Goodput of one flow [kbit/s]."""
        return self.goodput[flavour, window, queue, segment] / KBIT

    def by_run(self, metric: str, cases: Callable[[Row], bool], middle: Any = np.mean) -> Interval:
        """A statistic over cases for each run, and the interval over runs."""
        return interval(grouped(filter(cases, self.ten), metric, ("run",), middle).values())


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Every figure (they have no numbers: the section is given) and every numbered observation."""
    both = (
        Simulator("ns-3", where(rows, param_flows=1), per_run(rows)),
        second := Simulator(
            "ns-2",
            where(two := kept("window-queue-segment-ns2"), param_flows=1),
            from_words(two),
        ),
    )
    return [*_one_flow(both), *_ten_flows(both), *_flavours(both, second), *_conclusions(both)]


def _each(both: Sequence[Simulator], text: Callable[[Simulator], str]) -> str:
    return "; ".join(f"{one.name}: {text(one)}" for one in both)


def _one_flow(both: Sequence[Simulator]) -> list[Finding]:
    def small(one: Simulator) -> list[float]:
        wide = {k: v for k, v in one.goodput.items() if k[1] == 8000 and k[2] > 2000}
        return ratios(wide, {(k[0], 8000, *k[2:]): v for k, v in one.goodput.items() if k[1] == 2000})

    def spread(one: Simulator) -> float:
        cells = [one.cell("reno", 8000, 8000, segment) for segment in SEGMENTS]
        return max(cells) / min(cells)

    def line(one: Simulator, flavour: str, window: int, queue: int) -> list[float]:
        return [one.cell(flavour, window, queue, segment) for segment in SEGMENTS]

    def written(values: Sequence[float]) -> str:
        return ", ".join(f"{value:.0f}" for value in values)

    def falls(values: Sequence[float]) -> bool:
        return values[0] > values[1] > values[2]

    def gaps(one: Simulator) -> list[float]:
        return [one.cell("reno", 64000, q, 512) - one.cell("reno", 64000, q, 128) for q in SIZES]

    def same(one: Simulator) -> float:
        """Largest change of goodput by the queue (8,000 and more) with a window of 2,000."""
        return max(
            abs(one.cell(f, 2000, q, s) / one.cell(f, 2000, 8000, s) - 1)
            for f in ("tahoe", "reno")
            for q in SIZES[1:]
            for s in SEGMENTS
        )

    def longer(one: Simulator, segment: int) -> list[float]:
        return [one.cell(f, 64000, q, segment) for f in ("tahoe", "reno") for q in (32000, 64000)]

    def both_flavours(cells: Sequence[float]) -> str:
        return f"Tahoe {cells[0]:.0f} to {cells[1]:.0f}, Reno {cells[2]:.0f} to {cells[3]:.0f}"

    low = [line(one, f, 2000, 2000) for one in both for f in ("tahoe", "reno")]
    return [
        Finding(
            "1.1 (1), Tahoe and Reno",
            "goodput is much lower with a window of 2,000 bytes",
            "none in the text",
            _each(
                both,
                lambda one: (
                    f"window of 8,000: {interval(small(one)).text(1)} times that of 2,000, n = 18 cases"
                ),
            ),
            all(min(small(one)) > 2 for one in both),
            "queues of 8,000 and more; the window is the limit",
        ),
        Finding(
            "1.1 (2)",
            "from a window of 8,000 on the segment size makes little difference on average",
            "none in the text",
            _each(both, lambda one: f"{written(line(one, 'reno', 8000, 8000))} kbit/s for 128, 256, 512"),
            all(spread(one) < 1.25 for one in both),
            "what differs is the headers: 40 to 42 bytes a segment",
        ),
        Finding(
            "1.1 (3)",
            "with a queue of 2,000 segments of 256 and 512 are alike, 128 can be much lower",
            "none in the text",
            "; ".join(
                f"{one.name} {f}: {written(line(one, f, 64000, 2000))} kbit/s for 128, 256, 512"
                for one in both
                for f in ("tahoe", "reno")
            ),
            all(cells[0] < min(cells[1:]) for cells in low),
            "2,000 bytes hold three packets of 512 or eleven of 128: with so few on the way there are no three duplicate "
            "ACKs, and a loss needs an RTO. The published rates and delays are unknown; with a shorter path fewer are "
            "on the way and headers decide",
        ),
        Finding(
            "1.2 (1), Tahoe and Reno",
            "small window: goodput(128) > goodput(256) > goodput(512)",
            "none in the text",
            _each(both, lambda one: f"{written(line(one, 'reno', 2000, 64000))} kbit/s"),
            all(falls(line(one, f, 2000, q)) for one in both for f in ("tahoe", "reno") for q in SIZES[1:]),
            "in all queues of 8,000 and more",
        ),
        Finding(
            "1.2 (1), reason",
            "a window of 2,000 has at most 13, 7 and 3 packets; the queue changes nothing",
            "13, 7, 3",
            "15, 7, 3; "
            + _each(both, lambda one: f"by the queue at most {100 * same(one):.1f} % of goodput"),
            all(same(one) < 0.01 for one in both),
            "13 counts 24 bytes of header into the window; a TCP window counts data: 2000 / 128 = 15",
        ),
        Finding(
            "1.2 (2), Tahoe and Reno",
            "large window: goodput(128) < goodput(256) < goodput(512)",
            "none in the text",
            _each(both, lambda one: f"{written(line(one, 'reno', 64000, 64000))} kbit/s"),
            all(falls(line(one, f, 64000, 64000)[::-1]) for one in both for f in ("tahoe", "reno")),
            "window and queue of 64,000",
        ),
        Finding(
            "1.2 (2), reason",
            "the gap between 128 and 512 becomes smaller with smaller queues",
            "none in the text",
            _each(both, lambda one: f"{written(gaps(one))} kbit/s for queues of 2,000 to 64,000"),
            all(gaps(one)[0] < gaps(one)[1] < gaps(one)[3] for one in both),
            "Reno, window of 64,000; queues of 8,000 and 32,000 are alike",
        ),
        Finding(
            "1.3, segments of 256",
            "window of 64,000: goodput falls when the queue grows to 64,000",
            "none in the text",
            _each(both, lambda one: both_flavours(longer(one, 256)))
            + " kbit/s for queues of 32,000 to 64,000",
            all(cells[1] < cells[0] and cells[3] < cells[2] for cells in (longer(one, 256) for one in both)),
            "ours grows: at our rate and delay a queue of 64,000 drops less than one of 32,000. Where more is worse depends on "
            "rate and delay, which are not published",
        ),
        Finding(
            "1.3, segments of 512",
            "... it goes on growing with 512",
            "none in the text",
            _each(both, lambda one: both_flavours(longer(one, 512)))
            + " kbit/s for queues of 32,000 to 64,000",
            all(cells[1] > cells[0] and cells[3] > cells[2] for cells in (longer(one, 512) for one in both)),
            "with 64,000 nothing is dropped any more",
        ),
    ]


def _monotone(flows: Sequence[float]) -> bool:
    return all(a >= b for a, b in itertools.pairwise(flows))


def _rank(flows: Sequence[float]) -> float:
    """Spearman's correlation of the order of beginning and goodput; -1: the earlier, the more."""
    ranks = np.argsort(np.argsort(flows))
    return float(np.corrcoef(np.arange(len(flows)), ranks)[0, 1])


def _ten_flows(both: Sequence[Simulator]) -> list[Finding]:
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

    return [
        Finding(
            "2.1, averages of 48 cases",
            "a small window costs one flow much, ten flows little on average",
            "none in the text",
            _each(
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
            _each(
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
            _each(
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
            "2.1, ten flows by start order",
            "goodput does not fall monotonously in the order in which flows begin",
            "3 cases drawn",
            _each(
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


def _flavours(both: Sequence[Simulator], second: Simulator) -> list[Finding]:
    def count(one: Simulator, wide: bool) -> tuple[int, int, int]:
        """Cases in which Reno has more, the same, less goodput than Tahoe (1 % apart at least)."""
        found = [0, 0, 0]
        for (flavour, window, queue, segment), value in one.goodput.items():
            if flavour == "reno" and (window > queue) == wide:
                quotient = value / one.goodput["tahoe", window, queue, segment]
                found[0 if quotient > 1.01 else 2 if quotient < 0.99 else 1] += 1
        return found[0], found[1], found[2]

    def said(counts: tuple[int, int, int]) -> str:
        return f"Reno more in {counts[0]}, equal in {counts[1]}, Tahoe more in {counts[2]}"

    def by_case(one: Simulator, flavour: str) -> dict[Any, float]:
        large = [row for row in where(one.ten, flavour=flavour) if row["window"] > 2000]
        return grouped(large, "goodput_std_bps", ("run", *CASE), np.mean)

    def peaks(one: Simulator, flavour: str) -> tuple[Interval, Interval, Interval, Interval]:
        """Per run: the largest deviation, the smallest, cases of 8,000 and more, and below 1,000 byte/s."""
        runs: dict[Any, list[float]] = {}
        for key, value in by_case(one, flavour).items():
            runs.setdefault(key[0], []).append(value / BYTES_PER_S)
        told = [np.array(values) for values in runs.values()]
        return (
            interval(float(v.max()) for v in told),
            interval(float(v.min()) for v in told),
            interval(float((v >= 7500).sum()) for v in told),
            interval(float((v < 1000).sum()) for v in told),
        )

    def told(one: Simulator, flavour: str) -> str:
        most, least, high, low = peaks(one, flavour)
        return (
            f"largest {most.text(0)}, least {least.text(0)} byte/s; {high.text(0)} of 36 cases reach 7,500, "
            f"{low.text(0)} are below 1,000"
        )

    def fairer(one: Simulator) -> Interval:
        """Per run: mean deviation of Tahoe over that of Reno, windows above 2,000."""
        means = {
            flavour: {
                run: float(np.mean([v for key, v in by_case(one, flavour).items() if key[0] == run]))
                for run in {key[0] for key in by_case(one, flavour)}
            }
            for flavour in ("tahoe", "reno")
        }
        return interval(ratios(means["tahoe"], means["reno"]))

    def closer(one: Simulator) -> bool:
        cells = where(one.ten, window=2000, queue=(32000, 64000))
        return max(row["goodput_std_bps"] for row in cells) / BYTES_PER_S < 150

    narrow, wide = count(second, False), count(second, True)
    return [
        Finding(
            "4.1, window not above the queue",
            "Reno's goodput is better or equal",
            "none in the text",
            _each(both, lambda one: said(count(one, False))) + ", of 30 cases",
            narrow[2] == 0 or narrow[0] > 2 * narrow[2],
            "equal where nothing is dropped, as they are the same algorithm then. The others are windows of 32,000 and 64,000 "
            "in segments of 128 or 256: with headers they do not fit a queue of the same number of bytes, packets are "
            "dropped, and ns-2's real Tahoe is better (next row)",
        ),
        Finding(
            "4.1, window above the queue",
            "Tahoe's goodput is better",
            "none in the text",
            _each(both, lambda one: said(count(one, True))) + ", of 18 cases",
            wide[2] > 2 * wide[0],
            "in ns-2 Tahoe goes back to the first loss and repairs many losses of one window by slow start, where the "
            "Reno of 1990 repairs one and waits for an RTO. In ns-3.37 both repair by partial ACKs, and Tahoe only "
            "loses its window",
        ),
        Finding(
            "4.2, both flavours",
            "the deviation is surprisingly low with a window of 2,000 and queues of 32,000 and 64,000",
            "below 100",
            "the same runs as in 2.1: "
            + _each(
                both,
                lambda one: (
                    ", ".join(
                        f"{f} "
                        + interval(
                            row["goodput_std_bps"] / BYTES_PER_S
                            for row in where(one.ten, window=2000, queue=(32000, 64000), flavour=f)
                        ).text(0)
                        for f in ("tahoe", "reno")
                    )
                    + " byte/s"
                ),
            ),
            all(closer(one) for one in both),
            "common to both",
        ),
        Finding(
            "4.2, peaks of Tahoe",
            "windows above 2,000: every deviation above 1,500, six reach 8,000",
            "1500; 8000 in 6",
            _each(both, lambda one: told(one, "tahoe")),
            all(peaks(one, "tahoe")[0].high >= 7500 for one in both) and peaks(second, "tahoe")[1].low > 1500,
            "ns-3 reaches the published peak, the real Tahoe of ns-2 does not; the floor is lower in both: with queues of 2,000 "
            "and 8,000 all flows have little goodput, and so little deviation",
        ),
        Finding(
            "4.2, peaks of Reno",
            "a few below 1,000, only one reaches 7,000",
            "1000; 7000 in 1",
            _each(both, lambda one: told(one, "reno")),
            all(peaks(one, "reno")[3].median > 0 for one in both)
            and all(peaks(one, "reno")[2].median <= peaks(one, "tahoe")[2].median for one in both),
            "ns-2 has both, cases below 1,000 and at most one peak; ns-3's Reno repairs like NewReno. How many reach the "
            "peak differs from run to run: one run for each case, as published, does not show",
        ),
        Finding(
            "4.2 and 5",
            "Reno is fairer than Tahoe",
            "6 peaks against 1",
            "mean deviation of Tahoe over that of Reno: " + _each(both, lambda one: fairer(one).text(2)),
            all(fairer(one).low > 1 for one in both),
            "windows above 2,000, interval over runs; 1 is equal. The runs differ more than the flavours do",
        ),
    ]


def _conclusions(both: Sequence[Simulator]) -> list[Finding]:
    best = {(32000, 32000), (32000, 64000), (64000, 64000)}

    def top(one: Simulator) -> tuple[float, set[tuple[int, int, int]]]:
        most = max(one.goodput.values())
        return most / KBIT, {key[1:] for key, value in one.goodput.items() if value > 0.995 * most}

    def helps(one: Simulator) -> tuple[int, int]:
        pairs = [
            (one.goodput[*key[:3], a], one.goodput[*key[:3], b])
            for key in {(*key[:3], 0) for key in one.goodput}
            for a, b in ((128, 256), (256, 512))
        ]
        return sum(b > a for a, b in pairs), len(pairs)

    def turns(one: Simulator, by: int) -> int:
        """Lines over window (1) or queue (2) in which goodput falls somewhere by more than 1 %."""
        lines: dict[Any, list[tuple[int, float]]] = {}
        for key, value in one.goodput.items():
            lines.setdefault((*key[:by], *key[by + 1 :]), []).append((key[by], value))
        return sum(
            any(b < 0.99 * a for (_, a), (_, b) in zip(sorted(line), sorted(line)[1:], strict=False))
            for line in lines.values()
        )

    def smaller(one: Simulator) -> list[Interval]:
        return [one.by_run("jain", lambda row, s=s: row["segment"] == s) for s in SEGMENTS]  # type: ignore[misc]

    return [
        Finding(
            "5, one flow",
            "best: 512 bytes, queue of 32,000 or 64,000 with a window of 32,000, and both 64,000",
            "3 cases",
            _each(
                both,
                lambda one: (
                    f"{top(one)[0]:.0f} kbit/s in "
                    + ", ".join(f"window {w} queue {q}" for w, q, s in sorted(top(one)[1]))
                ),
            ),
            all({(w, q) for w, q, s in top(one)[1] if s == 512} == best for one in both),
            "segments of 512 and both flavours; a single flow is the same in every run",
        ),
        Finding(
            "5, one flow",
            "in most cases a larger segment helps",
            "none in the text",
            _each(both, lambda one: f"in {helps(one)[0]} of {helps(one)[1]} steps"),
            all(helps(one)[0] > helps(one)[1] / 2 for one in both),
            "not with a window or a queue of 2,000: 1.1 (3), 1.2 (1)",
        ),
        Finding(
            "5, one flow",
            "window and queue do not influence goodput monotonously",
            "none in the text",
            _each(
                both,
                lambda one: (
                    f"goodput falls somewhere over the window in {turns(one, 1)} of 24 lines, over the queue "
                    f"in {turns(one, 2)} of 24"
                ),
            ),
            all(turns(one, 1) + turns(one, 2) > 0 for one in both),
            "by more than 1 %",
        ),
        Finding(
            "5, ten flows",
            "smaller segments are usually fairer",
            "none in the text",
            "Jain's index for 128, 256, 512: "
            + _each(both, lambda one: ", ".join(found.text(3) for found in smaller(one))),
            all(smaller(one)[0].low > max(smaller(one)[1].high, smaller(one)[2].high) for one in both),
            "mean over windows, queues and flavours for each run; interval over runs",
        ),
    ]
