"""The page of an analysis, as text or as a file that appears complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from multitracer.model.complete_files import completed
from multitracer.model.errors import UsageError
from multitracer.output.results import Answers
from multitracer.report.document import document
from multitracer.report.explanations import MOST_OF_ONE
from multitracer.report.interactive import MOST_POINTS
from multitracer.report.view import view_of

MOST_EXPLANATIONS = 2_000
"""Explanations of packets that a page carries of single connections: each takes milliseconds to make."""


def render(
    analysis: Answers,
    title: str | None = None,
    fold_s: float | None = None,
    each: Iterable[Answers] = (),
) -> str:
    """The page as text.

    Parameters
    ----------
    analysis : Answers
    title : str, optional
        Heading; by default the directory of the sources.
    fold_s : float, optional
        Begin with empty time longer than this folded; by default time is drawn whole, and the reader may fold
        what is longer than a twenty-fifth of it.
    each : iterable of Answers
        Connections of it, each analysed alone, among which the reader may choose.

    Returns
    -------
    str
        HTML that needs no other file and no network.
    """
    import multitracer

    views = [view_of(analysis, "all", fold_s, most_explanations=MOST_OF_ONE, first=True)]
    points = MOST_POINTS - views[0].kept
    share = min(max(MOST_EXPLANATIONS // max(len(analysis.measurement.connections), 1), 20), MOST_OF_ONE)
    for one in each:
        key = str(one.measurement.connections[0].index)
        view = view_of(one, key, fold_s, most_points=points, most_explanations=share)
        points -= view.kept
        views.append(view)
    left_out = max(len(analysis.measurement.connections) - (len(views) - 1), 0)
    return document(title or _title(analysis), views, left_out, multitracer.__version__)


def write(
    analysis: Answers,
    path: str | os.PathLike[str],
    title: str | None = None,
    fold_s: float | None = None,
    each: Iterable[Answers] = (),
) -> None:
    """Write the page.

    Parameters
    ----------
    analysis : Answers
    path : str | os.PathLike[str]
        The file.
    title : str, optional
        None: made of the names of files.
    fold_s, each
        As for `render`.

    Raises
    ------
    UsageError
        The file cannot be written.
    """
    write_text(path, render(analysis, title, fold_s, each))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a page that is made already; the file appears complete or not at all.

    Raises
    ------
    UsageError
        The file cannot be written.
    """
    target = Path(path)
    try:
        with (
            completed(target, ".html") as temporary,
            open(temporary, "x", encoding="utf-8", newline="\n") as file,
        ):
            file.write(text)
    except OSError as error:
        raise UsageError(
            f"{target}: cannot be written: {error.strerror or error}; choose another place"
        ) from error


def _title(analysis: Answers) -> str:
    """The directory that holds the sources, or the name of the only one."""
    paths = [os.path.abspath(source.path) for source in analysis.measurement.sources]
    if len(paths) == 1:
        return os.path.basename(paths[0])
    return os.path.basename(os.path.commonpath([os.path.dirname(path) for path in paths])) or "Measurement"
