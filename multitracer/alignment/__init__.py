"""Traces of one transfer on one timeline.

Each way is loaded when it is first used: a capture that is only summed up needs no clocks fitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multitracer.alignment.alone import alone as alone
    from multitracer.alignment.assemble import align as align

__all__ = ["align", "alone"]


_PLACES = {"align": "multitracer.alignment.assemble", "alone": "multitracer.alignment.alone"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: Any = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value
