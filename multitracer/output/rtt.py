"""The RTT of a connection, as far as its capture shows it: said once, for lines and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.model.frozen import frozen


@frozen
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


@frozen
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
    if entry["point"] == "snd" and samples is not None:
        return UsualRtt(samples["mean"], "mean", samples["min"], samples["max"])
    return None if whole is None else UsualRtt(whole.least, "least")
