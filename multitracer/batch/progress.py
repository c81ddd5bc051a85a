"""How far a run is, and how long it will still take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

EACH_BYTES = 300_000
"""Overhead of a measurement in addition to its bytes, in bytes: small ones do not cost nothing."""


@dataclass
class Progress:
    """State of a run.

    Attributes
    ----------
    total, done, failed, flagged, cached : int
        Measurements; `done` counts all that are over.
    name : str
        The one that was last over.
    """

    total: int
    work: int
    done: int = 0
    failed: int = 0
    flagged: int = 0
    cached: int = 0
    name: str = ""
    _over: int = 0
    _computed: int = 0
    _began: float = field(default_factory=time.monotonic)

    def step(self, name: str, size: int, cached: bool, failed: bool, flagged: bool) -> None:
        """One more measurement is over.

        Parameters
        ----------
        name : str
        size : int
            Bytes of its files.
        cached : bool
            Its result was taken from a run before.
        failed : bool
            It could not be read or analysed.
        flagged : bool
            It fell below the bounds that the user set.
        """
        self.name = name
        self.done += 1
        self.cached += cached
        self.failed += failed
        self.flagged += flagged
        self._over += size + EACH_BYTES
        self._computed += 0 if cached else size + EACH_BYTES

    @property
    def left_s(self) -> float | None:
        """Estimate of the time left, by the bytes done so far; None before anything was computed."""
        if not self._computed:
            return None
        return (time.monotonic() - self._began) * (self.work - self._over) / self._computed

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self._began


Report = Callable[[Progress], None]
