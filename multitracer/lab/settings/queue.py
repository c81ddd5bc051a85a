"""The queue in front of every link."""

from __future__ import annotations

from dataclasses import dataclass

from multitracer.lab.settings.values import one_of, within


@dataclass(frozen=True, kw_only=True)
class QueueSettings:
    """The interface queue at each end, in front of the link.

    Attributes
    ----------
    queue_packets, queue_bytes : int
        Limits of the queue; 0: no limit.
    queue_discipline : str
        "droptail" or "codel" (RFC 8289).
    codel_target_ms, codel_interval_ms : float
        CoDel's two parameters. The target should exceed the time one packet takes on the link.
    ecn : bool
        CoDel marks ECN-capable packets instead of dropping them.
    """

    queue_packets: int = 50
    queue_bytes: int = 0
    queue_discipline: str = "droptail"
    codel_target_ms: float = 5.0
    codel_interval_ms: float = 100.0
    ecn: bool = False

    def __post_init__(self) -> None:
        within("queue_packets", self.queue_packets, 0, 10**7)
        within("queue_bytes", self.queue_bytes, 0, 10**12)
        one_of("queue_discipline", self.queue_discipline, ("droptail", "codel"))
        within("codel_target_ms", self.codel_target_ms, 0.001, 1e6)
        within("codel_interval_ms", self.codel_interval_ms, 0.001, 1e7)
