"""A GSM data call."""

from __future__ import annotations

from dataclasses import dataclass, field

from multitracer.lab.settings.air import AirSettings
from multitracer.lab.settings.queue import QueueSettings
from multitracer.lab.settings.values import one_of, within


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
        Backlog at which flow control stops and restarts the peer.
    send_buffer_bytes : int
        A new packet leaves the interface queue (and is compressed) when less than this waits to be sent.
    vj : bool
        TCP/IP header compression (RFC 1144).
    vj_slots : int
        Connections that the compressor keeps, 3 to 256.
    vj_compress_slot : bool
        Leave the connection number out of headers where it did not change. Then a decompressor that saw a
        damaged frame tosses everything up to the next uncompressed header; with the number in every header it
        continues at once, with wrong sequence numbers (Paper 5.3, Figure 9).
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
        # T1 must exceed an RTT with its waiting for slots: an answer that overlaps a repeated SREJ would be
        # taken for a new frame, since 61 of 62 numbers are in use.
        within("t1_ms", self.t1_ms, 2 * self.delay_ms + 5 * self.slot_ms, 1e7)
        within("drain_bps", self.drain_bps, 0.0, 1e9)
        one_of("drain_sides", self.drain_sides, ("both", "ms", "iwf"))
        within("xon_bytes", self.xon_bytes, 0, 10**7)
        within("xoff_bytes", self.xoff_bytes, self.xon_bytes + 1, 10**7)
        within("send_buffer_bytes", self.send_buffer_bytes, 1, 10**7)
        within("vj_slots", self.vj_slots, 3, 256)
        within("accm", self.accm, 0, 0xFFFFFFFF)
