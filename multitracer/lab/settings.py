"""Settings of the link models: one documented dataclass per model, units in the names, values checked."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, TypeVar

from multitracer.errors import UsageError

T = TypeVar("T")


@dataclass(frozen=True)
class AirSettings:
    """Which frames the air destroys, in one direction.

    Attributes
    ----------
    kind : str
        "perfect", "gilbert_elliott", "list" (the slots of `lost_slots`) or "trace" (replay of `trace`).
    loss_good, loss_bad : float
        Probability that a slot is lost in the good and in the bad state.
    p_good_to_bad, p_bad_to_good : float
        Probability per slot that the state changes.
    lost_slots : tuple of int
        Slots that are lost, from 0.
    trace : tuple of int
        1 for a lost slot, 0 for a good one, one number per slot.
    repeat : bool
        Begin the trace again at its end; otherwise every slot behind it is good.
    slot_ms : float
        Slots follow the time of the run; 0: one slot per frame, attempt or packet sent. RLP and RLC-AM have
        slots of their own and ignore it.
    """

    kind: str = "perfect"
    loss_good: float = 0.0
    loss_bad: float = 0.8
    p_good_to_bad: float = 0.0
    p_bad_to_good: float = 0.02
    lost_slots: tuple[int, ...] = ()
    trace: tuple[int, ...] = ()
    repeat: bool = True
    slot_ms: float = 0.0

    def __post_init__(self) -> None:
        one_of("air.kind", self.kind, ("perfect", "gilbert_elliott", "list", "trace"))
        for name in ("loss_good", "loss_bad", "p_good_to_bad", "p_bad_to_good"):
            within(f"air.{name}", getattr(self, name), 0.0, 1.0)
        within("air.slot_ms", self.slot_ms, 0.0, 1e6)
        if any(slot < 0 for slot in self.lost_slots):
            raise UsageError("air.lost_slots: slots count from 0")
        if any(slot not in (0, 1) for slot in self.trace):
            raise UsageError("air.trace: only 0 (good) and 1 (lost) make sense")


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


@dataclass(frozen=True, kw_only=True)
class RlpSettings(QueueSettings):
    """A GSM data call: PPP over an L2R byte stream over RLP (GSM 04.22, 240-bit frames).

    Attributes
    ----------
    slot_ms : float
        One frame per slot and direction; with `payload_bytes` 24 per 20 ms the call carries 1200 bytes/s.
    payload_bytes : int
        User bytes per frame, 1 to 24.
    window : int
        Frames in flight, k of GSM 04.22, 1 to 61.
    t1_ms : float
        Time to wait for an acknowledgement before polling (T1).
    n2 : int
        Retransmissions of one frame, or polls, before the link is reset (N2); repetitions of an SABM.
    on_failure : str
        What follows N2 retransmissions: "reset" (SABM; unanswered after N2 repetitions, the call is dropped),
        "drop_call" (the call is dropped at once, as in some networks of Paper 5.5), or "reset_forever" (SABM
        is repeated until it is answered: for studies that leave dropped calls out, as Paper 4.1 does).
    recovery : str
        How a receiver asks for a missing frame: "srej" (that frame) or "rej" (everything from it on).
    delay_ms : float
        One-way delay of a frame, interleaving and network included.
    drain_bps : float
        Rate in bits of user data per second at which a receiver can pass data on; 0: no limit. The paper's
        960 bytes/s is 7680. Beyond `xoff_bytes` of backlog it sends RNR, below `xon_bytes` RR.
    drain_sides : str
        Whose receiver is that slow: "both", "ms" or "iwf".
    xoff_bytes, xon_bytes : int
        Backlog at which flow control stops the peer and lets it go on.
    send_buffer_bytes : int
        A new packet leaves the interface queue (and is compressed) when less than this waits to be sent.
    vj : bool
        TCP/IP header compression (RFC 1144).
    vj_slots : int
        Connections that the compressor keeps, 3 to 256.
    vj_compress_slot : bool
        Leave the connection number out of headers where it did not change. Then a decompressor that saw a
        damaged frame tosses everything up to the next uncompressed header; with the number in every header it
        goes on at once, with wrong sequence numbers (Paper 5.3, Figure 9).
    accm : int
        PPP's async control character map: control characters to escape (RFC 1662 section 7.1).
    raw_frames : bool
        Keep the frames as sent and received for `drain_frames`.
    air, air_up, air_down : AirSettings
        The air in both directions, or from the mobile side (up) and to it (down).
    """

    slot_ms: float = 20.0
    payload_bytes: int = 24
    window: int = 61
    t1_ms: float = 480.0
    n2: int = 6
    on_failure: str = "reset"
    recovery: str = "srej"
    delay_ms: float = 180.0
    drain_bps: float = 0.0
    drain_sides: str = "both"
    xoff_bytes: int = 1100
    xon_bytes: int = 400
    send_buffer_bytes: int = 48
    vj: bool = False
    vj_slots: int = 16
    vj_compress_slot: bool = False
    accm: int = 0
    raw_frames: bool = False
    air: AirSettings = field(default_factory=AirSettings)
    air_up: AirSettings | None = None
    air_down: AirSettings | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        within("slot_ms", self.slot_ms, 0.1, 10_000.0)
        within("payload_bytes", self.payload_bytes, 1, 24)
        within("window", self.window, 1, 61)
        within("n2", self.n2, 1, 10**6)
        within("delay_ms", self.delay_ms, 0.0, 1e6)
        one_of("recovery", self.recovery, ("srej", "rej"))
        one_of("on_failure", self.on_failure, ("reset", "drop_call", "reset_forever"))
        # T1 must exceed a round trip with its waiting for slots: an answer that overlaps a repeated SREJ
        # would be taken for a new frame, since 61 of 62 numbers are in use.
        within("t1_ms", self.t1_ms, 2 * self.delay_ms + 5 * self.slot_ms, 1e7)
        within("drain_bps", self.drain_bps, 0.0, 1e9)
        one_of("drain_sides", self.drain_sides, ("both", "ms", "iwf"))
        within("xon_bytes", self.xon_bytes, 0, 10**7)
        within("xoff_bytes", self.xoff_bytes, self.xon_bytes + 1, 10**7)
        within("send_buffer_bytes", self.send_buffer_bytes, 1, 10**7)
        within("vj_slots", self.vj_slots, 3, 256)
        within("accm", self.accm, 0, 0xFFFFFFFF)


@dataclass(frozen=True, kw_only=True)
class ArqSettings(QueueSettings):
    """A per-packet stop-and-wait ARQ like Wi-Fi's: packet, acknowledgement, retry limit, backoff.

    Attributes
    ----------
    rate_bps : float
        Bit rate while a packet is on the air.
    delay_ms : float
        One-way delay behind the ARQ (the network on the far side).
    overhead_us : float
        Time of every attempt beside the packet's bits: preamble, spacing, acknowledgement.
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
        What is sent again goes in segments of at most that many bytes, one a place; 0: whole.
    handover_at_s : tuple of float
        Times of handovers to another cell, from the first slot on, ascending.
    handover_ms : float
        How long nothing gets through in each.
    handover_forwards : bool
        The old cell hands on what was not delivered, and the terminal sends again what is not confirmed;
        otherwise that is lost.
    capture : bool
        Record all PDUs as both ends see them, behind PDCP headers of two bytes per packet, as
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
    reorder : float
        Probability per packet to be late by `reorder_ms`, so that later ones overtake it.
    reorder_ms : float
        By how much.
    pauses_s : tuple of (float, float)
        Times, from the first packet on, at which the link stands still, and for how long (seconds).
    air : AirSettings
        Bursty or scripted loss on top of `loss`; one slot per packet unless ``air.slot_ms`` is set.
    """

    rate_bps: float = 10e6
    delay_ms: float = 10.0
    jitter_ms: float = 0.0
    jitter_reorders: bool = False
    loss: float = 0.0
    duplicate: float = 0.0
    corrupt: float = 0.0
    reorder: float = 0.0
    reorder_ms: float = 5.0
    pauses_s: tuple[tuple[float, float], ...] = ()
    air: AirSettings = field(default_factory=AirSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        within("rate_bps", self.rate_bps, 0.0, 1e12)
        for name in ("delay_ms", "jitter_ms", "reorder_ms"):
            within(name, getattr(self, name), 0.0, 1e6)
        for name in ("loss", "duplicate", "corrupt", "reorder"):
            within(name, getattr(self, name), 0.0, 1.0)
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
    """Read the common keys first, then those of the tables "up" and "down"."""
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


def from_mapping(cls: type[T], settings: Mapping[str, Any], where: str = "", base: T | None = None) -> T:
    """Build a settings dataclass from plain values (as TOML gives them).

    Raises
    ------
    UsageError
        For an unknown key, a value of the wrong type, or one out of range; the message names the key.
    """
    hints = typing.get_type_hints(cls)
    known = [item.name for item in fields(cls)]  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{where}.{key}" if where else key
        if key not in known:
            raise UsageError(f"unknown setting {name!r}; known: {', '.join(known)}")
        current = getattr(base, key) if base is not None else None
        values[key] = _convert(name, value, hints[key], current)
    try:
        return cls(**values) if base is None else replace(base, **values)  # type: ignore[type-var]
    except UsageError as error:
        raise UsageError(
            f"{where}.{error}" if where and not str(error).startswith(where) else str(error)
        ) from None


def _convert(name: str, value: Any, hint: Any, current: Any) -> Any:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if hint is AirSettings:
        if isinstance(value, AirSettings):
            return value
        if not isinstance(value, Mapping):
            raise UsageError(f"{name}: a table is needed, not {value!r}")
        return from_mapping(AirSettings, value, name, current)
    if typing.get_origin(hint) is tuple:
        if isinstance(value, str) or not isinstance(value, typing.Iterable):
            raise UsageError(f"{name}: a list is needed, not {value!r}")
        item = typing.get_args(hint)[0]
        if typing.get_origin(item) is tuple:
            return tuple(_pair(name, part) for part in value)
        return tuple(_convert(name, part, item, None) for part in value)
    if hint is bool:
        if value not in (True, False):
            raise UsageError(f"{name}: true or false is needed, not {value!r}")
        return bool(value)
    if hint is str:
        if not isinstance(value, str):
            raise UsageError(f"{name}: text is needed, not {value!r}")
        return value
    return _number(name, value, hint)


def _number(name: str, value: Any, hint: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{name}: a number is needed, not {value!r}")
    if hint is int:
        if value != int(value):
            raise UsageError(f"{name}: a whole number is needed, not {value!r}")
        return int(value)
    return float(value)


def _pair(name: str, value: Any) -> tuple[float, float]:
    if isinstance(value, str) or not isinstance(value, typing.Sequence) or len(value) != 2:
        raise UsageError(f"{name}: pairs [start, length] are needed, not {value!r}")
    return float(_number(name, value[0], float)), float(_number(name, value[1], float))


def within(name: str, value: float, low: float, high: float) -> None:
    """Check a range.

    Raises
    ------
    UsageError
        Names the setting and the range.
    """
    if not math.isfinite(value) or not low <= value <= high:
        raise UsageError(f"{name}: {value:g} is not between {low:g} and {high:g}")


def one_of(name: str, value: str, words: tuple[str, ...]) -> None:
    """Check a word.

    Raises
    ------
    UsageError
        Names the setting and the words it takes.
    """
    if value not in words:
        raise UsageError(f"{name}: {value!r} is not one of {', '.join(words)}")
