"""A time axis with stretches cut out: arithmetic of places on it, and its ticks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from multitracer.model.frozen import frozen

Floats = npt.NDArray[np.float64]

FINER = (1.0, 2.0, 4.0, 10.0, 20.0, 40.0, 100.0, 200.0, 400.0, 1000.0)
APART = 0.6  # least distance of two ticks, in steps


@frozen(eq=False)
class Fold:
    """Stretches of time that are drawn short, as if the paper were folded there.

    Attributes
    ----------
    start, end : arrays of float64
        What is cut, in seconds, in order; stretches do not touch.
    shown : float
        Seconds of the axis that each cut takes; less than any of them lasts.
    """

    start: Floats
    end: Floats
    shown: float

    def __post_init__(self) -> None:
        edges = np.stack([self.start, self.end], axis=1).ravel()
        if np.any(np.diff(edges) <= 0) or not 0 < self.shown <= float(np.min(self.end - self.start)):
            raise ValueError("cuts must be in order, apart, and longer than they are drawn")
        saved = np.cumsum(self.end - self.start - self.shown)
        before = np.r_[0.0, saved[:-1]]
        object.__setattr__(self, "_edges", edges)
        object.__setattr__(self, "_saved", np.stack([before, saved], axis=1).ravel())

    def place(self, seconds: Floats) -> Floats:
        """Places of times on the axis, in seconds of the axis; the order stays."""
        edges, saved = self._columns()
        return np.asarray(seconds - np.interp(seconds, edges, saved))

    def time(self, place: Floats) -> Floats:
        """The time at a place of the axis: the inverse of `place`."""
        edges, saved = self._columns()
        return np.asarray(place + np.interp(place, edges - saved, saved))

    @property
    def lengths(self) -> Floats:
        """Seconds that each cut leaves out."""
        return self.end - self.start

    def inside(self, window: tuple[float, float]) -> list[tuple[float, float]]:
        """Cuts that a time window shows."""
        return [
            (start, end)
            for start, end in zip(self.start.tolist(), self.end.tolist(), strict=True)
            if end > window[0] and start < window[1]
        ]

    def ticks(self, window: tuple[float, float], step: float, shift: float = 0.0) -> list[float]:
        """Times to label: multiples of a step, at least one between any two cuts where there is room.

        Parameters
        ----------
        window : (float, float)
            Begin and end of what is shown, in seconds.
        step : float
            Seconds.
        shift : float
            Added to times before they are rounded: the time of day at zero.

        Returns
        -------
        list of float
            Seconds, ascending.
        """
        cuts = self.inside(window)
        begins = [window[0], *(end for _, end in cuts)]
        ends = [*(start for start, _ in cuts), window[1]]
        found: list[float] = []
        for begin, end in zip(begins, ends, strict=True):
            for times in (_multiples(begin, end, step / finer, shift) for finer in FINER):
                if len(times):
                    break
            room = APART * step
            for time in times.tolist():
                if not found or _apart(self, found[-1], time) >= room:
                    found.append(time)
        return found

    def _columns(self) -> tuple[Floats, Floats]:
        return self._edges, self._saved  # type: ignore[attr-defined]


def _multiples(begin: float, end: float, step: float, shift: float) -> Floats:
    first, last = np.ceil((begin + shift) / step - 1e-9), np.floor((end + shift) / step + 1e-9)
    return np.arange(first, last + 1) * step - shift + 0.0  # no -0


def _apart(fold: Fold, one: float, other: float) -> float:
    low, high = fold.place(np.array([one, other])).tolist()
    return float(high - low)
