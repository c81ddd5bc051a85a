"""What retransmissions prove of losses: defined once, for sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.model.frozen import frozen
from multitracer.model.packet_size import TIMESTAMPS_BYTES
from multitracer.model.quantities import count
from multitracer.output.observed import is_guess, observed_point

_FULL = 0.5
_VAGUE = 0.2


@frozen
class LossBounds:
    """Data segments of one connection that were lost, as far as one capture proves it.

    Attributes
    ----------
    upstream : int
        At least so many before the capture: each was transmitted again, and no earlier copy had passed. How
        often a retransmission was lost there as well does not show.
    downstream : int
        At most so many after it: a copy that passed was lost, or it arrived. Of those that arrived, one of
        each byte is acknowledged, and the others are reported as duplicates (RFC 2883) by a receiver that
        does so. If every retransmission was needless, none of these: what became of the needless copies does
        not matter. At the receiver's own capture, at least those that its host discarded. Of a transfer that
        broke off, what was never acknowledged may be lost, too. 0 without any ACK: none shows.
    sent : int
        Data segments on the wire: those that passed, super-segments as the segments that they become, and
        `upstream`.
    divided : bool
        Whether super-segments were captured: where each was divided does not show, so that `sent` may be
        off by some.
    in_flight : int
        Of `sent`, those not acknowledged when a capture ends that shows no sign that the transfer broke off
        (``unfinished``): their ACKs would have come later, and nothing is known of them.
    at_reset : int
        The same where a RST ended the connection: they were not acknowledged, whether they arrived or not.
    """

    upstream: int
    downstream: int
    sent: int
    divided: bool = False
    in_flight: int = 0
    at_reset: int = 0


def loss_bounds(entry: Mapping[str, Any]) -> LossBounds:
    """Of an entry of ``connections`` (docs/json.md).

    Parameters
    ----------
    entry : mapping

    Returns
    -------
    LossBounds
        True for a capture that missed nothing of what passed it.

    References
    ----------
    RFC 2883; RFC 2680 section 2.4 (loss).
    """
    again, counts = entry["retransmissions"], entry["bytes"]
    upstream = proven_upstream(entry) or 0
    segment_bytes = (entry.get("mss") or 0) - (TIMESTAMPS_BYTES if entry.get("timestamps") else 0)
    data, unacked = entry["packets"]["data"], max(counts["unique"] - counts["acked"], 0)
    if segment_bytes > 0:
        # Captures on the sending host hold super-segments; the retransmissions are counted as on the wire.
        whole = -(-counts["sent"] // segment_bytes)
        data, divided = max(data, whole), whole > data
        open_segments = -(-unacked // segment_bytes)
    else:
        open_segments, divided = data if unacked else 0, False
    if observed_point(entry) == "rcv" and not is_guess(entry):
        discarded = (entry.get("losses") or {}).get("downstream") or 0
        return LossBounds(upstream, discarded, data + upstream, divided)
    passed_again = max(again["total"] - again.get("inferred", 0) - syns_again(entry), 0)
    needless, reported = (
        entry.get(name) or 0 for name in ("needless_retransmissions", "duplicates_reported")
    )
    # Those whose original came late are no copies of what passed before.
    late = max(again.get("inferred", 0) - upstream, 0)
    # Small segments are retransmitted as parts of a longer one.
    merged = (entry.get("losses") or {}).get("merged") or 0
    # A needless copy may be lost, too: only those reported had arrived.
    behind = 0 if needless - late >= passed_again else max(passed_again - reported, 0) + merged
    if not entry["packets"]["received"]:
        # No ACK was captured: nothing is known of what was acknowledged, lost after it or in flight.
        return LossBounds(upstream, 0, data + upstream, divided)
    unknown = 0 if entry.get("unfinished") else min(open_segments, data)
    behind += open_segments - unknown
    in_flight, at_reset = (0, unknown) if entry.get("closed") == "reset" else (unknown, 0)
    return LossBounds(upstream, min(behind, data), data + upstream, divided, in_flight, at_reset)


def syns_again(entry: Mapping[str, Any]) -> int:
    """Retransmissions of a SYN by the sender of the data: no data was lost with them.

    Parameters
    ----------
    entry : mapping
        Of ``connections`` (docs/json.md).
    """
    again = entry["retransmissions"]
    opened = entry.get("data_direction") == "forward" and bool(entry.get("handshake"))
    expired = (entry.get("syn_timeouts") or 0) if opened else 0
    return int(again.get("handshake", 0) + min(expired, again.get("timeout", 0)))


def has_all_sent(entry: Mapping[str, Any]) -> bool:
    """Whether the capture has all that the sender sent: it is next to it, and no first copy is missing."""
    return entry["point"] == "snd" and not entry["retransmissions"].get("inferred")


def some_missing(entry: Mapping[str, Any]) -> bool:
    """Whether retransmissions may be missing here: each count of them is a lower bound then."""
    lost = not has_all_sent(entry) and bool(proven_upstream(entry))
    losses = entry.get("losses") or {}
    refused = bool(losses.get("refused")) and bool(entry["retransmissions"].get("total"))
    return lost or bool(losses.get("possible")) or refused


def proven_upstream(entry: Mapping[str, Any]) -> int | None:
    """Data segments lost before the capture, without those that only skipped identifications would show.

    At the sender, a queue that refuses segments skips them, and it is full then, as the link behind it is.
    Where no link was seen full and nothing came that filled a gap, the host gave these numbers to packets of
    other connections: many number all of their packets with one counter (RFC 6864).

    Parameters
    ----------
    entry : mapping
        Of ``connections`` (docs/json.md).

    Returns
    -------
    int or None
        None where the capture does not show it.
    """
    upstream: int | None = (entry.get("losses") or {}).get("upstream")
    if not upstream or observed_point(entry) != "snd" or entry["retransmissions"].get("inferred", 0):
        return upstream
    full = (entry.get("bottleneck") or {}).get("full_share") or 0.0
    return upstream if full >= _FULL else 0


def says_little(needless: int, again: int) -> bool:
    """Whether an upper bound of what was lost is of little use: much of what was retransmitted was needless.

    What was needless may have been lost as well, so that the bound contains it.

    Parameters
    ----------
    needless, again : int
        Needless retransmissions, and all.
    """
    return needless > _VAGUE * again


def may_be_again(possible: int) -> str:
    """``10 segments in order may be retransmissions (IP identifications are missing before them)``.

    A timer or the sender's own queue, which refused the first copy, explains both.
    """
    what, them = ("a retransmission", "it") if possible == 1 else ("retransmissions", "them")
    missing = f"IP identifications are missing before {them}"
    return f"{count(possible, 'segment')} in order may be {what} ({missing})"


def possibly_again(entry: Mapping[str, Any]) -> int:
    """Segments in order that may be retransmissions.

    Parameters
    ----------
    entry : mapping
        Of ``connections`` (docs/json.md).
    """
    return int((entry.get("losses") or {}).get("possible") or 0)


def needless_prefix(*, certain: bool, divided: bool) -> str:
    """What precedes a number of needless retransmissions: ``at least``, ``about``, or nothing.

    Parameters
    ----------
    certain : bool
        Whether the capture is the receiver's and none was lost before it, or there is one of each end: all of
        them show there. Elsewhere those that an ACK reveals are counted.
    divided : bool
        Whether super-segments were captured: what is counted of them may be off by one.

    Returns
    -------
    str
        With a space after it, or empty.
    """
    if not certain:
        return "at least "
    return "about " if divided else ""
