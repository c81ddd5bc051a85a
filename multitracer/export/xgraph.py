"""Series for xgraph, one file each, as the 1999 tool wrote them.

References
----------
Paper 4.2, 4.5: "the plot data for each plot is generated into separate files"; xgraph(1), data format.
"""

from __future__ import annotations

import numpy as np

from multitracer.export.files import line, named, writing
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Figure


def write(figure: Figure, path: str) -> list[str]:
    """Write one ``<series>.xg`` per series and kind of mark into a directory.

    Returns
    -------
    list of str
        Paths written.

    Raises
    ------
    UsageError
        If the directory or a file cannot be written.
    """
    found: list[tuple[str, Floats, Floats, bool]] = []
    for panel in figure.panels:
        low, high = panel.limits(figure.window)
        found += [(one.name, one.x, one.y, one.kind == "points") for one in panel.series]
        for marks in panel.marks:
            if marks.y is not None:
                found.append((marks.name, marks.x, marks.y, True))
            else:
                # A time/event plot (RlpSnd_rst): a stroke over the height of the panel.
                x, y = np.repeat(marks.x, 2), np.tile([low, high], len(marks.x))
                found.append((marks.name, x, y, False))
    names = named(path, [name for name, *_ in found], ".xg")
    for target, (name, x, y, dots) in zip(names, found, strict=True):
        with writing(target) as file:
            file.write(f"TitleText: {line(figure.title)}\n")
            if dots:
                file.write("NoLines: true\nMarkers: true\n")
            file.write(f'"{line(name)}\n')
            keep = np.isfinite(x) & np.isfinite(y)
            np.savetxt(file, np.stack([x[keep], y[keep]], axis=1), fmt=("%.9f", "%.15g"))
    return names
