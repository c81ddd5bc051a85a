"""What the path offered, where captures show it: only then is there a share of it that was used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from multitracer.diagnosis.field.entries import flow
from multitracer.diagnosis.field.facts import Flow, Object
from multitracer.diagnosis.field.full_links import together_bps
from multitracer.diagnosis.field.links import are_several_links
from multitracer.diagnosis.field.looked_at import looked_at
from multitracer.diagnosis.field.receivers import part_full
from multitracer.model.packet_size import HEADERS_BYTES, LEAST_HEADERS_BYTES, PACKET_BYTES
from multitracer.model.timeline import Timeline

SEEN_FULL = 0.1
"""The bottleneck's rate is shown if it was full for this part of the transfers, weighted by data."""

TWICE = 2.0
"""An estimate of the rate that is beyond this many times the rate shown is none."""

_SLOWER, _MUCH_SLOWER = 0.98, 0.94
"""The link may have this part of the rate that is shown, the smaller one of a rate shown with "about"."""

_FEW_BYTES = 0.25
"""Transfers with so small a part of the data do not show the rate of a link that others show, too."""

_FASTER, _MUCH_FASTER = 1.06, 1.25
"""Or so many times it: moments in which the queue is empty make it seem slower."""


class Offered:
    """What the path offered to some transfers, as captures show it.

    Parameters
    ----------
    entries : sequence of mapping
        Of ``connections`` (docs/json.md); those that sent nothing do not count.

    Attributes
    ----------
    entries : list of mapping
        Those that sent data.
    flows : list of Flow
        The facts of each.
    wire_bytes, packet_bytes : float
        Bytes of the IP packets of all data, each byte of it once, and of a usual packet.
    """

    def __init__(self, entries: Sequence[Object]) -> None:
        self.entries = [entry for entry in entries if entry["bytes"]["sent"]]
        self.flows = [found for entry in self.entries if (found := flow(entry)) is not None]
        self._parts_full = [part_full(one) for one in self.flows]
        self._unique_bytes = sum(one.unique_bytes for one in self.flows)
        self._segments = sum(entry["packets"]["data"] for entry in self.entries)
        headers_bytes, most_bytes = _packet(self.entries)
        self.packet_bytes = min(self._unique_bytes / max(self._segments, 1) + headers_bytes, most_bytes)
        payload_bytes = max(self.packet_bytes - headers_bytes, 1.0)
        self.wire_bytes = self._unique_bytes * self.packet_bytes / payload_bytes

    @property
    def payload_share(self) -> float:
        """Part of the bytes on the wire that is payload."""
        return float(self._unique_bytes / self.wire_bytes)

    @cached_property
    def several_links(self) -> bool:
        """Whether the transfers filled different links: there is no bottleneck of all."""
        return are_several_links(self.flows)

    @cached_property
    def rate_bps(self) -> float | None:
        """Bits a second that the bottleneck carried while full; None if it never was, or no rate shows."""
        if self.several_links:
            return None
        full = self._full
        seen = sum(one.unique_bytes * part for one, part in full)
        if not self._unique_bytes or seen < SEEN_FULL * self._unique_bytes:
            return None
        shown = self._shown
        if shown is None or shown.rate_bps is None:
            return None
        return max(shown.rate_bps, together_bps(tuple(one for one, _ in full)) or 0.0)

    @cached_property
    def faster(self) -> float:
        """How many times `rate_bps` the link's rate may be."""
        return _FASTER if self._exact else _MUCH_FASTER

    @cached_property
    def slower(self) -> float:
        """What part of `rate_bps` the link's rate may be."""
        return _SLOWER if self._exact else _MUCH_SLOWER

    @property
    def _exact(self) -> bool:
        return self._shown is not None and self._shown.rate_exact

    @cached_property
    def _shown(self) -> Flow | None:
        """The transfer whose rate is the link's: the fastest, without those that carried little of the data.

        A short one that a shaper let pass in a burst, or a few trains of ACKs, show more than the link.
        """
        shown = [(one, one.unique_bytes * part) for one, part in self._full if one.rate_bps is not None]
        shown.sort(key=lambda one: -(one[0].rate_bps or 0.0))
        least = _FEW_BYTES * sum(carried for _, carried in shown)
        carried = 0.0
        for one, mine in shown:
            carried += mine
            if carried >= least:
                return one
        return None

    @cached_property
    def overflow_share(self) -> float:
        """Part of the retransmissions whose first copy a full queue dropped: the link never carried it.

        A queue that overflows loses some segments of many, which fast retransmit repairs; where a timer had
        to, the path carried nothing at all for a while.
        """
        again = sum(entry["retransmissions"]["total"] for entry in self.entries)
        queue = self.entries[0].get("queue_at_losses") if len(self.entries) == 1 else None
        if queue is not None and queue["dropped"] is not None:
            # How long the queue was at the losses shows more than for how long the link was full.
            return float(queue["at_longest"] / queue["of"])
        fast = sum(entry["retransmissions"]["fast"] for entry in self.entries)
        full_share = min(self._by_data(one.full_share or 0.0 for one in self.flows), 1.0)
        return full_share * float(fast / again) if again else 0.0

    @property
    def again_share(self) -> float:
        """Share of the data segments that were retransmitted."""
        again = sum(entry["retransmissions"]["total"] for entry in self.entries)
        return float(again / max(self._segments, 1))

    @property
    def full_part(self) -> float:
        """Part of the transfers in which the bottleneck was full, weighted by data."""
        return self._by_data(self._parts_full)

    @property
    def together_s(self) -> float:
        """Seconds in which any of the transfers was active."""
        return _covered_s(_span(entry) for entry in self.entries)

    def without_s(self, late_s: Mapping[int, float]) -> float:
        """The same if connections, by their index, had begun so much later than they did.

        Parameters
        ----------
        late_s : mapping of int to float
            Seconds at the beginning of each.
        """
        spans = [(_span(entry), late_s.get(entry["index"], 0.0)) for entry in self.entries]
        return _covered_s((min(start + late, end), end) for (start, end), late in spans)

    @property
    def transferring_s(self) -> float:
        """The same at their senders, without their handshakes: from the first data to the last ACK."""
        return _covered_s(_span(entry, handshake=False) for entry in self.entries)

    @cached_property
    def _full(self) -> list[tuple[Flow, float]]:
        """Those during which the bottleneck was seen to be full, and for which part."""
        parts = zip(self.flows, self._parts_full, strict=True)
        return [(one, part) for one, part in parts if part >= SEEN_FULL]

    def _by_data(self, parts: Iterable[float]) -> float:
        """The mean of a part over the transfers, weighted by data; 0 without any."""
        summed = sum(part * one.unique_bytes for one, part in zip(self.flows, parts, strict=True))
        return summed / self._unique_bytes if self._unique_bytes else 0.0


