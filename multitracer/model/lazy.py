"""Modules that are loaded when they are first used: what a command does not need does not slow its start.

NumPy takes longer to load than a small capture takes to be summed up.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Lazy:
        """Stands for a module until one of its names is wanted."""

        def __init__(self, module: str) -> None:
            self.__module = module

        def __getattr__(self, name: str) -> Any:
            load_numpy()
            value = getattr(import_module(self.__module), name)
            setattr(self, name, value)
            return value

    np = _Lazy("numpy")

__all__ = ["ahead", "instead_of", "load_next", "load_numpy", "load_when_used", "np", "without_help"]

_helpful = True
_ahead: list[str] = []


def without_help() -> None:
    """From now on this process, which is a command, loads NumPy without its help texts."""
    global _helpful
    _helpful = False


def load_numpy() -> None:
    """Load NumPy; in a command without help texts and what only annotations name, a quarter of the time."""
    if _helpful or "numpy" in sys.modules:
        import_module("numpy")
        return
    with (
        instead_of("numpy._core._add_newdocs"),
        instead_of("numpy._core._add_newdocs_scalars"),
        instead_of("numpy._typing", NDArray=list),
    ):
        import_module("numpy")


@contextlib.contextmanager
def instead_of(module: str, **attributes: Any) -> Iterator[None]:
    """Something in the place of what is imported from a module meanwhile, unless it is loaded already."""
    if module in sys.modules:
        yield
        return
    stand_in = ModuleType(module)
    vars(stand_in).update(attributes)
    sys.modules[module] = stand_in
    try:
        yield
    finally:
        del sys.modules[module]


def ahead(modules: Iterable[str]) -> None:
    """Name modules that will be needed when a file has been read: they are loaded while the core reads it."""
    _ahead[:] = modules


def load_next() -> bool:
    """Load NumPy, or else the next of the modules that were named; whether there are more.

    One at a time, so that nothing is still being loaded for long when the file has been read.
    """
    if "numpy" not in sys.modules:
        load_numpy()
    elif _ahead:
        import_module(_ahead.pop(0))
    return bool(_ahead)


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
        namespace[name] = getattr(import_module(places[name]), name)
        return namespace[name]

    return load
