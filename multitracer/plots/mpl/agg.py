"""What pictures are drawn on: matplotlib's canvas, with words that are shaped and letters painted once.

Since version 3.11 matplotlib shapes a line of words anew each time it is measured or drawn, letter by letter,
and paints each of its letters anew: a third of the time of a picture. Here words, the boxes of letters and
letters are remembered, for all pictures of a process. Earlier versions draw a line at once, and are left as
they are.
"""

from __future__ import annotations

import math
import os
import re
import threading
from typing import Any, NamedTuple, TypeVar

import numpy as np
from matplotlib.backends import backend_agg
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.ft2font import FT2Font

MOST = 10_000
"""Words, and letters, that are remembered: more are forgotten at once."""
SUBPIXELS = 64  # in which FreeType counts
STEP = 16
"""Subpixels along a line at which letters stand. Across, they stand on whole pixels, for which they are
hinted, as in all versions of matplotlib before 3.11."""

BY_LETTER = hasattr(FT2Font, "_layout") and hasattr(FT2Font, "_render_glyph")
Value = TypeVar("Value")
_agg: Any = backend_agg
_WORD = re.compile("[^ ]* |[^ ]+$")


class Letter(NamedTuple):
    """A letter of a word."""

    font: Any
    number: int
    x: float
    y: float


class Word(NamedTuple):
    """A word with the space after it: its letters, its width, and its lower and upper edge, in pixels."""

    letters: tuple[Letter, ...]
    width: float
    low: float
    high: float


_words: dict[Any, Word] = {}
_boxes: dict[Any, tuple[float, float]] = {}
_painted: dict[Any, tuple[Any, int, int]] = {}


class Renderer(RendererAgg):
    """Draws what its base draws; letters are at most half a pixel away from where its base draws them."""

    def get_text_width_height_descent(self, s: Any, prop: Any, ismath: Any) -> Any:
        """How large a line of words is.

        Parameters
        ----------
        s : str
            The words.
        prop : matplotlib.font_manager.FontProperties
        ismath : bool
            It is a formula, which matplotlib measures.

        Returns
        -------
        width, height, descent : float
            Pixels.
        """
        if ismath:
            inherited: Any = super().get_text_width_height_descent
            return inherited(s, prop, ismath)
        words = self._shaped(s, prop)
        low = min((word.low for word in words), default=0.0)
        high = max((word.high for word in words), default=0.0)
        return sum(word.width for word in words), high - low, -low

    def draw_text(
        self, gc: Any, x: Any, y: Any, s: Any, prop: Any, angle: Any, ismath: Any = False, mtext: Any = None
    ) -> None:
        """Draw a line of words.

        Parameters
        ----------
        gc : matplotlib.backend_bases.GraphicsContextBase
        x, y : float
            Where it begins, in pixels from the upper left corner.
        s : str
            The words.
        prop : matplotlib.font_manager.FontProperties
        angle : float
            Degrees, anticlockwise.
        ismath : bool
            It is a formula, which matplotlib draws.
        mtext : matplotlib.text.Text, optional
            What the words are of.
        """
        special = mtext is not None and (mtext.get_fontfeatures() or mtext.get_language())
        if ismath or special or not gc.get_antialiased():
            inherited: Any = super().draw_text
            inherited(gc, x, y, s, prop, angle, ismath, mtext)
            return
        own: Any = self
        paint, high, size = own._renderer.draw_text_image, int(self.height), prop.get_size_in_points()
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        steps = SUBPIXELS if angle % 180 == 90 else STEP, SUBPIXELS if angle % 180 == 0 else STEP
        along = 0.0
        for word in self._shaped(s, prop):
            for font, letter, right, up in word.letters:
                right += along
                # A letter that lies whole pixels further on looks the same.
                column, fine_x = _place(x + right * cos - up * sin, steps[0])
                row, fine_y = _place(self.height - y + right * sin + up * cos, steps[1])
                key = (font, letter, size, self.dpi, angle, fine_x, fine_y)
                picture, left, top = _painted.get(key) or _kept(_painted, key, self._letter(*key))
                if picture.size:
                    paint(picture, left + column, high - top - row + len(picture), 0, gc)
            along += word.width

    def _shaped(self, line: str, prop: Any) -> list[Word]:
        """The words of a line."""
        # Fonts belong to a thread.
        style = hash(prop), self.dpi, _agg.get_hinting_flag(), threading.get_ident()
        found = []
        for one in _WORD.findall(line):
            key = (one, *style)
            found.append(_words.get(key) or _kept(_words, key, self._word(one, prop)))
        return found

    def _word(self, word: str, prop: Any) -> Word:
        own: Any = self
        shaped = own._prepare_font(prop)._layout(word + " ", flags=_agg.get_hinting_flag())
        letters = [Letter(one.ft_object, one.glyph_index, one.x, one.y) for one in shaped]
        end = letters.pop()  # stands where the word ends
        size, low, high = prop.get_size_in_points(), math.inf, -math.inf
        for one in letters:
            bottom, top = self._box(one.font, one.number, size)
            low, high = min(low, bottom + one.y), max(high, top + one.y)
        return Word(tuple(letters), end.x, low, high)

    def _box(self, font: Any, letter: int, size: float) -> tuple[float, float]:
        """Lower and upper edge of a letter, in pixels from the line that it stands on."""
        key = (font, letter, size, self.dpi)
        if found := _boxes.get(key):
            return found
        font.set_size(size, self.dpi)
        _, low, _, high = font.load_glyph(letter, _agg.get_hinting_flag()).bbox
        return _kept(_boxes, key, (low / SUBPIXELS, high / SUBPIXELS))

    def _letter(
        self, font: Any, letter: int, size: float, dpi: float, angle: float, fine_x: int, fine_y: int
    ) -> tuple[Any, int, int]:
        """How much of each pixel a letter covers; its left and upper edge."""
        font.set_size(size, dpi)
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        turned = (0x10000 * np.array([[cos, -sin], [sin, cos]])).round().astype(int)
        font._set_transform(turned, [fine_x, fine_y])
        found = font._render_glyph(letter, _agg.get_hinting_flag(), _agg.RenderMode.NORMAL)
        return np.array(found.buffer), found.left, found.top


def _place(pixels: float, step: int) -> tuple[int, int]:
    """A place rounded to so many subpixels: whole pixels, and subpixels beyond."""
    return divmod(round(pixels * (SUBPIXELS // step)) * step, SUBPIXELS)


class Canvas(FigureCanvasAgg):
    """What a figure is drawn on."""

    _lastKey: Any
    renderer: Any

    def get_renderer(self) -> Any:
        """For the figure at its present size."""
        wide, high = self.get_width_height(physical=True)
        key = wide, high, self.figure.dpi
        if self._lastKey != key:
            make: Any = Renderer if BY_LETTER else RendererAgg
            self.renderer = make(wide, high, self.figure.dpi)
            self._lastKey = key
        return self.renderer


def _kept(known: dict[Any, Value], key: Any, value: Value) -> Value:
    """The value, remembered; another thread may forget all at any time."""
    if len(known) >= MOST:
        known.clear()
    known[key] = value
    return value


def _forget() -> None:
    _words.clear()
    _boxes.clear()
    _painted.clear()


# matplotlib opens its fonts anew after a fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
