"""A figure taken apart for the page: each drawable a layer of plain columns, in order of x."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from multitracer.model.frozen import frozen
from multitracer.plots import decimate
from multitracer.plots.panel import Figure, Marks, Panel, Pieces, Role, Series, Spans

Array = npt.NDArray[Any]
LayerKind = Literal["points", "steps", "line", "bars", "marks", "lines", "bands", "shades", "pieces"]
Describe = Callable[[Series], Mapping[str, Array]]
"""More columns for the hover of a series, one value per point ("length": bytes of the segment)."""

LANE_HALF = 0.38  # half the height of a bar in its lane
SMALL = 4_000  # rows up to which a layer is drawn whole at any zoom
SHADES_AT_MOST = 400  # shades of one kind that a background bears


@frozen(eq=False)
class Layer:
    """One drawable of a panel.

    Attributes
    ----------
    id : str
        Name of its renderer in the Bokeh document; the page finds it by this.
    panel : str
        Name of the panel; "lines" cross all of them.
    columns : dict of str to array
        "x" and, by kind, "y", "x1", "y1", "width"; then those that the hover shows. Ascending in x.
    words : tuple of str
        Words of the hover, one per row; or empty.
    texts : tuple of str
        Words drawn beside each row; or empty.
    reach : float
        Longest extent of a row in x: rows that begin so much before a window may reach into it.
    """

    id: str
    panel: str
    kind: LayerKind
    name: str
    role: Role
    label: str
    group: str
    columns: dict[str, Array]
    words: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    in_limits: bool = True
    source: int = -1
    count: int = field(init=False)
    reach: float = field(init=False)

    def __post_init__(self) -> None:
        x = self.columns["x"]
        object.__setattr__(self, "count", len(x))
        far = self.columns.get("x1")
        object.__setattr__(self, "reach", float((far - x).max()) if far is not None and len(x) else 0.0)

    def seen(
        self, window: tuple[float, float], limits: tuple[float, float], columns: int, rows: int
    ) -> Array:
        """Rows that draw the same picture of a window, or all rows of a small layer.

        Parameters
        ----------
        window : (float, float)
            Begin and end in seconds.
        limits : (float, float)
            Of y.
        columns, rows : int
            How many pixels the panel has across and upwards.

        Returns
        -------
        int array
            Their indices.
        """
        x = self.columns["x"]
        if self.count <= SMALL:
            return np.arange(self.count)
        if self.kind in ("steps", "line"):
            return decimate.line(x, self.columns["y"], window, columns)
        if self.kind in ("points", "marks"):
            return decimate.points(x, self.columns["y"], window, limits, columns, rows)
        # Extended things: the longest that begins in each pixel column hides the others.
        first = int(np.searchsorted(x, window[0] - self.reach))
        last = int(np.searchsorted(x, window[1], side="right"))
        inside = np.arange(first, last)
        width = max(window[1] - window[0], 1e-12)
        column = np.clip((x[inside] - window[0]) / width * columns, 0, columns - 1).astype(np.int64)
        length = self.columns["x1"][inside] - x[inside] if "x1" in self.columns else np.zeros(len(inside))
        order = np.lexsort((-length, column))
        keep = np.r_[True, np.diff(column[order]) != 0][: len(order)]
        kept: Array = np.sort(inside[order[keep]])
        return kept


def layers(figure: Figure, describe: Describe | None = None) -> list[Layer]:
    """All drawables of a figure, those in the background first."""
    return [
        Layer(id=f"L{number}", **fields)
        for number, fields in enumerate(
            fields for panel in figure.panels for fields in _of_panel(panel, describe)
        )
        if len(fields["columns"]["x"])
    ]


def _of_panel(panel: Panel, describe: Describe | None) -> Iterator[dict[str, Any]]:
    for spans in panel.spans:
        if panel.lanes and spans.lane in panel.lanes:
            yield _bands(panel, spans)
        elif not panel.lanes and len(spans.start) <= SHADES_AT_MOST:
            yield _shades(panel, spans)
    for series in panel.series:
        yield _series(panel, series, describe)
    for pieces in panel.pieces:
        yield _pieces(panel, pieces)
    for marks in panel.marks:
        yield _marks(panel, marks)


def _series(panel: Panel, series: Series, describe: Describe | None) -> dict[str, Any]:
    columns: dict[str, Array] = {"x": series.x, "y": series.y}
    if series.kind == "bars":
        columns["width"] = np.full(len(series.x), series.width)
    if series.record is not None:
        columns["record"] = series.record
        if describe is not None and series.source >= 0:
            columns |= describe(series)
    found = _row(panel, series, series.kind, columns)
    return found | {"in_limits": series.in_limits, "source": series.source}


def _marks(panel: Panel, marks: Marks) -> dict[str, Any]:
    if marks.y is None:
        return _row(panel, marks, "lines", {"x": marks.x}, marks.details or marks.texts, marks.texts)
    beside = marks.texts or ("",) * len(marks.x)
    texts = tuple(" ".join(part for part in (marks.letter, text) if part) for text in beside)
    return _row(
        panel,
        marks,
        "marks",
        {"x": marks.x, "y": marks.y},
        marks.details or marks.texts,
        texts if any(texts) else (),
    )


def _bands(panel: Panel, spans: Spans) -> dict[str, Any]:
    row = float(panel.lanes.index(spans.lane))
    same = np.full(len(spans.start), row)
    columns = {"x": spans.start, "x1": spans.end, "y": same - LANE_HALF, "y1": same + LANE_HALF}
    return _row(panel, spans, "bands", columns, spans.details or spans.texts)


def _shades(panel: Panel, spans: Spans) -> dict[str, Any]:
    return _row(panel, spans, "shades", {"x": spans.start, "x1": spans.end}, spans.details)


def _pieces(panel: Panel, pieces: Pieces) -> dict[str, Any]:
    forth = pieces.x <= pieces.x_end
    columns = {
        "x": np.where(forth, pieces.x, pieces.x_end),
        "x1": np.where(forth, pieces.x_end, pieces.x),
        "y": np.where(forth, pieces.y, pieces.y_end),
        "y1": np.where(forth, pieces.y_end, pieces.y),
    }
    found = _row(panel, pieces, "pieces", columns, pieces.details or pieces.texts)
    return found | {"in_limits": pieces.in_limits}


def _row(
    panel: Panel,
    one: Series | Marks | Spans | Pieces,
    kind: LayerKind,
    columns: dict[str, Array],
    words: tuple[str, ...] = (),
    texts: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Fields of a layer: only finite rows, ascending in x."""
    good = np.ones(len(columns["x"]), dtype=bool)
    for name in ("x", "y", "x1", "y1"):
        if name in columns:
            good &= np.isfinite(columns[name])
    order = np.flatnonzero(good)
    x = columns["x"][order]
    if len(x) > 1 and bool(np.any(x[1:] < x[:-1])):
        order = order[np.argsort(x, kind="stable")]
    if len(order) < len(good) or bool(np.any(order[1:] < order[:-1])):
        columns = {name: column[order] for name, column in columns.items()}
        words = tuple(words[row] for row in order.tolist()) if words else ()
        texts = tuple(texts[row] for row in order.tolist()) if texts else ()
    return {
        "panel": panel.name,
        "kind": kind,
        "name": one.name,
        "role": one.role,
        "label": one.label or one.name,
        "group": one.group,
        "columns": columns,
        "words": words,
        "texts": texts,
    }
