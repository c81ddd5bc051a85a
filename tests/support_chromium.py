"""Chromium of the system, without a window: started in one way, in tests of pages and in bench_page.py."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

# No sandbox, as tests may run as root; none of the requests that a browser makes for itself.
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """The program, or None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def launched(driver: Any, program: str, profile: Path, **options: Any) -> Any:
    """A browser context of Playwright's `driver` with a fresh profile."""
    return driver.chromium.launch_persistent_context(profile, executable_path=program, args=_FLAGS, **options)
