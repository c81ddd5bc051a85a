"""What two sources say about each other's clocks: which event came before which."""

from __future__ import annotations

from dataclasses import dataclass, field
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
