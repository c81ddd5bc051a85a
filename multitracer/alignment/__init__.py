"""Traces of one transfer on one timeline.

`align` fits clocks and joins sources; `align_single` takes one summarised capture as its own reference.
Each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multitracer.alignment.assemble import align as align
    from multitracer.alignment.single_capture import align_single as align_single

__all__ = ["align", "align_single"]


_PLACES = {"align": "multitracer.alignment.assemble", "align_single": "multitracer.alignment.single_capture"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: Any = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value
