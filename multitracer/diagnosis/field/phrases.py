"""How often, for how long and of which connections: the phrases that sentences share."""

from __future__ import annotations

import math
from collections.abc import Callable

from multitracer.diagnosis.field.facts import Flow
from multitracer.diagnosis.field.groups import Group
from multitracer.model.quantities import count, duration

TENTHS_S = 0.5
"""For a shorter part of some seconds, tenths are too coarse."""


def held(group: Group, exactly: str = "") -> str:
    """``connection 3 for 1.0 of 2.0 s``, ``37 connections for 657.6 of 1,583.2 s, summed``.

    `exactly` precedes the time: ``at most``.
    """
    summed = f"{', summed' if len(group.flows) > 1 else ''}"
    return f"{whom(group)} for {exactly}{time_of(group)}{summed}"


def whom(group: Group) -> str:
    """``the transfer``, ``connection 3``, ``37 connections``."""
    if group.of == 1:
        return "the transfer"
    return _numbered(group.flows[0]) if len(group.flows) == 1 else count(len(group.flows), "connection")


def _numbered(flow: Flow) -> str:
    """A single connection by its number, by which it can be looked up."""
    return f"connection {flow.index}"


def of_all(group: Group) -> str:
    """`` on connection 3 (of 5)``, ``, the sum over 8 connections of 408``; nothing of a single one."""
    if group.of == 1:
        return ""
    number = len(group.flows)
    if number == 1:
        return f" on {_numbered(group.flows[0])} (of {group.of:,})"
    which = f"all {number:,} connections" if number == group.of else f"{number:,} connections of {group.of:,}"
    return f", the sum over {which}"


def time_of(group: Group) -> str:
    """``12.5 of 20.0 s``."""
    return part_of_time(group.seconds, group.total_s)


def part_of_time(part_s: float, whole_s: float) -> str:
    """``12.5 of 20.0 s``, ``142 ms of 3.2 s``, ``1.52 ms of 2.05 ms``."""
    if whole_s >= 1:
        if part_s < TENTHS_S:
            return f"{duration(part_s)} of {whole_s:,.1f} s"
        return f"{part_s:,.1f} of {whole_s:,.1f} s"
    return f"{duration(part_s)} of {duration(whole_s)}"


def percent(share: float) -> str:
    """``2.0%`` of a small share, ``27%`` of a larger one; ``0.02%`` of what would be none."""
    if 0.0 < share < 0.00005:
        return "less than 0.01%"
    return f"{share:.{_digits(share)}%}"


def percent_at_most(share: float) -> str:
    """The same of an upper bound, which is rounded up."""
    return _percent_by(share, math.ceil)


def percent_at_least(share: float) -> str:
    """The same of a lower bound, which is rounded down."""
    return _percent_by(share, math.floor) if share >= 0.0005 else percent(share)


def _digits(share: float) -> int:
    """Decimals of a percentage."""
    return 0 if share >= 0.0995 else 2 if 0.0 < share < 0.0005 else 1


def _percent_by(share: float, rounded: Callable[[float], int]) -> str:
    digits = _digits(share)
    # What floats leave over is no part of it.
    shown = rounded(round(share * 100 * 10**digits, 6)) / 10**digits
    if not shown and share > 0.0:
        # Less than a tenth, of a share that is not nothing.
        digits = 2
        shown = rounded(round(share * 100 * 10**digits, 6)) / 10**digits
    return f"{shown:.{digits}f}%"


def from_ms(milliseconds: float) -> str:
    """A duration of so many milliseconds."""
    return duration(milliseconds / 1e3)


def were(number: int) -> str:
    """The verb that goes with a number."""
    return "was" if number == 1 else "were"
