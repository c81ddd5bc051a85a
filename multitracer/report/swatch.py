"""Swatches of the page's legends."""

from __future__ import annotations

from multitracer.plots.bokeh.layers import LayerKind
from multitracer.plots.panel import Role
from multitracer.plots.theme import THEMES
from multitracer.report.markup import Markup, tag

SHAPES = {
    "o": "M12 2a4 4 0 1 0 .01 0z",
    "s": "M8 2h8v8h-8z",
    "D": "M12 1l5 5-5 5-5-5z",
    "^": "M12 1l5 9h-10z",
    "v": "M12 11l5-9h-10z",
    "x": "M8 2l8 8M16 2l-8 8",
    "X": "M8 2l8 8M16 2l-8 8M12 1v10",
    "P": "M12 1v10M7 6h10",
}
SOLID = 0.55  # least opacity of a bar, as the picture has it
DASHES = {"solid": None, "dashed": "5 3", "dotted": "1.5 2.5", "dashdot": "6 2 1.5 2"}


def swatch(role: Role, kind: LayerKind, *, still: bool = False) -> Markup:
    """A small picture of how a role looks in a legend.

    Parameters
    ----------
    role : str
    kind : str
        Of the layer that is named.
    still : bool
        Next to a picture: a dark page turns both in the same way. Else in the colours of both themes.
    """
    look = THEMES["light"].looks[role]
    dark = THEMES["dark"].looks[role]
    strokes = look.symbol in ("x", "X", "P") or look.hollow
    if kind in ("points", "marks"):
        shape = tag(
            "path",
            d=SHAPES.get(look.symbol, SHAPES["o"]),
            fill="none" if strokes else "currentColor",
            stroke="currentColor" if strokes else None,
            stroke_width="1.6",
        )
    elif kind in ("bands", "bars"):
        solid = f"{max(look.alpha, SOLID):g}" if still else None
        shape = tag("rect", x="1", y="1", width="22", height="10", fill="currentColor", fill_opacity=solid)
    else:
        shape = tag(
            "path",
            d="M1 6h22",
            stroke="currentColor",
            stroke_width=str(max(look.width, 1.5)),
            stroke_dasharray=DASHES[look.dash],
            fill="none",
        )
    return tag(
        "svg",
        shape,
        class_="swatch still" if still else "swatch",
        viewBox="0 0 24 12",
        width="24",
        height="12",
        aria_hidden="true",
        style=f"--light:{look.color};--dark:{dark.color}",
    )
