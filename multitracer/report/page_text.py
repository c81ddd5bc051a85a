"""Numbers as the page writes them."""

from __future__ import annotations

import re
from typing import Any

from multitracer.model import quantities
from multitracer.model.quantities import count as count, rate as rate, votes as votes

_MICRO = re.compile(r"(\d) us\b")


def duration(seconds: float) -> str:
    """A time span with three or four digits."""
    return quantities.duration(max(seconds, 0.0), "µs")


def micro(text: str) -> str:
    """A sentence with microseconds as the numbers of the page write them; terminals have ``us``."""
    return _MICRO.sub(r"\1 µs", text)


def share(part: float) -> str:
    """A share in percent."""
    return f"{100 * part:.1f}%"


def spelled(name: Any) -> str:
    """``timeout_wait`` as words."""
    return str(name).replace("_", " ").replace("/", ", ")
