"""HTML in which every word is escaped, unless it was made here."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any

VOID = frozenset({"br", "hr", "img", "meta", "link", "input", "source"})
RAW = frozenset({"script", "style"})


class Markup(str):
    """Text that is HTML already. Only `tag`, `join`, `raw` and `data_block` make it."""

    __slots__ = ()


Child = str | None | Iterable["Child"]


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """An element; children that are not `Markup` are escaped, None and False attributes are left out.

    Names of attributes: ``class_`` for class, ``data_from`` for data-from.

    Parameters
    ----------
    name : str
        The element.
    *children : Child
        Text, markup, numbers.
    **attributes : str | float | bool or None
        True: an attribute without a value.
    """
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_value(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Markup(f"<{name}{words}>")
    return Markup(f"<{name}{words}>{join(*children)}</{name}>")


def join(*children: Child) -> Markup:
    """Several pieces in a row."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            parts.append(str(child))
        elif isinstance(child, str):
            parts.append(html.escape(clean(child), quote=True))
        else:
            parts.append(str(join(*child)))
    return Markup("".join(parts))


def clean(words: str) -> str:
    """Without what turns, hides or breaks text: control characters, bidirectional overrides, surrogates."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", words)


_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def raw(name: str, content: str, **attributes: str) -> Markup:
    """A script or style of ours.

    Parameters
    ----------
    name : str
        "script" or "style".
    content : str
        Its text, which is not escaped.
    **attributes : str

    Raises
    ------
    ValueError
        If the content would end its element early.
    """
    lower = content.lower()
    if name not in RAW or f"</{name}" in lower or "<!--" in lower:
        raise ValueError(f"unsafe content for <{name}>")
    words = "".join(f' {key}="{html.escape(value, quote=True)}"' for key, value in attributes.items())
    return Markup(f"<{name}{words}>{content}</{name}>")


def data_block(id_: str, data: Any) -> Markup:
    """JSON that a script reads; nothing in it can end the element or be run."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(f'<script type="application/json" id="{html.escape(id_, quote=True)}">{text}</script>')


def _value(value: str | float | bool) -> str:
    if value is True:
        return ""
    return clean(value) if isinstance(value, str) else repr(value)
