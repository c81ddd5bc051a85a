"""Which captured segment a packet of a host is: length and time tell, as captures are taken at the driver."""

from __future__ import annotations

import numpy as np

from multitracer.table import Array, Table

_EARLY_NS = 5_000_000  # a received packet is stamped before it is handed up
_CLOCK_NS = 20_000  # tracepoints may be stamped before the capture's stamp by so much
_LEAST_IP = 46  # Ethernet pads shorter packets; the tracepoint counts the padding


def join(packets: Table, segments: Table, outgoing: Array) -> Table:
    """`packets` with `capture`, `seq`, `conn` and `dir` of the segment that each of them is.

    Parameters
    ----------
    packets : Table
        `host_packets` of one source.
    segments : Table
        Those of the capture on the same interface, in order of time.
    outgoing : array of bool
        By segment, whether this host sent it.

    Notes
    -----
    The capture sees a packet right before the driver does, and one that comes right before the stack: of the
    segments of a packet's length, it is the last one before it. One segment is at most one packet; of two
    that want it, the one closer in time has it.
    """
    capture = np.full(len(packets), -1, dtype=np.int64)
    for way, t_ns in ((0, packets["start_ns"]), (1, packets["receive_ns"])):
        rows = np.flatnonzero((packets["way"] == way) & (t_ns >= 0))
        other = np.flatnonzero(outgoing if way == 0 else ~outgoing)
        lengths = segments["ip_length"][other].astype(np.int64)
        if way == 1:
            lengths = np.maximum(lengths, _LEAST_IP)
        own = packets["length"][rows]
        found = _match(
            np.maximum(own, _LEAST_IP) if way == 1 else own, t_ns[rows], lengths, segments["t_ns"][other]
        )
        capture[rows[found >= 0]] = other[found[found >= 0]]
    known = capture >= 0
    at = capture[known]
    columns = {name: packets[name].copy() for name in ("conn", "dir", "seq")}
    for name, column in columns.items():
        column[known] = segments[name][at]
    return packets.replace(capture=capture, **columns)


def _match(length: Array, t_ns: Array, other_length: Array, other_t_ns: Array) -> Array:
    """By packet, the place of its segment; -1 if there is none."""
    none = np.full(len(length), -1, dtype=np.int64)
    if not len(length) or not len(other_length):
        return none
    begin = min(int(t_ns.min()), int(other_t_ns.min())) - 2 * _EARLY_NS
    span = max(int(t_ns.max()), int(other_t_ns.max())) - begin + 2 * _EARLY_NS
    keep = (length >= 0) & (length <= 1 << 18)
    scale = np.int64(min(span + 1, (1 << 62) // (1 << 18)))
    if span >= scale:
        return none  # more than four hours: too long for one key
    order = np.argsort(other_length * scale + (other_t_ns - begin), kind="stable")
    keys = (other_length * scale + (other_t_ns - begin))[order]
    wanted = length * scale + (t_ns - begin)
    at = np.searchsorted(keys, wanted + _CLOCK_NS, side="right") - 1
    place = order[np.maximum(at, 0)]
    apart = t_ns - other_t_ns[place]
    good = keep & (at >= 0) & (other_length[place] == length) & (apart <= _EARLY_NS)
    rows = np.flatnonzero(good)
    rows = rows[np.argsort(np.abs(apart[rows]), kind="stable")]
    _, first = np.unique(place[rows], return_index=True)
    none[rows[first]] = place[rows[first]]
    return none
