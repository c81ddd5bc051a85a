"""Three and more captures along a path: what became of the data between each two neighbours.

Each part of the path between two captures is a hop: what the nearer one holds and the farther one lacks was
lost there. What a packet took across it is only as good as the clocks of both; what it took over the quickest
one is right even where the clocks are apart, as long as they run alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise

import numpy as np

from multitracer.layers.tcp.fates import ARRIVED, DAMAGED, LOST, UNKNOWN, AllFates, fates_between
from multitracer.layers.tcp.flow_batch import Times, batches
from multitracer.model.arrays.statistics import medians
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.frozen import changeable
from multitracer.model.timeline import Connection, Timeline

MOST_DELAYS = 1 << 22
"""Delays kept for each hop: of more, every so many-th, so that memory stays bounded."""


@changeable
class Hop:
    """Data between two neighbouring captures, in the way that it goes.

    Attributes
    ----------
    near, far : int
        Sources: where it passed first, and next.
    packets, arrived, lost, damaged, unknown : int
        Packets of data that passed the first (offload taken apart), and what became of them.
    unrecorded, unsent : int
        Packets that the far and the near capture have no record of, although they passed it.
    by_connection : dict of (int, int) to (int, int)
        Packets and lost ones by connection and direction.
    """

    near: int
    far: int
    packets: int = 0
    arrived: int = 0
    lost: int = 0
    damaged: int = 0
    unknown: int = 0
    unrecorded: int = 0
    unsent: int = 0
    by_connection: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _delays: list[Times] = field(default_factory=list, repr=False)

    def delays_ns(self) -> Times:
        """What each packet that arrived took, as the clocks have it."""
        return np.concatenate(self._delays) if self._delays else np.zeros(0, dtype=np.int64)

    def take_in(self, connections: Sequence[Connection], known: AllFates) -> None:
        """Count the data of some connections."""
        pieces, count = known.known, len(known)
        ends = np.bincount(known.of * 4 + pieces.fate, minlength=4 * count).reshape(-1, 4)
        whole = ends.sum(axis=0).tolist()
        self.packets += sum(whole)
        self.arrived += whole[ARRIVED]
        self.lost += whole[LOST]
        self.damaged += whole[DAMAGED]
        self.unknown += whole[UNKNOWN]
        self.unrecorded += int(known.unrecorded.sum())
        self.unsent += int(known.unsent.sum())
        for place, row in zip(known.places.tolist(), ends.tolist(), strict=True):
            one = connections[place]
            self.by_connection[one.index, one.data_dir] = (sum(row), row[LOST])
        there = np.flatnonzero(pieces.arrived_ns >= 0)
        took_ns = pieces.arrived_ns[there] - known.sent["t_ns"][pieces.row[there]]
        self._delays.append(took_ns)
        if sum(map(len, self._delays)) > MOST_DELAYS:
            self._delays = [self.delays_ns()[::2]]


def captures_along(m: Timeline) -> list[int]:
    """Captures of TCP from the data's sender to its receiver.

    The ends are where the timeline has them. Those between are in the order in which the data passed them, by
    the median over the packets that they share with the first.
    """
    sources = sorted_unique(m.table("segments")["source"]).tolist()
    between = [int(one) for one in sources if one not in (m.snd, m.rcv)]
    first = m.snd if m.snd is not None else next(iter(between), None)
    if first is None:
        return [] if m.rcv is None else [m.rcv]
    middle_ns = {one: _passed_after(m, first, one) for one in between if one != first}
    if m.snd is None:
        middle_ns[first] = 0.0
    shared = {one: after_ns for one, after_ns in middle_ns.items() if after_ns is not None}
    ordered = sorted(shared, key=lambda one: shared[one])
    return [
        *([m.snd] if m.snd is not None else []),
        *ordered,
        *([m.rcv] if m.rcv is not None and m.rcv != m.snd else []),
    ]


def _passed_after(m: Timeline, first: int, other: int) -> float | None:
    """How much later data passed one capture than another, in ns; None if they share none."""
    hop = Hop(first, other)
    for some in batches(m):
        for near, _, known in fates_between(m, some, first, other):
            # The bulk decides: connections against it show the same of the other direction.
            if near == first:
                hop.take_in(some, known)
            elif not hop.packets:
                return -1.0
        if hop.packets:
            break
    delays_ns = hop.delays_ns()
    return float(medians(delays_ns)) if len(delays_ns) else None


def hops(m: Timeline) -> list[Hop]:
    """Each hop of the path, from the sender of the bulk of the data on; those against it after them."""
    return m.once("hops", lambda: list(_hops(m)))


def _hops(m: Timeline) -> Iterator[Hop]:
    path = captures_along(m)
    pairs = list(pairwise(path))
    found: dict[tuple[int, int], Hop] = {}
    for some in batches(m):
        for near, far in pairs:
            for first, last, known in fates_between(m, some, near, far):
                found.setdefault((first, last), Hop(first, last)).take_in(some, known)
    order = [*pairs, *((far, near) for near, far in reversed(pairs))]
    return (found[pair] for pair in order if pair in found)
