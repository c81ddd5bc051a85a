"""JSON of results in pieces: the text is never held whole, nor are the sequences that it is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer import native
from multitracer.derived import Derived

_PIECE = 1 << 16
"""Characters after which a piece is handed on."""

_AT_ONCE = 128
"""Items that are written in one go where they need not be made: some 200 KB, which a cache holds."""


def encoded(data: Mapping[str, Any]) -> Iterator[bytes]:
    """An object as ``json.dumps(data, indent=2, allow_nan=False)`` writes it, piece by piece, as ASCII.

    A value that is `Derived` is written as a list, item by item.

    Raises
    ------
    TypeError, ValueError
        What has no place in JSON: an object of another type, NaN, infinity.
    """
    held = ["{"]
    for number, (key, value) in enumerate(data.items()):
        held.append(("," if number else "") + f"\n  {native.json_text(key)}: ")
        if not isinstance(value, Derived) or not len(value):
            held.append(native.json_text([] if isinstance(value, Derived) else value, 1))
            continue
        held.append("[")
        if value.text is not None:
            yield "".join(held).encode()
            held.clear()
            for first in range(0, len(value), _AT_ONCE):
                yield value.text(first, _AT_ONCE)
        else:
            yield from _items(held, value)
        held.append("\n  ]")
    held.append("\n}" if data else "}")
    yield "".join(held).encode()


def pieces(data: Mapping[str, Any]) -> Iterator[str]:
    """As `encoded`, as text."""
    for piece in encoded(data):
        yield piece.decode()


def one_line(data: Mapping[str, Any]) -> Iterator[bytes]:
    """As `encoded`, without line breaks: text in JSON holds none, so all that there are lay it out."""
    import re

    for piece in encoded(data):
        yield re.sub(b"\n *", b"", piece)


def _items(held: list[str], values: Derived[Any]) -> Iterator[bytes]:
    """The pieces of the items of a list; the last ones stay in `held`."""
    size = 0
    for number, value in enumerate(values):
        text = ("," if number else "") + "\n    " + native.json_text(value, 2)
        held.append(text)
        size += len(text)
        if size >= _PIECE:
            yield "".join(held).encode()
            held.clear()
            size = 0
