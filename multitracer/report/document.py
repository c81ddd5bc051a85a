"""The page put together, under a policy that lets nothing run but our own script."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from multitracer.report.facts import Fact
from multitracer.report.interactive import Interactive
from multitracer.report.markup import Markup, join, raw, tag
from multitracer.report.page_text import duration, rate, share
from multitracer.report.tables import sources, tables, way

Object = Mapping[str, Any]

SCRIPTS = ("unpack.js", "lod.js", "fold.js", "plot.js", "tables.js", "start.js")
WHOLE = ("utilization", "well")  # sentences that the number at the head stands for
KEYS = (
    ("ArrowLeft", "←", "Earlier"),
    ("ArrowRight", "→", "Later"),
    ("+", "+", "Closer"),
    ("-", "−", "Wider"),
    ("0", "0", "All"),
)


def document(
    title: str,
    contract: Object,
    found: list[Fact],
    drawn: Interactive | None,
    stills: Markup,
    version: str,
) -> str:
    """The whole page as text.

    Parameters
    ----------
    title : str
    contract : Object
        The results as `analyze --json` has them.
    found : list of Fact
        What is told above all else.
    drawn : Interactive or None
        The interactive figure; None without one.
    stills : Markup
        Figures as images.
    version : str
        Of the program.

    Returns
    -------
    str
        HTML that needs no other file.
    """
    scripts = [bokeh_script()] if drawn is not None else []
    scripts.append("".join(asset(name) for name in SCRIPTS))
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy(scripts)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content=f"MultiTracer {version}"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · MultiTracer"),
        raw("style", asset("page.css")),
    ]
    body = [
        _header(title, contract),
        tag(
            "main",
            _diagnosis(contract, found),
            _figures(drawn, contract, stills),
            tag("section", tag("h2", "Tables"), tables(contract), id="tables", class_="block"),
            tag("section", tag("h2", "Sources"), sources(contract), id="sources", class_="block"),
        ),
        tag("footer", f"MultiTracer {version}. This page holds everything it shows and asks no network."),
    ]
    if drawn is not None:
        body.append(drawn.description)
    body += [raw("script", script) for script in scripts]
    if drawn is not None:
        body.append(drawn.data)
    page = tag("html", tag("head", head), tag("body", body), lang="en")
    return f"<!doctype html>\n{page}\n"


def policy(scripts: list[str]) -> str:
    """The content security policy: scripts by their hash, no network, no plug-in, no form, no base.

    Bokeh writes its style into the document, so styles are allowed inline; a style cannot load anything,
    because the policy allows images from data only and fonts from nowhere.
    """
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def asset(name: str) -> str:
    """A script or style of ours."""
    return (files("multitracer.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def bokeh_script() -> str:
    """BokehJS as its package brings it."""
    import bokeh

    path = Path(os.path.dirname(bokeh.__file__), "server", "static", "js", "bokeh.min.js")
    return path.read_text(encoding="utf-8")


def _header(title: str, contract: Object) -> Markup:
    links = [tag("a", words, href=f"#{name}") for name, words in _CHAPTERS]
    theme = tag("button", "Light / dark", type="button", id="theme", title="Change between light and dark")
    return tag(
        "header",
        tag("h1", title),
        tag("p", _subtitle(contract), class_="lead"),
        tag("nav", links, theme, aria_label="Chapters"),
    )


_CHAPTERS = (
    ("diagnosis", "Diagnosis"),
    ("figures", "Figure"),
    ("tables", "Tables"),
    ("sources", "Sources"),
)


def _subtitle(contract: Object) -> str:
    connections = contract["connections"]
    if not connections:
        layers = sorted({source["layer"] for source in contract["sources"]})
        return f"No TCP capture; only: {' and '.join(layers)} log."
    most = max(connections, key=lambda one: one["bytes"]["unique"])
    count = contract.get("connections_in_all", len(connections))
    others = f"; and {count - 1:,} more connections" if count > 1 else ""
    return (
        f"{way(most)}: {most['bytes']['unique']:,} bytes in "
        f"{duration(most['end'] - most['start'])}, {rate(most['throughput_bps'])}{others}"
    )


def _diagnosis(contract: Object, found: list[Fact]) -> Markup:
    used = contract["utilization"]
    top: list[Markup] = []
    if used["value"] is not None:
        low = used["value"] <= 0.95
        said = [fact.text for fact in found if fact.kind in WHOLE]
        found = [fact for fact in found if fact.kind not in WHOLE]
        top.append(
            tag(
                "div",
                tag("strong", share(used["value"]), class_="bad" if low else "good"),
                tag("span", "of the link capacity was used"),
                tag(
                    "p",
                    f"{' '.join(said)} Source: {str(used['basis']).replace('_', ' ')}.",
                ),
                class_="used",
            )
        )
    elif "utilization" in contract["inconclusive"]:
        top.append(tag("p", f"How well the link was used: {contract['inconclusive']['utilization']}."))
    items = [_fact(fact) for fact in found]
    rest = tag("ol", items, class_="facts") if items else tag("p", _nothing(contract), class_="lead")
    note = tag(
        "p",
        "By cost: how much sooner the transfer would have been complete without the cause. Click a line to "
        "see it in the figure. multitracer analyze --explain adds the chain of events behind each.",
        class_="note",
    )
    return tag(
        "section",
        tag("h2", "Diagnosis"),
        join(top),
        rest,
        note if items else None,
        id="diagnosis",
        class_="block",
    )


def _nothing(contract: Object) -> str:
    if contract["inconclusive"]:
        return "Nothing was found that cost time; what these files cannot answer is listed under Sources."
    return "Nothing was found that cost the transfer time."


def _fact(fact: Fact) -> Markup:
    cost = "" if fact.cost_s is None else duration(fact.cost_s)
    first = fact.places[0] if fact.places else None
    more = [
        tag(
            "button",
            f"{start:,.1f} s",
            type="button",
            class_="place",
            data_from=start,
            data_to=end,
            title=f"Show {duration(end - start)} from {start:,.3f} s",
        )
        for start, end in (fact.places if len(fact.places) > 1 else ())
    ]
    heading = tag("button", fact.title, type="button", class_="go") if first else tag("b", fact.title)
    line = tag(
        "div",
        tag("span", cost, class_="cost"),
        tag("div", heading, tag("p", fact.text)),
        class_="fact",
        data_from=None if first is None else first[0],
        data_to=None if first is None else first[1],
    )
    return tag("li", line, tag("div", more, class_="places") if more else None, _rests_on(fact))


def _rests_on(fact: Fact) -> Markup | None:
    """The records and the command behind a sentence."""
    if not fact.evidence and not fact.command:
        return None
    return tag(
        "details",
        tag("summary", "Records and picture"),
        tag("p", fact.evidence) if fact.evidence else None,
        tag("code", fact.command) if fact.command else None,
        class_="rests",
    )


def _figures(drawn: Interactive | None, contract: Object, stills: Markup) -> Markup:
    if drawn is None:
        return tag(
            "section",
            tag("h2", "Figure"),
            tag("p", "Nothing to draw: neither TCP segments nor link frames on the timeline."),
            id="figures",
            class_="block",
        )
    bar: list[Markup] = [
        tag("button", label, type="button", data_key=key, title=words, aria_label=words)
        for key, label, words in KEYS
    ]
    if contract["t0_unix_s"] is not None:
        bar.append(tag("button", "Time of day", type="button", id="clock", aria_pressed="false"))
    if drawn.fold_words:
        bar.append(
            tag(
                "button",
                "Fold empty time",
                type="button",
                id="fold",
                aria_pressed="false",
                title=drawn.fold_words,
            )
        )
    bar.append(tag("output", "", id="shown"))
    missing = drawn.points - drawn.kept
    note = (
        f"{drawn.points:,} points, all on this page: what is thinned out comes back on zoom."
        if not missing
        else f"{drawn.kept:,} of {drawn.points:,} points in full; the largest series as it looks over all. "
        "multitracer plot --from --to draws any window with all points."
    )
    return tag(
        "section",
        tag("h2", "Figure"),
        tag("div", bar, id="bar", role="toolbar", aria_label="Time window"),
        tag("div", "", id="figure", tabindex="0", aria_label="Sequence numbers of all layers over time"),
        tag("noscript", tag("p", "The figure needs JavaScript; tables and pictures do not.")),
        tag(
            "p",
            "Drag to move, Ctrl and wheel to zoom, or keys: ← → move, + − zoom, 0 all. Point at anything for "
            f"its segment, frame or verdict; press a name to hide it. {note}",
            class_="note",
        ),
        tag("div", drawn.legend, id="legend"),
        stills,
        id="figures",
        class_="block",
    )
