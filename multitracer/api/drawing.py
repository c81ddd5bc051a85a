"""A figure of one analysis or several: looked up by name, built, and rendered, saved or made interactive."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from multitracer import registry
from multitracer.model.analysis import Result
from multitracer.model.errors import UsageError
from multitracer.model.timeline import Timeline


def draw(
    answered: Mapping[str, tuple[Timeline, Mapping[str, Result]]],
    kind: str,
    path: str | os.PathLike[str] | None = None,
    *,
    interactive: bool = False,
    **options: Any,
) -> Any:
    """Draw a figure of what has been answered.

    Parameters
    ----------
    answered : mapping of str to (Timeline, mapping of str to Result)
        Measurements and their results by the name that the figure gives each; one, under any name, for
        figures that do not compare.
    kind, path, interactive, **options
        As `multitracer.plot` takes them.

    Returns
    -------
    matplotlib.figure.Figure or bokeh.models.LayoutDOM

    Raises
    ------
    UsageError
        If no figure has this name, or the format cannot do what is asked for.
    """
    known = registry.plots()
    kind = registry.plot_name(kind)
    if kind not in known:
        raise UsageError(registry.no_plot(kind))
    from multitracer.plots import plot as drawing

    content, look = drawing.split_options(options)
    subjects = [drawing.Subject(name, *one) for name, one in answered.items()]
    built = drawing.build(known[kind], subjects, content)
    if interactive:
        from multitracer.plots.bokeh import page

        if path is not None:
            raise UsageError("an interactive figure is shown, not saved: `multitracer report` writes a page")
        if look.inches or look.height or look.font_size or look.log:
            raise UsageError("an interactive figure takes neither size, nor font size, nor logarithmic axes")
        return page.of_measurement(look.dressed(built), subjects[0].measurement)
    figure = drawing.render(built, look)
    if path is not None:
        drawing.save(figure, os.fspath(path))
    return figure
