"""JSON of results in pieces: the text is never held whole, nor are the sequences that it is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer import native
from multitracer.model.derived import Derived

_PIECE = 1 << 16
"""Characters after which a piece is handed on."""


def encoded(data: Mapping[str, Any]) -> Iterator[bytes]:
    """An object as ``json.dumps(data, indent=2, allow_nan=False)`` writes it, piece by piece, as ASCII.

    A value that is `Derived` is written as a list, item by item.

    Raises
    ------
    TypeError, ValueError
        What has no place in JSON: an object of another type, NaN, infinity.
    """
    return _encoded(data, flat=False)


def pieces(data: Mapping[str, Any]) -> Iterator[str]:
    """As `encoded`, as text."""
    for piece in encoded(data):
        yield piece.decode()


def one_line(data: Mapping[str, Any]) -> Iterator[bytes]:
    """As `encoded`, without line breaks: text in JSON holds none, so all that there are lay it out."""
    return _encoded(data, flat=True)


def _encoded(data: Mapping[str, Any], flat: bool) -> Iterator[bytes]:
    text = _flat if flat else str.encode
    held = ["{"]
    for number, (key, value) in enumerate(data.items()):
        held.append(("," if number else "") + f"\n  {native.json_text(key)}: ")
        if not isinstance(value, Derived) or not len(value):
            held.append(native.json_text([] if isinstance(value, Derived) else value, 1))
            continue
        held.append("[")
        if value.text is not None:
            yield text("".join(held))
            held.clear()
            yield from value.text(flat)
        else:
            for piece in _items(held, value):
                yield text(piece)
        held.append("\n  ]")
    held.append("\n}" if data else "}")
    yield text("".join(held))


def _flat(text: str) -> bytes:
    import re

    return re.sub("\n *", "", text).encode()


def _items(held: list[str], values: Derived[Any]) -> Iterator[str]:
    """The pieces of the items of a list; the last ones stay in `held`."""
    size = 0
    for number, value in enumerate(values):
        text = ("," if number else "") + "\n    " + native.json_text(value, 2)
        held.append(text)
        size += len(text)
        if size >= _PIECE:
            yield "".join(held)
            held.clear()
            size = 0
