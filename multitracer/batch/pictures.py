"""Figures of the index page, in both themes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.batch.study import SIZE, Pivot, study_figure
from multitracer.model.errors import UsageError
from multitracer.plots.figures.utilization import build_rows
from multitracer.plots.panel import Figure
from multitracer.report import stills
from multitracer.report.markup import Markup, tag

NARROW = (4.3, 5.6)
"""Inches of the same figure on a phone."""


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
    return tag("figure", stills.picture(figure, words, SIZE, NARROW))
