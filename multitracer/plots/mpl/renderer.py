"""The renderer for print: a `Figure` drawn by matplotlib.

It makes `matplotlib.figure.Figure` objects and never touches pyplot or the global settings, so that it works
in notebooks, threads and servers.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from multitracer.model.errors import UsageError
from multitracer.plots.mpl.axes import dress_figure, dress_panel, legend
from multitracer.plots.mpl.canvas import Canvas
from multitracer.plots.mpl.fold import draw_breaks
from multitracer.plots.mpl.marks import draw_marks
from multitracer.plots.mpl.pieces import draw_pieces
from multitracer.plots.mpl.series import draw_lanes, draw_series, draw_shades
from multitracer.plots.panel import Figure
from multitracer.plots.theme import ThemeName

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
SIZE = (16.0, 10.0)
DPI = 100.0


def draw(
    figure: Figure,
    path: str | Path | None = None,
    *,
    size: tuple[float, float] = SIZE,
    dpi: float = DPI,
    theme: ThemeName | None = None,
) -> MplFigure:
    """Draw a figure, and save it if a path is given.

    Parameters
    ----------
    figure : Figure
    path : str | Path, optional
        PNG, PDF or SVG by its suffix; None: it is not saved.
    size : tuple of float
        Width and height in inches.
    dpi : float
        Pixels per inch: the default makes 1600 x 1000 pixels.
    theme : {"light", "dark"}, optional
        The figure's own if not given.

    Raises
    ------
    UsageError
        If the suffix of the path is unknown, the size is unusable, or the file cannot be written.
    """
    if path is not None:
        file_format(path)
    if not (2.0 <= size[0] <= 200.0 and 2.0 <= size[1] <= 200.0 and 10.0 <= dpi <= 2400.0):
        raise UsageError(f"figure of {size[0]:g} x {size[1]:g} inches at {dpi:g} dpi: too small or too large")
    canvas = Canvas(figure, size, dpi, theme or figure.theme)
    for panel, axes in zip(figure.panels, canvas.axes, strict=True):
        dress_panel(canvas, panel, axes)
        if figure.fold is not None:
            draw_breaks(canvas, panel, axes, figure.fold)
    dress_figure(canvas)
    for panel, axes in zip(figure.panels, canvas.axes, strict=True):
        if panel.lanes:
            draw_lanes(canvas, panel, axes)
        else:
            draw_shades(canvas, panel, axes)
            draw_series(canvas, panel, axes)
        draw_pieces(canvas, panel, axes)
        draw_marks(canvas, panel, axes)
        legend(canvas, panel, axes)
    if path is not None:
        save(canvas.mpl, path)
    return canvas.mpl


def save(fig: MplFigure, path: str | Path) -> None:
    """Write a drawn figure: PNG, SVG or PDF by the suffix. The file appears complete or not at all.

    Raises
    ------
    UsageError
        If the suffix is unknown or the file cannot be written.
    """
    target = Path(path)
    kind = file_format(target)
    # A date in the file would make every run differ.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    temporary = target.parent / f".multitracer-{secrets.token_hex(8)}{target.suffix}"
    try:
        with temporary.open("xb") as file:
            fig.savefig(file, format=kind, dpi=fig.dpi, facecolor=fig.get_facecolor(), metadata=metadata)
        os.replace(temporary, target)
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def file_format(path: str | Path) -> str:
    """The format that a path's suffix asks for; `UsageError` if it is not one of ours."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f"{path}: no picture format for suffix {suffix!r}; known are {known}")
    return FORMATS[suffix]
