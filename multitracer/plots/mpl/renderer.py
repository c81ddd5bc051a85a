"""The renderer for print: a `Figure` drawn by matplotlib.

It makes `matplotlib.figure.Figure` objects and never touches pyplot or the global settings, so that it works
in notebooks, threads and servers.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from multitracer.model.complete_files import completed
from multitracer.model.errors import UsageError
from multitracer.plots.appearance import Appearance, renamed
from multitracer.plots.drawable_text import drawable
from multitracer.plots.mpl import png
from multitracer.plots.mpl.axes import dress_panel
from multitracer.plots.mpl.canvas import Canvas
from multitracer.plots.mpl.fold import draw_breaks
from multitracer.plots.mpl.layout import arrange
from multitracer.plots.mpl.marks import draw_marks
from multitracer.plots.mpl.pieces import draw_pieces
from multitracer.plots.mpl.series import draw_lanes, draw_series, draw_shades
from multitracer.plots.panel import Figure
from multitracer.plots.theme import ThemeName

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}


def draw(
    figure: Figure,
    path: str | Path | None = None,
    *,
    size: tuple[float, float] | None = None,
    dpi: float | None = None,
    theme: ThemeName | None = None,
    appearance: Appearance | None = None,
) -> MplFigure:
    """Draw a figure, and save it if a path is given.

    The label of the matplotlib figure holds title, subtitle and notes: the words of a caption.

    Parameters
    ----------
    figure : Figure
    path : str or Path, optional
        PNG, PDF or SVG by its suffix; not saved if not given.
    size : tuple of float, optional
        Width and height in inches, in the place of those of `appearance`; a figure whose content needs more
        becomes higher.
    dpi : float, optional
        Pixels per inch, in the place of those of `appearance`.
    theme : {"light", "dark"}, optional
        The figure's own if not given.
    appearance : Appearance, optional
        Size, type, legend, colours; 1600 x 1000 pixels for a screen if not given.

    Raises
    ------
    UsageError
        If the suffix of the path is unknown, the size is unusable, or the file cannot be written.
    """
    if path is not None:
        file_format(path)
    appearance = appearance or Appearance()
    style = appearance.defaults
    width, height = size or (appearance.inches or style.width, appearance.height)
    if height is None and appearance.width is None:
        height = style.height
    dpi = dpi or appearance.dpi or style.dpi
    inches = height or style.height or width
    if not (1.0 <= width <= 200.0 and 1.0 <= inches <= 200.0 and 10.0 <= dpi <= 2400.0):
        raise UsageError(f"figure of {width:g} x {inches:g} inches at {dpi:g} dpi: too small or too large")
    named = renamed(figure, appearance.names)
    caption = ". ".join(words for words in (named.title, named.subtitle, *named.notes) if words)
    figure = appearance.dressed(figure)
    canvas = Canvas(figure, (width, inches), dpi, theme or figure.theme, appearance)
    canvas.mpl.set_label(drawable(caption, 2000))
    for panel, axes in zip(figure.panels, canvas.axes, strict=True):
        dress_panel(canvas, panel, axes)
    arrange(canvas, height, fixed=size is None and appearance.height is not None)
    if figure.fold is not None:
        for panel, axes in zip(figure.panels, canvas.axes, strict=True):
            draw_breaks(canvas, panel, axes, figure.fold)
    for panel, axes in zip(figure.panels, canvas.axes, strict=True):
        if panel.lanes:
            draw_lanes(canvas, panel, axes)
        else:
            draw_shades(canvas, panel, axes)
            draw_series(canvas, panel, axes)
        draw_pieces(canvas, panel, axes)
        draw_marks(canvas, panel, axes)
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
    try:
        with completed(target, target.suffix) as temporary, open(temporary, "xb") as file:
            if kind == "png":
                png.write(fig, file)
            else:
                fig.savefig(file, format=kind, dpi=fig.dpi, facecolor=fig.get_facecolor(), metadata=metadata)
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror or error}") from error


def file_format(path: str | Path) -> str:
    """The format that a path's suffix asks for; `UsageError` if it is not one of ours."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f"{path}: no picture format for suffix {suffix!r}; known are {known}")
    return FORMATS[suffix]
