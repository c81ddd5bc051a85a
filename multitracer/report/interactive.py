"""The figure of the page: its Bokeh document, its legend, and all its data with it."""

from __future__ import annotations

import os
from typing import Any

from multitracer.model.frozen import frozen
from multitracer.model.timeline import Timeline
from multitracer.plots.bokeh import page
from multitracer.plots.bokeh.facts import describer
from multitracer.plots.bokeh.layers import SMALL, Layer, layers
from multitracer.plots.bokeh.pack import pack, pack_words
from multitracer.plots.fold import Fold
from multitracer.plots.panel import Figure, duration_words
from multitracer.plots.theme import THEMES
from multitracer.report.markup import Markup, data_block, join, tag
from multitracer.report.swatch import swatch

MOST_POINTS = 8_000_000
"""Points of all layers that a page carries in full; a browser holds about 50 bytes for each."""

FEW = 100
"""Rows of a layer that take no more room in the figure than packed."""

SOON = 200_000
"""Rows of a layer that a browser unpacks in some hundredths of a second, while its reader waits for it."""


@frozen
class Interactive:
    """Pieces of the page.

    Attributes
    ----------
    legend : Markup
        Buttons that hide and show.
    description : dict
        What the script needs first.
    data : Markup
        The packed points; at the end of the page, read when it stands.
    points, kept : int
        Points of the figure, and of these on the page.
    fold_words : str
        What folding would leave out; "" if there is nothing to fold.
    """

    legend: Markup
    description: dict[str, Any]
    data: Markup
    points: int
    kept: int
    fold_words: str = ""


def interactive(
    measurement: Timeline,
    figure: Figure,
    *,
    clock: bool,
    fold: Fold | None = None,
    folded: bool = False,
    key: str = "all",
    most: int = MOST_POINTS,
    first: bool = True,
) -> Interactive:
    """Prepare a figure for the page.

    Parameters
    ----------
    measurement : Timeline
    figure : Figure
        What is drawn.
    clock : bool
        Whether the time of day is known.
    fold : Fold, optional
        Empty time that the reader may fold.
    folded : bool
        Whether it is folded at first.
    key : str
        Of the view: part of the names of its blocks of data.
    most : int
        Points that the page still bears.
    first : bool
        The page opens with it: a first picture is in the figure itself. Others have theirs only packed, which
        takes a third of the room.
    """
    drawn = layers(figure, describer(measurement))
    points = sum(layer.count for layer in drawn)
    full = _within(drawn, most)
    names = tuple(os.path.basename(source.path) for source in measurement.sources)
    packed = {
        layer.id
        for layer in drawn
        if layer.id in full and layer.count > (SMALL if first or layer.count > SOON else FEW)
    }
    apart = {layer.id for layer in drawn if layer.id in packed and not first and layer.count <= SOON}
    layout = page.compose(figure, drawn, source_names=names, clock=clock, fold=fold, apart=apart)
    description = {
        "item": page.item(layout, "figure"),
        "key": key,
        "window": list(figure.window),
        "whole": list(page.whole(figure, drawn)),
        "clock_ms": figure.t0_ns / 1e6,
        "fold": None
        if fold is None
        else {
            "start": fold.start.tolist(),
            "end": fold.end.tolist(),
            "shown": fold.shown,
            "on": folded,
        },
        "panels": [
            {"name": panel.name, "zero": panel.zero, "lanes": bool(panel.lanes)} for panel in figure.panels
        ],
        "layers": [
            {
                "id": layer.id,
                "panel": layer.panel,
                "kind": layer.kind,
                "role": layer.role,
                "in_limits": layer.in_limits,
                "reach": layer.reach,
                "label": layer.label,
                "source": layer.source,
                "complete": layer.id not in packed,
                "apart": layer.id in apart,
            }
            for layer in drawn
        ],
        "themes": {
            name: {
                "ground": theme.ground,
                "ink": theme.ink,
                "faint": theme.faint,
                "grid": theme.grid,
                "colors": {layer.role: theme.looks[layer.role].color for layer in drawn},
            }
            for name, theme in THEMES.items()
        },
    }
    kept = sum(layer.count for layer in drawn if layer.count <= SMALL or layer.id in full)
    return Interactive(
        _legend(figure, drawn),
        description,
        join(_blocks(key, [layer for layer in drawn if layer.id in packed])),
        points,
        kept,
        "" if fold is None else _fold_words(fold),
    )


def _fold_words(fold: Fold) -> str:
    left = duration_words(float(fold.lengths.sum()))
    return f"Cut {len(fold.start)} stretches in which nothing happens, {left} in all"


def _within(drawn: list[Layer], most: int) -> set[str]:
    """Layers that are carried whole: the smallest first, as far as they fit."""
    found = set()
    left = most
    for layer in sorted(drawn, key=lambda layer: layer.count):
        left -= layer.count
        if left < 0:
            break
        found.add(layer.id)
    return found


def _blocks(key: str, packed: list[Layer]) -> list[Markup]:
    """A block of data for each layer, in the order in which the page unpacks them."""
    blocks, before = [], dict[str, Any]()
    for layer in packed:
        found = pack(layer.columns, before)
        if layer.words:
            found["words"] = pack_words(layer.words)
        before[layer.id] = layer.columns["x"]
        blocks.append(data_block(f"data-{key}-{layer.id}", found))
    return blocks


def _legend(figure: Figure, drawn: list[Layer]) -> Markup:
    groups: dict[str, list[Layer]] = {}
    for layer in drawn:
        if layer.kind != "shades":
            groups.setdefault(layer.group, []).append(layer)
    return join(
        [
            tag(
                "fieldset",
                tag("legend", group or "Events"),
                [
                    tag(
                        "button",
                        swatch(layer.role, layer.kind),
                        tag("span", layer.label),
                        tag("small", f"{layer.count:,}"),
                        type="button",
                        aria_pressed="true",
                        data_layer=layer.id,
                    )
                    for layer in members
                ],
            )
            for group, members in groups.items()
        ]
    )
