"""Which costs are worth telling, and which of their bounds: one rule for the terminal and the page."""

from __future__ import annotations

SAID_S = 0.05
"""Costs below are not told."""


def bounds_are_wide(low_s: float, cost_s: float, high_s: float) -> bool:
    """Whether the bounds of a cost are so far from it that they are told with it.

    Parameters
    ----------
    low_s, cost_s, high_s : float
        Seconds, in rising order.
    """
    return high_s > 1.2 * cost_s + SAID_S or low_s < cost_s / 1.2 - SAID_S
