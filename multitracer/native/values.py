"""Plain values as text."""

from __future__ import annotations

from typing import Any

import multitracer._core as _core


def json_text(value: Any, level: int = 0) -> str:
    """A plain value as ``json.dumps(value, indent=2, allow_nan=False)``, for a place `level` steps inside.

    Raises
    ------
    TypeError, ValueError
        What has no place in JSON: an object of another type, NaN, infinity.
    """
    return _core.json_text(value, level)
