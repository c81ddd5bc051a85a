"""JSON of results in pieces: the text is never held whole, nor are the sequences that it is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multitracer import native
from multitracer.model.derived import Derived

_PIECE = 1 << 16
"""Characters after which a piece is handed on."""

_LONG = 256
"""Lists of more items are written item by item."""


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
    """As `encoded`, without line breaks: text in JSON holds none, so all of them are layout."""
    return _encoded(data, flat=True)


def _encoded(data: Mapping[str, Any], flat: bool) -> Iterator[bytes]:
    text = _flat if flat else str.encode
    held = ["{"]
    for number, (key, value) in enumerate(data.items()):
        held.append(("," if number else "") + f"\n  {native.json_text(key)}: ")
        if not isinstance(value, Derived) or not len(value):
            for piece in _value(held, [] if isinstance(value, Derived) else value, 1):
                yield text(piece)
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


def _value(held: list[str], value: Any, level: int) -> Iterator[str]:
    """The pieces of a value with long lists in it; the last one stays in `held`."""
    if isinstance(value, list) and len(value) > _LONG:
        held.append("[")
        yield from _items(held, value, level + 1)
        held.append("\n" + "  " * level + "]")
    elif isinstance(value, dict) and any(_is_long(one) for one in value.values()):
        held.append("{")
        for number, (key, one) in enumerate(value.items()):
            held.append(("," if number else "") + "\n" + "  " * (level + 1) + f"{native.json_text(key)}: ")
            yield from _value(held, one, level + 1)
        held.append("\n" + "  " * level + "}")
    else:
        held.append(native.json_text(value, level))


def _is_long(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_is_long(one) for one in value.values() if isinstance(one, list | dict))
    return isinstance(value, list) and len(value) > _LONG


def _items(held: list[str], values: Sequence[Any], level: int = 2) -> Iterator[str]:
    """The pieces of the items of a list; the last ones stay in `held`."""
    size = 0
    indent = "\n" + "  " * level
    for number, value in enumerate(values):
        text = ("," if number else "") + indent + native.json_text(value, level)
        held.append(text)
        size += len(text)
        if size >= _PIECE:
            yield "".join(held)
            held.clear()
            size = 0
