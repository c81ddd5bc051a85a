"""Loss recoveries: what called for each, how long it took, whether it was needed; and reordering.

An episode lasts from the first retransmission to the ACK of all that was in flight then. Each retransmitted
segment is judged by echoed timestamps (Eifel), duplicate SACK and ACKs that come too early; where both ends
were captured, the receiver's capture decides. What a Linux sender undoes follows from its rules.

Reference: RFC 5681, 6675, 8985 (entry), 6582 (exit), 3522, 2883, 4015 and 5682 (verdicts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.model import schema
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.group_by import Grouped, last_places
from multitracer.model.quantities import verdict_counts
from multitracer.model.schema.results import NEEDS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

_LISTED = 200
_NEED_VOTES = {
    NEEDS.index("spurious"): schema.VOTES.index("spurious"),
    NEEDS.index("needed"): schema.VOTES.index("genuine"),
}
VOTERS = ("receiver", "ack_path", "too_early", "dsack", "eifel")


def run(measurement: Timeline, results: Mapping[str, Result]) -> Result:
    """Every recovery of every connection, each direction by the capture next to its sender."""
    episodes = measurement.table("episodes")
    grouped = Grouped(episodes["conn"], episodes["dir"], episodes["source"])
    parts, directions = [], []
    for connection in measurement.connections:
        for direction in (0, 1):
            source = _near(measurement, connection, direction)
            state = connection.summaries[source][schema.DIRECTIONS[direction]].get("recovery")
            if state is None:
                continue
            own = grouped.rows(connection.index, direction, source)
            parts.append(own)
            directions.append(_direction(measurement, connection, direction, source, state, len(own)))
    table = _judged(episodes.where(np.concatenate([*parts, np.empty(0, dtype=np.int64)])), results)
    listed = _described(measurement, table.between(0, min(len(table), _LISTED)))
    summary: dict[str, Any] = {
        **verdict_counts(table.words("verdict")),
        "directions": directions,
        "episodes": listed,
    }
    return Result("recoveries", summary, {"episodes": table})


def _near(measurement: Timeline, connection: Connection, direction: int) -> int:
    near = measurement.snd if direction == connection.data_dir else measurement.rcv
    if near in connection.summaries:
        assert near is not None
        return near
    return min(connection.summaries, key=lambda source: source != measurement.snd)


def _judged(table: Table, results: Mapping[str, Result]) -> Table:
    """With the vote of the receiver's capture on the segment that began each, and the timers' verdicts."""
    losses, timeouts = results.get("losses"), results.get("timeouts")
    verdict = table["verdict"].copy()
    receiver, path = table["receiver"].copy(), table["ack_path"].copy()
    if losses is not None and losses.inconclusive is None:
        repeats = losses.tables["repeats"]
        sure = repeats.where(repeats["certain"] != 0)
        place = last_places(_pairs(sure), _pairs(table))
        known = np.flatnonzero(place >= 0)
        receiver = np.zeros(len(table), dtype=np.int8)
        receiver[known] = [_NEED_VOTES.get(need, 0) for need in sure["need"][place[known]].tolist()]
        verdict = np.where(receiver != 0, receiver, verdict)
    if timeouts is not None and timeouts.inconclusive is None:
        judged = timeouts.tables["timeouts"]
        rows = {key: row for row, key in enumerate(_keys(judged))}
        for row, key in enumerate(_keys(table)):
            if (at := rows.get(key)) is not None:
                receiver[row], path[row] = judged["receiver"][at], judged["ack_path"][at]
                verdict[row] = judged["verdict"][at]
    return table.replace(receiver=receiver, ack_path=path, verdict=verdict)


def _pairs(table: Table) -> tuple[Array, Array]:
    """Flow and record of each row."""
    return table["conn"].astype(np.int64) * 2 + table["dir"], table["record"]


def _keys(table: Table) -> list[tuple[int, int, int]]:
    columns = (table[name].tolist() for name in ("conn", "dir", "record"))
    return list(zip(*columns, strict=True))


def _direction(
    measurement: Timeline,
    connection: Connection,
    direction: int,
    source: int,
    state: Mapping[str, Any],
    episodes: int,
) -> dict[str, Any]:
    reordering = {
        "by_sack": state["reordered_by_sack"],
        "by_timestamp": state["reordered_by_timestamp"],
        "extent_bytes": state["reordering_bytes"],
    }
    return {
        "conn": connection.index,
        "direction": schema.DIRECTIONS[direction],
        "source": measurement.sources[source].path,
        "episodes": episodes,
        "lost_again": state["lost_again"],
        "undecided": dict(state["undecided"]),
        "undone": dict(state["undone"]),
        "reordering": reordering,
        "rto_max": _rto_max(state["rto_max"]),
    }


def _rto_max(cap: Mapping[str, int] | None) -> dict[str, Any] | None:
    """The largest timeout of a stack that has it set low, and the waits that show it."""
    if cap is None:
        return None
    seconds = {name: round(cap[f"{name}_ns"] / 1e9, 6) for name in ("shortest", "longest", "estimated")}
    return {
        "at_most_s": round(cap["max_ns"] / 1e9, 6),
        "waits": cap["waits"],
        **{f"{name}_s": value for name, value in seconds.items()},
        "record": cap["record"],
    }


def _described(measurement: Timeline, table: Table) -> list[dict[str, Any]]:
    columns = {name: table[name].tolist() for name in table}
    rows = zip(*columns.values(), strict=True)
    return [_describe(measurement, dict(zip(columns, row, strict=True))) for row in rows]


def _describe(measurement: Timeline, value: Mapping[str, int]) -> dict[str, Any]:
    votes = {name: schema.VOTES[value[name]] for name in VOTERS}
    return {
        "t": round(measurement.seconds(value["t_ns"]), 6),
        "conn": value["conn"],
        "direction": schema.DIRECTIONS[value["dir"]],
        "episode": value["episode"],
        "record": value["record"],
        "cause": schema.CAUSES[value["cause"]],
        "trigger": schema.TRIGGERED_BY[value["trigger"]],
        "entry": value["entry"],
        "recover": value["recover"],
        "duration_s": round(value["duration_ns"] / 1e9, 6) if value["duration_ns"] >= 0 else None,
        "end_record": value["end_record"] or None,
        "timeouts": value["timeouts"],
        "segments": value["segments"],
        "duplicate_bytes": value["duplicate"],
        "verdict": schema.VERDICTS[value["verdict"]],
        "votes": {name: vote for name, vote in votes.items() if vote != "abstains"},
        "undone": schema.UNDONE[value["undone"]] or None,
    }


ANALYZER = Analyzer(
    name="recoveries",
    question="Which loss recoveries were there, which of them were needless, and what was reordered?",
    run=run,
    **QUESTIONS["recoveries"]._asdict(),
)
