"""The captured segment of a host's packet, by length and time, as captures are taken at the driver."""

from __future__ import annotations

import numpy as np

from multitracer.model.table import Array, Table

# Capture and tracepoint stamp one packet microseconds apart, unless the CPU is taken away in between: up to a
# scheduler's time slice or two. The closest are joined first, so the room serves only those that are left.
_EARLY_NS = 20_000_000  # the tracepoint after the capture
_CLOCK_NS = 20_000_000  # the tracepoint before the capture
_ROUNDS = 8
_LEAST_IP = 46  # Ethernet pads shorter packets; the tracepoint counts the padding


def join(packets: Table, segments: Table, outgoing: Array) -> tuple[Table, int]:
    """Join packets to the segments that they are.

    Parameters
    ----------
    packets : Table
        `host_packets` of one source.
    segments : Table
        Those of the capture on the same interface, in order of time.
    outgoing : array of bool
        By segment, whether this host sent it.

    Returns
    -------
    Table
        `packets` with `capture`, `seq`, `conn` and `dir`.
    int
        Ambiguous joins: another segment of the same direction and length was at least as close to the usual
        distance in time. There the order decided, and that no segment is two packets.

    Notes
    -----
    The capture sees a packet right before the driver does, and one that comes right before the stack. Of the
    segments of a packet's length it is the one closest to the usual distance in time; one segment is at most
    one packet, and packets of one length keep their order. No event of the device or of a queueing discipline
    has a sequence number, an IP ID, or the socket of what is sent. TCP's events have the address of its own
    copy, and a clone with another address goes down.
    """
    ambiguous = 0
    capture = np.full(len(packets), -1, dtype=np.int64)
    for direction, t_ns in ((0, packets["start_ns"]), (1, packets["receive_ns"])):
        rows = np.flatnonzero((packets["way"] == direction) & (t_ns >= 0))
        other = np.flatnonzero(outgoing if direction == 0 else ~outgoing)
        lengths = segments["ip_length"][other].astype(np.int64)
        if direction == 1:
            lengths = np.maximum(lengths, _LEAST_IP)
        own = packets["length"][rows]
        found = _match(
            np.maximum(own, _LEAST_IP) if direction == 1 else own,
            t_ns[rows],
            lengths,
            segments["t_ns"][other],
        )
        capture[rows[found >= 0]] = other[found[found >= 0]]
        ambiguous += _ambiguous(found, t_ns[rows], lengths, segments["t_ns"][other])
    known = capture >= 0
    at = capture[known]
    columns = {name: packets[name].copy() for name in ("conn", "dir", "seq")}
    for name, column in columns.items():
        column[known] = segments[name][at]
    return packets.replace(capture=capture, **columns), ambiguous


def _ambiguous(found: Array, t_ns: Array, other_length: Array, other_t_ns: Array) -> int:
    """Joined packets for which another segment of the length is at least as close to the usual distance.

    Parameters
    ----------
    found : array of int
        By packet, the place of its segment; -1 if it has none.
    t_ns : array of int
        When the packet was handed over.
    other_length, other_t_ns : array of int
        Bytes and time of every segment of the direction.
    """
    rows = np.flatnonzero(found >= 0)
    if not len(rows):
        return 0
    mine = found[rows]
    apart = t_ns[rows] - other_t_ns[mine]
    usual = int(np.median(apart))
    order = np.lexsort((other_t_ns, other_length))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    closer = np.zeros(len(rows), dtype=bool)
    # Segments of a length are in order of time: if any is as close, a neighbour is.
    for step in (-1, 1):
        at = place[mine] + step
        there = (at >= 0) & (at < len(order))
        beside = order[np.clip(at, 0, len(order) - 1)]
        there &= other_length[beside] == other_length[mine]
        distance = np.abs(t_ns[rows] - other_t_ns[beside] - usual)
        closer |= there & (distance <= np.abs(apart - usual))
    return int(np.count_nonzero(closer))


def _match(length: Array, t_ns: Array, other_length: Array, other_t_ns: Array) -> Array:
    """By packet, the place of its segment; -1 if there is none."""
    none = np.full(len(length), -1, dtype=np.int64)
    if not len(length) or not len(other_length):
        return none
    begin = min(int(t_ns.min()), int(other_t_ns.min())) - 2 * _EARLY_NS
    span = max(int(t_ns.max()), int(other_t_ns.max())) - begin + 2 * _EARLY_NS
    if span >= 1 << 44 or int(other_length.max()) >= 1 << 18:
        return none  # more than four hours: too long for one key
    wanted = (np.clip(length, 0, (1 << 18) - 1) << 44) + (t_ns - begin)
    keys = (other_length << 44) + (other_t_ns - begin)
    left, free = np.flatnonzero(length >= 0), np.argsort(keys, kind="stable")
    usual = 0
    for _ in range(_ROUNDS):
        if not len(left) or not len(free):
            break
        at = np.searchsorted(keys[free], wanted[left] - usual)
        sides = np.stack((np.maximum(at - 1, 0), np.minimum(at, len(free) - 1)))
        apart = wanted[left] - keys[free[sides]]
        far = np.where((apart >= -_CLOCK_NS) & (apart <= _EARLY_NS), np.abs(apart - usual), 1 << 62)
        side = np.argmin(far, axis=0)
        near, distance = sides[side, np.arange(len(left))], far.min(axis=0)
        good = np.flatnonzero(distance < 1 << 62)
        if not len(good):
            break
        good = good[np.argsort(distance[good], kind="stable")]
        _, first = np.unique(near[good], return_index=True)
        chosen = good[first]
        none[left[chosen]] = free[near[chosen]]
        usual = int(np.median(t_ns[none >= 0] - other_t_ns[none[none >= 0]]))
        free = np.delete(free, near[chosen])
        left = np.delete(left, chosen)
    # Packets of one length do not overtake each other between capture and driver.
    rows = np.flatnonzero(none >= 0)
    rows = rows[np.argsort(wanted[rows], kind="stable")]
    none[rows] = none[rows][np.argsort(keys[none[rows]], kind="stable")]
    return none
