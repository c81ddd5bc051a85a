"""Packets that a simulated network dropped, by place, layer, reason and kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from multitracer.analyzers._needs import QUESTIONS
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.timeline import Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Every drop of the trace, of any packet: TCP's losses are those of its segments alone."""
    table = m.table("packet_drops")
    names = ("place", "layer", "reason", "packet")
    rows = list(zip(*(table[name].tolist() for name in names), strict=True))
    first: dict[tuple[str, ...], int] = {}
    for at, row in enumerate(rows):
        first.setdefault(row, at)
    groups = [
        {
            **dict(zip(names, row, strict=True)),
            "count": count,
            "first": round(m.seconds(int(table["t_ns"][first[row]])), 9),
            "record": int(table["record"][first[row]]),
        }
        for row, count in Counter(rows).most_common()
    ]
    return Result("packet_drops", {"total": len(rows), "groups": groups})


ANALYZER = Analyzer(
    name="packet_drops",
    question="What did the simulated network drop, where and why?",
    run=run,
    **QUESTIONS["packet_drops"]._asdict(),
)
