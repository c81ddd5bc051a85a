"""Where the time of a transfer went: seconds by cause, for comparisons of measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from multitracer.model.frozen import frozen

CAUSES: dict[str, str] = {
    "application": "the application wrote or read nothing",
    "receiver_window": "the receiver's window was full",
    "congestion_window": "the congestion window was full, without a loss (slow start, a small window)",
    "losses": "losses were repaired, a SYN's too; also the congestion window of connections that had "
    "retransmissions",
    "bandwidth": "the link was full",
    "handshake": "the connection was opened",
    "round_trip": "the path's RTT changed: the same windows moved less, or more, in a second",
    "unknown": "no evidence",
}
"""Causes of a difference. `round_trip` only explains differences; no time of one transfer is its."""

_ITSELF = ("application", "receiver_window", "bandwidth", "handshake", "unknown")


@frozen
class Budget:
    """One measurement: what its transfers took, by cause.

    Attributes
    ----------
    name : str
    connections : int
        That carried data.
    bytes : float
        Payload of a connection, each byte once; mean over the connections.
    seconds : dict
        By cause [s]; mean over the connections. Their sum is `total_s`.
    rtt_base_s : float or None
        RTT of the path; geometric mean over the connections where it is known.
    methods : frozenset of str
        Sources of the limits: ``kernel``, ``inferred``.
    """

    name: str
    connections: int
    bytes: float
    seconds: Mapping[str, float]
    rtt_base_s: float | None
    methods: frozenset[str]

    @property
    def total_s(self) -> float:
        """Handshake to last ACK; mean over the connections [s]."""
        return math.fsum(self.seconds.values())


def budgets(rows: Iterable[Mapping[str, Any]]) -> list[Budget]:
    """The measurements of a summary, in order of their names.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of a batch's summary: one for each connection. Connections without data are left out; one whose
        limits are not known counts with its duration, as "unknown".
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if (_number(row.get("bytes")) or 0) > 0 and _seconds(row):
            found.setdefault(str(row["name"]), []).append(row)
    return [_budget(name, found[name]) for name in sorted(found)]


def _budget(name: str, rows: list[Mapping[str, Any]]) -> Budget:
    each = [_seconds(row) for row in rows]
    seconds = {cause: math.fsum(one.get(cause, 0.0) for one in each) / len(each) for cause in CAUSES}
    round_trips = [value / 1e3 for row in rows if (value := _number(row.get("rtt_base_ms"))) and value > 0]
    logs = [math.log(value) for value in round_trips]
    return Budget(
        name,
        len(rows),
        math.fsum(float(row["bytes"]) for row in rows) / len(rows),
        seconds,
        math.exp(math.fsum(logs) / len(logs)) if logs else None,
        frozenset(str(row["limits_method"]) for row in rows if row.get("limits_method")),
    )


def _seconds(row: Mapping[str, Any]) -> dict[str, float]:
    """Seconds by cause of one connection; empty if not even its duration is known."""
    whole_s = _number(row.get("limits_s"))
    if whole_s is None or whole_s <= 0:
        duration_s = _number(row.get("duration_s"))
        return {"unknown": duration_s} if duration_s and duration_s > 0 else {}
    spent = {name: whole_s * (_number(row.get(f"limit_{name}")) or 0.0) for name in _ITSELF}
    window_s = whole_s * (_number(row.get("limit_congestion_window")) or 0.0)
    recovery_s = whole_s * (_number(row.get("limit_loss_recovery")) or 0.0)
    after_losses = recovery_s > 0 or (_number(row.get("retransmissions")) or 0) > 0
    spent["congestion_window"] = 0.0 if after_losses else window_s
    spent["losses"] = recovery_s + (window_s if after_losses else 0.0)
    if (_number(row.get("syn_retransmissions")) or 0) > 0:
        # Waiting for the timer of a SYN that was lost.
        waited_s = max(0.0, spent["handshake"] - (_number(row.get("rtt_base_ms")) or 0.0) / 1e3)
        spent["handshake"] -= waited_s
        spent["losses"] += waited_s
    # Shares are rounded: the rounding remainder belongs to no cause.
    spent["unknown"] = max(0.0, spent["unknown"] + whole_s - math.fsum(spent.values()))
    return spent


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None
