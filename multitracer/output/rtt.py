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
        None where the half toward the sender was not measured after the handshake: away from the sender
        only timestamps that are echoed often enough (RFC 7323) show what the whole took later.
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


HOST_MS = 1.0
"""A host answers itself within this, at its best."""


def beside_sender(entry: Mapping[str, Any]) -> bool:
    """Whether what this capture measured is the RTT of the sender: it answered at once, if at all."""
    if entry["point"] != "snd":
        return False
    near = ((entry.get("rtt") or {}).get("toward_sender") or {}).get("min_ms")
    return near is None or bool(near <= HOST_MS)


@dataclass(frozen=True)
class UsualRtt:
    """What stands for the RTT of a connection where there is room for one number.

    Attributes
    ----------
    ms : float
    of : str
        ``median``; ``mean``, of the data's side at the sender's capture; ``least``, a lower bound.
    low_ms, high_ms : float or None
        The smallest, and the 95th percentile of a median or the largest of a mean.
    """

    ms: float
    of: str
    low_ms: float | None = None
    high_ms: float | None = None


def usual_rtt(entry: Mapping[str, Any]) -> UsualRtt | None:
    """Of an entry of ``connections`` (docs/json.md); None if nothing was measured."""
    whole, samples = path_rtt(entry), entry["rtt_ms"]
    if whole is not None and whole.median is not None:
        return UsualRtt(whole.median, "median", whole.least, whole.p95)
    if beside_sender(entry) and samples is not None:
        return UsualRtt(samples["mean"], "mean", samples["min"], samples["max"])
    return None if whole is None else UsualRtt(whole.least, "least")
