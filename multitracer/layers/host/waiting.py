"""Where data waited in a host: send buffer, queueing discipline, device, receive queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from multitracer.layers.host.calls import copies
from multitracer.model.arrays.statistics import quantiles
from multitracer.model.table import Array, Table

LAYERS = ("send_buffer", "qdisc", "device", "receive_queue")

_UNKNOWN, _NONE = -1, -2


def waiting(
    packets: Table, segments: Table, events: Table, calls: Table, begun: Callable[[int, int], bool]
) -> dict[str, dict[str, Any]]:
    """Time of packets with data in each layer of a host, and each layer's share of all that time.

    Parameters
    ----------
    packets : Table
        `host_packets` of one source, joined to a capture.
    segments : Table
        All segments of the measurement, as `capture` of the packets counts rows.
    events, calls : Table
        `host_events` and joined `host_calls` of the source.
    begun : callable
        ``begun(conn, dir)``: whether the first byte of a direction was captured.

    Returns
    -------
    dict of str to dict
        By layer: ``packets``, ``unknown``, ``total_s``, ``share``, ``median_s``, ``p95_s``, ``max_s``.

    Notes
    -----
    The first byte of a packet with new data is in the send buffer from its copy by a call until the packet is
    handed down. The last byte is in the receive queue from its arrival to the end of the read that took it,
    also while earlier data is missing. Packets that the host dropped and duplicates have no time there.
    """
    rows = np.flatnonzero((packets["capture"] >= 0) & (packets["drop_ns"] < 0))
    rows = rows[segments["length"][packets["capture"][rows]] > 0]
    data = packets.where(rows)
    end = data["seq"] + segments["length"][data["capture"]]
    out = data["way"] == 0
    waits = {layer: np.full(len(data), _NONE, dtype=np.int64) for layer in LAYERS}
    waits["qdisc"][out] = _queued(data.where(out))
    waits["device"][out] = _device(data.where(out))
    handed = np.where(data["queue_ns"] >= 0, data["queue_ns"], data["enqueue_ns"])
    writes = copies(events, calls)
    reads = calls.where(calls["kind"] == 1)
    for conn, dir_, way in sorted(
        set(zip(*(data[name].tolist() for name in ("conn", "dir", "way")), strict=True))
    ):
        own = np.flatnonzero((data["conn"] == conn) & (data["dir"] == dir_) & (data["way"] == way))
        new = end[own] > np.concatenate(([0], np.maximum.accumulate(end[own])[:-1]))
        if way == 0:
            own = own[new]
            mine = (writes["conn"] == conn) & (writes["dir"] == dir_)
            found = _since(writes["t_ns"][mine], writes["place"][mine], data["seq"][own], handed[own])
            layer = "send_buffer"
        else:
            mine = (reads["conn"] == conn) & (reads["dir"] == dir_)
            upto = np.cumsum(np.maximum(reads["length"][mine], 0))
            found = _until(reads["t_ns"][mine], upto, end[own] - 1, data["receive_ns"][own])
            layer = "receive_queue"
        waits[layer][own] = found if begun(conn, dir_) else _UNKNOWN
    whole = sum(int(found[found >= 0].sum()) for found in waits.values())
    return {layer: _summary(found, whole) for layer, found in waits.items()}


def _queued(out: Table) -> Array:
    """Time in the queueing discipline: none for what went straight to the driver."""
    waited = (out["enqueue_ns"] >= 0) & (out["dequeue_ns"] >= 0)
    straight = (out["enqueue_ns"] < 0) & (out["dequeue_ns"] < 0) & (out["queue_ns"] >= 0)
    wait = np.maximum(out["dequeue_ns"] - out["enqueue_ns"], 0)
    found: Array = np.where(waited, wait, np.where(straight, 0, _UNKNOWN))
    return found


def _device(out: Table) -> Array:
    """Time from the queue to the driver that takes it, at the last try."""
    left = np.where(out["dequeue_ns"] >= 0, out["dequeue_ns"], out["queue_ns"])
    known = (left >= 0) & (out["start_ns"] >= 0)
    found: Array = np.where(known, np.maximum(out["start_ns"] - left, 0), _UNKNOWN)
    return found


def _since(t_ns: Array, place: Array, seq: Array, handed_ns: Array) -> Array:
    """By packet, how long its first byte (from 1) was in the socket; copies begin after `place`."""
    at = np.searchsorted(place, seq, side="left") - 1
    known = (at >= 0) & (handed_ns >= 0)
    if not len(t_ns):
        return np.full(len(seq), _UNKNOWN, dtype=np.int64)
    wait = np.maximum(handed_ns - t_ns[np.maximum(at, 0)], 0)
    found: Array = np.where(known, wait, _UNKNOWN)
    return found


def _until(t_ns: Array, upto: Array, last: Array, came_ns: Array) -> Array:
    """By packet, how long its last byte waited for the read; none where it had been read: a duplicate."""
    if not len(t_ns):
        return np.full(len(last), _UNKNOWN, dtype=np.int64)
    at = np.searchsorted(upto, last, side="left")
    wait = t_ns[np.minimum(at, len(t_ns) - 1)] - came_ns
    found: Array = np.where(at == len(t_ns), _UNKNOWN, np.where(wait >= 0, wait, _NONE))
    return found


def _summary(waits: Array, whole: int) -> dict[str, Any]:
    known = waits[waits >= 0]
    total = int(known.sum())
    median, p95 = quantiles(known, (0.5, 0.95)) if len(known) else (None, None)
    return {
        "packets": len(known),
        "unknown": int(np.count_nonzero(waits == _UNKNOWN)),
        "total_s": _seconds(total) if len(known) else None,
        "share": round(total / whole, 6) if whole and len(known) else None,
        "median_s": _seconds(median),
        "p95_s": _seconds(p95),
        "max_s": _seconds(known.max()) if len(known) else None,
    }


def _seconds(value: Any) -> float | None:
    return None if value is None else round(float(value) / 1e9, 9)
