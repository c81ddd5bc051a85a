"""JSON of results in pieces: the text is never held whole, nor are the sequences that it is made from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from multitracer import native
from multitracer.derived import Derived

_PIECE = 1 << 16
"""Characters after which a piece is handed on."""


def pieces(data: Mapping[str, Any]) -> Iterator[str]:
    """An object as ``json.dumps(data, indent=2, allow_nan=False)`` writes it, piece by piece.

    A value that is `Derived` is written as a list, item by item.

    Raises
    ------
    TypeError, ValueError
        What has no place in JSON: an object of another type, NaN, infinity.
    """
    held = ["{"]
    for number, (key, value) in enumerate(data.items()):
        held.append(("," if number else "") + f"\n  {native.json_text(key)}: ")
        if isinstance(value, Derived) and len(value):
            yield from _list(held, value)
        else:
            held.append(native.json_text([] if isinstance(value, Derived) else value, 1))
    held.append("\n}" if data else "}")
    yield "".join(held)


def one_line(data: Mapping[str, Any]) -> Iterator[str]:
    """As `pieces`, without line breaks: text in JSON holds none, so all that there are lay it out."""
    for piece in pieces(data):
        yield re.sub("\n *", "", piece)


def _list(held: list[str], values: Derived[Any]) -> Iterator[str]:
    """The pieces of a list; its end stays in `held`."""
    held.append("[")
    size = 0
    for number, value in enumerate(values):
        text = ("," if number else "") + "\n    " + native.json_text(value, 2)
        held.append(text)
        size += len(text)
        if size >= _PIECE:
            yield "".join(held)
            held.clear()
            size = 0
    held.append("\n  ]")
