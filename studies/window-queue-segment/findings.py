"""The course project's findings, beside ours in ns-3 and in ns-2."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from flavours import flavours
from one_flow import one_flow
from published import Finding, Interval, Row, grouped, kept, where
from simulators import KBIT, SEGMENTS, Simulator, each, from_words, per_run
from ten_flows import ten_flows

FLOWS = 10


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
    return [*one_flow(both), *ten_flows(both), *flavours(both, second), *_conclusions(both)]


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
        """Lines over window (1) or queue (2) in which goodput falls somewhere by more than 1%."""
        lines: dict[Any, list[tuple[int, float]]] = {}
        for key, value in one.goodput.items():
            lines.setdefault((*key[:by], *key[by + 1 :]), []).append((key[by], value))
        return sum(
            any(b < 0.99 * a for (_, a), (_, b) in zip(sorted(line), sorted(line)[1:], strict=False))
            for line in lines.values()
        )

    def smaller(one: Simulator) -> list[Interval]:
        return [one.by_run("jain", lambda row, s=s: row["segment"] == s) for s in SEGMENTS]  # type: ignore[misc]

    def fairest(one: Simulator) -> list[tuple[int, int]]:
        """Windows and queues by Jain's index over segments, flavours and runs, the fairest first."""
        found = grouped(one.ten, "jain", ("window", "queue"))
        return sorted(found, key=lambda case: -found[case])

    return [
        Finding(
            "5, one flow",
            "best: 512 bytes, queue of 32,000 or 64,000 with a window of 32,000, and both 64,000",
            "3 cases",
            each(
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
            each(both, lambda one: f"in {helps(one)[0]} of {helps(one)[1]} steps"),
            all(helps(one)[0] > helps(one)[1] / 2 for one in both),
            "not with a window or a queue of 2,000: 1.1 (3), 1.2 (1)",
        ),
        Finding(
            "5, one flow",
            "window and queue do not influence goodput monotonously",
            "none in the text",
            each(
                both,
                lambda one: (
                    f"goodput falls somewhere over the window in {turns(one, 1)} of 24 lines, over the queue "
                    f"in {turns(one, 2)} of 24"
                ),
            ),
            all(turns(one, 1) + turns(one, 2) > 0 for one in both),
            "by more than 1%",
        ),
        Finding(
            "5, ten flows",
            "best fairness: window of 2,000 with a queue of 32,000 or 64,000",
            "2 cases",
            each(
                both,
                lambda one: (
                    "fairest " + " and ".join(f"window {w} queue {q}" for w, q in sorted(fairest(one)[:2]))
                ),
            ),
            all(set(fairest(one)[:2]) == {(2000, 32000), (2000, 64000)} for one in both),
            "by the mean of Jain's index over segments, flavours and runs",
        ),
        Finding(
            "5, ten flows",
            "smaller segments are usually fairer",
            "none in the text",
            "Jain's index for 128, 256, 512: "
            + each(both, lambda one: ", ".join(found.text(3) for found in smaller(one))),
            all(smaller(one)[0].low > max(smaller(one)[1].high, smaller(one)[2].high) for one in both),
            "mean over windows, queues and flavours for each run; interval over runs",
        ),
    ]


def notes(rows: Sequence[Row]) -> list[str]:
    """How flows without data are counted."""
    silent = [FLOWS - len(run["flows"]) for run in per_run(rows)]
    some = [number for number in silent if number]
    return [
        "A flow that stalls until the end counts as one with less goodput, down to none ([`fairness`](../json.md)). In "
        f"{len(some)} of {len(silent)} runs of ns-3 with ten flows {min(some)} to {max(some)} of them never sent data, because "
        "all their SYNs were lost: they are not counted."
    ]
