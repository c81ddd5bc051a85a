"""Plain values as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def document(data: Mapping[str, Any], prefix: str = "") -> str:
    """A TOML document: scalars first, then tables; None is left out."""
    lines = []
    tables = []
    for key, value in data.items():
        if isinstance(value, Mapping):
            name = f"{prefix}{_quoted(str(key))}" if not _bare(key) else f"{prefix}{key}"
            tables.append(f"\n[{name}]\n{document(value, name + '.')}")
        elif value is not None:
            lines.append(f"{key if _bare(key) else _quoted(str(key))} = {_value(value)}\n")
    return "".join(lines) + "".join(tables)


def _bare(key: str) -> bool:
    return key.isascii() and key.replace("_", "").replace("-", "").isalnum()


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return _quoted(str(value))


def _quoted(text: str) -> str:
    # A JSON string is a TOML string, but for surrogate pairs and the delete character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
