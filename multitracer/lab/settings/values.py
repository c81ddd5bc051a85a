"""Values of settings: from a mapping to a dataclass, with checks."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from multitracer.model.errors import UsageError

T = TypeVar("T")


def from_mapping(cls: type[T], settings: Mapping[str, Any], where: str = "", base: T | None = None) -> T:
    """Build a settings dataclass from plain values (as TOML gives them).

    Parameters
    ----------
    cls : type[T]
        The dataclass.
    settings : mapping of str to Any
        Values by name of the field.
    where : str
        The key that contains the names, for errors.
    base : T, optional
        Values of keys that are not given; None: the defaults of the class.

    Raises
    ------
    UsageError
        For an unknown key, a value of the wrong type, or one out of range; the message names the key.
    """
    hints = typing.get_type_hints(cls)
    known = [item.name for item in fields(cls)]  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{where}.{key}" if where else key
        if key not in known:
            raise UsageError(f"unknown setting {name!r}; known: {', '.join(known)}")
        current = getattr(base, key) if base is not None else None
        values[key] = _convert(name, value, hints[key], current)
    try:
        return cls(**values) if base is None else replace(base, **values)  # type: ignore[type-var]
    except UsageError as error:
        raise UsageError(
            f"{where}.{error}" if where and not str(error).startswith(where) else str(error)
        ) from None


def _convert(name: str, value: Any, hint: Any, current: Any) -> Any:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if is_dataclass(hint):
        if isinstance(value, hint):  # type: ignore[arg-type]
            return value
        if not isinstance(value, Mapping):
            raise UsageError(f"{name}: a table is needed, not {value!r}")
        return from_mapping(hint, value, name, current)  # type: ignore[arg-type]
    if typing.get_origin(hint) is tuple:
        if isinstance(value, str) or not isinstance(value, typing.Iterable):
            raise UsageError(f"{name}: a list is needed, not {value!r}")
        item = typing.get_args(hint)[0]
        if typing.get_origin(item) is tuple:
            return tuple(_pair(name, part) for part in value)
        return tuple(_convert(name, part, item, None) for part in value)
    if hint is bool:
        if value not in (True, False):
            raise UsageError(f"{name}: true or false is needed, not {value!r}")
        return bool(value)
    if hint is str:
        if not isinstance(value, str):
            raise UsageError(f"{name}: text is needed, not {value!r}")
        return value
    return _number(name, value, hint)


def _number(name: str, value: Any, hint: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{name}: a number is needed, not {value!r}")
    if hint is int:
        if value != int(value):
            raise UsageError(f"{name}: a whole number is needed, not {value!r}")
        return int(value)
    return float(value)


def _pair(name: str, value: Any) -> tuple[float, float]:
    if isinstance(value, str) or not isinstance(value, typing.Sequence) or len(value) != 2:
        raise UsageError(f"{name}: pairs [start, length] are needed, not {value!r}")
    return float(_number(name, value[0], float)), float(_number(name, value[1], float))


def within(name: str, value: float, low: float, high: float) -> None:
    """Check a range.

    Parameters
    ----------
    name : str
        The setting.
    value : float
    low, high : float
        Both belong to the range.

    Raises
    ------
    UsageError
        Names the setting and the range.
    """
    if not math.isfinite(value) or not low <= value <= high:
        raise UsageError(f"{name}: {value:g} is not between {low:g} and {high:g}")


def one_of(name: str, value: str, words: tuple[str, ...]) -> None:
    """Check a word.

    Parameters
    ----------
    name : str
        The setting.
    value : str
    words : tuple of str
        Those that it takes.

    Raises
    ------
    UsageError
        Names the setting and the words it takes.
    """
    if value not in words:
        raise UsageError(f"{name}: {value!r} is not one of {', '.join(words)}")
