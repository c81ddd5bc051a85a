"""The terms that a page uses, with their meaning and source, at its end."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from multitracer.model.terms import plain_source, used_in
from multitracer.report.markup import Markup, join, tag


def glossary(sections: Iterable[Markup]) -> Markup:
    """A heading and the terms that occur in the text of these sections, folded until they are wanted."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", " ".join(sections)))
    terms = used_in(text)
    rows = [
        join(
            tag("dt", term.name.replace("`", "")),
            tag("dd", term.meaning, " ", tag("cite", plain_source(term))),
        )
        for term in terms
    ]
    return join(
        tag("h2", "Terms"),
        tag(
            "details",
            tag("summary", f"The {len(rows)} terms of this page, each with its source"),
            tag("dl", rows),
            class_="terms",
        ),
    )
