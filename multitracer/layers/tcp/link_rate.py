"""The one rate of a connection's bottleneck, where several sources give it.

A capture behind the bottleneck sees packets as it lets them through; next to the sender only their ACKs come
back, in bursts and late. A rate that trains share is the link's; the mean while packets waited has its pauses
in it. What was declared of the link is the most that it carries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from multitracer.layers.tcp.bottleneck import bottleneck
from multitracer.model.timeline import Connection, Timeline

_DIRECTIONS = ("forward", "reverse")


def by_all_sources(
    m: Timeline, connection: Connection, source: int, found: Mapping[str, Any]
) -> dict[str, Any]:
    """`bottleneck` of a connection with the rate that the best of the sources shows.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture that `found` is from.
    found : mapping
        ``bottleneck`` (docs/json.md) by that capture alone.

    Returns
    -------
    dict
        The same with that rate, and with the queueing delay by it.
    """
    rate_bps, exact = _rate(m, connection, source, found)
    declared = m.settings.get("link_rate_bps")
    if rate_bps is not None and isinstance(declared, int | float) and declared > 0:
        rate_bps = min(rate_bps, float(declared))
    return {**found, "rate_bps": rate_bps, "rate_exact": exact, **_over_full_base(found, rate_bps)}


def _rate(
    m: Timeline, connection: Connection, source: int, found: Mapping[str, Any]
) -> tuple[float | None, bool]:
    own = found["rate_bps"], bool(found["rate_exact"])
    if own[0] is None or m.rcv is None or m.rcv == source:
        return own
    behind = _at_receiver(m, connection)
    if behind is not None and behind["rate_bps"] is not None and (behind["rate_exact"] or not own[1]):
        return behind["rate_bps"], bool(behind["rate_exact"])
    if own[1] or found["shared_with"] or len(m.connections) > 1:
        return own
    passed = bottleneck(m)
    if passed is None or passed.basis != "arrivals":
        return own
    return round(8 * passed.rate, 3), False


def _at_receiver(m: Timeline, connection: Connection) -> Mapping[str, Any] | None:
    """``bottleneck`` by the receiver's capture alone."""
    summary = connection.summaries.get(m.rcv) if m.rcv is not None else None
    text = (summary or {}).get(_DIRECTIONS[connection.data_dir], {}).get("path")
    found: Mapping[str, Any] | None = None if text is None else json.loads(text)["bottleneck"]
    return found


def _over_full_base(found: Mapping[str, Any], rate_bps: float | None) -> dict[str, Any]:
    """Base RTT of a full segment and queueing delay by another rate: its own transmission takes longer."""
    full_ms, queue = found["full_base_rtt_ms"], found["standing_queue_ms"]
    if full_ms is not None and rate_bps is not None and rate_bps != found["rate_bps"]:
        longer_ms = (full_ms - found["base_rtt_ms"]) * (found["rate_bps"] / rate_bps - 1)
        full_ms = round(full_ms + longer_ms, 3)
        queue = queue and {key: round(max(value - longer_ms, 0.0), 3) for key, value in queue.items()}
    return {"full_base_rtt_ms": full_ms, "standing_queue_ms": queue}
