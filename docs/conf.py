"""How Sphinx builds the documentation site (`make docs`): pages are the Markdown files beside this one."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

_CARGO = tomllib.loads((Path(__file__).parent.parent / "Cargo.toml").read_text(encoding="utf-8"))

project = "MultiTracer"
author = "the MultiTracer maintainers"
release = _CARGO["workspace"]["package"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# README.md is the same list for who reads the folder as it is; index.md includes it.
exclude_patterns = ["README.md", "notebooks/**"]

myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings state types, shapes and units
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"MultiTracer {release}"
html_copy_source = False
html_show_sourcelink = False
# Code blocks show terminals and files; what no lexer knows is left plain.
highlight_language = "none"

_ELSEWHERE = {
    "index": "docs/README.md",
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
    "security": "SECURITY.md",
    "samples": "sample_traces/README.md",
    "benchmarks": "benchmarks/README.md",
}
"""Pages whose text stands in another file of the project, by page."""

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
_ROOT = Path(__file__).parent.parent


def _links_from(text: str, folder: Path, page: Path) -> str:
    """The text with its links, which are relative to `folder`, made relative to the page."""
    pages = {_ROOT / name: _ROOT / "docs" / f"{page}.md" for page, name in _ELSEWHERE.items()}

    def link(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / match[1]))
        return os.path.relpath(pages.get(target, target), page.parent)

    return _LINK.sub(link, text)


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the text of another file into its page, and let links to such files lead to their pages."""
    page = _ROOT / "docs" / f"{docname}.md"
    source[0] = _links_from(source[0], page.parent, page)
    if docname in _ELSEWHERE:
        file = _ROOT / _ELSEWHERE[docname]
        app.env.note_dependency(str(file))
        own = source[0] if docname == "index" else ""
        source[0] = f"{_links_from(file.read_text(encoding='utf-8'), file.parent, page)}\n{own}"


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _read)
