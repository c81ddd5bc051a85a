"""The same TCP connection in several captures: one number, one orientation, one base of sequence numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.alignment.roles import most_data
from multitracer.model.frozen import changeable, frozen
from multitracer.model.table import Array, Table
from multitracer.model.trace import Trace

if TYPE_CHECKING:
    from multitracer.alignment.translated import SingleCapture, Split

Endpoint = tuple[str, int]
_WRAP = 1 << 32
_NEAR = (
    1 << 20
)  # sequence ranges of one connection may miss each other by this much (captures that hardly overlap)


@frozen
class Member:
    """A connection as one capture has it, and what to add to its relative numbers (per common direction)."""

    source: int
    conn: int
    flipped: bool
    shift: tuple[int, int]


@changeable
class Merged:
    """A connection of the measurement; `also` are its endpoints where a translator (NAT) has changed them."""

    endpoints: tuple[Endpoint, Endpoint]
    base: tuple[int, int]
    isn: list[int | None]
    ranges: list[tuple[int, int]]
    members: list[Member] = field(default_factory=list)
    data_bytes: list[int] = field(default_factory=lambda: [0, 0])
    also: list[tuple[Endpoint, Endpoint]] = field(default_factory=list)
    unseen_bytes: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def names(self) -> list[tuple[Endpoint, Endpoint]]:
        """All endpoints that it has at any capture, in the common orientation."""
        return [self.endpoints, *self.also]

    @property
    def data_dir(self) -> int:
        """Direction with most payload; forward if equal."""
        return most_data(self.data_bytes, self.unseen_bytes)

    def member(self, source: int) -> Member | None:
        """How a capture has it."""
        return next((member for member in self.members if member.source == source), None)


def merge(traces: Sequence[Trace], captures: Sequence[int]) -> list[Merged]:
    """Find which connections of several captures are the same.

    Same endpoints (in either order) and the same initial sequence numbers; where a handshake was missed,
    sequence ranges that meet. A port used again with another ISN is another connection. What only one of
    several captures has under its names is looked for under others, by its packets.

    References
    ----------
    RFC 9293 section 3.4.1 (ISN), RFC 3022 (NAT).
    """
    by_endpoints: dict[tuple[Endpoint, Endpoint], list[tuple[int, int, dict[str, Any]]]] = {}
    # A single capture has nothing that its sequence numbers could be compared with.
    ranges = {
        source: _ranges(traces[source])
        if len(traces) > 1
        else [[(0, 0)] * 2] * len(traces[source].connections)
        for source in captures
    }
    for source in captures:
        for conn, entry in enumerate(traces[source].connections):
            first, second = endpoints_of(entry)
            key = (first, second) if first <= second else (second, first)
            by_endpoints.setdefault(key, []).append((source, conn, entry))
    merged: list[Merged] = []
    for entries in by_endpoints.values():
        entries.sort(key=lambda item: (not _has_handshake(item[2]), item[0], item[1]))
        group: list[Merged] = []
        for source, conn, entry in entries:
            _place(group, source, conn, entry, ranges[source][conn])
        merged.extend(group)
    if len(captures) > 1:
        merged = _fused(traces, captures, merged, ranges)
    return merged


def split(traces: Sequence[Trace], captures: Sequence[int], merged: Sequence[Merged]) -> list[Split]:
    """Connections that a proxy seems to have made of one: the same bytes, no common packet.

    Parameters
    ----------
    traces : sequence of Trace
        All sources.
    captures : sequence of int
        Those that are captures.
    merged : sequence of Merged
        Connections as they were joined.

    Returns
    -------
    list of Split
        One for each pair of connections; empty without any.
    """
    if len(captures) < 2:
        return []
    from multitracer.alignment.translated import split_by_proxy

    return split_by_proxy(traces, _in_one_capture(captures, merged))


def _in_one_capture(captures: Sequence[int], merged: Sequence[Merged]) -> list[SingleCapture]:
    from multitracer.alignment.translated import SingleCapture

    return [
        SingleCapture(number, member.source, member.conn, member.flipped)
        for number, common in enumerate(merged)
        if len(common.members) < len(captures)
        for member in common.members
    ]


def _fused(
    traces: Sequence[Trace],
    captures: Sequence[int],
    merged: list[Merged],
    ranges: dict[int, list[list[tuple[int, int]]]],
) -> list[Merged]:
    """Connections that have the same packets under other names become one."""
    single = _in_one_capture(captures, merged)
    if len({one.source for one in single}) < 2:
        return merged
    from multitracer.alignment.translated import same_packets

    into: dict[int, int] = {}  # connections that are no more, and where they went
    gone = into.keys()
    for same in same_packets(traces, single):
        a, b = sorted((_end_of(into, same.first), _end_of(into, same.second)))
        if a == b:
            continue
        kept, other = merged[a], merged[b]
        if {m.source for m in kept.members} & {m.source for m in other.members}:
            continue
        turned = [member.flipped ^ same.flipped for member in other.members]
        joined = [
            _add(kept, m.source, m.conn, traces[m.source].connections[m.conn], ranges[m.source][m.conn], flip)
            for m, flip in zip(other.members, turned, strict=True)
        ]
        if not any(joined):
            continue
        kept.also += [names[::-1] if same.flipped else names for names in other.names]
        into[b] = a
    return [common for number, common in enumerate(merged) if number not in gone]


def endpoints_of(entry: dict[str, Any]) -> tuple[Endpoint, Endpoint]:
    """The endpoints of a tracker's summary as hashable pairs."""
    (a, p), (b, q) = entry["endpoints"]
    return (str(a), int(p)), (str(b), int(q))


