"""Pictures of the gaps behind link resets, for reading and for paper."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.output.results import Answers
from multitracer.plots.mpl import png, renderer as mpl
from multitracer.plots.panel import Figure
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.theme import ThemeName
from multitracer.report.facts import gap_of, longest
from multitracer.report.markup import Markup, join, tag
from multitracer.report.page_text import duration

MOST = 3
SIZE = (11.0, 6.2)
NARROW = (4.3, 7.4)
"""Inches of the same picture on a phone, where the legend is below it."""
DPI = 84.0
NARROW_DPI = 130.0
COLORS = 192
"""Of a picture in a page: a palette takes a third of the bytes."""


def reset_gaps(analysis: Answers, contract: Mapping[str, Any], plot: Plot) -> Markup:
    """The longest gaps, each drawn once: in the dark theme the page turns it; empty markup without any.

    Parameters
    ----------
    analysis : Answers
    contract : mapping of str to Any
        The results as `analyze --json` has them.
    plot : Plot
        The one that draws a gap.
    """
    gaps = [gap for gap in map(gap_of, contract["link"]["resets"]) if gap is not None]
    figures = []
    for start, end in longest(list(dict.fromkeys(gaps)))[:MOST]:
        air = max(0.25 * (end - start), 0.05)
        options = PlotOptions(from_s=start - air, to_s=end + air)
        try:
            drawn = plot.build(analysis.measurement, analysis.results, options)
        except UsageError:
            continue  # nothing but the reset itself lies there
        words = f"Gap of {duration(end - start)} after a link reset, from {start:,.3f} s to {end:,.3f} s"
        go = tag("button", words, type="button", class_="go", data_from=start, data_to=end)
        figures.append(tag("figure", picture(drawn, words, SIZE, NARROW), tag("figcaption", go)))
    if not figures:
        return Markup("")
    return tag("section", tag("h3", "Gaps after link resets"), join(figures), id="gaps")


def picture(figure: Figure, words: str, wide: tuple[float, float], narrow: tuple[float, float]) -> Markup:
    """A figure as an image, which a dark page turns dark, and as a narrower one, for phones.

    Parameters
    ----------
    figure : Figure
    words : str
        In the place of the image, for those who do not see it.
    wide, narrow : (float, float)
        Width and height in inches of both; the narrow one is as legible on a phone.
    """
    image = tag(
        "img",
        src=png_uri(figure, "light", wide, DPI),
        alt=words,
        class_="still",
        width=str(round(wide[0] * DPI)),
        height=str(round(wide[1] * DPI)),
    )
    small = tag("source", media="(max-width: 620px)", srcset=png_uri(figure, "light", narrow, NARROW_DPI))
    return tag("picture", small, image)


def png_uri(figure: Figure, theme: ThemeName, size: tuple[float, float], dpi: float) -> str:
    """A figure drawn for print, as a PNG inside a link.

    Parameters
    ----------
    figure : Figure
    theme : ThemeName
    size : (float, float)
        Width and height in inches.
    dpi : float
        Pixels an inch.
    """
    drawn = mpl.draw(figure, size=size, dpi=dpi, theme=theme)
    buffer = io.BytesIO()
    png.write(drawn, buffer, colors=COLORS)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
