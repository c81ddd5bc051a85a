"""What two sources show about each other's clocks: which event came before which."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import numpy as np

from multitracer.alignment.clocks import Fit, Int, Piece, Points, apply_pieces
from multitracer.model.arrays.statistics import medians
from multitracer.model.frozen import changeable, frozen
from multitracer.model.table import Array

_BACKWARDS_NS = 20_000_000  # times of a log with several writers may run backwards by less than this
NO_TIMES: Int = np.empty(0, dtype=np.int64)


@frozen
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

    def where(self, mask: Array) -> Pairs:
        """The pairs that a mask picks."""
        return Pairs(self.t_a[mask], self.t_b[mask], self.record_a[mask], self.record_b[mask])

    def swapped(self) -> Pairs:
        """The same pairs with a and b exchanged."""
        return Pairs(self.t_b, self.t_a, self.record_b, self.record_a)

    def points(self, t_a_reference: Int) -> Points:
        """As constraints on clock b, given the a times on the reference clock."""
        return Points.between(self.t_b, t_a_reference, self.record_b)


@changeable
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


def place_steps(fitted: Fit, t_ns: Int, record: Int, lower: Points, upper: Points, mistaken: int = 0) -> Fit:
    """Move each step to the record where the source's own times show it; return the uncertain records.

    A record is known to be before a step if it contradicts the line after it, and the other way round;
    others are in between. A clock that jumps back makes times run backwards; else the likeliest gap is
    taken: not one shorter than the step, and rather a long one than a short one. The records between the
    first and the last gap that it may have been are uncertain.

    Parameters
    ----------
    fitted : Fit
    t_ns, record : int64 array
        All records of the source, in file order, on its own clock.
    lower, upper : Points
        What the lines were fitted to.
    mistaken : int
        How many of these next to a step may be no evidence: matches found by a shift may be mistaken.
    """
    pieces = list(fitted.pieces)
    steps = np.diff(t_ns)
    usual = float(medians(steps[steps > 0])) + 1000.0 if (steps > 0).any() else 1000.0
    for number, step in enumerate(fitted.steps, 1):
        inside = _Inside(fitted, number, lower, upper, (int(record[0]), int(record[-1])))
        change = step["offset_change_ns"]
        rows = np.flatnonzero(
            (record >= inside.last_before(mistaken)) & (record <= inside.first_behind(mistaken))
        )
        if len(rows) < 2:
            continue
        gap = np.diff(t_ns[rows])
        real = gap + change  # what passed in truth, if the step is there
        # How much likelier the gap is with the step in it than without, gaps being heavy-tailed.
        ratio = (np.maximum(gap, 0) + usual) / (np.maximum(real, 0) + usual)
        can = real >= -_BACKWARDS_NS - inside.width_ns
        likely = np.where(can, ratio**2 * np.maximum(real, 1), -1.0)
        back = gap.min() < -min(abs(change) // 4, _BACKWARDS_NS)
        at = int(np.argmin(gap) if back else np.argmax(likely))
        first = int(record[rows[at + 1]])
        possible = np.flatnonzero(can)
        if not back and not len(possible):
            continue
        sure = back or len(possible) < 2
        doubt = None if sure else (int(record[rows[possible[0] + 1]]), int(record[rows[possible[-1]]]))
        pieces[number] = replace(pieces[number], first_order=first, doubt=doubt)
    return replace(fitted, pieces=tuple(pieces))


class _Inside:
    """What is known of the place of one step; `width_ns` is how far off its size may be."""

    def __init__(
        self, fitted: Fit, number: int, lower: Points, upper: Points, records: tuple[int, int]
    ) -> None:
        before, behind = fitted.pieces[number - 1 : number + 1]
        self._border = behind.first_order
        after = [piece.first_order for piece in fitted.pieces[number + 1 :]]
        self._first, self._last = max(before.first_order, records[0]), min([*after, records[1]])
        slack = fitted.violations_ns
        self.width_ns = before.half_width_ns + behind.half_width_ns
        self._not_behind = np.sort(
            np.concatenate(
                [
                    points.order[against(behind, points, sign, slack)]
                    for points, sign in ((lower, 1), (upper, -1))
                ]
            )
        )
        self._not_before = np.sort(
            np.concatenate(
                [
                    points.order[against(before, points, sign, slack)]
                    for points, sign in ((lower, 1), (upper, -1))
                ]
            )
        )

    def last_before(self, mistaken: int) -> int:
        """The last record that is known to be before the step."""
        known = self._not_behind
        known = known[(known >= self._first) & (known < self._border)]
        return int(known[-1 - mistaken]) if len(known) > mistaken else self._first

    def first_behind(self, mistaken: int) -> int:
        """The first record that is known to be after the step."""
        known = self._not_before
        known = known[(known >= self._border) & (known <= self._last)]
        return int(known[mistaken]) if len(known) > mistaken else self._last


def against(piece: Piece, points: Points, sign: int, slack: int) -> Array:
    """Which points the line of a piece cannot satisfy, wherever it lies within its bound.

    Parameters
    ----------
    piece : Piece
        A stretch of a clock's relation: its line, and its half width.
    points : Points
        Bounds of the offset at times, in ns.
    sign : int
        1 for lower points, -1 for upper ones.
    slack : int
        By how much they may contradict it nevertheless, in ns.

    Returns
    -------
    bool array
    """
    width = piece.half_width_ns + piece.skew_term_ns + slack
    return np.asarray(sign * (points.value_ns - piece.line.offset_at(points.t_ns)) > width)


@changeable
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