def _has_handshake(entry: dict[str, Any]) -> bool:
    return all(value is not None for value in entry.get("isn", (None, None)))


def _ranges(trace: Trace) -> list[list[tuple[int, int]]]:
    """Smallest and largest relative sequence number by connection and direction."""
    count = len(trace.connections)
    low = np.full((count, 2), np.iinfo(np.int64).max)
    high = np.full((count, 2), np.iinfo(np.int64).min)
    segments = trace.tables.get("segments")
    if segments is not None and len(segments):
        known = (segments["conn"] >= 0) & (segments["conn"] < count)
        index = (segments["conn"][known], segments["dir"][known])
        np.minimum.at(low, index, segments["seq"][known])
        np.maximum.at(high, index, segments["seq"][known] + segments["length"][known])
    low[high < low] = 0
    high = np.maximum(high, low)
    return [[(int(low[c, d]), int(high[c, d])) for d in (0, 1)] for c in range(count)]


def _end_of(into: dict[int, int], number: int) -> int:
    while number in into:
        number = into[number]
    return number


def _place(
    group: list[Merged], source: int, conn: int, entry: dict[str, Any], ranges: list[tuple[int, int]]
) -> None:
    endpoints = endpoints_of(entry)
    for common in group:
        if common.member(source) is None and _add(
            common, source, conn, entry, ranges, common.endpoints != endpoints
        ):
            return
    isn, base = _numbers(entry)
    members = [Member(source, conn, False, (0, 0))]
    merged = Merged(endpoints, (base[0], base[1]), isn, list(ranges), members)
    merged.data_bytes, merged.unseen_bytes = (_by_direction(entry, name) for name in _BYTES)
    group.append(merged)


_BYTES = ("data_bytes", "unseen_acked_bytes")


def _by_direction(entry: Mapping[str, Any], count: str) -> list[int]:
    return [int(entry.get(name, {}).get(count, 0)) for name in ("forward", "reverse")]


def _numbers(entry: dict[str, Any]) -> tuple[list[int | None], list[int]]:
    """ISN and base of relative numbers, by direction."""
    base = [int(value or 0) for value in entry.get("base", (0, 0))]
    return list(entry.get("isn", (None, None))), base


def _add(
    common: Merged,
    source: int,
    conn: int,
    entry: dict[str, Any],
    ranges: list[tuple[int, int]],
    flipped: bool,
) -> bool:
    """Make a capture's connection a member of a common one, if its sequence numbers allow it."""
    isn, base = _numbers(entry)
    data, unseen = (_by_direction(entry, name) for name in _BYTES)
    turn = (1, 0) if flipped else (0, 1)
    shifts = _shifts(common, [isn[d] for d in turn], [base[d] for d in turn], [ranges[d] for d in turn])
    if shifts is None:
        return False
    common.members.append(Member(source, conn, flipped, shifts))
    common.data_bytes = [max(common.data_bytes[d], data[turn[d]]) for d in (0, 1)]
    common.unseen_bytes = [max(common.unseen_bytes[d], unseen[turn[d]]) for d in (0, 1)]
    common.isn = [common.isn[d] if common.isn[d] is not None else isn[turn[d]] for d in (0, 1)]
    for d in (0, 1):
        low, high = ranges[turn[d]]
        common.ranges[d] = (
            min(common.ranges[d][0], low + shifts[d]),
            max(common.ranges[d][1], high + shifts[d]),
        )
    return True


