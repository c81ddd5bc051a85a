"""Thirteen everyday transfers, each the same whatever the seed: what most people ask a capture about.

All but one cross real interfaces (sender, router, receiver, with the tap in the router); a small window needs
a path with delay to be a limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Table = dict[str, Any]


def matrix_run(number: int) -> Table:
    """The table of a transfer, as a scenario file holds it."""
    name = list(MATRIX)[number % len(MATRIX)]
    table: Table = {
        "shows": f"matrix: {name}",
        "limit_s": 60.0,
        "network": {"mtu_bytes": 1500, "sender": "ms", "offload": False, "quiet_s": 0.3, "drain_s": 15},
        "trace": {"events": False, "ss_interval_s": 0.1, "snaplen": 100, "middle": True},
        "tcp": {"congestion_control": "cubic", "sack": 1, "timestamps": 1},
        "link": {"model": "interfaces", "tap": "sender", "gro": False},
        "flow": [{"kind": "bulk", "data": "zeros", "bytes": 4_000_000}],
    }
    for part, settings in MATRIX[name].items():
        merged = isinstance(settings, Mapping) and part != "link"
        table[part] = table[part] | settings if merged else settings
    return table


def _queue(at: str, rate_bps: float, limit_bytes: int, kind: str = "tbf") -> Table:
    qdisc = {"kind": kind, "at": at, "rate_bps": rate_bps, "limit_bytes": limit_bytes, "burst_bytes": 3200}
    return {"network": {"qdisc": qdisc}}


def _flow(kind: str, count: int = 1, **settings: Any) -> list[Table]:
    return [
        {"kind": kind, "data": "zeros", "start_s": round(0.05 * number, 3), **settings}
        for number in range(count)
    ]


_DELAY = {
    "link": {
        "model": "path",
        "hop": [{"delay_ms": 10.0, "routers": 1}, {"delay_ms": 20.0, "routers": 1}],
    }
}

MATRIX: dict[str, Table] = {
    "sender-drop": _queue("sender", 20e6, 15_000),
    "sender-drop-reno": _queue("sender", 8e6, 12_000, "htb")
    | {"tcp": {"congestion_control": "reno"}, "flow": _flow("bulk", bytes=2_000_000)},
    "sender-flows": _queue("sender", 20e6, 40_000) | {"flow": _flow("bulk", 8, bytes=700_000)},
    "router-drop": _queue("router", 12e6, 30_000),
    "router-drop-reno": _queue("router", 8e6, 20_000, "htb")
    | {"tcp": {"congestion_control": "reno"}, "flow": _flow("bulk", bytes=2_000_000)},
    "router-flows": _queue("router", 20e6, 80_000) | {"flow": _flow("bulk", 8, bytes=700_000)},
    "router-bloat": _queue("router", 20e6, 1_200_000) | {"flow": _flow("bulk", bytes=8_000_000)},
    "slow-reader": {
        "flow": _flow("bulk", read_bps=3e6, read_bytes=6000, rcvbuf_bytes=25_000, bytes=1_500_000)
    },
    "stalled-reader": {
        "flow": _flow("bulk", bytes=1_500_000, rcvbuf_bytes=60_000, stall_after_bytes=500_000, stall_s=1.5)
    },
    "small-window": _DELAY | {"flow": _flow("bulk", bytes=600_000, rcvbuf_bytes=12_000)},
    "app-pauses": {"flow": _flow("bursty", bytes=600_000, burst_bytes=60_000, pause_s=0.3)},
    "app-paced": {"flow": _flow("paced", rate_bps=2e6, write_bytes=4000, bytes=700_000)},
    "requests": {
        "flow": _flow("request_response", requests=12, request_bytes=200, response_bytes=20_000, think_s=0.2)
    },
}
"""What differs from a plain bulk transfer, by name; they are made in this order."""
