"""A chain: events, each with the event that it follows from and the rule that joined them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np

from multitracer.model.frozen import changeable
from multitracer.model.schema.chains import CHAIN_EVENTS, CHAINS
from multitracer.model.table import Array, Table

MOST_EVENTS = 400
"""Events of one kind that a chain names one by one; the rest is in the tables of the analyzers."""


class Event(NamedTuple):
    """One event of a chain; fields as in `CHAIN_EVENTS`."""

    what: str
    t_ns: int
    rule: str
    parent: int = 0
    end_ns: int = -1
    source: int = -1
    record: int = 0
    conn: int = -1
    seq: int = -1
    length: int = -1
    frames: str = ""
    number: int = 1
    wait_ns: int = -1
    cause: str = ""


@changeable
class Chain:
    """What began with one thing.

    Attributes
    ----------
    kind : str
        One of `multitracer.model.schema.chains.CHAIN_KINDS`.
    t_ns : int
    conn : int
    events : list of Event
    idle_ns, held_ns, duplicate : int
        Idle time, time in which the link took no data, bytes retransmitted.
    dropped : int
        Of the retransmitted bytes, those that the link had never carried: they cost it nothing.
    silence_ns : int
    """

    kind: str
    t_ns: int
    conn: int = -1
    events: list[Event] = field(default_factory=list)
    idle_ns: int = 0
    held_ns: int = 0
    duplicate: int = 0
    dropped: int = 0
    silence_ns: int = 0

    def add(self, event: Event) -> int:
        """Append an event; its number."""
        self.events.append(event)
        return len(self.events)

    def of(self, what: str) -> list[Event]:
        """Its events of one kind."""
        return [event for event in self.events if event.what == what]


def chain_columns(chains: Sequence[Chain]) -> dict[str, Array]:
    """The columns of `CHAINS` that each chain has, and ``dropped``.

    Parameters
    ----------
    chains : sequence of Chain
    """
    kinds = [CHAINS.code("kind", one.kind) for one in chains]
    names = ("t_ns", "conn", "idle_ns", "held_ns", "duplicate", "dropped", "silence_ns")
    values = {name: [getattr(one, name) for one in chains] for name in names}
    return {name: np.array(column, dtype=np.int64) for name, column in {"kind": kinds, **values}.items()}


def event_table(chains: Sequence[Chain], numbers: Sequence[int]) -> Table:
    """The events of chains as a table.

    Parameters
    ----------
    chains : sequence of Chain
    numbers : sequence of int
        The number of each.
    """
    rows = [
        (number, index, event)
        for number, chain in zip(numbers, chains, strict=True)
        for index, event in enumerate(chain.events, 1)
    ]
    fields = zip(*(event for _, _, event in rows), strict=True) if rows else [()] * len(Event._fields)
    named = dict(zip(Event._fields, fields, strict=True))
    names = [column.name for column in CHAIN_EVENTS.columns if column.name not in ("chain", "event")]
    given = {name: named[name] for name in names}
    return Table.filled(
        CHAIN_EVENTS,
        len(rows),
        {
            "chain": [number for number, _, _ in rows],
            "event": [index for _, index, _ in rows],
            **{
                name: np.array(values, dtype=object) if CHAIN_EVENTS.by_name[name].dtype == "str" else values
                for name, values in given.items()
            },
        },
    )
