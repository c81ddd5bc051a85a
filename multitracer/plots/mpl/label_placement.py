"""Labels that never overlap: a label is drawn where there is room, or not at all."""

from __future__ import annotations

import numpy as np

from multitracer.plots.fold import Floats

CELL = 4.0  # pixels: the grain of the map of what is taken


class LabelPlacement:
    """A map of the pixels of one panel: what labels and marks have taken, and where data is.

    Parameters
    ----------
    width, height : float
        Of the panel, in pixels; the origin is its lower left corner.
    """

    def __init__(self, width: float, height: float) -> None:
        shape = (max(int(height / CELL), 1), max(int(width / CELL), 1))
        self._taken = np.zeros(shape, dtype=bool)
        self._data = np.zeros(shape, dtype=bool)
        self._rules = np.zeros(shape[1], dtype=bool)

    def take(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        over_data: bool = False,
        over_rules: bool = True,
    ) -> bool:
        """Take a box by its centre; False if it leaves the panel, touches another, covers data or a rule.

        Parameters
        ----------
        x, y, width, height : float
            Pixels; x and y of the centre, from the lower left corner of the panel.
        over_data : bool
            The box may cover data.
        over_rules : bool
            The box may cover rules.
        """
        if not (np.isfinite(x) and np.isfinite(y)):
            return False  # what is not positive has no place on a logarithmic axis
        rows, columns = self._taken.shape
        left, right = int((x - width / 2) // CELL), int((x + width / 2) // CELL) + 1
        bottom, top = int((y - height / 2) // CELL), int((y + height / 2) // CELL) + 1
        if left < 0 or bottom < 0 or right > columns or top > rows:
            return False
        box = (slice(bottom, top), slice(left, right))
        if self._taken[box].any() or (self._data[box].any() and not over_data):
            return False
        if self._rules[left:right].any() and not over_rules:
            return False
        self._taken[box] = True
        return True

    def block(self, x: Floats, y: Floats, *, data: bool) -> None:
        """Note points: data, which a label should not cover, or marks, which it must not.

        Parameters
        ----------
        x, y : float array
            Pixels from the lower left corner of the panel.
        data : bool
            True: data; False: marks.
        """
        rows, columns = self._taken.shape
        with np.errstate(invalid="ignore"):
            inside = (x >= 0) & (y >= 0) & (x < columns * CELL) & (y < rows * CELL)
        cells = ((y[inside] // CELL).astype(np.intp), (x[inside] // CELL).astype(np.intp))
        (self._data if data else self._taken)[cells] = True

    def trace(self, x: Floats, y: Floats) -> None:
        """Note a line through points as data."""
        rows, columns = self._taken.shape
        finite = np.isfinite(x) & np.isfinite(y)
        x = np.clip(x[finite], -CELL, (columns + 1) * CELL)
        y = np.clip(y[finite], -CELL, (rows + 1) * CELL)
        if not len(x):
            return
        far = np.maximum(np.abs(np.diff(x)), np.abs(np.diff(y)))
        count = (far // CELL).astype(np.intp) + 1
        begin = np.repeat(np.arange(len(count)), count)
        share = (np.arange(len(begin)) - np.repeat(np.cumsum(count) - count, count)) / count[begin]
        along = x[begin] + share * np.diff(x)[begin], y[begin] + share * np.diff(y)[begin]
        self.block(np.append(along[0], x[-1]), np.append(along[1], y[-1]), data=True)

    def rule(self, x: Floats) -> None:
        """Note lines across the whole height."""
        inside = (x >= 0) & (x < len(self._rules) * CELL)
        self._rules[(x[inside] // CELL).astype(np.intp)] = True
