"""What dropped the packets of a connection, as the segments of one capture show it: a policer, or a queue.

Where others share its bottleneck, what one sends does not show when a bucket is empty, or a queue full of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.model.timeline import Connection, Timeline

Object = Mapping[str, Any]


def loss_causes(
    m: Timeline,
    connection: Connection,
    source: int,
    data: Object,
    seen: Object,
    standstills: Sequence[Object] | None,
) -> dict[str, dict[str, Any] | None]:
    """The keys ``policer`` and ``queue_at_losses`` of a connection (docs/json.md).

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture.
    data : mapping
        Summary of the data direction there.
    seen : mapping
        With ``rtt`` and ``bottleneck`` of the connection.
    standstills : sequence of mapping, or None
        Stalls of its path, if they are known.
    """
    upstream, downstream = data["losses"]["upstream"], data["losses"]["downstream"]
    rtt, bottleneck = seen["rtt"], seen["bottleneck"] or {}
    hidden = m.summarised or rtt is None or rtt["base_ms"] is None or bottleneck.get("shared_with")
    if hidden or not (upstream or downstream):
        return {"policer": None, "queue_at_losses": None}
    most, before = max(upstream, downstream), upstream > downstream
    stalls_ns = [
        (m.nanoseconds(one["start"]), m.nanoseconds(one["start"] + one["length_s"]))
        for one in standstills or ()
    ]
    queue = _queue(m, connection, source, (rtt, bottleneck, stalls_ns), most, before=before)
    # A queue that is shorter than a bucket with it, in front of a shaper: no RTT grows in front of a policer.
    full = queue is not None and queue["dropped"]
    return {
        "policer": None if full else _policer(m, connection, source, rtt, most, before=before),
        "queue_at_losses": queue,
    }


def _policer(
    m: Timeline, connection: Connection, source: int, rtt: Object, losses: int, *, before: bool
) -> dict[str, Any] | None:
    from multitracer.layers.tcp.policer import LEAST, policer

    if losses < LEAST or rtt["p95_ms"] is None:
        return None
    found = policer(m, connection, source, (rtt["base_ms"], rtt["p95_ms"]), before=before)
    if found is None:
        return None
    return {
        "rate_bps": round(found.rate_bps, 3),
        "rate_at_least": found.at_least,
        "burst_bytes": round(found.burst_bytes),
        "losses": found.losses,
        "of": found.of,
    }


def _queue(
    m: Timeline,
    connection: Connection,
    source: int,
    path: tuple[Object, Object, Sequence[tuple[int, int]]],
    losses: int,
    *,
    before: bool,
) -> dict[str, Any] | None:
    """`path` is its RTT, its bottleneck, and first and last time of each of its stalls."""
    from multitracer.layers.tcp.queue_at_losses import LEAST, queue_at_losses

    if losses < LEAST:
        return None
    rtt, bottleneck, stalls_ns = path
    found = queue_at_losses(
        m,
        connection,
        source,
        before=before,
        base_ns=round(1e6 * rtt["base_ms"]),
        rate_bps=bottleneck.get("rate_bps"),
        stalls_ns=stalls_ns,
    )
    if found is None:
        return None
    return {
        "longest_ms": round(found.longest_ns / 1e6, 3),
        "dropping_ms": None if found.dropping_ns is None else round(found.dropping_ns / 1e6, 3),
        "of": found.of,
        "at_longest": found.at_longest,
        "empty": found.empty,
        "dropped": found.dropped,
    }
