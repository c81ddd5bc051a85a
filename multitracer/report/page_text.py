"""Numbers as the page writes them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import PurePosixPath, PureWindowsPath
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


def portable(words: Iterable[str]) -> str:
    """A command of a page, for a shell: of an absolute path only the name, as a page leaves its machine."""
    return shlex.join(_name(word) for word in words)


def _name(word: str) -> str:
    if not (PurePosixPath(word).is_absolute() or PureWindowsPath(word).is_absolute()):
        return word
    return PureWindowsPath(word).name or word


def spelled(name: Any) -> str:
    """``timeout_wait`` as words."""
    return str(name).replace("_", " ").replace("/", ", ")
