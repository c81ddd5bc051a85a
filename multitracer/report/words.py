"""Numbers as the page writes them."""

from __future__ import annotations

from typing import Any


def duration(seconds: float) -> str:
    """A time span with three or four digits."""
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} µs" if seconds > 0 else "0 s"


def count(number: int, thing: str, things: str = "") -> str:
    """``3 link resets``; `things` where the plural is not made with an s."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def rate(bits_per_s: float | None) -> str:
    """A data rate in the unit that suits it."""
    if bits_per_s is None:
        return "unknown"
    for limit, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s")):
        if bits_per_s >= limit:
            return f"{bits_per_s / limit:.3g} {unit}"
    return f"{bits_per_s / 1e3:.3g} kbit/s"


def share(part: float) -> str:
    """A share in percent."""
    return f"{100 * part:.1f} %"


def spelled(name: Any) -> str:
    """``timeout_wait`` as words."""
    return str(name).replace("_", " ").replace("/", ", ")
