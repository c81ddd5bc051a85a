"""A link that repeats packets: a wireless LAN, a packet radio."""

from __future__ import annotations

from dataclasses import dataclass, field

from multitracer.lab.settings.air import AirSettings
from multitracer.lab.settings.queue import QueueSettings
from multitracer.lab.settings.values import one_of, within
from multitracer.model.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class ArqSettings(QueueSettings):
    """A per-packet stop-and-wait ARQ like Wi-Fi's: packet, acknowledgement, retry limit, backoff.

    Attributes
    ----------
    rate_bps : float
        Bit rate while a packet is on the air.
    delay_ms : float
        One-way delay after the ARQ (the network on the far side).
    overhead_us : float
        Time of every attempt in addition to the packet's bits: preamble, spacing, acknowledgement.
    backoff_us : float
        Before attempt k the sender waits a random time up to this times 2^k.
    retry_limit : int
        Retransmissions before the packet is given up.
    half_duplex : bool
        Both directions share the medium.
    lost_acks : bool
        An acknowledgement crosses the other direction's air; if it is lost, the receiver gets a duplicate.
    leave_at_s : tuple of float
        Times of the run at which the station leaves; packets wait in the queues until it is back.
    away_ms : float
        How long it stays away.
    leave_cause : str
        "deauth" (it comes back to its access point) or "roam" (to another one of the same network).
    radiotap : bool
        Record all frames as a monitor on the channel would, as ``wifi.pcap``; the link's own log is then kept
        apart, in ``frames``. `rate_bps` must be a rate of 802.11 (a, b, g), the medium half duplex.
    monitor_loss : float
        Share of the frames that the monitor does not see.
    air, air_up, air_down : AirSettings
        The air in both directions, or from side 0 (up) and to it (down).
    """

    rate_bps: float = 11e6
    delay_ms: float = 1.0
    overhead_us: float = 300.0
    backoff_us: float = 150.0
    retry_limit: int = 7
    half_duplex: bool = True
    lost_acks: bool = True
    leave_at_s: tuple[float, ...] = ()
    away_ms: float = 1000.0
    leave_cause: str = "deauth"
    radiotap: bool = False
    monitor_loss: float = 0.0
    air: AirSettings = field(default_factory=AirSettings)
    air_up: AirSettings | None = None
    air_down: AirSettings | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        within("rate_bps", self.rate_bps, 1.0, 1e12)
        within("delay_ms", self.delay_ms, 0.0, 1e6)
        within("overhead_us", self.overhead_us, 0.0, 1e9)
        within("backoff_us", self.backoff_us, 0.0, 1e9)
        within("retry_limit", self.retry_limit, 0, 10**6)
        within("away_ms", self.away_ms, 0.0, 1e7)
        one_of("leave_cause", self.leave_cause, ("deauth", "roam"))
        within("monitor_loss", self.monitor_loss, 0.0, 1.0)
        for leave in self.leave_at_s:
            within("leave_at_s", leave, 0.0, 1e6)
        if self.radiotap and not self.half_duplex:
            raise UsageError("radiotap: a monitor listens to one channel; it needs half_duplex = true")
