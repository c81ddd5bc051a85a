"""Which costs are reported, and which of their bounds: one rule for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.model.quantities import duration
from multitracer.output.used import is_logged

SAID_S = 0.05
"""Costs below are not reported."""

UNKNOWN = "unknown"
"""The words for a cost whose bounds show nothing."""

_MOST = 0.75
"""Who may have cost this part of the transfer may have cost all of it."""

_HARDLY = 0.1
"""A loss that is known to be more than this part of it is reported."""

_APPLICATION = "idle_application"

_OF_LINK = ("bottleneck", "queue", "local_drop")
"""A link that is full costs nothing but what was lost at it, and so does the queue in front of it."""


def is_said(sentence: Mapping[str, Any]) -> bool:
    """Whether a sentence of ``diagnosis`` has a cost worth reporting: the estimate, or else its bound.

    If the cost is unknown although the cause may have taken most of the time, an omission would read as no
    cost.
    """
    _, high_s = sentence["cost_bounds_s"]
    worth_s = sentence["cost_s"] if sentence["kind"] in _OF_LINK else high_s
    return bool(worth_s >= SAID_S)


def is_printed(contract: Mapping[str, Any], sentence: Mapping[str, Any]) -> bool:
    """Whether a cost is printed: that of an application is left out where the link's rate is unknown.

    Parameters are those of `said_cost`.
    """
    own_pace = sentence["kind"] == _APPLICATION
    return is_said(sentence) and not (own_pace and said_cost(contract, sentence) == UNKNOWN)


def cost_words(low_s: float, cost_s: float, high_s: float) -> str:
    """``1.3 s``, ``1.3 s, 0.9 s to 1.6 s``, or ``at most 1.6 s`` where it may have been nothing.

    Nothing between such bounds is much likelier than the rest.

    Parameters
    ----------
    low_s, cost_s, high_s : float
        Seconds, in rising order.
    """
    if is_bound(low_s, cost_s, high_s):
        return f"at most {duration(high_s)}"
    if bounds_are_wide(low_s, cost_s, high_s):
        return f"{duration(cost_s)}, {duration(low_s)} to {duration(high_s)}"
    return duration(cost_s)


def said_cost(contract: Mapping[str, Any], sentence: Mapping[str, Any]) -> str:
    """As `cost_words`; ``unknown`` where anything between nothing and most of the transfer is possible.

    Parameters
    ----------
    contract : mapping
        The JSON object (docs/json.md).
    sentence : mapping
        Of its ``diagnosis``, with a cost that is printed.
    """
    low_s, cost_s, high_s = low_cost_high(sentence)
    loss = contract.get("loss")
    if loss and is_bound(low_s, cost_s, high_s) and _may_be_most(loss, high_s) and _link_hides(contract):
        return UNKNOWN
    return cost_words(low_s, cost_s, high_s)


def tag(contract: Mapping[str, Any], sentence: Mapping[str, Any]) -> str:
    """``cost 1.3 s``; ``cost of recovery 1.3 s`` of a full link, which itself costs nothing.

    Parameters are those of `said_cost`.
    """
    of = " of recovery" if sentence["kind"] in ("bottleneck", "queue") else ""
    return f"cost{of} {said_cost(contract, sentence)}"


def _may_be_most(loss: Mapping[str, Any], high_s: float) -> bool:
    """Whether a bound is no bound: it leaves most of the transfer."""
    return high_s >= _MOST * float(loss["transfer_s"])


_WHOLE = "utilization"


def _link_hides(contract: Mapping[str, Any]) -> bool:
    """Whether captures hardly show a full link, whose rate would give the transfer's least duration."""
    if is_logged(contract.get("utilization") or {}):
        return False
    loss = contract["loss"]
    least_s, most_s = loss["bounds_s"]
    return bool(least_s < _HARDLY * loss["transfer_s"] and _may_be_most(loss, most_s))


