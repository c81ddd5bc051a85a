"""Words from a trace made safe and short enough to draw."""

from __future__ import annotations

import functools

FONT = "DejaVu Sans"  # ships with matplotlib, so that every machine draws the same


@functools.cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties(family=[FONT]))).get_charmap())


def drawable(words: str, most: int) -> str:
    """One line of at most `most` characters: what the font has no glyph for becomes a question mark.

    Control characters would make an SVG that is not XML; a missing glyph makes matplotlib warn.
    """
    line = " ".join(words[: 4 * most].split())
    if len(line) > most:
        line = line[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return "".join(letter if ord(letter) in _glyphs() else "?" for letter in line)
