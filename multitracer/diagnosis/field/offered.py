"""What the path offered, where captures show it: only then is there a share of it that was used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from multitracer.diagnosis.field.facts import Flow, Object, flow
from multitracer.diagnosis.field.full_links import together_bps
from multitracer.diagnosis.field.measurement import MOST
from multitracer.diagnosis.field.receivers import part_full
from multitracer.layers.packet_size import HEADERS_BYTES, PACKET_BYTES
from multitracer.output.digest import digest

SEEN_FULL = 0.1
"""The bottleneck's rate is shown if it was full for this part of the transfers, weighted by data."""

TWICE = 2.0
"""An estimate of the rate that is beyond this many times the rate shown is none."""

SLOWER = 0.98
_FASTER, _MUCH_FASTER = 1.06, 1.25
"""The link may have this part of the rate that is shown, or so many times it: moments in which the queue is
empty make it seem slower. The larger one is for a rate that is shown with "about"."""


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
    packet = min(unique / max(segments, 1) + HEADERS_BYTES, PACKET_BYTES)
    return unique * packet / max(packet - HEADERS_BYTES, 1.0), packet


def together_s(entries: Iterable[Object]) -> float:
    """Seconds in which any of the transfers went on.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    """
    return _covered_s(_span(entry) for entry in entries)


def transferring_s(entries: Iterable[Object]) -> float:
    """The same at their senders, without their handshakes: from the first data to the last ACK.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    """
    return _covered_s(_span(entry, handshake=False) for entry in entries)


def _covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """Length of what spans cover together."""
    total_s, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        total_s += max(end - max(start, until), 0.0)
        until = max(until, end)
    return total_s


def _span(entry: Object, *, handshake: bool = True) -> tuple[float, float]:
    """From the first segment until all was complete: a FIN that comes late holds nothing up."""
    start, end = float(entry["start"]), float(entry["end"])
    limits = entry.get("limits") or {}
    seconds = limits.get("seconds")
    if seconds is None:
        return start, end
    until = min(end, start + float(seconds))
    if handshake:
        return start, until
    # Data was sent, and the last ACK comes, half a round trip beyond the capture: the link is idle meanwhile.
    beyond_s = (((entry.get("rtt") or {}).get("toward_sender") or {}).get("min_ms") or 0.0) / 1e3
    return start + float(limits.get("handshake") or 0.0) * float(seconds) - beyond_s, until


def offered_bps(entries: Iterable[Object]) -> float | None:
    """Bits a second that the bottleneck carried while it was full; None if it never was, or no rate shows.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    """
    flows = _flows(entries)
    whole = sum(one.unique_bytes for one in flows)
    full = _full(flows)
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


def _flows(entries: Iterable[Object]) -> list[Flow]:
    return [found for entry in entries if (found := flow(entry)) is not None]


def _full(flows: Iterable[Flow]) -> list[Flow]:
    """Those during which the bottleneck was seen to be full."""
    return [one for one in flows if part_full(one) >= SEEN_FULL]


def faster(entries: Iterable[Object]) -> float:
    """How many times the rate of `offered_bps` the link's may be.

    Parameters
    ----------
    entries : iterable of mapping
        Of ``connections`` (docs/json.md).
    """
    shown = [one for one in _full(_flows(entries)) if one.rate_bps is not None]
    exact = bool(shown) and max(shown, key=lambda one: one.rate_bps or 0.0).rate_exact
    return _FASTER if exact else _MUCH_FASTER


def overflow_share(entries: Sequence[Object]) -> float:
    """Part of the retransmissions whose first copy a full queue dropped, so that the link never carried it.

    A queue that overflows loses some segments of many, which fast retransmit repairs; where a timer had to,
    the path carried nothing at all for a while.

    Parameters
    ----------
    entries : sequence of mapping
        Of ``connections`` (docs/json.md).
    """
    again = sum(entry["retransmissions"]["total"] for entry in entries)
    fast = sum(entry["retransmissions"]["fast"] for entry in entries)
    return full_share(entries) * float(fast / again) if again else 0.0


def again_share(entries: Sequence[Object]) -> float:
    """How many segments were sent again, as a part of those of all data.

    Parameters
    ----------
    entries : sequence of mapping
        Of ``connections`` (docs/json.md).
    """
    again = sum(entry["retransmissions"]["total"] for entry in entries)
    return float(again / max(sum(entry["packets"]["data"] for entry in entries), 1))


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
