"""Which costs are worth telling, and which of their bounds: one rule for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.model.quantities import duration

SAID_S = 0.05
"""Costs below are not told."""


def cost_words(low_s: float, cost_s: float, high_s: float) -> str:
    """``1.3 s``, ``1.3 s, 0.9 s to 1.6 s``, or ``at most 1.3 s`` where it may have been nothing.

    Parameters
    ----------
    low_s, cost_s, high_s : float
        Seconds, in rising order.
    """
    if low_s < min(SAID_S, cost_s / 2) and high_s <= 1.25 * cost_s:
        return f"at most {duration(high_s)}"
    if bounds_are_wide(low_s, cost_s, high_s):
        return f"{duration(cost_s)}, {duration(low_s)} to {duration(high_s)}"
    return duration(cost_s)


def definition(loss: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> str:
    """What a cost is, with the loss that all are a part of: its bounds, if one of a cost is told.

    Parameters
    ----------
    loss : mapping
        ``loss`` of the JSON object (docs/json.md).
    said : sequence of mapping
        The sentences whose costs are told.
    """
    low, high = loss["bounds_s"]
    reported = any(sentence["cost_bounds_s"][1] > loss["s"] for sentence in said)
    beyond = reported and duration(high) != duration(loss["s"])
    wide = beyond or bounds_are_wide(low, loss["s"], high)
    bounds = f" ({duration(low)} to {duration(high)})" if wide else ""
    return (
        f"how much sooner the transfer of {duration(loss['transfer_s'])} would have ended without the cause; "
        f"without all of them, {duration(loss['s'])}{bounds} sooner."
    )


def bounds_are_wide(low_s: float, cost_s: float, high_s: float) -> bool:
    """Whether the bounds of a cost are so far from it that they are told with it.

    Parameters
    ----------
    low_s, cost_s, high_s : float
        Seconds, in rising order.
    """
    return high_s > 1.2 * cost_s + SAID_S or low_s < cost_s / 1.2 - SAID_S
