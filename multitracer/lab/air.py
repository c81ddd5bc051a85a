"""The air: which slots are lost. By chance (Gilbert-Elliott), by list, or replayed from a log."""

from __future__ import annotations

import random

from multitracer.lab.settings import AirSettings

_JUMP = 1_000_000


class Air:
    """The air in one direction.

    What happens to a slot depends on the seed and the slot's number only, not on what is sent: two runs with
    the same seed meet the same radio.

    Parameters
    ----------
    settings : AirSettings
        What to lose.
    seed : str
        Seed of this direction.

    Notes
    -----
    Gilbert 1960, Elliott 1963: a two-state Markov chain with a loss probability in each state.
    """

    def __init__(self, settings: AirSettings, seed: str) -> None:
        self.settings = settings
        self._random = random.Random(seed)
        self._bad = False
        self._next_slot = 0
        self._last_lost = False
        self._listed = frozenset(settings.lost_slots)
        self._calls = 0

    def lost(self, slot: int) -> bool:
        """Return whether slot number `slot` (from 0, never decreasing) is lost."""
        settings = self.settings
        if settings.kind == "perfect":
            return False
        if settings.kind == "list":
            return slot in self._listed
        if settings.kind == "trace":
            trace = settings.trace
            if not trace or (slot >= len(trace) and not settings.repeat):
                return False
            return trace[slot % len(trace)] == 1
        return self._gilbert_elliott(slot)

    def lost_at(self, t_ns: int) -> bool:
        """Whether what is sent at `t_ns` (since the run's begin) is lost, by `slot_ms` or by counting."""
        if self.settings.slot_ms > 0:
            return self.lost(int(t_ns / (self.settings.slot_ms * 1e6)))
        self._calls += 1
        return self.lost(self._calls - 1)

    def _gilbert_elliott(self, slot: int) -> bool:
        settings, draw = self.settings, self._random.random
        if slot - self._next_slot > _JUMP:
            # A very long idle time: draw the state from the chain's stationary distribution at once.
            to_bad, to_good = settings.p_good_to_bad, settings.p_bad_to_good
            self._bad = draw() * (to_bad + to_good) < to_bad if to_bad + to_good > 0 else self._bad
            self._next_slot = slot
        while self._next_slot <= slot:
            if self._bad:
                self._bad = draw() >= settings.p_bad_to_good
            else:
                self._bad = draw() < settings.p_good_to_bad
            self._last_lost = draw() < (settings.loss_bad if self._bad else settings.loss_good)
            self._next_slot += 1
        return self._last_lost
