"""Multipath TCP: which connections are subflows of one transfer, and what each of them carried.

References
----------
RFC 8684 section 3.1 (keys, tokens, initial data sequence numbers), 3.2 (joining), 3.3 (mappings); RFC 6824
for version 0, which hashes with SHA-1 instead of SHA-256.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from multitracer import native
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.frozen import frozen
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

CAPABLE, JOIN, DSS = 1 << 0, 1 << 1, 1 << 2
"""Bits of the column `subtypes`."""

SENDER_KEY, RECEIVER_KEY, TOKEN, BACKUP, DATA_ACK, MAPPING, DATA_SEQ_64, DATA_FIN = (1 << n for n in range(8))
"""Bits of the column `has`."""

_WRAP = 1 << 32


def token_of(key: int, version: int) -> int:
    """The token of a key: the first 32 bits of its hash."""
    return int.from_bytes(_hashed(key, version)[:4], "big")


def initial_data_seq(key: int, version: int) -> int:
    """The initial data sequence number of a key: the last 64 bits of its hash."""
    return int.from_bytes(_hashed(key, version)[-8:], "big")


def _hashed(key: int, version: int) -> bytes:
    raw = key.to_bytes(8, "big")
    return hashlib.sha1(raw, usedforsecurity=False).digest() if version == 0 else hashlib.sha256(raw).digest()


@frozen
class Subflow:
    """A connection of a transfer.

    Attributes
    ----------
    conn : int
    joined : bool
        Whether it came by MP_JOIN; else it opened the transfer.
    flipped : bool
        Whether its forward direction is the transfer's reverse one: forward of a transfer is from the end
        that opened it.
    backup : bool
        Asked to be used only if no other is left.
    """

    conn: int
    joined: bool
    flipped: bool
    backup: bool


@dataclass
class Transfer:
    """Subflows of one Multipath TCP connection.

    Attributes
    ----------
    version : int or None
        None if the opening of its first subflow was not captured.
    keys : list of int or None
        Of the end that opened it, and of the other one; None where not captured.
    subflows : list of Subflow
    """

    version: int | None
    keys: list[int | None]
    subflows: list[Subflow] = field(default_factory=list)

    @property
    def tokens(self) -> list[int | None]:
        """By which the ends join subflows; None where the key was not captured."""
        return [
            None if key is None or self.version is None else token_of(key, self.version) for key in self.keys
        ]


@frozen
class Found:
    """All transfers of a measurement.

    Attributes
    ----------
    transfers : list of Transfer
    refused : list of int
        Connections that offered Multipath TCP, and whose answer did not.
    unassigned : list of int
        Subflows whose transfer is not known: their opening was not captured.
    """

    transfers: list[Transfer]
    refused: list[int]
    unassigned: list[int]


def transfers(m: Timeline) -> Found:
    """Group the connections of a measurement by the keys and tokens of their openings.

    A token whose transfer was not captured from its begin groups the subflows that name it nevertheless.
    """
    table = m.table("mptcp")
    grouped = Grouped(table["conn"])
    opened: list[Transfer] = []
    joins: list[tuple[int, Table]] = []
    refused, unassigned = [], []
    for connection in m.connections:
        rows = table.where(grouped.rows(connection.index))
        if not len(rows):
            continue
        subtypes = rows["subtypes"]
        if (subtypes & JOIN).any():
            joins.append((connection.index, rows))
        elif not (subtypes & CAPABLE).any():
            unassigned.append(connection.index)
        elif len(np.unique(rows["dir"])) < 2 and not (subtypes & DSS).any():
            refused.append(connection.index)
        else:
            opened.append(_opened(connection.index, rows))
    by_token = {
        token: (transfer, end)
        for transfer in opened
        for end, token in enumerate(transfer.tokens)
        if token is not None
    }
    for conn, rows in joins:
        offered = rows.where((rows["has"] & TOKEN) != 0)
        if not len(offered):
            unassigned.append(conn)
            continue
        token, direction = int(offered["token"][0]), int(offered["dir"][0])
        if token not in by_token:
            unknown = Transfer(None, [None, None])
            opened.append(unknown)
            by_token[token] = (unknown, 1)
        transfer, end = by_token[token]  # the token is that of the end which the SYN goes to
        backup = bool((offered["has"] & BACKUP).any())
        transfer.subflows.append(Subflow(conn, True, (direction == 0) != (end == 1), backup))
    return Found(opened, refused, sorted(unassigned))


def _opened(conn: int, rows: Table) -> Transfer:
    capable = rows.where((rows["subtypes"] & CAPABLE) != 0).sorted_by("t_ns")
    both = np.flatnonzero((capable["has"] & RECEIVER_KEY) != 0)
    opener = int(capable["dir"][both[0]] if len(both) else capable["dir"][0])  # only the opener sends both
    keys: list[int | None] = [None, None]
    for has, direction, own, other in zip(
        *(capable[name].tolist() for name in ("has", "dir", "sender_key", "receiver_key")), strict=True
    ):
        end = int(direction != opener)
        if has & SENDER_KEY and keys[end] is None:
            keys[end] = own
        if has & RECEIVER_KEY and keys[1 - end] is None:
            keys[1 - end] = other
    # The answer names the version in use; an offer may be of a later one.
    answered = np.flatnonzero(capable["dir"] != opener)
    version = int(capable["version"][answered[0] if len(answered) else -1])
    return Transfer(version, keys, [Subflow(conn, False, opener == 1, False)])


@frozen
class Carried:
    """What a subflow carried one way.

    Attributes
    ----------
    sent, unique : int
        Payload bytes sent, and without those retransmitted on the subflow itself.
    reinjected : int
        Of `unique`, bytes of the transfer that had been transmitted earlier, on another subflow or on this
        one under other sequence numbers.
    unmapped : int
        Of `unique`, bytes for which no mapping was captured: not known to be either.
    """

    sent: int
    unique: int
    reinjected: int
    unmapped: int

    @property
    def data(self) -> int:
        """Bytes that it was the first to carry."""
        return self.unique - self.reinjected - self.unmapped


def carried(m: Timeline, transfer: Transfer, direction: int) -> tuple[int | None, list[Carried | None]]:
    """What each subflow carried in a direction of the transfer, by the capture nearest to the sender.

    Parameters
    ----------
    m : Timeline
    transfer : Transfer
        Whose subflows are looked at.
    direction : int
        0 from the first endpoint of the first subflow, 1 back.

    Returns
    -------
    source : int or None
        The capture, the same for all; None if none has the subflows.
    found : list of Carried or None
        By subflow; None where that capture has not got it.
    """
    source = _capture(m, transfer, direction)
    if source is None:
        return None, [None] * len(transfer.subflows)
    known = {connection.index: connection for connection in m.connections}
    mapped = [_mapped(m, source, known[one.conn], int(one.flipped) ^ direction) for one in transfer.subflows]
    there = [one for one in mapped if one is not None]
    if not there:
        return source, [None] * len(transfer.subflows)
    data_seq = _unwrapped([one.mappings for one in there])
    starts, sizes, times, of = [], [], [], []
    for number, (one, numbers) in enumerate(zip(there, data_seq, strict=True)):
        at, inside = one.places, one.places >= 0
        starts.append(numbers[at[inside]] + one.seq[inside] - one.mappings["start"][at[inside]])
        room = one.mappings["start"] + one.mappings["length"]
        sizes.append(np.minimum(one.length[inside], room[at[inside]] - one.seq[inside]))
        times.append(one.t_ns[inside])
        of.append(np.full(int(inside.sum()), number))
    start, size, time, flow = (np.concatenate(part) for part in (starts, sizes, times, of))
    order = np.argsort(time, kind="stable")
    before = native.bytes_covered_before(start[order], size[order])
    again = np.zeros(len(there), dtype=np.int64)
    np.add.at(again, flow[order], before)
    covered = np.zeros(len(there), dtype=np.int64)
    np.add.at(covered, flow, size)
    result: list[Carried | None] = []
    left = iter(zip(there, again.tolist(), covered.tolist(), strict=True))
    for entry in mapped:
        if entry is None:
            result.append(None)
            continue
        one, reinjected, whole = next(left)
        unique = int(one.length.sum())
        result.append(Carried(one.sent, unique, reinjected, unique - whole))
    return source, result


def _capture(m: Timeline, transfer: Transfer, direction: int) -> int | None:
    """The capture that has most of the subflows; of several, the one at the sender."""
    known = {connection.index: connection for connection in m.connections}
    counts: dict[int, int] = {}
    towards: list[bool] = []
    for one in transfer.subflows:
        connection = known[one.conn]
        towards.append((int(one.flipped) ^ direction) == _leaving(connection))
        for source in connection.summaries:
            counts[source] = counts.get(source, 0) + 1
    preferred = m.snd if sum(towards) * 2 >= len(towards) else m.rcv
    return max(counts, key=lambda source: (counts[source], source == preferred, -source), default=None)


def _leaving(connection: Connection) -> int:
    return connection.leaving if connection.leaving >= 0 else connection.data_dir


@frozen
class _Mapped:
    """New bytes of a subflow, and its mappings sorted by the first byte that each covers."""

    t_ns: Array
    seq: Array
    length: Array
    sent: int
    mappings: dict[str, Array]
    places: Array


def _mapped(m: Timeline, source: int, connection: Connection, direction: int) -> _Mapped | None:
    if source not in connection.summaries:
        return None
    segments = m.flow(connection.index, direction, source)
    data = segments.where(segments["length"] > 0)
    before = native.bytes_covered_before(data["seq"], data["length"].astype(np.int64))
    fresh = data["length"] - before
    new = fresh > 0
    seq = (data["seq"] + before)[new]  # retransmissions come before new data
    table = m.table("mptcp")
    rows = table.where(
        (table["conn"] == connection.index)
        & (table["dir"] == direction)
        & (table["source"] == source)
        & (
            ((table["has"] & MAPPING) != 0)
            | ((table["data_length"] > 0) & ((table["has"] & SENDER_KEY) != 0))
        )
    ).sorted_by("t_ns")
    implied = (rows["has"] & MAPPING) == 0  # MP_CAPABLE with data: its first byte, RFC 8684 3.1
    first = [initial_data_seq(int(key), 1) + 1 for key in rows["sender_key"][implied]]
    raw = (rows["data_seq"] & np.uint64(_WRAP - 1)).astype(np.int64)
    raw[implied] = [number % _WRAP for number in first]
    subflow_seq = rows["subflow_seq"].astype(np.int64)
    subflow_seq[implied] = 1
    isn = connection.summaries[source].get("isn", (None, None))
    if any(value is None for value in isn):
        start = rows[
            "seq"
        ].copy()  # what its numbers count from is unknown: it is of the bytes that it is with
    else:
        start = rows["seq"] + (subflow_seq - rows["seq"] + _WRAP // 2) % _WRAP - _WRAP // 2
    length = rows["data_length"].astype(np.int64) - ((rows["has"] & DATA_FIN) != 0)
    order = np.argsort(start, kind="stable")
    mappings = {
        "start": start[order],
        "length": length[order],
        "raw": raw[order],
        "t_ns": rows["t_ns"][order],
    }
    places = np.searchsorted(mappings["start"], seq, side="right") - 1
    if len(order):
        ends = (mappings["start"] + mappings["length"])[np.maximum(places, 0)]
        places = np.where((places >= 0) & (seq < ends), places, -1)
    return _Mapped(
        data["t_ns"][new], seq, fresh[new], int(data["length"].sum(dtype=np.int64)), mappings, places
    )


def _unwrapped(mappings: Sequence[dict[str, Array]]) -> list[Array]:
    """Data sequence numbers of all subflows as 64-bit numbers of one base.

    Some stacks send their lower half only: it is unwrapped in the order of time, each step the shorter way.
    """
    raw = np.concatenate([one["raw"] for one in mappings])
    order = np.argsort(np.concatenate([one["t_ns"] for one in mappings]), kind="stable")
    numbers = np.zeros(len(raw), dtype=np.int64)
    if len(raw):
        step = (np.diff(raw[order]) + _WRAP // 2) % _WRAP - _WRAP // 2
        numbers[order] = np.concatenate([[0], np.cumsum(step)]) + raw[order][0]
    return np.split(numbers, np.cumsum([len(one["raw"]) for one in mappings])[:-1])
