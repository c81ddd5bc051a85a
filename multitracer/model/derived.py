"""Sequences whose items are made when they are asked for: of hundreds of thousands, one at a time is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

HELD = 256
"""Items that are held once they are made; of more, each is made anew at every access."""


class Derived(Sequence[T], Generic[T]):
    """Items made by a function of their index, where there are many anew at every access.

    Equal to a list of the same items; copies and pickles are plain lists.

    Parameters
    ----------
    count : int
    make : callable
        ``make(index)``, for 0 <= index < count.
    origin : sequence, optional
        What the items are made from, one for one, with nothing else in them that differs between them.
    text : callable, optional
        ``text(flat)``: all items as entries of a JSON list, in pieces, as `multitracer.output.jsontext` has
        it, or `flat`, on one line; for what can be written without being made.
    digest : callable, optional
        ``digest(most)``: the answer of `multitracer.output.digest`, where it can be had without making them.
    """

    __slots__ = ("_count", "_made", "_make", "digest", "origin", "text")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        count: int,
        make: Callable[[int], T],
        origin: Sequence[Any] | None = None,
        text: Callable[[bool], Iterator[bytes]] | None = None,
        digest: Callable[[int], dict[str, Any]] | None = None,
    ) -> None:
        self._count = count
        self._made: dict[int, T] = {}
        self._make = make
        self.origin = origin
        self.text = text
        self.digest = digest

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._item(at) for at in range(*index.indices(self._count))]
        at = index + self._count if index < 0 else index
        if not 0 <= at < self._count:
            raise IndexError(f"{index} of {self._count}")
        return self._item(at)

    def _item(self, at: int) -> T:
        if self._count > HELD:
            return self._make(at)
        if at not in self._made:
            self._made[at] = self._make(at)
        return self._made[at]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | Derived):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)

    def __repr__(self) -> str:
        return f"<{self._count} items, made on access>"


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A dictionary with lists in the place of derived sequences, for what takes nothing else."""
    return {key: list(one) if isinstance(one, Derived) else one for key, one in value.items()}
