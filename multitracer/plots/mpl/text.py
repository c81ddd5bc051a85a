"""Words in a drawing: their width, their lines."""

from __future__ import annotations

import functools
import re
from typing import Any

from multitracer.plots.drawable_text import FONT, drawable

HINTED = 1.08  # small letters at few pixels per inch are rounded up to whole pixels
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


class _Widths:
    """Of letters without hinting: each is loaded once, where matplotlib loads those of every word anew."""

    def __init__(self, bold: bool) -> None:
        from matplotlib.font_manager import FontProperties, findfont
        from matplotlib.ft2font import FT2Font

        self._font = FT2Font(findfont(FontProperties(family=FONT, weight="bold" if bold else "normal")))
        self._font.set_size(100.0, 72.0)
        self._letters: dict[str, tuple[int, int]] = {}
        self._pairs: dict[tuple[int, int], int] = {}

    def _letter(self, letter: str) -> tuple[int, int]:
        from matplotlib.ft2font import LoadFlags

        width = self._font.load_char(ord(letter), LoadFlags.NO_HINTING).horiAdvance
        self._letters[letter] = found = (self._font.get_char_index(ord(letter)), width)
        return found

    def _pair(self, pair: tuple[Any, Any]) -> int:
        from matplotlib.ft2font import Kerning

        self._pairs[pair] = found = self._font.get_kerning(*pair, Kerning.DEFAULT)
        return found

    def of(self, words: str) -> float:
        """Of a line, for each point of its size."""
        whole = last = 0
        for letter in words:
            index, width = self._letters.get(letter) or self._letter(letter)
            whole += width
            if last:
                pair = (last, index)
                kerned = self._pairs.get(pair)
                whole += self._pair(pair) if kerned is None else kerned
            last = index
        return whole / 6400.0


_widths = functools.cache(_Widths)


@functools.lru_cache(maxsize=8192)
def _per_point(words: str, bold: bool) -> float:
    return _widths(bold).of(drawable(words, 400))


def text_width(words: str, size: float, *, bold: bool = False) -> float:
    """Of a line of words, in points, at a size in points; the most that hinting makes of it on a screen.

    Parameters
    ----------
    words : str
    size : float
        Of the letters, in points.
    bold : bool
    """
    return HINTED * _per_point(words, bold) * size


_TOGETHER = re.compile(
    r"(?<=\d) (?=(?:[muµ]?s|bytes|[kMG]?B/s|[kMG]?bit/s)\b|×)|(?<=×) |(?<=\bn) (?==)|(?<=\bn =) "
)
"""Spaces at which no line ends: of a number and its unit, of ``3 × 4.5 s`` and of ``n = 10``."""


def wrapped(words: str, width: float, size: float, *, bold: bool = False, most: int = 3) -> list[str]:
    """Words as lines no wider than `width` points; what `most` lines cannot hold ends in an ellipsis.

    A word that is wider than a line, such as an IPv6 address, is broken; a number keeps its unit.

    Parameters
    ----------
    words : str
    width : float
        Of a line, in points.
    size : float
        Of the letters, in points.
    bold : bool
    most : int
        Lines.

    Returns
    -------
    list of str
        1 to `most` lines.
    """
    return list(_wrapped(words, width, size, bold, most))


@functools.lru_cache(maxsize=4096)
def _wrapped(words: str, width: float, size: float, bold: bool, most: int) -> tuple[str, ...]:
    """Layouts are tried, and ask for the lines of the same words again and again."""
    rest = _TOGETHER.sub("\N{NO-BREAK SPACE}", drawable(words, 400)).split(" ")
    lines: list[str] = []
    line = ""
    while rest:
        word = rest.pop(0)
        longer = f"{line} {word}" if line else word
        if text_width(longer, size, bold=bold) <= width:
            line = longer
        elif line:
            lines.append(line)
            line = ""
            rest.insert(0, word)
        else:
            fits = _fitting(word, width, size, bold)
            lines.append(word[:fits])
            rest.insert(0, word[fits:])
        if len(lines) == most:
            break
    if line and len(lines) < most:
        lines.append(line)
        rest = []
    if rest and any(rest):
        last = lines[-1]
        while last and text_width(last + ELLIPSIS, size, bold=bold) > width:
            last = last[:-1]
        lines[-1] = last.rstrip() + ELLIPSIS
    return tuple(one.replace("\N{NO-BREAK SPACE}", " ") for one in lines) or ("",)


def _fitting(word: str, width: float, size: float, bold: bool) -> int:
    """How many letters of a word fit into a width; at least one."""
    least, most = 1, len(word)
    while least < most:
        middle = (least + most + 1) // 2
        if text_width(word[:middle], size, bold=bold) <= width:
            least = middle
        else:
            most = middle - 1
    return least


def plain(text: Any) -> None:
    """No word from a trace is ever read as mathematics."""
    text.set_parse_math(False)
    text.set_fontfamily(FONT)
