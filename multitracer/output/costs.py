"""Which costs are worth telling, and which of their bounds: one rule for the terminal and the page."""

from __future__ import annotations

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


def bounds_are_wide(low_s: float, cost_s: float, high_s: float) -> bool:
    """Whether the bounds of a cost are so far from it that they are told with it.

    Parameters
    ----------
    low_s, cost_s, high_s : float
        Seconds, in rising order.
    """
    return high_s > 1.2 * cost_s + SAID_S or low_s < cost_s / 1.2 - SAID_S
