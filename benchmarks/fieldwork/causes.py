"""What limited a transfer, and why, by the kernel's own account and by what the lab did.

The kernel's account (tcp_info at the end of each connection): `busy_time`, in which data waited for its
acknowledgement, and of it `rwnd_limited` and `sndbuf_limited`. The rest of the time from the first data to
the last acknowledgement the application had nothing to send. An application that paces itself keeps data
outstanding for a round trip after each write, which the kernel calls busy though the network limits
nothing: if a scenario's own schedule fills 85 % of the transfer, the application is the limit. Shares
within 15 points of the largest are accepted as well, and a transfer that was limited by the send buffer is
not judged.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from fieldwork.packets import FIN, Packet
from fieldwork.wire import Direction

Json = Mapping[str, Any]
APPLICATION, WINDOW, NETWORK = "application", "receiver_window", "network"
CLASS_OF = {
    "application": APPLICATION,
    "receiver_window": WINDOW,
    "congestion_window": NETWORK,
    "bandwidth": NETWORK,
    "loss_recovery": NETWORK,
}
"""Keys of the program's `limits`; the kernel cannot tell the three of the network apart."""
_NEAR = 0.15
_FULL = 0.75
_FILLED = 0.9
_STILL = 0.2
_OPENING = 0.5
_STANDING_MS, _STANDING_TIMES = 30.0, 3.0


def data_seconds(captured: Sequence[Packet], direction: Direction) -> float:
    """First data to the acknowledgement of the last of it, at the sender's capture."""
    times = [packet.t_ns for packet in captured if packet.key == direction.key and packet.length > 0]
    answers = [packet for packet in captured if packet.reverse == direction.key]
    # `isn` is the number of the first byte: a SYN is before it.
    ends = [
        packet.seq + packet.length + (packet.flags & FIN)
        for packet in captured
        if packet.key == direction.key and (packet.length > 0 or packet.flags & FIN)
    ]
    if not times or not answers:
        return 0.0
    goal = max((end - direction.isn) % 2**32 for end in ends)
    # A SYN of the other end acknowledges nothing yet.
    acked = [packet.t_ns for packet in answers if goal <= (packet.ack - direction.isn) % 2**32 < 2**31]
    return (min(acked, default=answers[-1].t_ns) - times[0]) / 1e9


def shares(flow: Json, seconds: float) -> dict[str, float]:
    """Share of each class in the time of one flow; empty if the kernel did not tell."""
    told = flow.get("tcp_info") or {}
    if not told or seconds <= 0:
        return {}
    busy, window, buffer = (told[name] / 1e6 for name in ("busy_time", "rwnd_limited", "sndbuf_limited"))
    return {
        APPLICATION: max(0.0, seconds - busy) / seconds,
        WINDOW: window / seconds,
        NETWORK: max(0.0, busy - window - buffer) / seconds,
        "send_buffer": buffer / seconds,
    }


def dominating(settings: Json, kernel: Mapping[str, float], seconds: float) -> set[str]:
    """The classes that may be called the main limit of one flow; empty: not judged.

    Parameters
    ----------
    settings : mapping
        Of the flow.
    kernel : mapping
        Its `shares`.
    seconds : float
        First data to last acknowledgement.
    """
    if not kernel:
        return set()
    if own_schedule(settings) >= 0.85 * seconds:
        return {APPLICATION}
    largest = max(kernel.values())
    near = {name for name, share in kernel.items() if share >= largest - _NEAR}
    return set() if "send_buffer" in near else near


def own_schedule(flow: Json) -> float:
    """Seconds that the application itself takes, if the network takes none."""
    if flow["kind"] == "paced":
        return float(flow["bytes"] * 8 / flow["rate_bps"])
    if flow["kind"] == "bursty":
        return float((-(-flow["bytes"] // flow["burst_bytes"]) - 1) * flow["pause_s"])
    if flow["kind"] == "request_response":
        return float((flow["requests"] - 1) * flow["think_s"])
    return 0.0


def bottleneck_bps(settings: Json) -> float:
    """The smallest rate on the data's way; 0 if there is none."""
    side = "up" if settings["network"]["sender"] == "ms" else "down"
    rates = [hop.get(side, {}).get("rate_bps", 0.0) for hop in settings["link"].get("hop", [])]
    if settings["network"]["qdisc"]["kind"]:
        rates.append(settings["network"]["qdisc"]["rate_bps"])
    return min((rate for rate in rates if rate), default=0.0)


def paused_s(settings: Json, seconds: float) -> float:
    """Seconds of a transfer in which a hop delivered nothing, by its scenario."""
    return sum(
        max(min(start + length, seconds) - start, 0.0)
        for hop in settings["link"].get("hop", [])
        for side in ("up", "down")
        for start, length in hop.get(side, {}).get("pauses_s", [])
    )


def kernel_rtts_ms(log: str) -> tuple[float, float]:
    """Median smoothed round trip of the samples of ``ss.log``, and the smallest that was seen; 0: none."""
    smoothed = [float(value) for value in re.findall(r" rtt:([\d.]+)/", log)]
    smallest = [float(value) for value in re.findall(r" minrtt:([\d.]+)", log)]
    return (statistics.median(smoothed) if smoothed else 0.0), min(smallest, default=0.0)


def kinds(
    truth: Json,
    limits: set[str],
    full_share: float,
    resent_share: float,
    local: bool,
    rtts_ms: tuple[float, float],
    still_share: float = 0.0,
    lost: bool = True,
) -> set[str]:
    """Kinds of a diagnosis' first sentence that the truth allows; empty: not judged.

    Parameters
    ----------
    truth : mapping
        ``truth.json``.
    limits : set of str
        Classes that dominate (of the flow that took longest).
    full_share : float
        Goodput in the data's time, of the bottleneck's rate.
    resent_share : float
        Segments sent again, of all.
    local : bool
        The sender's own queue dropped some.
    rtts_ms : tuple
        Median and smallest round trip of the sender's kernel.
    still_share : float
        Of the data's time, that in which a hop delivered nothing, by the scenario.
    lost : bool
        Any packet with data was lost between both ends.
    """
    allowed: set[str] = set()
    if APPLICATION in limits:
        allowed.add("idle_application")
    full = {"bottleneck"}
    median, smallest = rtts_ms
    if median - smallest >= _STANDING_MS and median >= _STANDING_TIMES * smallest:
        full.add("queue")
    if WINDOW in limits:
        allowed.add("idle_receiver_window")
        # A larger window would have gained nothing: the link carried all that it can.
        allowed |= full if full_share >= _FILLED else set()
    if NETWORK not in limits:
        return allowed
    if local:
        allowed.add("local_drop")
    if full_share >= _FULL:
        allowed |= full
    if resent_share > 0 and not local and (full_share < 0.9 or resent_share > 0.01):
        allowed |= {"loss", "idle_timeout_wait", "idle_recovery_stall", "spurious_timeouts", "ack_loss"}
        allowed |= set() if lost else {"spurious"}
    if still_share >= _STILL:
        allowed.add("standstill")
    if not allowed:
        allowed |= {"idle_handshake_slow_start", "well"}
    if opening_share(truth) >= _OPENING:
        allowed.add("idle_handshake_slow_start")
    return allowed


def opening_share(truth: Json) -> float:
    """Part of the longest flow's time that its handshake took, by its client."""
    flows = truth.get("flows") or [{}]
    longest = max(flows, key=lambda flow: flow.get("seconds") or 0.0)
    return float((longest.get("connect_s") or 0.0) / (longest.get("seconds") or 1.0))
