"""Modules that are loaded when they are first used: what a command does not need does not slow its start.

NumPy takes longer to load than a small capture takes to be summed up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Lazy:
        """Stands for a module until one of its names is wanted."""

        def __init__(self, module: str) -> None:
            self.__module = module

        def __getattr__(self, name: str) -> Any:
            from importlib import import_module

            value = getattr(import_module(self.__module), name)
            setattr(self, name, value)
            return value

    np = _Lazy("numpy")

__all__ = ["np"]
