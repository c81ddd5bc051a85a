"""A browser for pages, and what it noticed: errors, requests, dialogs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support_chromium import chromium, launched
from support_samples import PATIENCE_S

WAIT_MS = 1000 * PATIENCE_S


@dataclass
class Noticed:
    """What a page did that it must not do."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@contextmanager
def browser(profile: Path) -> Iterator[Any]:
    """Chromium with a fresh profile; skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = chromium()
    if program is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        context = launched(driver, program, profile, viewport={"width": 1200, "height": 900})
        context.set_default_timeout(WAIT_MS)
        yield context
        context.close()


@contextmanager
def opened(context: Any, path: Path, **media: Any) -> Iterator[tuple[Any, Noticed]]:
    """A page, opened from disk and ready, and what it noticed so far."""
    noticed = Noticed()
    page = context.new_page()
    if media:
        page.emulate_media(**media)
    page.on("console", lambda m: noticed.errors.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: noticed.errors.append(str(error)))
    page.on("request", lambda request: noticed.requests.append(request.url))
    page.on("dialog", lambda dialog: (noticed.dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached", timeout=WAIT_MS)
    yield page, noticed
    page.close()


def settled(page: Any) -> None:
    """Wait until what was asked for is drawn."""
    page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def window(page: Any) -> tuple[float, float]:
    """The time window that the figure shows."""
    settled(page)
    words = page.inner_text("#shown").split()
    return float(words[0]), float(words[3])