def is_bound(low_s: float, cost_s: float, high_s: float) -> bool:
    """Whether only the upper bound of a cost is printed: it may have been nothing.

    Parameters
    ----------
    low_s, cost_s, high_s : float
        Seconds, in rising order.
    """
    if cost_s < SAID_S:
        return True
    return low_s < min(SAID_S, cost_s / 2)


def low_cost_high(sentence: Mapping[str, Any]) -> tuple[float, float, float]:
    """A sentence's cost between its bounds, in seconds."""
    low_s, high_s = sentence["cost_bounds_s"]
    return low_s, sentence["cost_s"], high_s


def definition(contract: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> str:
    """What a cost is; of several, what all of them come to, with its bounds if these are wide.

    What no sentence has a cost for, such as the handshake and slow start, is not part of it.

    Parameters
    ----------
    contract : mapping
        The JSON object (docs/json.md).
    said : sequence of mapping
        The sentences whose costs are printed.
    """
    loss = contract["loss"]
    transfer, sooner_at = f"the transfer of {duration(loss['transfer_s'])}", "ended"
    if _was_cut_short(contract["connections"]):
        transfer, sooner_at = f"{transfer}, which a RST cut short,", "come as far"
    text = f"how much sooner {transfer} would have {sooner_at} without the cause and its consequences"
    priced = [sentence for sentence in said if is_printed(contract, sentence)]
    words = [said_cost(contract, sentence) for sentence in priced]
    if UNKNOWN in words:
        # What all of them come to is as unknown. A rate that shows in a few runs may be that of a burst.
        return f"{text}; unknown: the link was not observed full for long enough to determine its rate."
    if len(priced) < 2:
        return f"{text}."
    each = [_as_said(*low_cost_high(sentence)) for sentence in priced]
    # What the utilization was lost to, all of it, has the idle times of the causes in it.
    whole = [cost for cost, sentence in zip(each, priced, strict=True) if sentence["kind"] == _WHOLE]
    parts = [cost for cost, sentence in zip(each, priced, strict=True) if sentence["kind"] != _WHOLE]
    sums = [[sum(values) for values in zip(*some, strict=True)] for some in (whole, parts) if some]
    lows_s, middles_s, highs_s = (max(values) for values in zip(*sums, strict=True))
    together_s = min(middles_s, loss["s"])
    low_s = min(lows_s, together_s)
    # Of two limits, each may have cost little as the other would have held the transfer in its place.
    highs_s = max(highs_s, loss.get("together_s") or 0.0)
    high_s = max(min(highs_s, loss["bounds_s"][1]), together_s)
    if any(is_bound(*one) for one in each):
        # Where one may have been nothing, nothing between the bounds is likelier for all.
        least, most = duration(low_s), duration(high_s)
        within = f"at most {most}" if low_s < SAID_S else most if least == most else f"{least} to {most}"
        sooner = f"{within} sooner"
    else:
        sooner = f"{duration(together_s)} sooner"
        if bounds_are_wide(low_s, together_s, high_s):
            sooner += f" ({duration(low_s)} to {duration(high_s)})"
    return f"{text}; without all of these, {sooner}."


def _as_said(low_s: float, cost_s: float, high_s: float) -> tuple[float, float, float]:
    """A cost and its bounds as `cost_words` has them: the total has no less than a single one."""
    wide = is_bound(low_s, cost_s, high_s) or bounds_are_wide(low_s, cost_s, high_s)
    return (low_s, cost_s, high_s) if wide else (cost_s, cost_s, cost_s)


def _was_cut_short(connections: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the only connection was reset before all was acknowledged."""
    return len(connections) == 1 and all(
        one["closed"] == "reset" and one["bytes"]["acked"] < one["bytes"]["unique"] for one in connections
    )


def bounds_are_wide(low_s: float, cost_s: float, high_s: float) -> bool:
    """Whether the bounds of a cost are so far from it that they are shown with it.

    Parameters
    ----------
    low_s, cost_s, high_s : float
        Seconds, in rising order.
    """
    return high_s > 1.2 * cost_s + SAID_S or low_s < cost_s / 1.2 - SAID_S
