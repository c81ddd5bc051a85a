"""Entries of ``connections``, as `analyze` makes them."""

from __future__ import annotations

from typing import Any

from multitracer.output.digest import LIMITS

Object = dict[str, Any]


def entry(index: int = 0, /, seconds: float = 20.0, point: str | None = "rcv", **facts: Any) -> Object:
    """An entry of `connections`; shares of limits by their name, their `parts`, the rest as said."""
    limits = {name: float(facts.pop(name, 0.0)) for name in LIMITS}
    limits["unknown"] += 1 - sum(limits.values())
    again = dict.fromkeys(
        ("timeout", "fast", "slow_start", "tail_loss_probe", "unneeded_probe", "unknown"), 0
    )
    again |= facts.pop("again", {})
    lost = facts.pop("lost", (0, 0))
    queue = facts.pop("queue", None)
    return {
        "index": index,
        "endpoints": [f"10.0.0.1:{4000 + index}", "10.0.0.2:5001"],
        "data_direction": "forward",
        "source": "a.pcap",
        "point": point,
        "start": 0.0,
        "end": seconds,
        "packets": {"sent": 1001, "data": 1000, "received": facts.pop("received", 500)},
        "bytes": {
            "sent": 1_448_000,
            "unique": facts.pop("unique", 1_448_000),
            "duplicate": 0,
            "acked": 1_448_000,
        },
        "retransmissions": {
            "total": sum(again.values()) - again["unneeded_probe"],
            **again,
            "handshake": 0,
            "inferred": facts.pop("inferred", 0),
            "unseen": facts.pop("unseen", 0),
            "fast_or_slow_start": facts.pop("fast_or_slow_start", 0),
            "probe_or_timeout": facts.pop("probe_or_timeout", 0),
        },
        "timeouts": {"total": 0, "spurious": 0, "genuine": 0, "inconclusive": 0} | facts.pop("timeouts", {}),
        "losses": {"upstream": lost[0], "downstream": lost[1]},
        "damaged_segments": 0,
        "zero_windows": facts.pop("zero_windows", 0),
        "max_window_bytes": 65_535,
        "handshake": True,
        "sack": True,
        "window_scaling": "agreed",
        "closed": "fin",
        "limits": {**limits, **facts.pop("parts", {}), "seconds": seconds, "method": "inferred"},
        "observation": {"point": point, "grade": "certain", "evidence": {}},
        "bottleneck": {
            "rate_bps": facts.pop("rate", None),
            "full_share": facts.pop("full", None),
            "standing_queue_ms": None if queue is None else {"median": queue[0], "p95": queue[1]},
            "base_rtt_ms": facts.pop("base", None),
            "shared_with": facts.pop("shared", 0),
            "rate_exact": facts.get("evidence") != ["queue"],
            "evidence": facts.pop("evidence", []),
        },
        **facts,
    }
