"""What a cause cost: how much sooner the transfer would have been complete without it.

The loss is the time of the transfer less the ideal: the time that the link needs to carry each byte once, at
its own rate and without repeating anything. A cause claims a part of it. The costs of all sentences together
are no more than the loss, and none is more than its claim.

- With a log of the link a cause claims its idle time, the time that the link took for what it had carried
  before, and the time in which the link itself was away or repeated a frame over and over.
- From captures alone it claims the time in which it limited the sender. What the link carried in that time
  it would have had to carry anyway, so that all such claims share what is left of the loss.

The rate of a link that was never seen full is not known: the cost is then at most what is claimed, and may be
nothing if the link is no faster than what it carried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from multitracer.model.frozen import frozen
from multitracer.model.packet_size import INITIAL_SEGMENTS

DEFINITION = (
    "a cost is how much sooner the transfer would have been complete without the cause and its consequences; "
    "all costs together are no more than the loss: the time of the transfer less the time that the link "
    "needs for its bytes"
)
"""Part of the output."""

HIDDEN = 0.1
"""Two measurements of a full link's rate differ by up to this part."""


@frozen
class Loss:
    """How much longer a transfer took than the link needed.

    Attributes
    ----------
    transfer_s : float
        Duration of the transfer.
    s, low_s, high_s : float
        Of it, the loss, with its bounds.
    together_s : float or None
        What all sentences cost together at most, where that may be more than their own upper bounds come to:
        without one of two limits, the other would have held the transfer.
    """

    transfer_s: float
    s: float
    low_s: float
    high_s: float
    together_s: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "s": round(self.s, 3),
            "bounds_s": [round(self.low_s, 3), round(self.high_s, 3)],
            "transfer_s": round(self.transfer_s, 3),
            "ideal_s": round(self.transfer_s - self.s, 3),
            "together_s": None if self.together_s is None else round(self.together_s, 3),
            "definition": DEFINITION,
        }


@frozen
class Claim:
    """What a cause may have cost.

    Attributes
    ----------
    s : float
        Seconds that are its own, independent of other causes.
    shared_s : float
        Seconds in which it was the limit: with others of the kind it shares what their own leave of the loss.
    follows : bool
        Whether more than that may follow from it: a window that a loss or a pause left small leaves a link
        idle that is busy in between, so that what no claim explains of the loss is shared, too.
    certain : bool
        Whether its own seconds would have been gained. A link that had continued instead of being reset might
        have lost as much.
    open_s : float
        Seconds of which it is not known whether they were its own or another's.
    beyond_s : float
        Seconds more that it may have had.
    apart : bool
        Whether no other cause can have led to its time: without a loss an application would have paused, and
        a receiver would have read slowly, too. No more time than that is surely its own.
    most_s : float
        Seconds that it cost at most, with all that followed from it.
    """

    s: float = 0.0
    shared_s: float = 0.0
    follows: bool = False
    certain: bool = True
    open_s: float = 0.0
    beyond_s: float = 0.0
    apart: bool = False
    most_s: float = math.inf


@frozen
class Cost:
    """What a cause cost, and between which bounds."""

    s: float
    low_s: float
    high_s: float


def costs(loss: Loss, claims: Sequence[Claim], opening_s: float = 0.0, last_s: float = 0.0) -> list[Cost]:
    """What each claim comes to.

    Parameters
    ----------
    loss : Loss
    claims : sequence of Claim
    opening_s : float
        Of the loss, what no cause can be blamed for unless a claim is for it: handshake, slow start, last
        ACK.
    last_s : float
        How much longer than an RTT the last ACK was awaited: nothing that went before led to that.

    Returns
    -------
    list of Cost
        One for each claim; their sum is no more than `loss.s`.
    """
    own = sum(claim.s for claim in claims)
    shared = sum(claim.shared_s for claim in claims)
    open_s = sum(claim.open_s for claim in claims)
    apart = sum(claim.shared_s for claim in claims if claim.apart)
    fixed = min(1.0, loss.s / own) if own else 1.0
    left = max(loss.s - own * fixed - opening_s, 0.0)
    part = min(1.0, left / shared) if shared else 1.0
    following = sum(claim.s + claim.shared_s for claim in claims if claim.follows)
    more = (left - shared * part) / following if following else 0.0
    found = []
    for claim in claims:
        claimed = claim.s + claim.shared_s
        cost_s = claim.s * fixed + claim.shared_s * part + (claimed * more if claim.follows else 0.0)
        cost_s = min(cost_s, claim.most_s)
        # Without it, what others share may go as well: it may have led to them.
        others_s = own - claim.s + apart - (claim.shared_s if claim.apart else 0.0)
        own_most_s = claimed + claim.open_s + claim.beyond_s
        most_s = loss.high_s - others_s - last_s if claim.follows else own_most_s
        if claim.apart:
            most_s = min(most_s, own_most_s)
        high_s = max(min(most_s, claim.most_s, loss.high_s), cost_s)
        surely = claim.s * fixed if claim.certain else 0.0
        rest = loss.low_s - (own + shared - claimed) - opening_s if claim.certain else 0.0
        low_s = max(min(surely, loss.low_s), min(rest - (open_s - claim.open_s), claimed), 0.0)
        low_s = min(low_s, cost_s)
        found.append(Cost(cost_s, low_s, high_s))
    return found


