"""Connections that two captures name differently: fields that no translator changes identify them.

A translator of addresses or ports (NAT, NAPT) leaves sequence and acknowledgment numbers, timestamps and
lengths as they are. A proxy that ends the connection and opens another (a performance-enhancing proxy, a
load balancer) leaves none of them: only the bytes are the same.

References
----------
RFC 3022 section 4 (what a NAT changes), RFC 3135 section 3.1 (split connections), RFC 6528 (unpredictable
sequence numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from multitracer.model.frozen import frozen
from multitracer.model.table import Array
from multitracer.model.trace import Trace

_FEW = 3  # packets in common
_GUESSABLE = 1 << 12  # sequence numbers that begin below (simulators: at 0) name nothing
_LEAST_BYTES = 10_000  # in one direction: smaller transfers are equal by chance
_KEYS = ("seq_raw", "ack_raw", "length", "ts_val", "ts_ecr")


class Same(NamedTuple):
    """Two connections that are one.

    Attributes
    ----------
    first, second : int
        As they were numbered.
    flipped : bool
        Whether forward of one is reverse of the other.
    packets : int
        How many both captures have.
    """

    first: int
    second: int
    flipped: bool
    packets: int


@frozen
class SingleCapture:
    """A connection that one capture has and another one has not, or names differently.

    Attributes
    ----------
    number : int
        Of the connection in the list that is asked about.
    source, conn : int
        The capture, and its number there.
    flipped : bool
        Whether its forward is reverse in the list.
    """

    number: int
    source: int
    conn: int
    flipped: bool = False


def same_packets(traces: Sequence[Trace], single: Sequence[SingleCapture]) -> list[Same]:
    """Which of the connections are one under other names, those with most packets in common first.

    Time and memory are linear in the packets of the connections asked about, but for sorting them. A key that
    a capture has twice is dropped; each connection belongs to one of another capture at most.
    """
    by_source: dict[int, list[SingleCapture]] = {}
    for one in single:
        if _unguessable(traces[one.source].connections[one.conn]):
            by_source.setdefault(one.source, []).append(one)
    keyed = {source: _keys(traces[source], found) for source, found in by_source.items()}
    found: list[Same] = []
    sources = sorted(keyed)
    for place, i in enumerate(sources):
        for j in sources[place + 1 :]:
            found += _common(keyed[i], keyed[j])
    return sorted(found, key=lambda one: -one.packets)


def _unguessable(entry: dict[str, Any]) -> bool:
    return any(int(value or 0) >= _GUESSABLE for value in entry.get("base", (0, 0)))


class _Keyed(NamedTuple):
    key: Array
    number: Array
    direction: Array


def _keys(trace: Trace, single: Sequence[SingleCapture]) -> _Keyed:
    """What identifies the packets of some connections, each key once."""
    from multitracer.alignment.captures import once

    table = trace.tables.get("segments")
    none = np.empty(0, dtype=np.int64)
    if table is None or not len(table):
        return _Keyed(none, none, none)
    number = np.full(len(trace.connections) + 1, -1, dtype=np.int64)
    flipped = np.zeros(len(trace.connections) + 1, dtype=np.int64)
    for one in single:
        number[one.conn], flipped[one.conn] = one.number, one.flipped
    conn = table["conn"]
    rows = np.flatnonzero(number[np.where(conn >= 0, conn, len(number) - 1)] >= 0)
    at, keys = once([table[name][rows] for name in _KEYS])
    rows = rows[at]
    return _Keyed(keys, number[conn[rows]], table["dir"][rows] ^ flipped[conn[rows]])


def _common(first: _Keyed, second: _Keyed) -> list[Same]:
    _, i, j = np.intersect1d(first.key, second.key, assume_unique=True, return_indices=True)
    if not len(i):
        return []
    flipped = (first.direction[i] != second.direction[j]).astype(np.int64)
    columns = np.stack([first.number[i], second.number[j], flipped])
    pairs, packets = np.unique(columns, axis=1, return_counts=True)
    taken: set[int] = set()
    found = []
    for at in np.argsort(-packets, kind="stable").tolist():
        a, b, turned = (int(value) for value in pairs[:, at])
        if packets[at] < _FEW or a == b or a in taken or b in taken:
            continue
        taken |= {a, b}
        found.append(Same(a, b, bool(turned), int(packets[at])))
    return found


class Split(NamedTuple):
    """Two connections that carry the same bytes, and share no packet.

    Attributes
    ----------
    first, second : int
        As they were numbered.
    flipped : bool
    data_bytes : tuple of int
        Forward and reverse of the first.
    same_names : bool
        Whether addresses and ports are the same, too: a transparent proxy.
    """

    first: int
    second: int
    flipped: bool
    data_bytes: tuple[int, int]
    same_names: bool


def split_by_proxy(traces: Sequence[Trace], single: Sequence[SingleCapture]) -> list[Split]:
    """Pairs of connections of two captures that carry as many bytes each way, which no other one does.

    What a proxy passes on is the same stream of bytes in other segments. Equal totals in both directions, of
    10 kB or more in one, seldom are chance; a second run of the same transfer has them, too, so that this is
    likely at best.
    """
    totals: dict[tuple[int, int], list[tuple[SingleCapture, bool]]] = {}
    for one in single:
        sent = _sent(traces, one)
        if max(sent) >= _LEAST_BYTES:
            totals.setdefault((min(sent), max(sent)), []).append((one, (sent[1] > sent[0]) ^ one.flipped))
    found = []
    for group in totals.values():
        if len(group) != 2 or group[0][0].source == group[1][0].source:
            continue
        (a, turned_a), (b, turned_b) = group
        ends = [_names(traces, one, turned ^ one.flipped) for one, turned in group]
        found.append(Split(a.number, b.number, turned_a != turned_b, _sent(traces, a), ends[0] == ends[1]))
    return found


def _sent(traces: Sequence[Trace], one: SingleCapture) -> tuple[int, int]:
    entry = traces[one.source].connections[one.conn]
    forward, reverse = (int(entry.get(name, {}).get("unique_bytes", 0)) for name in ("forward", "reverse"))
    return forward, reverse


def _names(traces: Sequence[Trace], one: SingleCapture, turned: bool) -> list[Any]:
    ends = [tuple(end) for end in traces[one.source].connections[one.conn]["endpoints"]]
    return ends[::-1] if turned else ends
