"""What may be stated about a utilization, by how exactly it is known: one rule for sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NEARLY_ALL = 0.95
"""From this utilization on, TCP used nearly all of the link's capacity."""

SURELY_ALL = 0.85
"""An estimate whose lower bound is below this does not show that nearly all of the capacity was used."""

SURELY_NOT = 0.97
"""An estimate whose upper bound is not below this does not show that it was not."""

RESOLVED = 0.25
"""Where a bound is further from an idle time than this part of it, the other bound is given."""

SAID = 0.005
"""An idle time of less than this part is no lower bound of any."""

UNPLACED = 0.02
"""From this part of an idle time on, what is in none of its phases has a separate line."""


def is_logged(found: Mapping[str, Any]) -> bool:
    """Whether a log of the link measured it; else it is an estimate, or unknown.

    Parameters
    ----------
    found : mapping
        ``utilization`` (docs/json.md), or an empty one.
    """
    return bool(found.get("basis") == "link log")


def nearly_all(found: Mapping[str, Any]) -> bool | None:
    """Whether TCP used nearly all of the link's capacity; None if the estimate does not show it.

    Parameters
    ----------
    found : mapping
        ``utilization`` (docs/json.md).
    """
    logged = is_logged(found)
    # As it is shown: to a tenth of a percent, or to a percent.
    much = round(float(found["value"]), 3 if logged else 2) >= NEARLY_ALL
    if logged:
        return much
    if much:
        return True if float(found["low"]) >= SURELY_ALL else None
    return False if float(found["high"]) < SURELY_NOT else None


def idle_share(found: Mapping[str, Any]) -> tuple[str, float]:
    """The share of the time in which the link was idle, after "", "about ", "at least " or "at most ".

    Parameters
    ----------
    found : mapping
        ``utilization`` (docs/json.md).
    """
    share = float(found["idle_share"])
    if is_logged(found):
        return "", share
    low, high = float(found.get("idle_low", 0.0)), float(found.get("idle_high", 1.0))
    if low < max((1 - RESOLVED) * share, SAID):
        return "at most ", high
    return ("about ", share) if high <= (1 + RESOLVED) * share else ("at least ", low)


def unplaced_s(found: Mapping[str, Any], phases_s: float) -> tuple[str, float]:
    """Seconds of an idle time that are in none of its phases, after "", "about ", ...; 0 if they are few.

    Parameters
    ----------
    found : mapping
        ``utilization`` (docs/json.md).
    phases_s : float
        What all phases come to.
    """
    about, share = idle_share(found)
    # Of the time that a log of the link has, every phase is known.
    idle_s = share * float(found["span_s"]) if about else float(found["idle_s"])
    left_s = idle_s - phases_s
    return about, left_s if left_s > UNPLACED * idle_s else 0.0
