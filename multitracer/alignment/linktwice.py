"""Two logs of one link by the same view of it: what both have is one frame, not two.

A base station's own log and a capture of its MAC layer, or two monitors of one link, report the same frames.
They are found by their numbers in the order of time, and counted once; what only one has is kept.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from multitracer.alignment.clocks import fit_median
from multitracer.alignment.relation import Pairs, Relation
from multitracer.alignment.state import AlignmentState
from multitracer.model.arrays.unique import sorted_difference
from multitracer.model.errors import Issue
from multitracer.model.table import Array, Table

_NEAR_NS = 1_000_000_000  # clocks that are further apart are not tried
_WRAPS = 0.4  # nor those further apart than this share of the time in which numbers come again
_SPREAD_NS = 20_000_000  # how far the logs' delays of one frame may differ
_ENOUGH = 20  # frames in common
_SHARE = 0.8  # of the frames in the time that both cover, in the log that has fewer of them


def join(state: AlignmentState) -> None:
    """Find links that are seen twice, put both logs on one clock, and mark what the second one repeats."""
    logs = [i for i in state.layer("link") if len(state.traces[i].tables.get("link_frames", ()))]
    for a, b in combinations(sorted(logs, key=lambda i: _rank(state, i)), 2):
        if state.traces[a].source.path == state.traces[b].source.path or b in state.repeated:
            continue
        if not state.settled(a) and not state.settled(b) and a != state.reference:
            continue
        found = _same_frames(state, a, b)
        if found is None:
            continue
        pairs, rows = found
        _place(state, a, b, pairs)
        frames = state.traces[b].tables["link_frames"]
        gone = np.zeros(len(frames), dtype=np.bool_)
        gone[rows] = True
        state.repeated[b] = {"link_frames": gone, **_others(state, a, b, frames, gone)}
        names = f"{len(rows):,} of its {len(frames):,} frames are in {state.traces[a].source.path} too"
        state.issues.append(Issue("same-link", len(rows), detail=names, path=state.traces[b].source.path))


def _rank(state: AlignmentState, source: int) -> tuple[int, str]:
    """The log with most frames first: the other one's count only where it has none."""
    trace = state.traces[source]
    return -len(trace.tables["link_frames"]), trace.source.path


def _time(state: AlignmentState, source: int, table: Table) -> Array:
    nominal = state.nominal.get(source)
    t_ns = table["t_ns"]
    return t_ns if nominal is None else nominal.apply(t_ns, table["record"])


def _same_frames(state: AlignmentState, a: int, b: int) -> tuple[Pairs, Array] | None:
    """Times of frames that both logs have, and their rows in the second; None if it is another link."""
    first, second = (state.traces[i].tables["link_frames"] for i in (a, b))
    t_a, t_b = _time(state, a, first), _time(state, b, second)
    keys_a, keys_b = _keys(state, a, first), _keys(state, b, second)
    shift = 0
    for within in (_limit(keys_a, t_a, first), _SPREAD_NS):
        i, j = _nearest(keys_a, t_a, keys_b, t_b + shift, within)
        if len(i) < _ENOUGH:
            return None
        shift = int(np.median(t_a[i] - t_b[j]))
    low = max(int(t_a.min()), int(t_b.min()) + shift) - _SPREAD_NS
    high = min(int(t_a.max()), int(t_b.max()) + shift) + _SPREAD_NS
    numbered = [
        int(np.count_nonzero((keys >= 0) & (t >= low) & (t <= high)))
        for keys, t in ((keys_a, t_a), (keys_b, t_b + shift))
    ]
    if len(i) < _SHARE * min(numbered):
        return None
    pairs = Pairs(first["t_ns"][i], second["t_ns"][j], first["record"][i], second["record"][j])
    return pairs, j


def _limit(keys: Array, t_ns: Array, frames: Table) -> int:
    """How far apart the clocks may be: numbers wrap, and numbers a wrap apart look the same."""
    rows = np.flatnonzero((keys >= 0) & (frames["attempt"] == 0))
    rows = rows[np.lexsort((t_ns[rows], keys[rows]))]
    again = np.flatnonzero(np.diff(keys[rows]) == 0)
    if not len(again):
        return _NEAR_NS
    return min(_NEAR_NS, int(_WRAPS * np.median((t_ns[rows[1:]] - t_ns[rows[:-1]])[again])))


def _keys(state: AlignmentState, source: int, frames: Table) -> Array:
    """What a frame is known by: entity, action and number; -1 without a number."""
    names = _names(state)
    trace = state.traces[source]
    turn = np.array([names.index(name) for name in trace.entities] + [0], dtype=np.int64)
    entity = turn[frames["entity"]]
    key = (entity * 4 + frames["action"]) * (1 << 31) + frames["ns"]
    return np.where(frames["ns"] >= 0, key, -1)


