"""Figures of the index page, in both themes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.batch.study import Pivot
from multitracer.model.errors import UsageError
from multitracer.plots.figures.figure_6 import build_rows
from multitracer.plots.figures.parameters import Point, build_points
from multitracer.plots.panel import Figure
from multitracer.plots.theme import THEMES
from multitracer.report.markup import Markup, tag
from multitracer.report.stills import png_uri

SIZE = (11.0, 6.2)
DPI = 84.0


def histogram(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """Figure 6 of the rows; empty markup if no utilization is known."""
    try:
        figure = build_rows(rows)
    except UsageError:
        return Markup("")
    return picture(figure, figure.subtitle)


def study_figure(study: Pivot) -> Figure:
    """A metric over parameters, as a figure.

    Raises
    ------
    UsageError
        More values of the second parameter than curves can be told apart.
    """
    points = [
        Point(
            cell.row, "" if cell.column is None else str(cell.column), cell.median, cell.q1, cell.q3, cell.n
        )
        for cell in study.cells
    ]
    return build_points(points, study.metric, study.rows, study.columns or "")


def study_chart(study: Pivot) -> Markup:
    """A metric over parameters, as images."""
    try:
        figure = study_figure(study)
    except UsageError as error:
        return tag("p", str(error), class_="note")
    return picture(figure, f"{study.metric} over {study.rows}")


def picture(figure: Figure, words: str) -> Markup:
    """A figure as images: the page shows that of its theme."""
    images = [
        tag(
            "img",
            src=png_uri(figure, name, SIZE, DPI),
            alt=words,
            class_=f"{name}-only",
            width=str(round(SIZE[0] * DPI)),
            height=str(round(SIZE[1] * DPI)),
        )
        for name in THEMES
    ]
    return tag("figure", images)
