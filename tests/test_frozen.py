"""Frozen data classes behave as those of `dataclasses`, which they replace."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest

from multitracer.model.frozen import changeable, frozen


@frozen
class Ours:
    """A record."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: int = field(default=0, repr=False, compare=False)
    e: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("negative")
        object.__setattr__(self, "e", self.a + 1)


@dataclass(frozen=True)
class Theirs:
    """A record."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: int = field(default=0, repr=False, compare=False)
    e: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "e", self.a + 1)


@frozen(eq=False)
class Single:
    """Equal to itself only."""

    a: int


@frozen
class Plain:
    """With a hash."""

    a: int
    b: str = ""

    def __repr__(self) -> str:
        return "its own"


@pytest.mark.parametrize(
    ("given", "named"),
    [((1,), {}), ((1, "x", [2], 3), {}), ((), {"b": "y", "a": 5}), ((4,), {"d": 2, "c": [9]})],
)
def test_the_same_values_as_a_data_class(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, theirs = Ours(*given, **named), Theirs(*given, **named)
    assert vars(ours) == vars(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert dataclasses.replace(ours, a=7).e == 8
    assert pickle.loads(pickle.dumps(ours)) == ours == copy.deepcopy(ours)


def test_the_same_signature_and_fields_as_a_data_class() -> None:
    ours, theirs = (inspect.signature(one).parameters.values() for one in (Ours, Theirs))
    shape = [(one.name, one.kind, one.annotation, one.default is one.empty) for one in theirs]
    assert [(one.name, one.kind, one.annotation, one.default is one.empty) for one in ours] == shape
    assert [one.name for one in dataclasses.fields(Ours)] == ["a", "b", "c", "d", "e"]
    assert Ours.__match_args__ == Theirs.__match_args__


def test_each_object_has_its_own_default_of_a_factory() -> None:
    assert Ours(1).c is not Ours(1).c


@pytest.mark.parametrize(
    ("given", "named", "words"),
    [
        ((), {}, "a$"),
        ((1,), {"a": 2}, "more values"),
        ((1, "", [], 0, 0), {}, "more values"),
        ((1,), {"f": 2}, "not a field: f"),
        ((1,), {"e": 2}, "not a field: e"),
    ],
)
def test_wrong_values_are_refused(given: tuple[Any, ...], named: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Ours(*given, **named)
    with pytest.raises(TypeError):
        Theirs(*given, **named)


def test_nothing_can_be_changed() -> None:
    one = Plain(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.a = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del one.a
    assert one.a == 1


def test_equal_values_are_equal_records_unless_declared_otherwise() -> None:
    assert Plain(1) == Plain(1) != Plain(2)
    assert hash(Plain(1)) == hash(Plain(1))
    assert Plain(1) != object()
    assert Ours(1, d=1) == Ours(1, d=2)
    assert Single(1) != Single(1)
    with pytest.raises(TypeError):
        hash(Ours(1))  # a list among its values


def test_methods_of_the_class_are_kept_and_checks_are_made() -> None:
    assert repr(Plain(1)) == "its own"
    with pytest.raises(ValueError, match="negative"):
        Ours(-1)


@changeable
class Open:
    """A record that changes."""

    a: int
    b: list[int] = field(default_factory=list)
    c: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)


@dataclass
class TheirOpen:
    """A record that changes."""

    a: int
    b: list[int] = field(default_factory=list)
    c: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)


def test_one_that_changes() -> None:
    ours, theirs = Open(1), TheirOpen(1)
    for one in (ours, theirs):
        one.a, one.c["x"] = 2, 3
    assert vars(ours) == vars(theirs)
    assert repr(ours) == repr(theirs).replace("Their", "")
    assert ours == Open(2) == dataclasses.replace(Open(1), a=2)
    assert ours != Open(3)
    assert Open(1).c is not Open(1).c
    assert pickle.loads(pickle.dumps(ours)) == ours == copy.deepcopy(ours)
    for one in (ours, theirs):
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)
