"""What two sources say about each other's clocks: which event came before which."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from multitracer.clocks import Fit, Int, Piece, Points, apply_pieces

NO_TIMES: Int = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Pairs:
    """Pairs of times, one on each clock, with the record numbers in both files."""

    t_a: Int
    t_b: Int
    record_a: Int
    record_b: Int

    def __len__(self) -> int:
        return len(self.t_a)

    @classmethod
    def none(cls) -> Pairs:
        """No pair."""
        return cls(NO_TIMES, NO_TIMES, NO_TIMES, NO_TIMES)

    def unrest(self, t_a_reference: Int) -> float:
        """How much the difference of the clocks usually moves from pair to pair, in ns."""
        apart = (t_a_reference - self.t_b)[np.argsort(self.record_b, kind="stable")]
        return float(np.median(np.abs(np.diff(apart)))) if len(apart) > 1 else np.inf

    def points(self, t_a_reference: Int) -> Points:
        """As constraints on clock b, given the a times on the reference clock."""
        return Points.between(self.t_b, t_a_reference, self.record_b)


@dataclass
class Relation:
    """Order between events of source `a` and source `b`.

    Attributes
    ----------
    a, b : int
        Indices of the sources; `fit` maps b to the timeline on which a already is.
    a_first, b_first : Pairs
        Pairs in which the event of a, or of b, cannot be later than the other.
    method : str
        As in `measurement.Clock`.
    fit : Fit
    half_ns : int or None
        If given, the two agree to this at every pair (kernel events behind captured packets).
    evidence : dict
        JSON-serialisable.
    """

    a: int
    b: int
    a_first: Pairs
    b_first: Pairs
    method: str
    fit: Fit
    half_ns: int | None = None
    evidence: dict[str, Any] = field(default_factory=dict)


def place_steps(fitted: Fit, t_ns: Int, record: Int, matched_record: Int) -> Fit:
    """Move each step to the record where the source's own times show it.

    Between the last record known to be before a step and the first one known to be after it lie others.
    A clock that jumps back makes times run backwards; else the likeliest gap is taken: not one shorter
    than the step, and rather a long one than a short one.

    Parameters
    ----------
    fitted : Fit
    t_ns, record : int64 array
        All records of the source, in file order, on its own clock.
    matched_record : int64 array
        The records that are known to be before or after a step.
    """
    pieces = list(fitted.pieces)
    known = np.sort(matched_record)
    steps = np.diff(t_ns)
    usual = float(np.median(steps[steps > 0])) + 1000.0 if (steps > 0).any() else 1000.0
    for number, step in enumerate(fitted.steps, 1):
        place = int(np.searchsorted(known, step["record"]))
        before = int(known[place - 1]) if place else 0
        rows = np.flatnonzero((record >= before) & (record <= step["record"]))
        if len(rows) > 2:
            gap = np.diff(t_ns[rows])
            real = gap + step["offset_change_ns"]  # what passed in truth, if the step is there
            # How much likelier the gap is with the step in it than without, gaps being heavy-tailed.
            ratio = (np.maximum(gap, 0) + usual) / (np.maximum(real, 0) + usual)
            likely = np.where(real >= 0, ratio**2 * real, -1.0)
            at = int(np.argmin(gap) if gap.min() < 0 else np.argmax(likely))
            pieces[number] = replace(pieces[number], first_order=int(record[rows[at + 1]]))
    return replace(fitted, pieces=tuple(pieces))


@dataclass
class Nominal:
    """The map of a source to the reference timeline before the graph's last correction.

    A clock that was declared is not `free`: nothing corrects it.
    """

    pieces: tuple[Piece, ...]
    free: bool = True

    def apply(self, t_ns: Int, record: Int) -> Int:
        """Source times on the reference timeline."""
        return apply_pieces([(piece.first_order, piece.line) for piece in self.pieces], t_ns, record)

    @property
    def skew_term_ns(self) -> int:
        """What the uncertainty of the skew adds to the bound, at the ends of the source."""
        return max(piece.skew_term_ns for piece in self.pieces)
