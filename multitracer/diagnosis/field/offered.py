"""What the path offered, where captures show it: only then is there a share of it that was used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from multitracer.diagnosis.field.facts import Flow, Object, flow
from multitracer.diagnosis.field.full_links import together_bps

SEEN_FULL = 0.1
"""The bottleneck's rate is shown if it was full for this part of the transfers, weighted by data."""

TWICE = 2.0
"""An estimate of the rate that is beyond this many times the rate shown is none."""


_HEADERS_BYTES = 52
"""IP and TCP with timestamps."""

_PACKET_BYTES = 1500


def wire_bytes(entries: Sequence[Object]) -> tuple[float, float]:
    """Bytes of the IP packets of all data, each byte of it once, and of a usual packet.

    Parameters
    ----------
    entries : sequence of mapping
        Of ``connections`` (docs/json.md).
    """
    unique = sum(entry["bytes"]["unique"] for entry in entries)
    segments = sum(entry["packets"]["data"] for entry in entries)
    packet = min(unique / max(segments, 1) + _HEADERS_BYTES, _PACKET_BYTES)
    return unique * packet / max(packet - _HEADERS_BYTES, 1.0), packet


def offered_bps(entries: Iterable[Object]) -> float | None:
    """Bits a second that the bottleneck carried while it was full; None if it never was, or no rate shows.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    """
    flows = [found for entry in entries if (found := flow(entry)) is not None]
    whole = sum(one.unique_bytes for one in flows)
    full = [(one, part) for one in flows if (part := _full_part(one)) >= SEEN_FULL]
    if not whole or sum(part * one.unique_bytes for one, part in full) < SEEN_FULL * whole:
        return None
    rates = [one.rate_bps for one, _ in full if one.rate_bps is not None]
    if not rates:
        return None
    return max(*rates, together_bps(tuple(one for one, _ in full)) or 0.0)


def full_share(entries: Iterable[Object]) -> float:
    """Part of the time with data in flight in which the bottleneck was full, weighted by data.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    """
    flows = [found for entry in entries if (found := flow(entry)) is not None]
    whole = sum(one.unique_bytes for one in flows)
    full = sum((one.full_share or 0.0) * one.unique_bytes for one in flows)
    return min(full / whole, 1.0) if whole else 0.0


def _full_part(one: Flow) -> float:
    """Part of a transfer in which the bottleneck was full."""
    if one.full_share is None or not one.seconds:
        return 0.0
    return one.full_share * one.busy_s / one.seconds
