"""The path of each packet through a host, from tracepoints that name packets by address alone.

An address serves one packet after the other. A new packet begins where the next event cannot be of the one
before: it is handed to the device's queue, it is received, or it comes from a queue after the driver had it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.model import schema
from multitracer.model.arrays.statistics import medians
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.frozen import frozen
from multitracer.model.table import Array, Table

_KIND = {name: code for code, name in enumerate(schema.HOST_KINDS)}
_PACKET_KINDS = [_KIND[name] for name in schema.HOST_KINDS[:7]]
# Linux include/linux/netdevice.h: results of a driver beyond the mask mean that it did not take the packet.
_XMIT_DROP, _XMIT_MASK = 1, 0x0F
_ETHERNET_HEADER = 14
_SMALLEST_PIECE = 64
_STACK_NS = 1_000_000  # so long, and on its CPU, the stack has a packet that is in no socket yet
_CUT_NS = 50_000_000  # a CPU that divides a packet may be delayed, but hardly for so long
_TRUSTED = 0.01  # packets cut in the queue that may remain unexplained, by their number


@frozen
class Elsewhere:
    """What could not be placed on the recorded interface.

    Attributes
    ----------
    drops : array of int
        Rows of `host_events`: drops of packets that the interface never had, or had sent already.
    foreign : int
        Packets that only queueing disciplines of other interfaces had (network namespaces share indices).
    uncut : int
        Packets cut in the queue whose whole is not known: their time in it is not known either.
    """

    drops: Array
    foreign: int
    uncut: int


def ways(events: Table, reasons: list[str], foreign: Array | None = None) -> tuple[Table, Elsewhere]:
    """`host_packets` of one source, in order of time; not yet joined to a capture.

    Parameters
    ----------
    events : Table
        `host_events` of one source, in order of time.
    reasons : list of str
        Names of drop reasons by their number.
    foreign : array of bool, optional
        Which events are of other hosts' sockets (network namespaces): their drops are not of this interface,
        though the address may be that of a packet it has had.

    Returns
    -------
    Table, Elsewhere

    Notes
    -----
    A queueing discipline may cut a super-segment into packets of its own (tbf). Those never had an event of
    being queued: they are counted off, first in, first out, against what was queued and not seen again.
    """
    named = np.isin(events["kind"], _PACKET_KINDS) & ~np.isin(events["skb"], (0, -1))
    # A packet that the driver dropped is lost: its `xmit` does not show where it is.
    named &= (events["kind"] != _KIND["xmit"]) | refused(events)
    apart_drops = np.zeros(len(events), dtype=bool)
    if foreign is not None:
        apart_drops = named & foreign & (events["kind"] == _KIND["drop"])
    rows = np.flatnonzero(named & ~apart_drops)
    skb, kind = events["skb"][rows], events["kind"][rows]
    order = np.argsort(skb, kind="stable")
    rows, skb, kind = rows[order], skb[order], kind[order]
    first = _begins(skb, kind, events["length"][rows])
    life = np.cumsum(first) - 1
    count = int(life[-1]) + 1 if len(life) else 0
    seen = _Lives(events, rows, kind, life, count)
    incoming = seen.time("receive") >= 0
    apart = seen.time("drop") - seen.time("receive") > _STACK_NS
    apart |= seen.value("drop", "cpu") != seen.value("receive", "cpu")
    late = incoming & (seen.rows("drop") >= 0) & apart & (seen.value("drop", "flow") < 0)
    late |= incoming & _of_queues(reasons)[seen.value("drop", "name")]
    late |= _freed_by_cutting(seen)
    reused = seen.rows("drop")[late]
    seen.forget("drop", late)
    ours = incoming | (seen.time("queue") >= 0) | (seen.time("start_xmit") >= 0)
    dropped = seen.time("drop") >= 0
    lone = seen.rows("drop")[dropped & ~ours]
    elsewhere = int(np.count_nonzero(~ours & ~dropped))
    _give_bulks(events, seen)
    table = _table(events, seen, np.flatnonzero(ours))
    lone = np.sort(np.concatenate((lone, reused, np.flatnonzero(apart_drops))))
    whole, left_out, piece_of = _cut(events, table, lone, reasons)
    # Those that went with all their pieces have no reason of their own: the pieces have it.
    reason = table["reason"].copy()
    reason[whole[(left_out > 0) & (table["drop_ns"][whole] >= 0)]] = -1
    there = table["drop_ns"][whole] < 0
    pieces = _dropped_pieces(events, table, lone[piece_of >= 0], whole[piece_of[piece_of >= 0]])
    table, uncut = _uncut(table.replace(reason=reason), whole[there], left_out[there])
    table = Table.merged(schema.HOST_PACKETS, (table, pieces), "t_ns")
    return table, Elsewhere(lone[piece_of < 0], elsewhere, uncut)


def refused(events: Table) -> Array:
    """Which events are of a driver that took no packet, so that it stays in the host (NETDEV_TX_BUSY)."""
    found: Array = (events["kind"] == _KIND["xmit"]) & (events["value"] > _XMIT_MASK)
    return found


def dropped_by_driver(events: Table) -> Array:
    """Which events are of a driver that dropped a packet: NET_XMIT_DROP, or an error."""
    code = events["value"]
    found: Array = (events["kind"] == _KIND["xmit"]) & ((code == _XMIT_DROP) | (code < 0))
    return found


def _dropped_pieces(events: Table, packets: Table, drops: Array, wholes: Array) -> Table:
    """Pieces that a queueing discipline cut and dropped at once, as packets without a length."""
    return Table.filled(
        schema.HOST_PACKETS,
        len(drops),
        {
            "t_ns": events["t_ns"][drops],
            "source": events["source"][drops],
            "record": events["record"][drops],
            "way": np.zeros(len(drops), dtype=np.int8),
            "skb": events["skb"][drops],
            "parent": packets["record"][wholes],
            "segments": np.ones(len(drops), dtype=np.int32),
            "starts": np.zeros(len(drops), dtype=np.int16),
            "queue_ns": packets["queue_ns"][wholes],
            "drop_ns": events["t_ns"][drops],
            "reason": events["name"][drops],
            "handle": packets["handle"][wholes],
        },
    )


def dropped(packets: Table) -> Array:
    """Which rows of `host_packets` the host dropped: of one that went piece by piece, its pieces."""
    found: Array = (packets["drop_ns"] >= 0) & (packets["reason"] >= 0)
    return found


def _begins(skb: Array, kind: Array, length: Array) -> Array:
    """Whether each event, in order of address and time, begins a packet."""
    if not len(skb):
        return np.zeros(0, dtype=bool)
    before = np.concatenate(([-1], kind[:-1]))
    new = np.concatenate(([True], skb[1:] != skb[:-1]))
    drop, start, xmit, queue = (_KIND[name] for name in ("drop", "start_xmit", "xmit", "queue"))
    new |= np.isin(kind, (queue, _KIND["receive"]))
    new |= (kind == _KIND["enqueue"]) & (before != queue)
    # After `start_xmit` only the driver's refusal (`xmit`) keeps a packet in the host.
    new |= (before == start) & (kind != xmit)
    new |= before == drop
    # What was received is not sent under the same address (unless forwarded: then it is queued).
    new |= (before == _KIND["receive"]) & (kind != drop)
    # A super-segment that was cut in the queue is free, and its address may soon be that of a piece.
    place = np.arange(len(skb))
    queued = np.maximum.accumulate(np.where(new, place, 0))
    after = np.minimum(place + 1, len(skb) - 1)
    leaves = (kind == _KIND["dequeue"]) & (kind[after] == start) & (skb[after] == skb)
    at = np.where(leaves, after, place)
    leaves |= (kind == start) & (before == _KIND["enqueue"])
    new |= leaves & (kind[queued] == queue) & (length[at] + _SMALLEST_PIECE < length[queued])
    return new


class _Lives:
    """First and last events of each kind in the life of each packet."""

    def __init__(self, events: Table, rows: Array, kind: Array, life: Array, count: int) -> None:
        self._events = events
        self._at: dict[str, Array] = {}
        self.starts = np.bincount(life[kind == _KIND["start_xmit"]], minlength=count)
        self._rows, self._kind, self._life, self.count = rows, kind, life, count

    def rows(self, name: str) -> Array:
        """By packet, the row of its last event of a kind; -1 if there is none."""
        if name not in self._at:
            found = np.full(self.count, -1, dtype=np.int64)
            own = self._kind == _KIND[name]
            found[self._life[own]] = self._rows[own]
            self._at[name] = found
        return self._at[name]

    def forget(self, name: str, lives: Array) -> None:
        """Take events of a kind away from some packets: they are of others."""
        self.rows(name)[lives] = -1

    def time(self, name: str) -> Array:
        """By packet, the time of that event; -1 if there is none."""
        return self.value(name, "t_ns")

    def value(self, name: str, column: str) -> Array:
        """By packet, a column of that event; -1 if there is none."""
        rows = self.rows(name)
        values = self._events[column].astype(np.int64)
        found: Array = np.where(rows >= 0, values[rows], -1) if len(values) else rows
        return found


def _freed_by_cutting(seen: _Lives) -> Array:
    """Super-segments that were cut in the queue: a later drop under their address is of another packet."""
    piece = (seen.rows("queue") < 0) & (seen.rows("dequeue") >= 0) & (seen.rows("start_xmit") >= 0)
    if not piece.any():
        return np.zeros(seen.count, dtype=bool)
    largest = int(seen.value("start_xmit", "length")[piece].max())
    cut = (seen.rows("enqueue") >= 0) & (seen.rows("dequeue") < 0) & (seen.value("queue", "length") > largest)
    return cut & (seen.rows("drop") >= 0)


def _give_bulks(events: Table, seen: _Lives) -> None:
    """Packets that a queueing discipline gave in one go with others: only the first has an event of its own.

    The driver gets the others right after it, on the same CPU.
    """
    start, dequeue = seen.rows("start_xmit"), seen.rows("dequeue")
    lives = np.flatnonzero(
        (start >= 0) & (dequeue < 0) & ((seen.rows("queue") < 0) | (seen.rows("enqueue") >= 0))
    )
    bulks = np.flatnonzero((events["kind"] == _KIND["dequeue"]) & (events["length"] > 1))
    if not len(bulks):
        return
    for cpu in sorted_unique(events["cpu"][start[lives]]).tolist():
        own = lives[events["cpu"][start[lives]] == cpu]
        given = bulks[events["cpu"][bulks] == cpu]
        if not len(given):
            continue
        at = given[np.maximum(np.searchsorted(given, start[own]) - 1, 0)]
        since = events["t_ns"][start[own]] - events["t_ns"][at]
        good = (at < start[own]) & (since < _STACK_NS)
        dequeue[own[good]] = at[good]


def _table(events: Table, seen: _Lives, lives: Array) -> Table:
    """The packets that the interface had."""

    def of(name: str, column: str = "t_ns") -> Array:
        return seen.value(name, column)[lives]

    header = of("start_xmit", "value")
    usual = int(medians(header[header >= 0])) if np.any(header >= 0) else _ETHERNET_HEADER
    sent = np.maximum(of("start_xmit", "length"), of("queue", "length"))
    length = sent - np.where(header >= 0, header, usual)
    length = np.where(of("receive") >= 0, of("receive", "length"), np.where(sent >= 0, length, -1))
    times = {name: of(name) for name in ("queue", "enqueue", "dequeue", "start_xmit", "receive", "drop")}
    stages = np.stack(list(times.values()))
    begin = np.where(stages >= 0, stages, np.iinfo(np.int64).max).min(axis=0) if len(lives) else []
    records = np.stack([seen.rows(name)[lives] for name in times])
    first = np.where(records >= 0, records, np.iinfo(np.int64).max).min(axis=0)
    columns: dict[str, Any] = {
        "t_ns": begin,
        "source": events["source"][first] if len(first) else [],
        "record": events["record"][first] if len(first) else [],
        "way": (times["receive"] >= 0).astype(np.int8),
        "skb": events["skb"][first] if len(first) else [],
        "length": length,
        "segments": np.maximum(of("start_xmit", "extra"), 1),
        "queue_ns": times["queue"],
        "enqueue_ns": times["enqueue"],
        "dequeue_ns": times["dequeue"],
        "start_ns": times["start_xmit"],
        "starts": seen.starts[lives],
        "receive_ns": times["receive"],
        "drop_ns": times["drop"],
        "reason": of("drop", "name"),
        "handle": np.maximum(of("enqueue", "value"), of("dequeue", "value")),
    }
    return Table.in_time(schema.HOST_PACKETS, columns)


def _uncut(packets: Table, whole: Array, dropped: Array) -> tuple[Table, int]:
    """Packets that a queueing discipline cut out of larger ones get the larger one each; how many did not."""
    pieces = np.flatnonzero((packets["queue_ns"] < 0) & (packets["dequeue_ns"] >= 0))
    if not len(whole) or not len(pieces):
        return packets, len(pieces)
    largest = int(packets["length"][pieces].max())
    header = _header(packets["length"][whole], largest)
    payload = np.maximum(packets["length"][whole] - header, 1)
    left = np.maximum(-(-payload // max(largest - header, 1)) - dropped, 0)
    pieces = pieces[np.argsort(packets["dequeue_ns"][pieces], kind="stable")]
    ends = np.cumsum(left)
    parent = np.searchsorted(ends, np.arange(len(pieces)), side="right")
    known = parent < len(whole)
    row = whole[np.minimum(parent, len(whole) - 1)]
    known &= packets["queue_ns"][row] <= packets["dequeue_ns"][pieces]
    missing = abs(len(pieces) - int(ends[-1]))
    late = packets["queue_ns"][whole] > packets["dequeue_ns"][pieces].max(initial=0)
    waiting = int(left[late].sum())  # still in the queue at the end
    if missing > _TRUSTED * len(pieces) + waiting + 1:
        return packets, len(pieces)
    parents = np.full(len(packets), -1, dtype=np.int64)
    parents[pieces[known]] = packets["record"][row[known]]
    enqueue = packets["enqueue_ns"].copy()
    enqueue[pieces[known]] = packets["queue_ns"][row[known]]
    return packets.replace(parent=parents, enqueue_ns=enqueue), int(np.count_nonzero(~known))


def _header(lengths: Array, largest: int) -> int:
    """Bytes of IP and TCP headers: those with which super-segments are whole multiples of a segment, if any.

    With time stamps or without, IPv4 or IPv6: whichever leaves the least over most often.
    """
    best = (-1, 52)
    for header in (52, 40, 72, 60):
        if largest > header:
            even = int(np.count_nonzero((lengths - header) % (largest - header) == 0))
            best = max(best, (even, header), key=lambda found: found[0])
    return best[1]


def _of_queues(reasons: list[str]) -> Array:
    """By number of a reason, whether queueing disciplines give it; the last is for none."""
    return np.array([name.startswith("QDISC_") for name in reasons] + [False])


def _cut(events: Table, packets: Table, drops: Array, reasons: list[str]) -> tuple[Array, Array, Array]:
    """Packets that a queueing discipline cut in pieces as they came, and drops of pieces.

    Returns
    -------
    array of int
        Rows of packets that were queued and never seen again as they were.
    array of int
        By them, how many of their pieces were dropped at once: on the CPU that queued the whole, soon
        after, before it queued the next packet.
    array of int
        By drop, the place in the first array of the packet that it is a piece of; -1: of none.
    """
    gone = (packets["queue_ns"] >= 0) & (packets["dequeue_ns"] < 0) & (packets["start_ns"] < 0)
    itself = (packets["drop_ns"] >= 0) & (
        (packets["enqueue_ns"] >= 0) | _of_queues(reasons)[packets["reason"]]
    )
    whole = np.flatnonzero(gone & ~itself)
    counts, piece_of = np.zeros(len(whole), dtype=np.int64), np.full(len(drops), -1, dtype=np.int64)
    place = {record: at for at, record in enumerate(packets["record"][whole].tolist())}
    queue_rows = np.flatnonzero(events["kind"] == _KIND["queue"])
    wanted = _of_queues(reasons)[events["name"][drops]]
    for cpu in sorted_unique(events["cpu"][drops[wanted]]).tolist():
        own = np.flatnonzero(wanted & (events["cpu"][drops] == cpu))
        queued = queue_rows[events["cpu"][queue_rows] == cpu]
        at = np.searchsorted(queued, drops[own]) - 1
        own, at = own[at >= 0], at[at >= 0]
        near = events["t_ns"][drops[own]] - events["t_ns"][queued[at]] < _CUT_NS
        for drop, record in zip(own[near].tolist(), events["record"][queued[at[near]]].tolist(), strict=True):
            if record in place:
                counts[place[record]] += 1
                piece_of[drop] = place[record]
    return whole, counts, piece_of
