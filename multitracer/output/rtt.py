"""The RTT of a connection, as far as its capture shows it: defined once, for lines and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.model.frozen import frozen
from multitracer.model.quantities import duration


@frozen
class PathRtt:
    """RTT of the whole path, in milliseconds.

    Attributes
    ----------
    least : float
        The smallest.
    least_name : str
        What it is: `least_name`.
    median, p95 : float or None
        None where the half toward the sender was not measured after the handshake: away from the sender
        only timestamps that are echoed often enough (RFC 7323) show what the whole took later.
    """

    least: float
    least_name: str
    median: float | None
    p95: float | None


def path_rtt(entry: Mapping[str, Any]) -> PathRtt | None:
    """Of an entry of ``connections`` (docs/json.md); None if only a part of the path was measured."""
    whole = entry.get("rtt")
    if not whole or whole["base_ms"] is None:
        return None
    return PathRtt(whole["base_ms"], least_name(entry), whole["median_ms"], whole["p95_ms"])


def base_at_most(entry: Mapping[str, Any]) -> bool:
    """Whether the smallest RTT of an entry may have been less than any that was measured here."""
    return bool((entry.get("rtt") or {}).get("base_at_most"))


def queue_at_least(entry: Mapping[str, Any]) -> bool:
    """Whether the base RTT from which a queueing delay is computed may have been less.

    Away from the sender, what another connection of the same hosts showed may be an upper bound, too.
    """
    own_ms = (entry.get("rtt") or {}).get("base_ms")
    base_ms = (entry.get("bottleneck") or {}).get("base_rtt_ms")
    of_another = own_ms is not None and base_ms is not None and base_ms < own_ms
    return base_at_most(entry) or (of_another and not beside_sender(entry))


SHORTEST_RTO_S = 0.01
"""No stack in use has a retransmission timer below this."""


def idle_before_s(
    event: Mapping[str, Any], *, at_sender: bool, standstills: Sequence[Mapping[str, Any]] | None = ()
) -> float | None:
    """How long the sender had been idle before a timeout.

    Parameters
    ----------
    event : mapping
        Of ``timeouts.events`` (docs/json.md).
    at_sender : bool
        Whether the capture is known to be the sender's.
    standstills : sequence of mapping or None
        Those of the same entry.

    Returns
    -------
    float or None
        Seconds. None away from the sender where segments came closer than any timer expires, or the path
        before the capture was stalled in that time: it let through what had waited, this or the one before.
    """
    silence_s: float = event["silence_s"]
    if at_sender:
        return silence_s
    held_up = any(
        one["upstream"] and one["start"] < event["t"] and _began_s(event) <= one["start"] + one["silence_s"]
        for one in standstills or ()
    )
    return None if held_up or silence_s < SHORTEST_RTO_S else silence_s


def _began_s(event: Mapping[str, Any]) -> float:
    """When the segment before passed, as exactly as both of its times are given."""
    return float(event["t"]) - float(event["silence_s"]) - 2e-6


def hides_queues(entry: Mapping[str, Any]) -> bool:
    """Whether a queue of the path would add to no RTT that this capture of an entry shows.

    It is before the capture, and no timestamps show how long data took to get here.
    """
    unstamped = entry.get("timestamps") is False and not beside_sender(entry)
    return unstamped and (entry.get("rtt") or {}).get("median_ms") is None


HOST_MS = 1.0
"""A host answers itself within this, at its best."""


def beside_sender(entry: Mapping[str, Any]) -> bool:
    """Whether what this capture measured is the RTT of the sender: it answered at once, if at all."""
    if entry["point"] != "snd":
        return False
    near = ((entry.get("rtt") or {}).get("toward_sender") or {}).get("min_ms")
    return near is None or bool(near <= HOST_MS)


SELDOM = 0.8
"""If ACKs of less of the data measured an RTT, its median is that of the times without loss recovery: that
of all data may be any between what 3/8 and 5/8 of the measured ones do not exceed, or farther off."""


def outside_recovery(entry: Mapping[str, Any]) -> str:
    """``outside of loss recovery``, the remark on a median, where much of an entry's data measured none.

    Without SACK, the ACKs of retransmitted data do not show which copy they acknowledge (Karn's rule).
    """
    share = (entry.get("rtt") or {}).get("timed_share")
    return "" if share is None or share >= SELDOM else "outside of loss recovery"


DELAYED = 0.05
"""If so many of the ACKs were delayed by their receiver, the 95th percentile of all would be one of these."""


def without_delayed(entry: Mapping[str, Any]) -> str:
    """``without delayed ACKs``, the remark on a percentile that would be another with them."""
    rtt = entry.get("rtt") or {}
    delayed = rtt.get("delayed_acks") or 0
    samples = (rtt.get("toward_receiver") or {}).get("samples") or 0
    return "without delayed ACKs" if delayed and delayed >= DELAYED * (delayed + samples) else ""


def without_own_queue(entry: Mapping[str, Any]) -> str:
    """The remark on RTTs at a sender's capture behind a queue of its host: none of them shows it."""
    rtt = entry.get("rtt") or {}
    return "without the wait in the sender's own queue" if rtt.get("without_own_queue") else ""


def restrictions(entry: Mapping[str, Any]) -> str:
    """What median and percentile are not of, in one line; empty if of all."""
    said = (outside_recovery(entry), without_delayed(entry), without_own_queue(entry))
    return ", ".join(filter(None, said))


PACKETS = 3
PART = 0.25
FULL = 0.95
"""A link that was full for so much of the time has a queue of so many packets, or so much of the base RTT."""

MOSTLY, HALF = 0.7, 0.5
"""Who waits for a link that was full for that part of the time usually waits for half a packet or longer."""

_HEADERS = 40
"""Bytes of IP and TCP."""


def shown_queue(entry: Mapping[str, Any]) -> Mapping[str, float] | None:
    """Queueing delay of an entry of ``connections``; None if it was not measured, or is no queue of its link.

    A single connection that fills a link all the time keeps its queue filled. If what came later than at its
    best is less than a few packets take on that link, the queue is not between this capture and the receiver
    (it may be that of the sender's host), and the rest is jitter. So it is for any link that was full for
    most of the time, if it is less than half a packet takes.
    """
    found = entry.get("bottleneck") or {}
    queue: Mapping[str, float] | None = found.get("standing_queue_ms")
    if without_own_queue(entry):
        return None
    if queue is None or not found["rate_bps"] or not entry["packets"]["data"]:
        return queue
    packet_bits = 8 * (entry["bytes"]["sent"] / entry["packets"]["data"] + _HEADERS)
    packet_ms = packet_bits / found["rate_bps"] * 1e3
    full_share = found["full_share"] or 0.0
    refused = bool((entry.get("losses") or {}).get("refused"))
    if full_share >= (HALF if refused else MOSTLY) and queue["median"] < HALF * packet_ms:
        return None
    if full_share < FULL or found["shared_with"] or "queue" in found["evidence"]:
        return queue
    small = queue["median"] < min(PACKETS * packet_ms, PART * (found["base_rtt_ms"] or 0.0))
    return None if small else queue


@frozen
class UsualRtt:
    """What stands for the RTT of a connection where there is room for one number.

    Attributes
    ----------
    ms : float
    of : str
        ``median``; ``mean``, of the data's side at the sender's capture; ``least``, the smallest measured.
    low_ms, high_ms : float or None
        The smallest, and the 95th percentile of a median or the largest of a mean.
    least_name : str
        What the smallest is: `least_name`.
    """

    ms: float
    of: str
    low_ms: float | None = None
    high_ms: float | None = None
    least_name: str = "min"


def least_name(entry: Mapping[str, Any]) -> str:
    """``min`` next to the sender, else ``base`` (without queues); ``base at most`` of an upper bound.

    Away from the sender the smallest may be the sum of both halves, as short as no packet had it.
    """
    return f"{'min' if beside_sender(entry) else 'base'}{' at most' if base_at_most(entry) else ''}"


def least_words(entry: Mapping[str, Any], least_ms: float) -> str:
    """``min 81.1 ms``, ``base at most 40.8 ms``; ``base less than 1 ms`` if hosts may take as long to answer.

    Of so little, away from the sender, the sum of both halves may be less than any packet took, or more than
    the path does: their hosts woke up in between.

    Parameters
    ----------
    entry : mapping
        Of ``connections`` (docs/json.md).
    least_ms : float
        The smallest of its RTT.
    """
    if least_ms < HOST_MS and not beside_sender(entry):
        return f"base {OF_HOSTS}"
    return f"{least_name(entry)} {duration(least_ms / 1e3)}"


OF_HOSTS = f"less than {HOST_MS:.0f} ms"
"""A base RTT, away from the sender, that is no more than hosts may take to answer."""


def usual_rtt(entry: Mapping[str, Any]) -> UsualRtt | None:
    """Of an entry of ``connections`` (docs/json.md); None if nothing was measured."""
    whole, samples = path_rtt(entry), entry["rtt_ms"]
    if whole is not None and whole.median is not None:
        return UsualRtt(whole.median, "median", whole.least, whole.p95, whole.least_name)
    if beside_sender(entry) and samples is not None:
        return UsualRtt(samples["mean"], "mean", samples["min"], samples["max"])
    return None if whole is None else UsualRtt(whole.least, "least", least_name=whole.least_name)
