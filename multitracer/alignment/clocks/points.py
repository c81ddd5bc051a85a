"""Points, lines and pieces: what one clock shows about another, and how it maps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from multitracer.model.frozen import frozen

if TYPE_CHECKING:
    import numpy.typing as npt

Int: TypeAlias = "npt.NDArray[np.int64]"
Float: TypeAlias = "npt.NDArray[np.float64]"
Grade = Literal["accurate", "approximate"]


@frozen
class Points:
    """Constraints of one kind.

    Attributes
    ----------
    t_ns : int64 array
        Time on the source clock.
    value_ns : int64 array
        Reference minus source time: the offset is not below (lower points) or not above (upper points) it.
    order : int64 array
        Position in the source's file: time may run backwards at a step, this does not.
    """

    t_ns: Int
    value_ns: Int
    order: Int

    @classmethod
    def between(cls, t_source: Int, t_reference: Int, order: Int) -> Points:
        """From pairs of times on both clocks.

        Parameters
        ----------
        t_source : int array
            Times that one clock showed, in nanoseconds.
        t_reference : int array
            Times that the other clock showed at the same moments, or at moments of a known order.
        order : int array
            Where each lies in the source's file: its record, by which steps of the clock are found.

        Returns
        -------
        Points
            The difference of the clocks by time of the source.
        """
        source = np.asarray(t_source, dtype=np.int64)
        value = np.asarray(t_reference, dtype=np.int64) - source
        return cls(source, value, np.asarray(order, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.t_ns)

    def where(self, mask: Any) -> Points:
        """The points that a mask or an index picks."""
        return Points(self.t_ns[mask], self.value_ns[mask], self.order[mask])


@frozen
class ClockLine:
    """``t_reference = t + offset_ns + skew * (t - origin_ns)``; skew in ns per ns."""

    origin_ns: int
    offset_ns: int
    skew: float = 0.0

    def offset_at(self, t_ns: Any) -> Int:
        """The offset at source times, in ns."""
        t = np.asarray(t_ns, dtype=np.int64)
        drift: Int = np.rint(self.skew * (t - self.origin_ns)).astype(np.int64)
        return drift + self.offset_ns

    def apply(self, t_ns: Any) -> Int:
        """Source times on the reference clock."""
        t = np.asarray(t_ns, dtype=np.int64)
        if self.skew == 0:
            return t + self.offset_ns if self.offset_ns else t
        return t + self.offset_at(t)

    def then(self, outer: ClockLine) -> ClockLine:
        """Apply this line, then one whose source clock is this one's reference clock."""
        offset = int(outer.offset_at(self.origin_ns + self.offset_ns)) + self.offset_ns
        return ClockLine(self.origin_ns, offset, (1 + self.skew) * (1 + outer.skew) - 1)

    def moved(self, by_ns: int) -> ClockLine:
        """The same line with a constant added to the offset."""
        return ClockLine(self.origin_ns, self.offset_ns + by_ns, self.skew)


@frozen
class Piece:
    """A line that holds from a record of the source on, with the bound of its error over its span.

    `doubt`: first and last record that may be on the other side of the step before it, as nothing shows when
    in a time without records it came; None if its place is known. `skew_bound`: how far the slope can be from
    the truth by the order of the packets alone, independent of delays; None where order does not bound it.
    """

    first_order: int
    line: ClockLine
    half_width_ns: int
    skew_term_ns: int
    skew_error: float
    doubt: tuple[int, int] | None = None
    skew_bound: float | None = None


@frozen
class Fit:
    """How one clock maps to another.

    Attributes
    ----------
    pieces : tuple of Piece
        One per stretch between clock steps, in file order.
    bound_ns : int or None
        The true offset is nowhere farther from the line than this; None if only one side is bounded.
    grade : {"accurate", "approximate"}
        accurate: two-sided, no constraint violated, bound below 20 ms.
    violations_ns : int
        How much the constraints contradict each other; 0 if a line satisfies them all.
    evidence : dict
        Counts and intervals; JSON-serialisable.
    """

    pieces: tuple[Piece, ...]
    bound_ns: int | None
    grade: Grade
    violations_ns: int
    evidence: dict[str, Any]

    @property
    def steps(self) -> list[dict[str, Any]]:
        """Clock steps: the record before which each happened, and how far the offset moved there.

        ``doubtful`` names the first and the last record that may be on the other side of it.
        """
        found: list[dict[str, Any]] = []
        for before, after in pairwise(self.pieces):
            moved = int(
                after.line.offset_at(after.line.origin_ns) - before.line.offset_at(after.line.origin_ns)
            )
            step: dict[str, Any] = {"record": after.first_order, "offset_change_ns": moved}
            if after.doubt is not None:
                step["doubtful"] = list(after.doubt)
            found.append(step)
        return found


def apply_pieces(pieces: Sequence[tuple[int, ClockLine]], t_ns: Int, record: Int) -> Int:
    """Source times on the reference clock, each record by the line that holds at it.

    Parameters
    ----------
    pieces : sequence of (int, ClockLine)
        First record and line, in file order.
    t_ns, record : int64 arrays

    Returns
    -------
    int64 array
        For each row, its time on the reference clock in nanoseconds.
    """
    mapped = pieces[0][1].apply(t_ns)
    if len(pieces) > 1 and mapped is t_ns:
        mapped = mapped.copy()
    for first, line in pieces[1:]:
        later = record >= first
        mapped[later] = line.apply(t_ns[later])
    return mapped
