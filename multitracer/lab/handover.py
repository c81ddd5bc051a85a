"""Handovers of a radio link at declared times: none of its frames gets through during one."""

from __future__ import annotations

from collections.abc import Sequence


class Handovers:
    """The times of a run's handovers.

    Parameters
    ----------
    at_s : sequence of float
        When they begin, seconds from the first slot on, ascending.
    length_ns : int
        How long each takes.

    Attributes
    ----------
    done : int
        How many are over.
    is_under_way : bool
    """

    def __init__(self, at_s: Sequence[float], length_ns: int) -> None:
        self._at_ns = [round(at * 1e9) for at in at_s]
        self._length_ns = length_ns
        self._end_ns = 0
        self.done = 0
        self.is_under_way = False

    def next_ns(self, start_ns: int | None) -> int | None:
        """When the next one begins, or the current one ends; None if there is none, or before the start."""
        if self.is_under_way:
            return self._end_ns
        if start_ns is None or self.done >= len(self._at_ns):
            return None
        return start_ns + self._at_ns[self.done]

    def step(self, t_ns: int, start_ns: int | None) -> bool | None:
        """Begin or end what is due: True if one ended, False if one began, None if nothing is due."""
        due = self.next_ns(start_ns)
        if due is None or due > t_ns:
            return None
        if self.is_under_way:
            self.is_under_way = False
            self.done += 1
            return True
        self.is_under_way = True
        self._end_ns = t_ns + self._length_ns
        return False