def offered(m: Timeline, entries: Sequence[Object]) -> Offered:
    """What the path offered to the transfers of a measurement, found once.

    Parameters
    ----------
    m : Timeline
    entries : sequence of mapping
        All ``connections`` (docs/json.md); of many those count that are looked at.
    """
    return m.once("offered", lambda: Offered(looked_at(m, entries)))


def base_rtt_s(entry: Object) -> float:
    """The RTT of an empty path of a connection, seconds; 0 if it is not known."""
    bottleneck, rtt = entry.get("bottleneck") or {}, entry.get("rtt") or {}
    for value in (bottleneck.get("base_rtt_ms"), rtt.get("base_ms"), rtt.get("min_ms")):
        if value is not None:
            return float(value) / 1e3
    return 0.0


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
    # Data was sent, and the last ACK comes, half an RTT beyond the capture: the link is idle meanwhile.
    beyond_s = (((entry.get("rtt") or {}).get("toward_sender") or {}).get("min_ms") or 0.0) / 1e3
    return start + float(limits.get("handshake") or 0.0) * float(seconds) - beyond_s, until


def _packet(entries: Sequence[Object]) -> tuple[int, int]:
    """Headers of a packet, and the largest packet, of the transfer with most data."""
    most = max(entries, key=lambda entry: entry["bytes"]["unique"], default={})
    headers = HEADERS_BYTES if most.get("timestamps", True) else LEAST_HEADERS_BYTES
    return headers, (most["mss"] + LEAST_HEADERS_BYTES if most.get("mss") else PACKET_BYTES)
