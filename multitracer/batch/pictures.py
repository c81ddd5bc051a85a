"""Figures of the index page, in both themes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.batch.study import SIZE, Pivot, study_figure
from multitracer.model.errors import UsageError
from multitracer.plots.figures.utilization import build_rows
from multitracer.plots.panel import Figure
from multitracer.report.markup import Markup, tag
from multitracer.report.stills import png_uri

DPI = 84.0
NARROW = (4.3, 5.6)
"""Inches of the same figure on a phone: drawn for its width, it is legible and nothing is cut off."""
NARROW_DPI = 130.0


def histogram(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """Figure 6 of the rows; empty markup if no utilization is known."""
    try:
        figure = build_rows(rows)
    except UsageError:
        return Markup("")
    return picture(figure, figure.subtitle)


def study_chart(study: Pivot) -> Markup:
    """A metric over parameters, as images."""
    try:
        figure = study_figure(study)
    except UsageError as error:
        return tag("p", str(error), class_="note")
    return picture(figure, f"{study.metric} over {study.rows}")


def picture(figure: Figure, words: str) -> Markup:
    """A figure as an image, which a dark page turns dark, and as a narrower one for a phone."""
    image = tag(
        "img",
        src=png_uri(figure, "light", SIZE, DPI),
        alt=words,
        class_="still",
        width=str(round(SIZE[0] * DPI)),
        height=str(round(SIZE[1] * DPI)),
    )
    narrow = tag("source", media="(max-width: 620px)", srcset=png_uri(figure, "light", NARROW, NARROW_DPI))
    return tag("figure", tag("picture", narrow, image))
