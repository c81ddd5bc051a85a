"""Pictures of the gaps after link resets, for reading and for paper.

A picture holds the panels only. Its legend is made of words of the page, which are next to it on a wide
screen and below it on a phone, so that one drawing serves both.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.output.results import Answers
from multitracer.plots.appearance import Appearance
from multitracer.plots.bokeh.layers import LayerKind
from multitracer.plots.mpl import png, renderer as mpl
from multitracer.plots.mpl.legend import Entry, rows
from multitracer.plots.panel import Figure, Marks, Pieces, Spans
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.theme import ThemeName
from multitracer.report.facts import gap_of, longest
from multitracer.report.markup import Markup, join, tag
from multitracer.report.page_text import duration
from multitracer.report.swatch import swatch

MOST = 3
SIZE = (5.0, 4.4)
"""Inches of a picture: its numbers are legible on a phone, and not too large on a wide screen."""
DPI = 150.0
WIDE = 580
"""Pixels that it takes on a wide screen."""
PANELS = Appearance(title=False, legend="none")
COLORS = 192
"""Of a picture in a page: a palette takes a third of the bytes."""
SMALL, NARROW = 84.0, 130.0
"""Pixels an inch of a picture that is drawn twice: for a wide screen, and for a phone."""


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
    heads: dict[str, None] = {}
    figures = []
    for start, end in longest(list(dict.fromkeys(gaps)))[:MOST]:
        air = max(0.25 * (end - start), 0.05)
        options = PlotOptions(from_s=start - air, to_s=end + air)
        try:
            drawn = plot.build(analysis.measurement, analysis.results, options)
        except UsageError:
            continue  # nothing but the reset itself is there
        words = f"Gap of {duration(end - start)} after a link reset, from {start:,.3f} s to {end:,.3f} s"
        go = tag("button", words, type="button", class_="go", data_from=start, data_to=end)
        heads[": ".join(filter(None, (drawn.title, drawn.subtitle)))] = None
        notes = tag("p", "; ".join(drawn.notes), class_="note") if drawn.notes else None
        caption = tag("figcaption", go, notes)
        figures.append(tag("figure", caption, _panels(drawn, words), _key(drawn), class_="keyed"))
    if not figures:
        return Markup("")
    lead = [tag("p", head, class_="note") for head in heads if head]
    return tag("section", tag("h3", "Gaps after link resets"), lead, join(figures), id="gaps")


def _panels(figure: Figure, words: str) -> Markup:
    """The panels of a figure as an image, which a dark page turns dark."""
    return tag(
        "img",
        src=png_uri(figure, "light", SIZE, DPI, PANELS),
        alt=words,
        class_="still",
        width=str(WIDE),
        height=str(round(WIDE * SIZE[1] / SIZE[0])),
    )


def _key(figure: Figure) -> Markup:
    """What the panels of a figure show, in their order."""
    blocks = []
    for panel in figure.panels:
        for block in rows(figure, [panel]):
            heading = [row.words for row in block if row.entry is None]
            named = [
                tag("li", swatch(row.entry.role, _kind(row.entry), still=True), tag("span", row.words))
                for row in block
                if row.entry is not None
            ]
            blocks.append(tag("div", tag("b", heading[0]) if heading else None, tag("ul", named)))
    return tag("div", blocks, class_="key")


def _kind(entry: Entry) -> LayerKind:
    if isinstance(entry, Spans):
        return "bands"
    if isinstance(entry, Marks):
        return "lines" if entry.y is None else "marks"
    return "pieces" if isinstance(entry, Pieces) else entry.kind


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
        src=png_uri(figure, "light", wide, SMALL),
        alt=words,
        class_="still",
        width=str(round(wide[0] * SMALL)),
        height=str(round(wide[1] * SMALL)),
    )
    small = tag("source", media="(max-width: 620px)", srcset=png_uri(figure, "light", narrow, NARROW))
    return tag("picture", small, image)


def png_uri(
    figure: Figure,
    theme: ThemeName,
    size: tuple[float, float],
    dpi: float,
    appearance: Appearance | None = None,
) -> str:
    """A figure drawn for print, as a PNG inside a link.

    Parameters
    ----------
    figure : Figure
    theme : ThemeName
    size : (float, float)
        Width and height in inches.
    dpi : float
        Pixels an inch.
    appearance : Appearance, optional
        The usual one if not given.
    """
    drawn = mpl.draw(figure, size=size, dpi=dpi, theme=theme, appearance=appearance)
    buffer = io.BytesIO()
    png.write(drawn, buffer, colors=COLORS)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
