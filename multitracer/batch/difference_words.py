"""A comparison in words, for the terminal and the page."""

from __future__ import annotations

from multitracer.batch.comparison import Change
from multitracer.batch.difference import CauseChange, Difference, Set
from multitracer.model import quantities
from multitracer.model.quantities import count

_MICRO = "us"
PAIRS = 6
"""Fewest pairs of which a test can show a difference: 2 of their 64 arrangements are 3%."""


def headline(found: Difference) -> str:
    """The answer in one sentence."""
    change = "slower" if found.difference_s > 0 else "faster"
    if found.verdict == "no difference shown":
        return f"No difference shown: {_times(found)}{_interval(found)}."
    if round(100 * found.share, 1) == 0:
        return f"Equal: {_times(found)}{_interval(found)}."
    percent = f"{abs(100 * found.share):.3g}% {change}"
    sure = "" if found.p_value is not None else " (not tested)"
    return f"{percent}{sure}: {_times(found)}{_interval(found)}."


def main_cause(found: Difference) -> str:
    """What made most of the difference; empty where none is shown."""
    if found.verdict == "no difference shown" or not found.causes or round(100 * found.share, 1) == 0:
        return ""
    first = found.causes[0]
    words = f"Most of it is {spelled(first.cause)}: {signed(first.difference_s)}"
    if first.low_s is not None and first.high_s is not None and first.low_s <= 0 <= first.high_s:
        return f"{words}, but its interval includes zero."
    against = [one for one in found.causes if one.difference_s * found.difference_s < 0]
    if against and abs(against[-1].difference_s) >= 0.1 * abs(found.difference_s):
        return f"{words}; partly offset by {spelled(against[-1].cause)}: {signed(against[-1].difference_s)}."
    return f"{words}."


def side(one: Set) -> str:
    """What a side is made of."""
    each = "" if one.measurements == 1 else "mean "
    return (
        f"{count(one.measurements, 'measurement')}, {count(one.connections, 'connection')} with data: "
        f"{each}{_size(one.bytes)} in {quantities.duration(one.seconds, _MICRO)}, "
        f"{quantities.rate(one.goodput_bps)}"
    )


def method(found: Difference) -> str:
    """How to read the numbers."""
    how = "in pairs of the same names" if found.paired and found.before.measurements > 1 else "as two sets"
    words = (
        f"Times are for {_size(found.bytes)}, the mean before: a set's time over its payload. "
        "The differences of all causes sum to the whole."
    )
    if any(_without_path(one) for one in found.causes):
        words += (
            f" What a longer or shorter RTT changed in other rows is in the row {_NAMES['round_trip']}: "
            "their differences are without it, and are not after minus before."
        )
    if found.low_s is None:
        return words
    sets = ", as two sets" if found.paired and found.before.measurements < PAIRS else ""
    test = (
        "" if found.p_value is None else f" Permutation test of equal times{sets}: p = {found.p_value:.2g}."
    )
    return f"{words} Compared {how}; 95% intervals by bootstrap over measurements.{test}"


def _without_path(one: CauseChange) -> bool:
    """Whether a part of a cause's difference is in the row of the RTT."""
    whole_s = one.after_s - one.before_s
    return one.cause != "round_trip" and abs(one.difference_s - whole_s) > 0.005 * abs(whole_s)


def metric(name: str) -> str:
    """The name of a metric in words; its values have the unit."""
    for unit in ("_bps", "_ms", "_s"):
        name = name.removesuffix(unit)
    return name.replace("_", " ").replace("rtt", "RTT")


def value(name: str, number: float, *, change: bool = False) -> str:
    """A value of a metric in the unit of its name; a `change` has a sign, and is in points if of percent.

    Parameters
    ----------
    name : str
        Of the metric, as a column of the summary.
    number : float
    change : bool
        Whether it is a difference of two values.
    """
    sign = "" if not change else "-" if number < 0 else "+" if number > 0 else ""
    number = abs(number) if change else number
    if name.endswith("_bps"):
        return sign + (quantities.rate(number) if number else "0")
    if name.endswith(("_ms", "_s")):
        return sign + quantities.duration(number / (1e3 if name.endswith("_ms") else 1.0), _MICRO)
    if name == "utilization" or name.endswith("_share"):
        return f"{sign}{100 * number:.3g}{' points' if change else '%'}"
    return f"{sign}{number:,.6g}" if abs(number) < 1e6 else f"{sign}{number:,.0f}"


def metric_interval(one: Change) -> str:
    """``+1.2 to +1.9``, with units."""
    return f"{value(one.metric, one.low, change=True)} to {value(one.metric, one.high, change=True)}"


def signed(seconds: float) -> str:
    """``+1.53 s``; nothing has no sign."""
    sign = "-" if seconds < 0 else "+" if seconds > 0 else ""
    return sign + quantities.duration(abs(seconds), _MICRO)


def interval(one: CauseChange) -> str:
    """``+1.2 s to +1.9 s``; empty without one."""
    return "" if one.low_s is None or one.high_s is None else f"{signed(one.low_s)} to {signed(one.high_s)}"


def spelled(cause: str) -> str:
    """A cause in words."""
    return _NAMES[cause]


_NAMES = {
    "application": "application",
    "receiver_window": "receiver window",
    "congestion_window": "congestion window (no loss)",
    "losses": "losses",
    "bandwidth": "bandwidth (link full)",
    "handshake": "handshake",
    "round_trip": "RTT of the path",
    "unknown": "unknown",
}


def _times(found: Difference) -> str:
    first, second = (quantities.duration(one, _MICRO) for one in (found.before_s, found.after_s))
    return f"{_size(found.bytes)} took {first} before, {second} after ({signed(found.difference_s)}"


def _interval(found: Difference) -> str:
    if found.low_s is None or found.high_s is None:
        return ")"
    return f"; 95%: {signed(found.low_s)} to {signed(found.high_s)})"


def _size(count_bytes: float) -> str:
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count_bytes >= limit:
            return f"{count_bytes / limit:.3g} {unit}"
    return f"{count_bytes:.0f} B"
