"""Modules that are loaded when they are first used: what a command does not need does not slow its start.

NumPy takes longer to load than a small capture takes to be summed up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

__all__ = ["load_when_used", "np"]


def load_when_used(namespace: dict[str, Any], places: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package whose names are loaded when they are first used (PEP 562).

    Parameters
    ----------
    namespace : dict
        The package's `globals()`, which keeps what was loaded.
    places : mapping of str to str
        The module of each name.

    Returns
    -------
    callable
        From a name to its value; raises AttributeError for a name that is not in `places`.
    """

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        from importlib import import_module

        namespace[name] = getattr(import_module(places[name]), name)
        return namespace[name]

    return load