def _names(state: AlignmentState) -> list[str]:
    return sorted({name for source in state.layer("link") for name in state.traces[source].entities})


def _nearest(keys_a: Array, t_a: Array, keys_b: Array, t_b: Array, within_ns: int) -> tuple[Array, Array]:
    """For each row of b the row of a with the same key that is nearest in time, each used once."""
    rows_a, rows_b = np.flatnonzero(keys_a >= 0), np.flatnonzero(keys_b >= 0)
    rows_a = rows_a[np.lexsort((t_a[rows_a], keys_a[rows_a]))]
    if not len(rows_a) or not len(rows_b):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    known, number = np.unique(keys_a[rows_a], return_inverse=True)
    start = min(int(t_a.min()), int(t_b.min()))
    span = max(int(t_a.max()), int(t_b.max())) - start + 1
    unit = max(1, -(-span * (len(known) + 1) // (1 << 62)))  # places in one line of 62 bits
    line = number.reshape(-1) * (span // unit + 1) + (t_a[rows_a] - start) // unit
    place = np.minimum(np.searchsorted(known, keys_b[rows_b]), len(known) - 1)
    rows_b, place = (part[known[place] == keys_b[rows_b]] for part in (rows_b, place))
    at = np.searchsorted(line, place * (span // unit + 1) + (t_b[rows_b] - start) // unit)
    choices = np.stack([np.maximum(at - 1, 0), np.minimum(at, len(rows_a) - 1)])
    apart = np.abs(t_a[rows_a[choices]] - t_b[rows_b])
    apart = np.where(keys_a[rows_a[choices]] == keys_b[rows_b], apart, np.iinfo(np.int64).max)
    best = np.argmin(apart, axis=0)
    pick = np.arange(len(rows_b))
    i, apart = rows_a[choices[best, pick]], apart[best, pick]
    order = np.argsort(apart, kind="stable")
    order = order[apart[order] <= within_ns]
    _, once = np.unique(i[order], return_index=True)
    order = order[once]
    return i[order], rows_b[order]


def _place(state: AlignmentState, a: int, b: int, pairs: Pairs) -> None:
    """Put the log that is not on the timeline there: a frame is one moment, however many saw it."""
    if not state.settled(a):
        a, b, pairs = b, a, pairs.swapped()
    if not state.settled(a) or state.settled(b):
        return
    nominal = state.nominal[a]
    resolution = max(state.traces[i].source.resolution_ns for i in (a, b))
    fitted = fit_median(
        pairs.t_b, nominal.apply(pairs.t_a, pairs.record_a), pairs.record_b, state.span(b), resolution
    )
    state.place(b, fitted.pieces)
    state.relations.append(
        Relation(a, b, pairs, Pairs.none(), "same-frames", fitted, fitted.bound_ns, dict(fitted.evidence))
    )


def _others(state: AlignmentState, a: int, b: int, frames: Table, gone: Array) -> dict[str, Array]:
    """Rows of the other tables that report the same: equal events, and rows of the same records."""
    found: dict[str, Array] = {}
    tables = state.traces[b].tables
    repeated = [frames["record"][gone]]
    kept = [frames["record"][~gone]]
    first, second = (state.traces[i].tables.get("link_events") for i in (a, b))
    if first is not None and second is not None and len(first) and len(second):
        keys = [_event_keys(state, source, table) for source, table in ((a, first), (b, second))]
        times = [_time(state, source, table) for source, table in ((a, first), (b, second))]
        _, rows = _nearest(keys[0], times[0], keys[1], times[1], _SPREAD_NS)
        same = np.zeros(len(second), dtype=np.bool_)
        same[rows] = True
        found["link_events"] = same
        repeated.append(second["record"][same])
        kept.append(second["record"][~same])
    records = sorted_difference(np.concatenate(repeated), np.concatenate(kept))
    for name, table in tables.items():
        if name not in ("link_frames", "link_events") and "record" in table:
            found[name] = np.isin(table["record"], records)
    return found


def _event_keys(state: AlignmentState, source: int, events: Table) -> Array:
    names = _names(state)
    turn = np.array([names.index(name) for name in state.traces[source].entities] + [0], dtype=np.int64)
    entity = turn[np.maximum(events["entity"], -1)]
    return ((entity * 4 + events["action"]) * 64 + events["kind"]) * (1 << 33) + events["nr"] + 1
