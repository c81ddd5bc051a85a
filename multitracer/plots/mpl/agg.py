"""What pictures are drawn on: matplotlib's canvas, with words that are shaped and letters painted once.

Since version 3.11 matplotlib shapes a line of words anew each time it is measured or drawn, and paints each of
its letters anew: a third of the time of a picture. Here both are remembered, for all pictures of a process,
and the pixels are the same. Earlier versions draw a line of words at once, and are left as they are.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

import numpy as np
from matplotlib.backends import backend_agg
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.ft2font import FT2Font

MOST = 10_000
"""Lines, and letters, that are remembered: more are forgotten at once."""

_measured: dict[Any, tuple[float, float, float]] = {}
_shaped: dict[Any, list[tuple[Any, int, float, float]]] = {}
_painted: dict[Any, tuple[Any, int, int]] = {}

_known: Any = FT2Font
BY_LETTER = hasattr(_known, "_layout") and hasattr(_known, "_render_glyph")
SUBPIXELS = 64  # in which FreeType counts


class Renderer(RendererAgg):
    """Draws what its base draws, with the same pixels."""

    def get_text_width_height_descent(self, s: Any, prop: Any, ismath: Any) -> Any:
        """Of a line, in pixels."""
        if ismath:
            return super().get_text_width_height_descent(s, prop, ismath)
        key = self._key(s, prop)
        if key not in _measured:
            _keep(_measured, key, super().get_text_width_height_descent(s, prop, ismath))
        return _measured[key]

    def draw_text(
        self, gc: Any, x: Any, y: Any, s: Any, prop: Any, angle: Any, ismath: Any = False, mtext: Any = None
    ) -> None:
        """Draw a line that begins at a place in pixels, y downwards."""
        special = mtext is not None and (mtext.get_fontfeatures() or mtext.get_language())
        if ismath or special or not gc.get_antialiased():
            super().draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            return
        own: Any = self
        paint, high, size = own._renderer.draw_text_image, int(self.height), prop.get_size_in_points()
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        for font, letter, right, up in self._line(s, prop):
            # A letter that lies whole pixels further on looks the same.
            column, fine_x = divmod(round(SUBPIXELS * (x + right * cos - up * sin)), SUBPIXELS)
            row, fine_y = divmod(round(SUBPIXELS * (self.height - y + right * sin + up * cos)), SUBPIXELS)
            key = (font, letter, size, self.dpi, angle, fine_x, fine_y)
            if key not in _painted:
                _keep(_painted, key, self._letter(*key))
            picture, left, top = _painted[key]
            paint(picture, left + column, high - top - row + len(picture), 0, gc)

    def _key(self, words: str, prop: Any) -> Any:
        # Fonts belong to a thread.
        return words, hash(prop), self.dpi, backend_agg.get_hinting_flag(), threading.get_ident()

    def _line(self, words: str, prop: Any) -> list[tuple[Any, int, float, float]]:
        """The letters of a line: font, number in it, and place from the beginning."""
        key = self._key(words, prop)
        if key not in _shaped:
            own: Any = self
            found = own._prepare_font(prop)._layout(words, flags=backend_agg.get_hinting_flag())
            _keep(_shaped, key, [(one.ft_object, one.glyph_index, one.x, one.y) for one in found])
        return _shaped[key]

    def _letter(
        self, font: Any, letter: int, size: float, dpi: float, angle: float, fine_x: int, fine_y: int
    ) -> tuple[Any, int, int]:
        """How much of each pixel a letter covers; its left and upper edge."""
        font.set_size(size, dpi)
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        turned = (0x10000 * np.array([[cos, -sin], [sin, cos]])).round().astype(int)
        font._set_transform(turned, [fine_x, fine_y])
        found = font._render_glyph(letter, backend_agg.get_hinting_flag(), backend_agg.RenderMode.NORMAL)
        return np.array(found.buffer), found.left, found.top


class Canvas(FigureCanvasAgg):
    """What a figure is drawn on."""

    _lastKey: Any
    renderer: Any

    def get_renderer(self) -> Any:
        """For the figure at its present size."""
        wide, high = self.get_width_height(physical=True)
        key = wide, high, self.figure.dpi
        if self._lastKey != key:
            self.renderer = (Renderer if BY_LETTER else RendererAgg)(wide, high, self.figure.dpi)
            self._lastKey = key
        return self.renderer


def _keep(known: dict[Any, Any], key: Any, value: Any) -> None:
    if len(known) >= MOST:
        known.clear()
    known[key] = value


def _forget() -> None:
    for known in (_measured, _shaped, _painted):
        known.clear()


# matplotlib opens its fonts anew after a fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
