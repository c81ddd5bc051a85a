"""The documentation: every link leads somewhere, everything that exists has its page, and the site builds."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support_samples import PATIENCE_S, ROOT

from multitracer import registry
from multitracer.cli.main import group
from multitracer.reading import settingsfile

DOCS = ROOT / "docs"
PAGES = sorted(
    [
        *DOCS.rglob("*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        ROOT / "sample_traces" / "README.md",
        ROOT / "benchmarks" / "README.md",
    ]
)
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """Headings as code hosts make anchors of them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.replace("`", "")).strip().lower() for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(FENCE.sub("", text_of(page))):
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{path}: no such file (a folder has its README.md)"
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}: no such heading"


def test_every_format_is_in_the_list() -> None:
    listed = set(LINK.findall(text_of(DOCS / "formats" / "README.md")))
    for name in registry.PARSERS:
        page = ROOT / registry.parsers()[name].page
        assert (page.name, "") in listed, name


def test_every_figure_is_in_the_gallery() -> None:
    gallery = text_of(DOCS / "gallery.md")
    assert not [name for name in registry.PLOTS if not re.search(rf"-k {name}\b(?!-)", gallery)]


def test_every_command_has_its_page() -> None:
    page = text_of(DOCS / "commands.md")
    names = group.list_commands(click.Context(group))
    assert len(names) >= 12
    assert not [name for name in names if f"`multitracer {name}" not in page]


@pytest.mark.parametrize("key", settingsfile._OF_A_SOURCE)
def test_every_key_of_measurement_toml_is_documented(key: str) -> None:
    assert re.search(rf"^\| (?:`\w+`, )?`{key}`", text_of(DOCS / "measurement-toml.md"), re.MULTILINE)


@pytest.mark.timeout(2 * PATIENCE_S)
def test_the_site_builds(tmp_path: Path) -> None:
    """Warnings are errors: a broken link, a page without navigation, a docstring that is no valid text."""
    for module in ("sphinx", "myst_parser", "furo"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: the documentation site is not built")
    site = tmp_path / "site"
    words = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(tmp_path / "trees"), str(DOCS), str(site)]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = [path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")]
    sources = [page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")]
    assert set(sources) - set(pages) == {"README"}  # its text is that of index
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|link)\b[^>]*\b(?:src|href)=\"(https?://[^\"]+)", text_of(page))
        assert not loaded, f"{page.name} loads {loaded[0]}: it does not work offline"
