"""What the path offered, where captures show it: only then is there a share of it that was used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from multitracer.diagnosis.field.facts import Flow, Object, flow
from multitracer.diagnosis.field.full_links import together_bps
from multitracer.diagnosis.field.measurement import MOST
from multitracer.diagnosis.field.receivers import part_full
from multitracer.output.digest import digest

SEEN_FULL = 0.1
"""The bottleneck's rate is shown if it was full for this part of the transfers, weighted by data."""

TWICE = 2.0
"""An estimate of the rate that is beyond this many times the rate shown is none."""


_HEADERS_BYTES = 52
"""IP and TCP with timestamps."""

_PACKET_BYTES = 1500


def with_most_data(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of many with most data, which show what the path offered; of a few all.

    Parameters
    ----------
    entries : list of dict
        All ``connections`` (docs/json.md).
    """
    if len(entries) <= MOST:
        return entries
    return [entries[place] for place in digest(entries, MOST)["largest"]]


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


def together_s(entries: Iterable[Object]) -> float:
    """Seconds in which any of the transfers went on.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    """
    total_s, until = 0.0, float("-inf")
    for start, end in sorted(_span(entry) for entry in entries):
        total_s += max(end - max(start, until), 0.0)
        until = max(until, end)
    return total_s


def _span(entry: Object) -> tuple[float, float]:
    """From the first segment until all was complete: a FIN that comes late holds nothing up."""
    start, end = float(entry["start"]), float(entry["end"])
    seconds = (entry.get("limits") or {}).get("seconds")
    return start, end if seconds is None else min(end, start + float(seconds))


def offered_bps(entries: Iterable[Object]) -> float | None:
    """Bits a second that the bottleneck carried while it was full; None if it never was, or no rate shows.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    """
    flows = [found for entry in entries if (found := flow(entry)) is not None]
    whole = sum(one.unique_bytes for one in flows)
    full = [one for one in flows if part_full(one) >= SEEN_FULL]
    if not whole or sum(part_full(one) * one.unique_bytes for one in full) < SEEN_FULL * whole:
        return None
    rates = [one.rate_bps for one in full if one.rate_bps is not None]
    if not rates:
        return None
    return max(*rates, together_bps(tuple(full)) or 0.0)


def exceeds_full_link(rate_bps: float, full_bps: float | None) -> bool:
    """Whether an estimate of the bottleneck's rate is far beyond the rate that it had while it was full.

    Parameters
    ----------
    rate_bps : float
        Bits per second.
    full_bps : float or None
        The same while it was full; None if it never was: nothing is beyond it then.
    """
    return full_bps is not None and rate_bps > TWICE * full_bps


def full_part(entries: Iterable[Object]) -> float:
    """Part of the transfers in which the bottleneck was full, weighted by data.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    """
    return _by_data(entries, part_full)


def full_share(entries: Iterable[Object]) -> float:
    """Part of the time with data in flight in which the bottleneck was full, weighted by data.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    """
    return min(_by_data(entries, lambda one: one.full_share or 0.0), 1.0)


def _by_data(entries: Iterable[Object], part: Callable[[Flow], float]) -> float:
    """The mean of a part over the transfers, weighted by data; 0 without any."""
    flows = [found for entry in entries if (found := flow(entry)) is not None]
    whole = sum(one.unique_bytes for one in flows)
    return sum(part(one) * one.unique_bytes for one in flows) / whole if whole else 0.0
