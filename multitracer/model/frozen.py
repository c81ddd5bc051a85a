"""Data classes that take no time to declare, frozen or not.

`dataclasses` compiles six methods for each frozen class when its module is loaded, three for others, half a
millisecond each time: a tenth of a short command. Here all classes share their methods, which look up the
fields of the class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from inspect import Signature

Class = TypeVar("Class", bound=type[Any])


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: Class) -> Class: ...


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(*, eq: bool = True) -> Callable[[Class], Class]: ...


def frozen(cls: Any = None, *, eq: bool = True) -> Any:
    """Make a class a data class as ``dataclass(frozen=True)`` does: `dataclasses` finds its fields, too.

    Parameters
    ----------
    cls : type
        With annotated fields. The methods that it has itself are kept.
    eq : bool
        Objects with the same values are equal and have the same hash; else each equals itself only.
    """
    methods = (*METHODS, *EQUALITY) if eq else METHODS
    return (lambda later: _made(later, methods)) if cls is None else _made(cls, methods)


@dataclass_transform(field_specifiers=(dataclasses.field,))
def changeable(cls: Class) -> Class:
    """Make a class a data class as ``dataclass`` does, whose objects may be changed."""
    made: Class = _made(cls, CHANGEABLE)
    made.__hash__ = None  # type: ignore[assignment]
    return made


def _made(cls: Any, methods: tuple[Any, ...]) -> Any:
    own = frozenset(vars(cls))
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # `dataclasses` would write its signature, which takes milliseconds
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    cls._fields_ = _Fields(cls)
    for method in methods:
        if method.__name__ not in own:
            setattr(cls, method.__name__, method)
    cls.__signature__ = _Signature()
    return cls


class _Fields:
    """What the shared methods know of a class."""

    __slots__ = ("besides", "checked", "compared", "defaults", "factories", "known", "names", "shown")

    def __init__(self, cls: Any) -> None:
        fields = dataclasses.fields(cls)
        given = [one for one in fields if one.init]
        self.names = tuple([one.name for one in given])
        self.known = frozenset(self.names)
        self.defaults = {one.name: one.default for one in given if one.default is not MISSING}
        self.factories = {one.name: make for one in given if (make := one.default_factory) is not MISSING}
        self.besides = {
            one.name: make for one in fields if not one.init and (make := one.default_factory) is not MISSING
        }
        self.compared = tuple([one.name for one in fields if one.compare])
        self.checked = hasattr(cls, "__post_init__")
        self.shown = tuple([one.name for one in fields if one.repr])


def __init__(self: Any, *given: Any, **values: Any) -> None:
    fields: _Fields = self._fields_
    if given:
        placed = dict(zip(fields.names, given))  # noqa: B905 - no argument more: thousands are made
        if len(given) > len(placed) or (values and not values.keys().isdisjoint(placed)):
            raise TypeError(f"{type(self).__qualname__}: more values than fields")
        if values:
            placed.update(values)
        values = placed
    if len(values) < len(fields.names):
        values = fields.defaults | values
        if fields.factories:
            for name, make in fields.factories.items():
                if name not in values:
                    values[name] = make()
    if values.keys() != fields.known:
        wrong = ", ".join(sorted(values.keys() ^ fields.known))
        raise TypeError(f"{type(self).__qualname__}: without a value, or not a field: {wrong}")
    self.__dict__.update(values)
    if fields.besides:
        for name, make in fields.besides.items():
            self.__dict__[name] = make()
    if fields.checked:
        self.__post_init__()


@recursive_repr()
def __repr__(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields_.shown)
    return f"{type(self).__qualname__}({shown})"


def __setattr__(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def __delattr__(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def __eq__(self: Any, other: object) -> bool:
    if type(other) is not type(self):
        return NotImplemented
    return _compared(self) == _compared(other)


def __hash__(self: Any) -> int:
    return hash(_compared(self))


def _compared(one: Any) -> tuple[Any, ...]:
    return tuple([getattr(one, name) for name in one._fields_.compared])


class _Signature:
    """What the constructor takes, for help texts: made when it is looked at."""

    def __get__(self, one: Any, cls: Any) -> Signature:
        from inspect import Parameter, Signature

        def default(field: dataclasses.Field[Any]) -> Any:
            if field.default_factory is not MISSING:
                return field.default_factory
            return Parameter.empty if field.default is MISSING else field.default

        return Signature(
            [
                Parameter(
                    field.name, Parameter.POSITIONAL_OR_KEYWORD, default=default(field), annotation=field.type
                )
                for field in dataclasses.fields(cls)
                if field.init
            ]
        )


METHODS = (__init__, __repr__, __setattr__, __delattr__)
EQUALITY = (__eq__, __hash__)
CHANGEABLE = (__init__, __repr__, __eq__)
