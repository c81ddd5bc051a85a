"""Captures on one timeline, each by the packets that it shares with another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.alignment.captures import Matches, pairs
from multitracer.alignment.clocks import MAX_SKEW_PPM, Fit, Points, fit
from multitracer.alignment.path import FEW_MATCHES, leaving
from multitracer.alignment.relation import Pairs, Relation, against, place_steps
from multitracer.alignment.state import AlignmentState
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.frozen import frozen
from multitracer.model.table import Array

_MOST = 0.5  # share of the matches that must stay when connections are left out
_NEARLY_ALL = 0.1  # of their connections' length, what a file lasts longer without being more than they are


def join(state: AlignmentState) -> None:
    """Grow from the reference: each time the capture that shares most packets with one on the timeline."""
    waiting = [i for i in state.path if not state.settled(i)]
    while waiting:
        options = [(len(state.matches(a, b)), a, b) for b in waiting for a in state.path if state.settled(a)]
        best = max(options, key=lambda option: option[0], default=None)
        if best is None or best[0] < FEW_MATCHES:
            break
        _, a, b = best
        _join_pair(state, a, b)
        waiting.remove(b)
    on = [i for i in state.path if state.settled(i)]
    for place, b in enumerate(on):  # further pairs narrow the bounds
        for a in on[:place]:
            if any({relation.a, relation.b} == {a, b} for relation in state.relations):
                continue
            if state.simulated(a) and state.simulated(b):
                continue
            if len(state.matches(a, b)) >= FEW_MATCHES:
                _join_pair(state, a, b, new=False)


@frozen
class _Shared:
    """What two captures share: pairs of times each way, and the connection of each."""

    a_first: Pairs
    b_first: Pairs
    conn_a_first: Array
    conn_b_first: Array

    def without(self, conns: Array) -> _Shared:
        a, b = (~np.isin(conn, conns) for conn in (self.conn_a_first, self.conn_b_first))
        return _Shared(
            self.a_first.where(a), self.b_first.where(b), self.conn_a_first[a], self.conn_b_first[b]
        )

    def __len__(self) -> int:
        return len(self.a_first) + len(self.b_first)


def _join_pair(state: AlignmentState, a: int, b: int, new: bool = True) -> None:
    matches = state.matches(a, b)
    shared = _shared(state, a, b, matches)
    if not len(shared):
        return
    nominal = state.nominal[a]

    def points(found: _Shared) -> tuple[Points, Points]:
        lower, upper = (
            pair.points(nominal.apply(pair.t_a, pair.record_a)) for pair in (found.a_first, found.b_first)
        )
        return lower, upper

    own = state.own[b]
    span, covered = _span(state, b, sorted_unique(own["conn"][matches.second]))
    fitted = fit(*points(shared), span)
    evidence: dict[str, Any] = {}
    odd = _contradicting(shared, fitted, points, span)
    if odd is not None:
        kept = shared.without(odd)
        again = fit(*points(kept), span)
        if not again.steps and not again.violations_ns and len(kept) >= _MOST * len(shared):
            shared, fitted = kept, again
            evidence["connections_left_out"] = len(odd)
    lower, upper = points(shared)
    fitted = place_steps(fitted, own["t_ns"], own["record"], lower, upper)
    if covered is not None:
        evidence["covers_records"] = covered
        evidence["outside_ns"] = _drift_outside(state, b, fitted, span)
    relation = Relation(
        a,
        b,
        shared.a_first,
        shared.b_first,
        "hull",
        fitted,
        None,
        {"matches": len(matches), **fitted.evidence, **evidence},
    )
    state.relations.append(relation)
    if new:
        state.place(b, fitted.pieces)


def _shared(state: AlignmentState, a: int, b: int, matches: Matches) -> _Shared:
    """The matches as order, each by the way that its own connection passes the two captures."""
    own = state.own[a]
    direction = state.way(a, b)[0]
    if (direction < 0).any():
        away = leaving(state)
        turned = state.path.index(a) > state.path.index(b)
        direction = np.where(direction < 0, np.where((away >= 0) & turned, 1 - away, away), direction)
    conn = own["conn"][matches.first]
    first = direction[conn]
    known = (conn >= 0) & (first >= 0)
    kept = Matches(matches.first[known], matches.second[known])
    with_a = own["dir"][kept.first] == first[known]
    a_first, b_first = pairs(own, state.own[b], kept, with_a)
    return _Shared(a_first, b_first, conn[known][with_a], conn[known][~with_a])


def _span(state: AlignmentState, b: int, conns: Array) -> tuple[tuple[int, int], list[int] | None]:
    """From when to when a capture has the connections that it shares, and its records then.

    The bound serves these: what else is in the file, hours before or after, must not widen it, whether it is
    TCP or not. None instead of the records if they last for nearly all of the file.
    """
    own = state.own[b]
    mine = np.isin(own["conn"], conns)
    t_ns, record = own["t_ns"][mine], own["record"][mine]
    first, last = int(t_ns.min()), int(t_ns.max())
    begin, end = state.span(b)
    if mine.all() and (end - begin) - (last - first) <= _NEARLY_ALL * (last - first):
        return (begin, end), None
    return (first, last), [int(record.min()), int(record.max())]


def _drift_outside(state: AlignmentState, b: int, fitted: Fit, span: tuple[int, int]) -> int:
    """What the uncertainty of the skew adds to the bound at the file's ends, in ns.

    Far from the flow a wrong skew grows without end, so order alone bounds it here: a queue that fills while
    the flow lasts tilts the smallest delays as a skew would.
    """
    first, last = state.span(b)
    away = max(span[0] - first, last - span[1], 0)
    slopes = (
        MAX_SKEW_PPM / 1e6 + abs(piece.line.skew) if piece.skew_bound is None else piece.skew_bound
        for piece in fitted.pieces
    )
    return int(np.ceil(max(slopes) * away))


def _contradicting(shared: _Shared, fitted: Fit, points: Any, span: tuple[int, int]) -> Array | None:
    """Connections that contradict the largest one; None if all agree, or if that one alone is no better.

    One clock holds for all connections. Where together they need steps or contradict each other, and the
    largest alone does not, packets of some were matched with others, or their direction is wrong. Only what
    happens while the largest lasts counts: a step before or after it is none of these.
    """
    if not fitted.steps and not fitted.violations_ns and not fitted.evidence["doubtful"]:
        return None
    conns, counts = np.unique(np.concatenate([shared.conn_a_first, shared.conn_b_first]), return_counts=True)
    if len(conns) < 2:
        return None
    largest = conns[np.argmax(counts)]
    lower, upper = points(shared.without(conns[conns != largest]))
    if not len(lower) or not len(upper):
        return None
    alone = fit(lower, upper, span)
    if alone.steps or alone.violations_ns or alone.evidence["doubtful"]:
        return None
    orders = np.concatenate([lower.order, upper.order])
    first, last = int(orders.min()), int(orders.max())
    odd: list[Array] = []
    for side, conn, sign in zip(
        points(shared), (shared.conn_a_first, shared.conn_b_first), (1, -1), strict=True
    ):
        wrong = against(alone.pieces[0], side, sign, 0) & (side.order >= first) & (side.order <= last)
        odd.append(conn[wrong])
    found = sorted_unique(np.concatenate(odd))
    return found if len(found) else None
