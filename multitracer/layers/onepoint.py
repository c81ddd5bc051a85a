"""What one capture tells of a connection, wherever it was taken; the kernel's own account overrules it.

The core finds it in its single pass (docs/limits.md): round trip in two halves, what limited the sender, the
bottleneck, and the observation point. Each is said here, and nowhere else, in the words of the contract.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from multitracer.model.timeline import Connection, Timeline

NETWORK = ("congestion_window", "bandwidth", "loss_recovery")
"""Limits that the kernel's counters do not tell apart."""
_LIMITS = ("application", "receiver_window", *NETWORK, "handshake", "unknown")
_NOTHING: dict[str, Any] = {"rtt": None, "limits": None, "bottleneck": None, "observation": None}


def one_point(m: Timeline, connection: Connection, source: int) -> dict[str, Any]:
    """`rtt`, `limits`, `bottleneck` and `observation` of a connection, by one of its captures.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        A source that saw it.

    Returns
    -------
    dict
        As docs/json.md has them; None for what the source does not tell.
    """
    summary = connection.summaries[source]
    direction: Mapping[str, Any] = summary.get(("forward", "reverse")[connection.data_dir], {})
    text = direction.get("path")
    found: dict[str, Any] = dict(_NOTHING if text is None else json.loads(text))
    kernel = kernel_limits(m, connection, direction, found["limits"])
    if kernel is not None:
        found["limits"] = kernel
    return found


def kernel_limits(
    m: Timeline,
    connection: Connection,
    direction: Mapping[str, Any],
    inferred: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    """Shares by the kernel's counters (tcp_info: busy, rwnd_limited, sndbuf_limited); None without them.

    Time that is not busy had nothing to send, and so had a send buffer too small for more: both are the
    application's. What is neither that nor the receiver's window goes to the rest as `inferred` has them, or
    is unknown.
    """
    if not m.rows("tcp_states"):
        return None
    from multitracer.model.arrays.group_by import Grouped

    states = m.table("tcp_states")
    rows = m.once("tcp_states_by_flow", lambda: Grouped(states["conn"], states["dir"])).rows(
        connection.index, connection.data_dir
    )
    rows = rows[states["busy_ns"][rows] >= 0]
    first_ns, last_ns = direction.get("first_data_ns"), direction.get("last_advance_ns")
    if not len(rows) or first_ns is None or last_ns is None:
        return None
    last = rows[-1]
    busy, window, buffer = (
        max(int(states[f"{name}_ns"][last]), 0) for name in ("busy", "rwnd_limited", "sndbuf_limited")
    )
    span_ns = max(min(int(states["t_ns"][last]), last_ns) - first_ns, busy, 1)
    window = min(window, busy)
    buffer = min(buffer, busy - window)
    network = busy - window - buffer
    told = dict.fromkeys(_LIMITS, 0.0)
    told["application"] = float(span_ns - busy + buffer)
    told["receiver_window"] = float(window)
    weights = {name: inferred[name] if inferred else 0.0 for name in NETWORK}
    whole = sum(weights.values())
    for name, weight in weights.items():
        told[name] = network * weight / whole if whole else 0.0
    told["unknown"] = 0.0 if whole else float(network)
    opening = inferred["handshake"] if inferred else 0.0
    scale = (1 - opening) / span_ns
    shares: dict[str, Any] = {name: round(value * scale, 6) for name, value in told.items()}
    seconds = inferred["seconds"] if inferred else round(span_ns / 1e9, 6)
    return shares | {"handshake": opening, "seconds": seconds, "method": "kernel"}
