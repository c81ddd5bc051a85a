"""All sources together: difference constraints, and the correction of every clock that satisfies them.

Each pair of sources bounds the difference of their corrections; the shortest paths between all of them
give the tightest bounds that the evidence together allows (a link log joined to both captures narrows
the captures to each other below half of the round-trip time).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from multitracer.alignment.clocks import Float
from multitracer.alignment.relation import Nominal, Relation
from multitracer.model.frozen import frozen


@frozen
class Interval:
    """Bounds of the correction of a source's nominal clock, in ns; infinite if nothing bounds it."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The estimate with the smallest possible error."""
        return (self.low + self.high) / 2

    @property
    def known(self) -> bool:
        """Whether it is bounded from both sides."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


def constraints(
    count: int,
    relations: Sequence[Relation],
    nominal: Mapping[int, Nominal],
    loose: frozenset[int] = frozenset(),
) -> Float:
    """Matrix ``w`` with ``c[i] - c[j] <= w[i, j]`` for the corrections c of the sources.

    An event of i that is not later than an event of j gives ``t_i + c_i <= t_j + c_j``. Relations whose
    place in the list is in `loose` get the slack of the skews' errors.

    Parameters
    ----------
    count : int
        Number of sources.
    relations : sequence of Relation
        What is known of the order of events of two sources.
    nominal : mapping of int to Nominal
        By source: its times before the correction. Relations of sources without one do not count.
    loose : frozenset[int]
        Places in `relations`.

    Returns
    -------
    float array
        ``(count, count)``, in nanoseconds; infinite where nothing is known.
    """
    w = np.full((count, count), np.inf)
    np.fill_diagonal(w, 0.0)
    # Stretches between steps that only packets showed have errors of their own: order across them does not
    # bind, only the bound of the whole does, for the source that was placed by it.
    uneven = {r.b for r in relations if r.method == "hull" and len(r.fit.pieces) > 1}
    for place, relation in enumerate(relations):
        a, b = relation.a, relation.b
        if a not in nominal or b not in nominal:
            continue
        half = relation.half_ns
        if relation.method == "causality" and uneven & {a, b}:
            half = relation.fit.bound_ns
            if half is None or any(other.b == b for other in relations[:place]):
                continue
        if (
            half is None
            and relation.method == "hull"
            and (len(relation.fit.pieces) > 1 or relation.fit.evidence.get("doubtful"))
        ):
            half = relation.fit.bound_ns  # each stretch between steps has an error of its own
        if half is not None:
            w[a, b] = min(w[a, b], half)
            w[b, a] = min(w[b, a], half)
            continue
        slack = relation.fit.violations_ns
        if place in loose:
            slack += nominal[a].skew_term_ns + nominal[b].skew_term_ns
        for pairs, i, j in ((relation.a_first, a, b), (relation.b_first, b, a)):
            if not len(pairs):
                continue
            t_a = nominal[a].apply(pairs.t_a, pairs.record_a)
            t_b = nominal[b].apply(pairs.t_b, pairs.record_b)
            apart = t_b - t_a if i == a else t_a - t_b
            w[i, j] = min(w[i, j], float(apart.min()) + slack)
    return w


def closed(w: Float) -> Float | None:
    """Shortest paths between all pairs (Floyd and Warshall); None if the constraints contradict."""
    d = w.copy()
    for k in range(len(d)):
        np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :], out=d)
    return None if (np.diag(d) < 0).any() else d


def solve(
    count: int, reference: int, relations: Sequence[Relation], nominal: Mapping[int, Nominal]
) -> tuple[dict[int, Interval], list[Relation], Float]:
    """Bounds of every source's correction against the reference.

    Relations are added in the order given; one that contradicts those before it is left out.

    Parameters
    ----------
    count : int
        Number of sources.
    reference : int
        The source whose correction is zero.
    relations : sequence of Relation
        In the order in which they are trusted.
    nominal : mapping of int to Nominal
        By source: its times before the correction.

    Returns
    -------
    intervals : dict of int to Interval
    rejected : list of Relation
    closed : float array
        The shortest-path matrix, for `pinned`.
    """
    kept: list[Relation] = []
    rejected: list[Relation] = []
    matrix = closed(constraints(count, kept, nominal))
    assert matrix is not None  # no relation, no contradiction
    loose: frozenset[int] = frozenset()
    for relation in relations:
        for slack in (loose, loose | {len(kept)}):
            tried = closed(constraints(count, [*kept, relation], nominal, slack))
            if tried is not None:
                loose, matrix = slack, tried
                kept.append(relation)
                break
        else:
            rejected.append(relation)
    return intervals(matrix, reference), rejected, matrix


def intervals(matrix: Float, reference: int) -> dict[int, Interval]:
    """Bounds against the reference from a closed matrix."""
    return {
        i: Interval(-float(matrix[reference, i]), float(matrix[i, reference])) for i in range(len(matrix))
    }


def pinned(matrix: Float, reference: int, values: Mapping[int, float]) -> dict[int, Interval]:
    """Bounds after some corrections were chosen; they must lie within the bounds.

    Parameters
    ----------
    matrix : float array
        The shortest-path matrix of `solve`, in ns.
    reference : int
        The source whose clock is the timeline.
    values : mapping of int to float
        Chosen corrections by source, in ns.

    Returns
    -------
    dict of int to Interval
        By source. Corrections that contradict each other change nothing.
    """
    w = matrix.copy()
    for i, value in values.items():
        w[i, reference] = value
        w[reference, i] = -value
    tight = closed(w)
    return intervals(matrix if tight is None else tight, reference)
