"""A bearer of LTE or NR in acknowledged mode."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from multitracer.lab.settings.air import AirSettings
from multitracer.lab.settings.queue import QueueSettings
from multitracer.lab.settings.values import within
from multitracer.model.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class RlcAmSettings(QueueSettings):
    """A radio bearer in acknowledged mode: fixed PDUs, polls, status reports, reordering window.

    Attributes
    ----------
    tti_ms : float
        Transmission time interval.
    pdus_per_tti : int
        PDUs that fit into one interval, status reports included.
    payload_bytes : int
        User bytes per PDU; the bearer carries ``payload_bytes * pdus_per_tti / tti_ms`` kB/s.
    window : int
        PDUs in flight, at most half of the 4096 sequence numbers.
    delay_ms : float
        One-way delay of a PDU.
    max_retransmissions : int
        Of one PDU, or polls without a report, before the bearer is re-established and its buffers are lost.
    poll_pdus : int
        A poll rides on every so many new PDUs (and on the last one in the buffer).
    poll_retransmit_ms : float
        Time to wait for a status report before polling again.
    status_prohibit_ms : float
        Shortest time between two status reports.
    reordering_ms : float
        How long the receiver waits for a missing PDU before reporting it.
    harq_jitter_ms : float
        A PDU is late by up to this (lower-layer retransmissions), so that PDUs arrive out of order.
    discard_ms : float
        A packet that waited longer for its first PDU is given up, with the number that PDCP gave it; 0: none.
    resegment_bytes : int
        Retransmissions are sent in segments of at most that many bytes, one per place; 0: whole.
    handover_at_s : tuple of float
        Times of handovers to another cell, from the first slot on, ascending.
    handover_ms : float
        How long nothing gets through in each.
    handover_forwards : bool
        The old cell hands on what was not delivered, and the terminal retransmits what is not confirmed;
        otherwise that is lost.
    capture : bool
        Record all PDUs as both ends see them, with PDCP headers of two bytes per packet, as
        ``rlc.pcapng``; the link's own log is then kept apart, in ``frames``.
    air, air_up, air_down : AirSettings
        The air in both directions, or from side 0 (up) and to it (down); one slot per PDU place.
    """

    tti_ms: float = 10.0
    pdus_per_tti: int = 4
    payload_bytes: int = 40
    window: int = 512
    delay_ms: float = 40.0
    max_retransmissions: int = 8
    poll_pdus: int = 32
    poll_retransmit_ms: float = 300.0
    status_prohibit_ms: float = 120.0
    reordering_ms: float = 40.0
    harq_jitter_ms: float = 0.0
    discard_ms: float = 0.0
    resegment_bytes: int = 0
    handover_at_s: tuple[float, ...] = ()
    handover_ms: float = 60.0
    handover_forwards: bool = True
    capture: bool = False
    air: AirSettings = field(default_factory=AirSettings)
    air_up: AirSettings | None = None
    air_down: AirSettings | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        within("tti_ms", self.tti_ms, 0.1, 10_000.0)
        within("pdus_per_tti", self.pdus_per_tti, 1, 10_000)
        within("payload_bytes", self.payload_bytes, 1, 65_535)
        within("window", self.window, 1, 2048)
        within("delay_ms", self.delay_ms, 0.0, 1e6)
        within("max_retransmissions", self.max_retransmissions, 1, 10**6)
        within("poll_pdus", self.poll_pdus, 1, 4096)
        within("poll_retransmit_ms", self.poll_retransmit_ms, 2 * self.delay_ms + self.tti_ms, 1e7)
        within("status_prohibit_ms", self.status_prohibit_ms, 0.0, 1e6)
        within("reordering_ms", self.reordering_ms, 0.0, 1e6)
        within("harq_jitter_ms", self.harq_jitter_ms, 0.0, 1e6)
        within("discard_ms", self.discard_ms, 0.0, 1e6)
        within("resegment_bytes", self.resegment_bytes, 0, 65_535)
        within("handover_ms", self.handover_ms, 0.0, 1e6)
        for at_s in self.handover_at_s:
            within("handover_at_s", at_s, 0.0, 1e6)
        if any(b - a <= self.handover_ms / 1e3 for a, b in pairwise(self.handover_at_s)):
            raise UsageError("handover_at_s: each must begin after the one before is over")
