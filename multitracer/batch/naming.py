"""Names of measurements as names of directories and links."""

from __future__ import annotations

import hashlib
import re

_UNSAFE = re.compile(r"[^A-Za-z0-9._=+-]+")
MOST = 90


def folder(name: str) -> str:
    """A directory name that is safe everywhere and different for different names."""
    safe = _UNSAFE.sub("_", name).strip(".")
    if safe == name and len(safe) <= MOST:
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:10]
    return f"{safe[:MOST] or 'measurement'}-{digest}"


def record_file(name: str) -> str:
    """Where the result of a measurement lies."""
    return f"measurements/{folder(name)}/result.json"


def page_file(name: str) -> str:
    """Where its report page lies."""
    return f"measurements/{folder(name)}/report.html"
