"""Labels that never lie on each other: a label is drawn where there is room, or not at all."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from multitracer.plots.panel import Floats

CELL = 4.0  # pixels: the grain of the map of what is taken


class Placement:
    """A map of the pixels of one panel that labels have taken.

    Parameters
    ----------
    width, height : float
        Of the panel, in pixels; the origin is its lower left corner.
    """

    def __init__(self, width: float, height: float) -> None:
        shape = (max(int(height / CELL), 1), max(int(width / CELL), 1))
        self._taken = np.zeros(shape, dtype=bool)

    def take(self, x: float, y: float, width: float, height: float) -> bool:
        """Take a box by its centre; False if it leaves the panel or touches one taken before."""
        rows, columns = self._taken.shape
        left, right = int((x - width / 2) // CELL), int((x + width / 2) // CELL) + 1
        bottom, top = int((y - height / 2) // CELL), int((y + height / 2) // CELL) + 1
        if left < 0 or bottom < 0 or right > columns or top > rows:
            return False
        box = self._taken[bottom:top, left:right]
        if box.any():
            return False
        box[:] = True
        return True

    def block(self, x: Floats, y: Floats) -> None:
        """Take the cells under points, so that no label covers them."""
        rows, columns = self._taken.shape
        with np.errstate(invalid="ignore"):
            inside = (x >= 0) & (y >= 0) & (x < columns * CELL) & (y < rows * CELL)
        self._taken[(y[inside] // CELL).astype(np.intp), (x[inside] // CELL).astype(np.intp)] = True

    def fitting(
        self, x: Floats, y: Floats, width: float, height: float, order: Iterable[int] | None = None
    ) -> npt.NDArray[np.intp]:
        """Indices of the boxes of one size that found room, first come first served."""
        chosen = range(len(x)) if order is None else order
        return np.array(
            [i for i in chosen if self.take(float(x[i]), float(y[i]), width, height)], dtype=np.intp
        )
