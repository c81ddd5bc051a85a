"""The page put together, under a policy that lets nothing run but our own script."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path

from multitracer.plots.bokeh.pack import deflate
from multitracer.report.chooser import chooser
from multitracer.report.glossary import glossary
from multitracer.report.markup import Markup, data_block, raw, tag
from multitracer.report.view import View

SCRIPTS = (
    "unpack.js",
    "lod.js",
    "fold.js",
    "plot.js",
    "tables.js",
    "point.js",
    "address.js",
    "view.js",
    "start.js",
)
SECTIONS = ("diagnosis", "figures", "tables", "sources")


def document(title: str, views: list[View], left_out: int, version: str) -> str:
    """The whole page as text.

    Parameters
    ----------
    title : str
    views : list of View
        The first is shown at first; the reader may choose among all.
    left_out : int
        Connections that cannot be chosen on this page.
    version : str
        Of the program.

    Returns
    -------
    str
        HTML that needs no other file.
    """
    first = views[0]
    drawn = any(view.drawn is not None for view in views)
    scripts = [bokeh_script()] if drawn else []
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
        _header(title, first),
        chooser(views, left_out),
        tag(
            "main",
            [tag("section", first.sections[name], id=name, class_="block") for name in SECTIONS],
            tag("section", glossary(first.sections[name] for name in SECTIONS), id="terms", class_="block"),
        ),
        tag("aside", "", id="point", hidden=True, aria_label="What was clicked", role="dialog"),
        tag("footer", f"MultiTracer {version}. This page holds everything it shows and asks no network."),
    ]
    if first.drawn is not None:
        body.append(data_block("figure-data", first.drawn.description))
    body += [raw("script", script) for script in scripts]
    body.append(data_block("points-data", {"packed": deflate(json.dumps(first.points).encode())}))
    if first.drawn is not None:
        body.append(first.drawn.data)
    body += [view.packed() for view in views[1:]]
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


def _header(title: str, first: View) -> Markup:
    links = [tag("a", words, href=f"#{name}") for name, words in _CHAPTERS]
    theme = tag("button", "Light / dark", type="button", id="theme", title="Change between light and dark")
    return tag(
        "header",
        tag("h1", title),
        tag("p", first.sections["subtitle"], class_="lead", id="subtitle"),
        tag("nav", links, theme, aria_label="Chapters"),
    )


_CHAPTERS = (
    ("diagnosis", "Diagnosis"),
    ("figures", "Figure"),
    ("tables", "Tables"),
    ("sources", "Sources"),
    ("terms", "Terms"),
)
