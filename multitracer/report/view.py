"""One choice of the page: all connections or one, with its diagnosis, its figure and its tables."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Mapping
from typing import Any

from multitracer import registry
from multitracer.model.derived import plain
from multitracer.model.errors import UsageError
from multitracer.model.frozen import frozen
from multitracer.output.digest import digest
from multitracer.output.results import Answers
from multitracer.plots.bokeh.pack import deflate
from multitracer.plots.folding import find, with_corners
from multitracer.plots.plot import PlotOptions
from multitracer.report.explanations import explanations
from multitracer.report.facts import facts
from multitracer.report.interactive import MOST_POINTS, Interactive, interactive
from multitracer.report.markup import Markup, clean, data_block, join, tag
from multitracer.report.page_text import micro, portable
from multitracer.report.sections import diagnosis, figures, headline, subtitle
from multitracer.report.stills import reset_gaps
from multitracer.report.tables import sources, tables

Object = Mapping[str, Any]

KIND = "multilayer"
FOLD = 0.04  # of the time window: shorter emptiness is not worth a break
CAPTURES = ("pcap", "pcapng")
CONNECTIONS = 5_000
"""A page shows so many at most: of more, the worst and those with most data."""


@frozen
class View:
    """The pieces of one choice.

    Attributes
    ----------
    key : str
        ``all``, or the number of the connection: what an address of the page names.
    headline : str
        The main cause, as the list of choices has it.
    contract : mapping
        As of ``multitracer analyze --json``.
    sections : mapping of str to Markup
        Content of the page's sections by their id.
    drawn : Interactive or None
    points : mapping
        What a click on a point needs: files, explanations.
    """

    key: str
    headline: str
    contract: Object
    sections: Mapping[str, Markup]
    drawn: Interactive | None
    points: Object

    @property
    def kept(self) -> int:
        """Points of its figure that are on the page."""
        return 0 if self.drawn is None else self.drawn.kept

    def packed(self) -> Markup:
        """All of it as data, for a page that shows another one first: unpacked when it is chosen."""
        what = {
            "sections": dict(self.sections),
            "figure": None if self.drawn is None else self.drawn.description,
            "points": self.points,
        }
        text = json.dumps(what, allow_nan=False, separators=(",", ":"))
        block = data_block(f"view-{self.key}", deflate(text.encode()))
        return join(block, None if self.drawn is None else self.drawn.data)


def view_of(
    analysis: Answers,
    key: str,
    fold_s: float | None = None,
    *,
    most_points: int = MOST_POINTS,
    most_explanations: int = 0,
    first: bool = False,
) -> View:
    """Make a view of an analysis.

    Parameters
    ----------
    analysis : Answers
    key : str
        See `View`.
    fold_s : float, optional
        As for `multitracer.report.render`.
    most_points : int
        Points of the figure that the page still bears.
    most_explanations : int
        Explanations that it still bears.
    first : bool
        The page opens with this view.
    """
    contract = analysis.contract(CONNECTIONS)
    if len(contract["connections"]) > CONNECTIONS:
        contract = _of_many(contract)
    plot = registry.plots()[KIND]
    figure = None
    if not analysis.measurement.summarised:
        with contextlib.suppress(UsageError):  # no segment and no frame on the timeline
            figure = plot.build(analysis.measurement, analysis.results, PlotOptions())
    drawn, stills = None, Markup("")
    if figure is not None:
        fold = find(figure, fold_s or FOLD * (figure.window[1] - figure.window[0]))
        drawn = interactive(
            analysis.measurement,
            figure if fold is None else with_corners(figure, fold),
            clock=contract["t0_unix_s"] is not None,
            fold=fold,
            folded=fold_s is not None,
            key=key,
            most=most_points,
            first=first,
        )
        stills = reset_gaps(analysis, contract, plot)
    found = facts(contract)
    return View(
        key,
        headline(contract, found),
        contract,
        {
            "diagnosis": diagnosis(contract, found),
            "figures": figures(drawn, contract, stills),
            "tables": join(tag("h2", "Tables"), tables(contract)),
            "sources": join(tag("h2", "Sources"), sources(contract)),
            "subtitle": join(subtitle(contract)),
        },
        drawn,
        _points(analysis, contract, most_explanations),
    )


def _of_many(contract: dict[str, Any]) -> dict[str, Any]:
    """The contract with the worst connections and the largest, and with how many there are."""
    found = contract["connections"]
    summary = digest(found, CONNECTIONS // 2)
    places = dict.fromkeys((*summary["worst"], *summary["largest"], *range(CONNECTIONS)))
    shown = sorted(list(places)[:CONNECTIONS])
    made = {"connections": [found[place] for place in shown], "connections_in_all": len(found)}
    return plain(contract | made)


def _points(analysis: Answers, contract: Object, most_explanations: int) -> Object:
    """Files by number, the display filters of connections, the command that explains, and explanations."""
    paths = [source.path for source in analysis.measurement.sources]
    folders = {os.path.dirname(path) for path in paths}
    shown = [next(iter(folders))] if len(paths) > 1 and len(folders) == 1 and next(iter(folders)) else paths
    return {
        "sources": [
            {
                "name": clean(os.path.basename(source.path)),
                "quoted": clean(shlex.quote(os.path.basename(source.path))),
                "capture": source.layer == "tcp" and source.format in CAPTURES,
                "sender": source.point == "snd",
            }
            for source in analysis.measurement.sources
        ],
        "explain": clean(portable(["multitracer", "explain", *shown])),
        "explanations": {
            key: [clean(micro(word)) for word in words]
            for key, words in (
                explanations(analysis, most_explanations) if most_explanations > 0 else {}
            ).items()
        },
    }
