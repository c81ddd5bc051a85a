"""Texts in the cells of CSV files: no spreadsheet takes one for a formula."""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARK = "'"


def neutral(value: object) -> object:
    """A cell's value; a text that a spreadsheet would compute gets an apostrophe in front."""
    return _MARK + value if isinstance(value, str) and value.lstrip(_MARK).startswith(_FORMULA) else value


def original(text: str) -> str:
    """The text that `neutral` made a cell of."""
    marked = text.startswith(_MARK) and text.lstrip(_MARK).startswith(_FORMULA)
    return text[1:] if marked else text
