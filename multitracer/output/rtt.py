"""The RTT of a connection, as far as its capture shows it: said once, for lines and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PathRtt:
    """Round trip of the whole path, in milliseconds.

    Attributes
    ----------
    least : float
        The smallest.
    median, p95 : float or None
        None where only the handshake was measured: away from the sender only timestamps that are echoed
        (RFC 7323) show what the whole took later.
    """

    least: float
    median: float | None
    p95: float | None


def path_rtt(entry: Mapping[str, Any]) -> PathRtt | None:
    """Of an entry of ``connections`` (docs/json.md); None if only a part of the path was measured."""
    whole = entry.get("rtt")
    if not whole or whole["base_ms"] is None:
        return None
    return PathRtt(whole["base_ms"], whole["median_ms"], whole["p95_ms"])
