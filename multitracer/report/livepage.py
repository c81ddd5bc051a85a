"""The page of a capture that is still written: it asks for the running summary, and shows it."""

from __future__ import annotations

import base64
import hashlib

from multitracer.report.document import asset
from multitracer.report.markup import data_block, raw, tag


def live_page(name: str, interval_s: float) -> tuple[bytes, str]:
    """The page and its content policy.

    Parameters
    ----------
    name : str
        Of the capture.
    interval_s : float
        How often it asks.

    Returns
    -------
    page : bytes
    policy : str
        Nothing but its own script and style, and requests to where it came from.
    """
    script, style = asset("live.js"), asset("page.css") + asset("live.css")
    headings = ("from", "to", "rate", "RTT", "in flight", "sent", "retr.", "timeouts")
    body = tag(
        "body",
        tag("header", tag("h1", name), tag("p", "Waiting for packets", id="sofar", class_="lead")),
        tag(
            "main",
            tag(
                "section",
                tag("p", "Main cause, last interval", class_="kicker"),
                tag("h2", "Not known yet", id="cause", aria_live="polite"),
                tag("div", "", id="chart"),
                tag("p", "", id="caption", class_="note"),
                class_="block",
            ),
            tag(
                "section",
                tag("h2", "Busiest connections", id="busy"),
                tag(
                    "div",
                    tag(
                        "table",
                        tag("thead", tag("tr", [tag("th", one, scope="col") for one in headings])),
                        tag("tbody", "", id="busiest"),
                    ),
                    class_="scroll",
                ),
                class_="block",
            ),
            tag("section", tag("h2", "Intervals"), tag("ol", "", id="intervals"), class_="block"),
        ),
        data_block("settings", {"interval_ms": max(round(1000 * interval_s), 100)}),
        raw("script", script),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{name} · live · MultiTracer"),
        raw("style", style),
    )
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n".encode("utf-8", "replace"), policy


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