def loss_of_link(span_s: float, idle_s: float, twice_s: float, away_s: float, repeats_s: float) -> Loss:
    """The loss as the log of the link has it.

    Parameters
    ----------
    span_s : float
        The transfer.
    idle_s, twice_s, away_s, repeats_s : float
        Idle time, time that the link took for bytes that it had carried before, time in which it was being
        reset, and time that it took for frames that it retransmitted.
    """
    low_s = min(idle_s + twice_s, span_s)
    whole_s = min(low_s + away_s + repeats_s, span_s)
    return Loss(span_s, whole_s, low_s, whole_s)


def loss_of_path(
    transfer_s: float,
    wire_bytes: float,
    rate_bps: float | None,
    *,
    seen_full: bool,
    opening_s: float,
    late_s: float = 0.0,
) -> Loss:
    """The loss as captures have it.

    Parameters
    ----------
    transfer_s : float
    wire_bytes : float
        Bytes of the IP packets, each byte of the data once.
    rate_bps : float or None
        Of the bottleneck; None if the captures do not show it.
    seen_full : bool
        Whether it was full for a good part of the transfer: only then is it no faster, and no slower.
    opening_s : float
        Handshake and slow start with an empty path: the least that the transfer takes on any link.
    late_s : float
        By how much the handshake was late: the link had nothing to carry, whatever its rate.
    """
    late_s = min(late_s, transfer_s)
    most_s = max(transfer_s - opening_s, late_s)
    if rate_bps is None or rate_bps <= 0:
        return Loss(transfer_s, most_s, late_s, most_s)
    lost_s = min(max(transfer_s - 8 * wire_bytes / rate_bps, late_s), transfer_s)
    slower_s = max(transfer_s - 8 * wire_bytes * (1 + HIDDEN) / rate_bps, late_s)
    faster_s = max(transfer_s - 8 * wire_bytes / (rate_bps * (1 + HIDDEN)), late_s)
    if seen_full:
        return Loss(transfer_s, lost_s, slower_s, faster_s)
    return Loss(transfer_s, lost_s, late_s, max(most_s, lost_s))


def opening_s(rate_bps: float | None, rtt_s: float, wire_bytes: float, packet_bytes: float) -> float:
    """Idle time of a link until slow start has filled it: every RTT for which the window is too small.

    The RTT of the handshake, and that of the last ACK, are part of it. Without a rate, the link takes
    every window at once.

    Parameters
    ----------
    rate_bps : float or None
        Of the link, in bits per second; None where it is not known.
    rtt_s : float
        Base RTT in seconds.
    wire_bytes : float
        What the transfer puts on the link, headers included.
    packet_bytes : float
        A full packet with its headers.

    References
    ----------
    RFC 5681 section 3.1, RFC 6928.
    """
    if rtt_s <= 0 or packet_bytes <= 0:
        return 0.0
    idle_s, window, sent = 2 * rtt_s, INITIAL_SEGMENTS * packet_bytes, 0.0
    for _ in range(64):
        sent += window
        busy_s = 8 * window / rate_bps if rate_bps else 0.0
        if sent >= wire_bytes or busy_s >= rtt_s or not math.isfinite(window):
            break
        idle_s += rtt_s - busy_s
        window *= 2
    return idle_s