def _shifts(
    common: Merged, isn: list[int | None], base: list[int], ranges: list[tuple[int, int]]
) -> tuple[int, int] | None:
    """What to add to a capture's relative numbers to make them agree with the others; None if they cannot."""
    shifts, same, meets = [0, 0], 0, 0
    for d in (0, 1):
        known, other = common.isn[d], isn[d]
        if known is not None and other is not None:
            if known != other:
                return None
            same += 1
        apart = (base[d] - common.base[d]) % _WRAP
        centre = (common.ranges[d][0] + common.ranges[d][1] - ranges[d][0] - ranges[d][1]) / 2
        shifts[d] = apart + _WRAP * round((centre - apart) / _WRAP)
        low, high = ranges[d][0] + shifts[d], ranges[d][1] + shifts[d]
        distance = max(low - common.ranges[d][1], common.ranges[d][0] - high)
        if known is not None and other is not None:
            shifts[d] = ((base[d] - common.base[d] + _WRAP // 2) % _WRAP) - _WRAP // 2
        elif distance > _NEAR:
            return None
        else:
            meets += 1
    return (shifts[0], shifts[1]) if same or meets == 2 else None


class Terms(NamedTuple):
    """What makes the columns of one capture common ones, by its own numbers of connections.

    The last entry of each array answers for a connection of -1.

    Attributes
    ----------
    connections : int
        Number of connections in the capture.
    number : array of int32
    flipped : array of int8
        1: its forward direction is the reverse one in common terms.
    shift : array of int64, shape (connections + 1, 2)
        What to add to sequence numbers of each direction.
    same : bool
        Nothing changes.
    """

    connections: int
    number: Array
    flipped: Array
    shift: Array
    same: bool

    @classmethod
    def of(cls, source: int, merged: Sequence[Merged], count: int) -> Terms:
        """Those of a capture.

        Parameters
        ----------
        source : int
            Index of the capture.
        merged : sequence of Merged
            The measurement's connections in their final order.
        count : int
            Number of connections in the capture.
        """
        number = np.full(count + 1, -1, dtype=np.int32)
        flipped = np.zeros(count + 1, dtype=np.int8)
        shift = np.zeros((count + 1, 2), dtype=np.int64)
        for index, common in enumerate(merged):
            member = common.member(source)
            if member is not None:
                number[member.conn] = index
                if member.flipped or member.shift != (0, 0):
                    flipped[member.conn] = member.flipped
                    shift[member.conn] = member.shift
        same = bool(np.all(number[:count] == np.arange(count))) and not flipped.any() and not shift.any()
        return cls(count, number, flipped, shift, same)


def columns(table: Table, terms: Terms) -> dict[str, Array]:
    """The conn, dir and sequence columns of a capture's table in common terms, if they are not already.

    Parameters
    ----------
    table : Table
        segments, retransmissions or timeouts of the capture.
    terms : Terms
        Of the capture.

    Returns
    -------
    dict of str to array
        The columns to replace, by name, of the table's length: ``conn``, ``dir``, ``seq``, and ``ack`` and
        ``sack_high`` where the table has them. Empty if they are in common terms already.
    """
    count, number, flipped, shift, same = terms
    if same and int(table["conn"].max(initial=-1)) < count:
        return {}  # as they are: a capture alone, or the first of several
    conn = np.where((table["conn"] >= 0) & (table["conn"] < count), table["conn"], count)
    direction = (table["dir"] ^ flipped[conn]).astype(np.int8)
    found: dict[str, Array] = {
        "conn": number[conn],
        "dir": direction,
        "seq": table["seq"] + shift[conn, direction],
    }
    for name in ("ack", "sack_high"):
        if name in table:
            values = table[name]
            found[name] = np.where(values >= 0, values + shift[conn, 1 - direction], values)
    return found
