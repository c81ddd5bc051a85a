"""Use of the radio channel in words: lines and rows of the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer.cli import words

Object = Mapping[str, Any]

_OWNERS = {"own": "the link", "others": "others", "everybody": "beacons and groups", "damaged": "damaged"}


def lines(air: Object) -> Iterator[tuple[str, str]]:
    """Label and text of each line."""
    if air["shares"] is not None:
        parts = [f"{_OWNERS[name]} {share:.1%}" for name, share in air["shares"].items() if share]
        whose = f": {', '.join(parts)}" if parts else ""
        yield "Busy", f"{air['busy_share']:.1%} of {words.duration(air['span_s'])}{whose}"
    if air["busiest_second"] is not None:
        most = air["busiest_second"]
        # Frames count where they begin: a full second can hold a little more than itself.
        full, own = (min(most[f"{name}_share"], 1.0) for name in ("busy", "own"))
        text = f"{full:.1%}, the link {own:.1%}, from {most['t']:.1f} s"
        yield "Busiest second", text
    if air["unknown_frames"]:
        yield "Airtime", f"not known of {air['unknown_frames']:,} of {air['frames']:,} frames"
    silent = air["silences"]
    if silent["count"]:
        longest = silent["longest"]
        yield (
            "Silence",
            f"{words.count(silent['count'], 'time')}, {words.duration(silent['s'])} in all; "
            f"longest {words.duration(longest['s'])} from {longest['t']:.1f} s",
        )
    for entity in air["entities"]:
        yield f"  {entity['entity']}", _side(entity)


def rates(air: Object, shown: int) -> list[tuple[str, ...]]:
    """Station, rate, MCS, transmissions, their share, share of retries, and airtime."""
    return [
        (
            entity["entity"],
            words.rate(rate["rate_bps"]),
            "" if rate["mcs"] is None else str(rate["mcs"]),
            f"{rate['transmissions']:,}",
            f"{rate['share']:.1%}",
            f"{rate['retry_share']:.1%}",
            words.duration(rate["airtime_s"]) if rate["rate_bps"] else "",
        )
        for entity in air["entities"]
        if any(rate["rate_bps"] for rate in entity["rates"])
        for rate in sorted(entity["rates"], key=lambda one: -one["transmissions"])[:shown]
    ]


def _side(found: Object) -> str:
    """Retries, airtime, rates, signal and channel of one side."""
    sent = found["transmissions"]
    parts = [f"{words.count(sent, 'transmission')} of data, {found['retry_share']:.1%} retries"]
    if found["airtime_share"] is not None:
        again = found["retry_airtime_s"] / found["airtime_s"] if found["airtime_s"] else 0.0
        parts.append(
            f"{found['airtime_share']:.1%} of the air" + (f", {again:.1%} of it retries" if again else "")
        )
    if found["signal_dbm"] is not None:
        low, middle, high = (found["signal_dbm"][key] for key in ("p10", "median", "p90"))
        parts.append(f"signal {middle:.0f} dBm" + (f" ({low:.0f} to {high:.0f})" if low != high else ""))
    if found["channels"]:
        parts.append("channel " + ", ".join(f"{one['mhz']} MHz" for one in found["channels"]))
    return "; ".join(parts)
