"""Sentences that a capture away from the data sender allows: what arrived, and when nothing did."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.diagnosis.findings.finding import (
    MOST_EVIDENCE,
    Finding,
    joined,
    plot_command,
    seconds,
    several,
)
from multitracer.layers.tcp.transit import damaged, data_at, near_sender
from multitracer.model.timeline import Connection, Timeline

Summary = dict[str, Any]

_SILENCE_S = 1.0
_BEYOND = 10.0  # times the median distance of two segments: shorter pauses are not reported


def arrivals(m: Timeline, connections: list[Summary]) -> list[Finding]:
    """One finding for each connection in which something went wrong upstream of this capture.

    Where only such a capture is at hand, timers and losses in front of it are not visible. Visible are
    damaged and duplicate segments, and times without any.

    Parameters
    ----------
    m : Timeline
        Without a capture next to the data sender.
    connections : list of dict
        As in the result of `connections`.
    """
    known = {one.index: one for one in m.connections}
    found = (_one(m, known.get(entry["index"]), entry) for entry in connections)
    return [finding for finding in found if finding is not None]


def _one(m: Timeline, connection: Connection | None, entry: Summary) -> Finding | None:
    source = near_sender(m)
    if connection is None or source is None:
        return None
    spoiled, twice, total = entry["damaged_segments"], entry["bytes"]["duplicate"], entry["bytes"]["sent"]
    least, silent, longest, records = _silences(m, connection, source)
    parts = [
        f"{several(spoiled, 'segment')} arrived damaged and had to be discarded" if spoiled else "",
        f"{twice:,} of {total:,} bytes arrived twice" if twice else "",
        f"no data came for {seconds(longest[1] - longest[0])}"
        + (f", and {several(silent - 1, 'more time')} for over {seconds(least)}" if silent > 1 else "")
        if silent
        else "",
    ]
    if not any(parts):
        return None
    text = f"{joined(parts)}; only a capture at the data sender or a log of the link can show why"
    window = longest if silent else (entry["start"], entry["end"])
    evidence = tuple((m.sources[source].path, record) for record in records)
    return Finding(text, 0.0, "arrivals", plot_command(m, *window), evidence)


def _silences(
    m: Timeline, connection: Connection, source: int
) -> tuple[float, int, tuple[float, float], tuple[int, ...]]:
    """When no sound data came for long.

    Returns
    -------
    tuple
        Seconds that count as long, how often that was, from when to when at worst, and the packets that
        ended it, the longest first.
    """
    rows = data_at(m, connection, source)
    rows = rows.where((rows["length"] > 0) & ~damaged(rows))
    if len(rows) < 3:
        return 0.0, 0, (0.0, 0.0), ()
    gaps = np.diff(rows["t_ns"]) / 1e9
    least = max(_SILENCE_S, _BEYOND * float(np.median(gaps)))
    order = np.argsort(-gaps, kind="stable")[: np.count_nonzero(gaps > least)]
    if not len(order):
        return least, 0, (0.0, 0.0), ()
    worst = int(order[0])
    window = (m.seconds(int(rows["t_ns"][worst])), m.seconds(int(rows["t_ns"][worst + 1])))
    return least, len(order), window, tuple(rows["record"][order[:MOST_EVIDENCE] + 1].tolist())
