"""Straight pieces: data bars, packets' ways, and dimension lines with their words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multitracer.plots.decimate import Indices
from multitracer.plots.drawable_text import FONT, drawable
from multitracer.plots.fold import Floats
from multitracer.plots.mpl.canvas import Canvas
from multitracer.plots.mpl.label_placement import LabelPlacement
from multitracer.plots.mpl.text import text_width, wrapped
from multitracer.plots.panel import Panel, Pieces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RASTER = 4_000  # pieces from which they become an image inside SVG and PDF
FINE = 2  # columns and rows per pixel
WORDED = 400  # pieces of one kind from which words could only hide each other
TEXT_POINTS = 9.0
LONG = 24  # letters from which words may take several lines


class Box(NamedTuple):
    """Words in lines, with their width and the height of a line in pixels."""

    lines: list[str]
    wide: float
    line: float


def draw_pieces(canvas: Canvas, panel: Panel, axes: Axes) -> None:
    """All pieces of a panel; of those that cover the same pixels, one.

    Parameters
    ----------
    canvas : Canvas
    panel : Panel
    axes : Axes
        Of the panel; drawn into.
    """
    for pieces in panel.pieces:
        seen = np.flatnonzero(pieces.inside(canvas.figure.window))
        if not len(seen):
            continue
        ends = _ends(canvas, axes, pieces, seen)
        seen, ends = _distinct(seen, ends)
        _lines(canvas, axes, pieces, seen)
        if pieces.ends != "plain":
            _heads(canvas, axes, pieces, seen, ends)
        if any(pieces.texts) and len(seen) <= WORDED:
            if id(panel) not in canvas.placements:
                canvas.placements[id(panel)] = _taken(canvas, panel, axes)
            _words(canvas, axes, pieces, seen, ends, canvas.placements[id(panel)])


def _ends(canvas: Canvas, axes: Axes, pieces: Pieces, seen: Indices) -> Floats:
    """Both ends in pixels: x, y, x_end, y_end by column."""
    x, y = canvas.to_pixels(axes, canvas.x(pieces.x[seen]), pieces.y[seen])
    x_end, y_end = canvas.to_pixels(axes, canvas.x(pieces.x_end[seen]), pieces.y_end[seen])
    return np.stack([x, y, x_end, y_end], axis=1)


def _distinct(seen: Indices, ends: Floats) -> tuple[Indices, Floats]:
    if len(seen) <= RASTER:
        return seen, ends
    # Four pixel numbers in one integer: what lies outside is clipped to the rim, where it is not seen.
    cells = np.clip(ends * FINE + 1000, 0, 32_767).astype(np.int64)
    key = ((cells[:, 0] << 45) | (cells[:, 1] << 30)) | ((cells[:, 2] << 15) | cells[:, 3])
    kept = np.sort(np.unique(key, return_index=True)[1])
    return seen[kept], ends[kept]


def _lines(canvas: Canvas, axes: Axes, pieces: Pieces, seen: Indices) -> None:
    from matplotlib.collections import LineCollection

    look = canvas.theme.looks[pieces.role]
    begin = np.c_[canvas.x(pieces.x[seen]), pieces.y[seen]]
    end = np.c_[canvas.x(pieces.x_end[seen]), pieces.y_end[seen]]
    lines = LineCollection(
        list(np.stack([begin, end], axis=1)),
        colors=look.color,
        # A range is one stroke, whatever the dashes of its curve.
        linestyles="solid" if pieces.role.startswith("curve") else look.dash,
        linewidths=look.width,
        alpha=look.alpha,
        zorder=5.2 if pieces.ends == "dimension" else 3.6,
        rasterized=len(seen) > RASTER,
    )
    lines.set_gid(drawable(pieces.name, 60))
    axes.add_collection(lines, autolim=False)


def _heads(
    canvas: Canvas,
    axes: Axes,
    pieces: Pieces,
    seen: Indices,
    ends: Floats,
) -> None:
    """A stroke across both ends of a dimension; a triangle at the end of an arrow."""
    from matplotlib.markers import MarkerStyle
    from matplotlib.transforms import Affine2D

    look = canvas.theme.looks[pieces.role]
    turned = np.degrees(np.arctan2(ends[:, 3] - ends[:, 1], ends[:, 2] - ends[:, 0]))
    for index, angle in zip(seen.tolist(), turned.tolist(), strict=True):
        x, y = canvas.x(pieces.x[index : index + 1]), pieces.y[index : index + 1]
        x_end, y_end = canvas.x(pieces.x_end[index : index + 1]), pieces.y_end[index : index + 1]
        if pieces.ends == "dimension":
            marker = MarkerStyle("|", transform=Affine2D().rotate_deg(angle))
            places = (np.r_[x, x_end], np.r_[y, y_end])
            axes.plot(
                *places,
                linestyle="none",
                marker=marker,
                markersize=canvas.pt(9),
                color=look.color,
                zorder=5.2,
            )
        else:
            marker = MarkerStyle("^", transform=Affine2D().rotate_deg(angle - 90))
            axes.plot(
                x_end,
                y_end,
                linestyle="none",
                marker=marker,
                markersize=canvas.pt(4),
                color=look.color,
                zorder=5,
            )


def _taken(canvas: Canvas, panel: Panel, axes: Axes) -> LabelPlacement:
    """Where words would hide data or marks, or be crossed by lines."""
    placement = LabelPlacement(*canvas.pixels(axes))
    for series in panel.series:
        x, y = canvas.to_pixels(axes, canvas.x(series.x), series.y)
        if series.kind == "steps":
            x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
        if series.kind in ("steps", "line"):
            placement.trace(x, y)
        else:
            placement.block(x, y, data=True)
    for marks in panel.marks:
        if marks.y is not None:
            placement.block(*canvas.to_pixels(axes, canvas.x(marks.x), marks.y), data=False)
        else:
            placement.rule(canvas.to_pixels(axes, canvas.x(marks.x), np.zeros(len(marks.x)))[0])
    for pieces in panel.pieces:
        if len(pieces.x) <= WORDED:
            # Words keep off the lines themselves.
            begin = canvas.to_pixels(axes, canvas.x(pieces.x), pieces.y)
            end = canvas.to_pixels(axes, canvas.x(pieces.x_end), pieces.y_end)
            for x, y, x_end, y_end in zip(*begin, *end, strict=True):
                placement.trace(np.array([x, x_end]), np.array([y, y_end]))
    return placement


def _steps(ends: tuple[float, ...], middle: float, box: Box, across: float) -> list[tuple[float, float]]:
    """Places for the words of a line: distances from its middle (at `middle` of `across`), the best first."""
    long, high = abs(ends[2] - ends[0]), abs(ends[3] - ends[1])
    wide, more = box.wide, (len(box.lines) - 1) * box.line / 2
    lifts = [side * (box.line * lift + more) for lift in (0.85, 1.8, 2.8) for side in (1, -1)]
    if high > long:
        heights = (0.0, 0.25 * high, -0.25 * high, 0.4 * high, -0.4 * high)
        beside = [(side * (wide / 2 + 8), height) for height in heights for side in (1, -1)]
        return [*beside, *((0.0, lift) for lift in lifts)]
    # Over or under it: in its middle, from its beginning on, up to its end; or beyond an end.
    aligned = [0.0, (wide - long) / 2 + 8, (long - wide) / 2 - 8]
    inside = [min(max(step, wide / 2 + 2 - middle), across - wide / 2 - 2 - middle) for step in aligned]
    beyond = [(side * ((long + wide) / 2 + 8), 0.0) for side in (1, -1)]
    return [*((step, lift) for lift in lifts for step in inside), *beyond]


def _boxes(canvas: Canvas, words: str) -> list[Box]:
    """Words in one line; long ones also in two and three."""
    line = canvas.points(TEXT_POINTS) * 1.2
    whole = text_width(words, TEXT_POINTS)
    found: list[Box] = []
    for count in (1, 2, 3) if len(words) >= LONG else (1,):
        lines = [words] if count == 1 else wrapped(words, whole / count * 1.2, TEXT_POINTS, most=count)
        if " ".join(lines) == words and not any(lines == one.lines for one in found):
            wide = max(text_width(one, TEXT_POINTS) for one in lines)
            found.append(Box(lines, canvas.points(wide) + 4, line))
    return found


def _placed(
    placement: LabelPlacement,
    boxes: list[Box],
    ends: tuple[float, ...],
    middle: tuple[float, float],
    across: float,
    *,
    must: bool,
) -> tuple[Box, tuple[float, float]] | None:
    """A box and its distance from the middle of a line; what `must` be shown covers others if it has to."""
    tries = [[(box, step) for step in _steps(ends, middle[0], box, across)] for box in boxes]
    # Rather across a line of the panel's height than in more lines; across data only at last.
    orders = [(some, over_rules, False) for some in tries for over_rules in (False, True)]
    if must:
        orders += [(some, True, True) for some in tries]
    for some, over_rules, over_data in orders:
        for box, (x, y) in some:
            if placement.take(
                middle[0] + x,
                middle[1] + y,
                box.wide,
                box.line * len(box.lines),
                over_data=over_data,
                over_rules=over_rules,
            ):
                return box, (x, y)
    return tries[0][0] if must else None


def _words(
    canvas: Canvas,
    axes: Axes,
    pieces: Pieces,
    seen: Indices,
    ends: Floats,
    placement: LabelPlacement,
) -> None:
    from matplotlib.patheffects import withStroke

    look = canvas.theme.looks[pieces.role]
    halo = [withStroke(linewidth=canvas.pt(3.0), foreground=canvas.theme.ground)]
    pixel = 72.0 / float(canvas.mpl.dpi)
    across, up = canvas.pixels(axes)
    for index, (x, y, x_end, y_end) in zip(seen.tolist(), ends.tolist(), strict=True):
        if not np.isfinite([x, y, x_end, y_end]).all():
            continue
        words = drawable(pieces.texts[index], 60)
        if not words:
            continue
        middle = (min(max((x + x_end) / 2, 0), across), min(max((y + y_end) / 2, 0), up))
        boxes = _boxes(canvas, words)
        must = pieces.ends == "dimension"
        found = _placed(placement, boxes, (x, y, x_end, y_end), middle, across, must=must)
        if found is None:
            continue
        box, step = found
        text = axes.annotate(
            "\n".join(box.lines),
            (middle[0], middle[1]),
            xycoords="axes pixels",
            xytext=(step[0] * pixel, step[1] * pixel),
            textcoords="offset points",
            ha="center",
            va="center",
        )
        text.set(
            color=look.color,
            fontsize=canvas.pt(TEXT_POINTS),
            fontfamily=FONT,
            parse_math=False,
            zorder=6.5,
            linespacing=1.05,
            path_effects=halo,
        )
