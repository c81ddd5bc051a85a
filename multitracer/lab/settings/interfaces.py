"""Real interfaces between two hosts, and queues of the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from multitracer.lab.settings.values import one_of, within


@dataclass(frozen=True, kw_only=True)
class QdiscSettings:
    """A queueing discipline of the kernel (tc), in the direction of the scenario's data.

    Linux's captures see what leaves the queue: what the sender's own queue drops is in no capture.

    Attributes
    ----------
    kind : str
        "": none; "tbf", "htb" (with a bfifo below), or "fq_codel" below an htb of that rate.
    at : str
        "sender": the sending host's device; "router": the device towards the receiver (real interfaces only).
    rate_bps : float
    limit_bytes : int
        Of the queue; fq_codel takes it as its memory limit.
    burst_bytes : int
        Of the token bucket.
    """

    kind: str = ""
    at: str = "sender"
    rate_bps: float = 10e6
    limit_bytes: int = 60_000
    burst_bytes: int = 6000

    def __post_init__(self) -> None:
        one_of("kind", self.kind, ("", "tbf", "htb", "fq_codel"))
        one_of("at", self.at, ("sender", "router"))
        within("rate_bps", self.rate_bps, 8e3, 1e12)
        within("limit_bytes", self.limit_bytes, 1600, 10**9)
        within("burst_bytes", self.burst_bytes, 1600, 10**9)


@dataclass(frozen=True, kw_only=True)
class InterfacesSettings:
    """Two hosts and a router between them, joined by virtual Ethernet.

    There is no delay but the kernel's own (about 50 microseconds of RTT) and that of the queue of
    ``network.qdisc``.

    Attributes
    ----------
    tap : str
        The router's device of the middle capture: "sender" (before the router's queue) or "receiver"
        (behind).
    gro : bool
        The receiving host merges what it receives (GRO): its capture sees merged segments.
    """

    tap: str = "sender"
    gro: bool = False

    def __post_init__(self) -> None:
        one_of("tap", self.tap, ("sender", "receiver"))
