"""A figure as a gnuplot script with its data in it or next to it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from multitracer.export.files import distinct, folder, line, writing
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Figure, Panel
from multitracer.plots.theme import THEMES, Look

SCRIPT = "figure.gp"
DASHES = {"solid": 1, "dashed": 2, "dotted": 3, "dashdot": 4}
POINTS = {"": 7, "o": 7, "s": 5, "^": 9, "v": 11, "D": 13, "P": 1, "X": 2, "x": 2}
HEAD = """# Drawn by: gnuplot {script}
# A file of another name or kind: gnuplot -e "output='figure.svg'; kind='svg'" {script}
if (!exists("output")) output = 'figure.png'
if (!exists("kind")) kind = 'pngcairo'
if (kind eq 'pngcairo') {{ set terminal pngcairo size 1600,1000 noenhanced }} else {{ \
set terminal @kind size 1600,1000 noenhanced }}
set output output
set key outside right top
set grid
"""


def write(figure: Figure, path: str) -> list[str]:
    """Write ``figure.gp`` and one ``.dat`` per series, kind of mark and set of pieces into a directory.

    Returns
    -------
    list of str
        Paths written, the script first.

    Raises
    ------
    UsageError
        If the directory or a file cannot be written.
    """
    folder(path)
    panels = [panel for panel in figure.panels if not panel.lanes]
    items = [(panel, *item) for panel in panels for item in _items(panel, figure)]
    names = [f"{name}.dat" for name in distinct([name for _, name, *_ in items])]
    for name, (_, words, columns, _) in zip(names, items, strict=True):
        with writing(os.path.join(path, name)) as file:
            file.write(f"# {line(words)}\n")
            keep = np.all(np.isfinite(columns), axis=1)
            np.savetxt(file, columns[keep], fmt="%.15g")
    with writing(os.path.join(path, SCRIPT)) as file:
        file.write(HEAD.format(script=SCRIPT))
        file.write(f"set multiplot layout {max(len(panels), 1)},1 title {_quoted(figure.title)}\n")
        file.write(f"set xrange [{figure.window[0]:.15g}:{figure.window[1]:.15g}]\n")
        for panel in panels:
            low, high = panel.limits(figure.window)
            file.write(f"set yrange [{low:.15g}:{high:.15g}]\nset ylabel {_quoted(str(panel.y))}\n")
            file.write(f"set xlabel {_quoted(str(figure.x))}\n")
            curves = [
                f"{_quoted(name)} {style}"
                for name, (owner, _, columns, style) in zip(names, items, strict=True)
                if owner is panel and len(columns)
            ]
            file.write("plot " + ", \\\n     ".join(curves or ["NaN notitle"]) + "\n")
        file.write("unset multiplot\n")
    return [os.path.join(path, name) for name in (SCRIPT, *names)]


def _items(panel: Panel, figure: Figure) -> Iterator[tuple[str, Floats, str]]:
    """Name, columns and style of everything in a panel."""
    looks = THEMES["light"].looks
    for one in panel.series:
        columns = np.stack([one.x, one.y], axis=1)
        look = looks[one.role]
        if one.kind == "points":
            style = f"with points {_point(look)}"
        elif one.kind == "bars":
            columns = np.stack([one.x, one.y, np.full(len(one.x), one.width)], axis=1)
            style = f"with boxes fill solid {_color(look)}"
        else:
            style = f"with {'steps' if one.kind == 'steps' else 'lines'} {_stroke(look)}"
        yield one.name, columns, f"{style} title {_quoted(one.label or one.name)}"
    for pieces in panel.pieces:
        x, y = pieces.x, pieces.y
        columns = np.stack([x, y, pieces.x_end - x, pieces.y_end - y], axis=1)
        head = {"plain": "nohead", "arrow": "head", "dimension": "heads size graph 0.005,90"}[pieces.ends]
        title = f"title {_quoted(pieces.label)}" if pieces.label else "notitle"
        yield pieces.name, columns, f"with vectors {head} {_stroke(looks[pieces.role])} {title}"
    low, high = panel.limits(figure.window)
    for marks in panel.marks:
        look, title = looks[marks.role], _quoted(marks.label or marks.name)
        if marks.y is None:
            zero = np.zeros(len(marks.x))
            columns = np.stack([marks.x, zero + low, zero, zero + high - low], axis=1)
            yield marks.name, columns, f"with vectors nohead {_stroke(look)} title {title}"
        else:
            yield (
                marks.name,
                np.stack([marks.x, marks.y], axis=1),
                f"with points {_point(look)} title {title}",
            )


def _color(look: Look) -> str:
    return f"lc rgb '{look.color}'"


def _stroke(look: Look) -> str:
    return f"lw {look.width:g} dt {DASHES[look.dash]} {_color(look)}"


def _point(look: Look) -> str:
    return f"pt {POINTS[look.symbol]} ps {max(look.size, 1.0) / 5:g} {_color(look)}"


def _quoted(words: str) -> str:
    """A string for gnuplot: in single quotes nothing but the quote means anything, so it becomes another one.

    Doubling it, as in the manual, does not work everywhere: not in the title of a multiplot.
    """
    return "'" + line(words).replace("'", "\N{RIGHT SINGLE QUOTATION MARK}") + "'"
