"""The page of an analysis, as text or as a file that appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Any

from multitracer import registry
from multitracer.model.errors import UsageError
from multitracer.output.digest import digest
from multitracer.output.results import Answers
from multitracer.plots.folding import find, with_corners
from multitracer.plots.plot import PlotOptions
from multitracer.report.document import document
from multitracer.report.facts import facts
from multitracer.report.interactive import interactive
from multitracer.report.markup import Markup
from multitracer.report.stills import reset_gaps

KIND = "multilayer"
CONNECTIONS = 5_000
"""A page shows so many at most: of more, the worst and those with most data."""
FOLD = 0.04  # of the time window: shorter emptiness is not worth a break


def render(analysis: Answers, title: str | None = None, fold_s: float | None = None) -> str:
    """The page as text.

    Parameters
    ----------
    analysis : Answers
    title : str, optional
        Heading; by default the directory of the sources.
    fold_s : float, optional
        Begin with empty time longer than this folded; by default time is drawn whole, and the reader may fold
        what is longer than a twenty-fifth of it.

    Returns
    -------
    str
        HTML that needs no other file and no network.
    """
    import multitracer

    contract = analysis.to_dict()
    if len(contract["connections"]) > CONNECTIONS:
        contract = _of_many(contract)
    plot = registry.plots()[KIND]
    try:
        figure = plot.build(analysis.measurement, analysis.results, PlotOptions())
    except UsageError:
        figure = None  # no segment and no frame on the timeline
    drawn, stills = None, Markup("")
    if figure is not None:
        fold = find(figure, fold_s or FOLD * (figure.window[1] - figure.window[0]))
        drawn = interactive(
            analysis.measurement,
            figure if fold is None else with_corners(figure, fold),
            clock=contract["t0_unix_s"] is not None,
            fold=fold,
            folded=fold_s is not None,
        )
        stills = reset_gaps(analysis, contract, plot)
    return document(
        title or _title(analysis), contract, facts(contract), drawn, stills, multitracer.__version__
    )


def _of_many(contract: dict[str, Any]) -> dict[str, Any]:
    """The contract with the worst connections and the largest, and with how many there are."""
    found = contract["connections"]
    told = digest(found, CONNECTIONS // 2)
    places = dict.fromkeys((*told["worst"], *told["largest"], *range(CONNECTIONS)))
    shown = sorted(list(places)[:CONNECTIONS])
    return contract | {"connections": [found[place] for place in shown], "connections_in_all": len(found)}


def write(
    analysis: Answers,
    path: str | os.PathLike[str],
    title: str | None = None,
    fold_s: float | None = None,
) -> None:
    """Write the page.

    Parameters
    ----------
    analysis : Answers
    path : str | os.PathLike[str]
        The file.
    title : str, optional
        None: made of the names of files.
    fold_s : float, optional
        As for `render`.

    Raises
    ------
    UsageError
        The file cannot be written.
    """
    write_text(path, render(analysis, title, fold_s))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a page that is made already; the file appears complete or not at all.

    Raises
    ------
    UsageError
        The file cannot be written.
    """
    target = Path(path)
    temporary = target.parent / f".multitracer-{secrets.token_hex(8)}.html"
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, target)
    except OSError as error:
        raise UsageError(
            f"{target}: cannot be written: {error.strerror or error}; choose another place"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _title(analysis: Answers) -> str:
    """The directory that holds the sources, or the name of the only one."""
    paths = [os.path.abspath(source.path) for source in analysis.measurement.sources]
    if len(paths) == 1:
        return os.path.basename(paths[0])
    return os.path.basename(os.path.commonpath([os.path.dirname(path) for path in paths])) or "Measurement"
