"""A link without repetition, each direction by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from multitracer.lab.settings.air import AirSettings
from multitracer.lab.settings.queue import QueueSettings
from multitracer.lab.settings.values import from_mapping, within
from multitracer.model.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class PlainDirection(QueueSettings):
    """One direction of a plain link.

    Attributes
    ----------
    rate_bps : float
        Bit rate; 0: infinite.
    delay_ms, jitter_ms : float
        One-way delay, and a random addition from 0 to `jitter_ms`.
    jitter_reorders : bool
        Jitter may let packets overtake each other; otherwise they stay in order.
    loss, duplicate, corrupt : float
        Probability per packet to be lost, delivered twice, or delivered with one bit flipped.
    duplicate_ms : float
        The second of the two is that much later.
    reorder : float
        Probability per packet to be late by `reorder_ms`, so that later ones overtake it.
    reorder_ms : float
        By how much.
    police_bps, police_bytes : float, int
        A policer in front of the queue: a token bucket of that rate (bits of IP packets a second; 0: none)
        and size drops what exceeds them.
    pauses_s : tuple of (float, float)
        Times, from the first packet on, at which the link stalls, and for how long (seconds).
    routers : int
        How many routers the packets pass: the time to live of IPv4 packets falls by as much.
    air : AirSettings
        Bursty or scripted loss on top of `loss`; one slot per packet unless ``air.slot_ms`` is set.
    """

    rate_bps: float = 10e6
    delay_ms: float = 10.0
    jitter_ms: float = 0.0
    jitter_reorders: bool = False
    loss: float = 0.0
    duplicate: float = 0.0
    duplicate_ms: float = 0.0
    corrupt: float = 0.0
    reorder: float = 0.0
    reorder_ms: float = 5.0
    police_bps: float = 0.0
    police_bytes: int = 0
    pauses_s: tuple[tuple[float, float], ...] = ()
    routers: int = 0
    air: AirSettings = field(default_factory=AirSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        within("rate_bps", self.rate_bps, 0.0, 1e12)
        for name in ("delay_ms", "jitter_ms", "reorder_ms", "duplicate_ms"):
            within(name, getattr(self, name), 0.0, 1e6)
        for name in ("loss", "duplicate", "corrupt", "reorder"):
            within(name, getattr(self, name), 0.0, 1.0)
        within("police_bps", self.police_bps, 0.0, 1e12)
        within("police_bytes", self.police_bytes, 0, 10**9)
        within("routers", self.routers, 0, 63)
        for start, length in self.pauses_s:
            within("pauses_s", start, 0.0, 1e9)
            within("pauses_s", length, 0.0, 1e6)


@dataclass(frozen=True, kw_only=True)
class PlainSettings:
    """A plain link; in a mapping, the tables "up" and "down" override the common `PlainDirection` keys.

    Attributes
    ----------
    up, down : PlainDirection
        From side 0, and from side 1.
    """

    up: PlainDirection = field(default_factory=PlainDirection)
    down: PlainDirection = field(default_factory=PlainDirection)


def plain_settings(settings: Mapping[str, Any]) -> PlainSettings:
    """Read the common keys first, then those of the tables "up" and "down".

    Raises
    ------
    UsageError
        If "up" or "down" is no table.
    """
    common = {key: value for key, value in settings.items() if key not in ("up", "down")}
    base = from_mapping(PlainDirection, common)
    sides = []
    for key in ("up", "down"):
        own = settings.get(key, {})
        if not isinstance(own, Mapping):
            raise UsageError(f"{key}: a table is needed, not {own!r}")
        changed = from_mapping(PlainDirection, own, key, base)
        sides.append(changed)
    return PlainSettings(up=sides[0], down=sides[1])
