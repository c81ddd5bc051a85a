"""Rate and utilization of the link of a single transfer, and what is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from fieldwork.causes import bottleneck_bps

Json = dict[str, Any]

ETHERNET_BYTES = 14
"""A queueing discipline counts this header of each packet, too."""

CLOSE = 0.01
ROUNDED = 0.005
"""Shares of time are printed to a percent."""


def told_of_link(truth: Json, connections: Sequence[Json], used: Json | None) -> Json | None:
    """The link's true rate and utilization beside what is told; None if it had several transfers, or no rate.

    Utilization is the time that the packets of all data need at the link's rate, each byte once, over the
    time from the first data segment to the last ACK. Not of transfers that broke off.

    Parameters
    ----------
    truth : mapping
        A run's ``truth.json``.
    connections : sequence of mapping
        As `analyze` has them.
    used : mapping or None
        ``utilization`` of the same.
    """
    rate_bps = bottleneck_bps(truth["settings"])
    if len(truth["flows"]) != 1 or len(connections) != 1 or not rate_bps or not connections[0]["mss"]:
        return None
    (entry,) = connections
    options_bytes = 12 if entry["timestamps"] else 0
    payload_bytes = entry["mss"] - options_bytes
    packet_bytes = payload_bytes + options_bytes + 40
    if truth["settings"]["network"]["qdisc"]["kind"]:
        rate_bps *= packet_bytes / (packet_bytes + ETHERNET_BYTES)
    bottleneck = entry["bottleneck"] or {}
    found: Json = {"rate_bps": rate_bps, "told_bps": bottleneck.get("rate_bps"), "used": None}
    if used is not None and used.get("span_s") and entry["closed"] != "reset":
        wire_bytes = entry["bytes"]["unique"] * packet_bytes / payload_bytes
        true = min(8 * wire_bytes / rate_bps / used["span_s"], 1.0)
        inside = used["low"] - ROUNDED <= true <= used["high"] + ROUNDED
        found["used"] = {"true": true, "told": used["value"], "inside": inside}
    return found


def rows(scores: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A table: for each point, the errors of rates and of utilizations."""
    of_rate = ("rate told", "within 1%", "error, median", "error, 90%")
    of_use = ("utilization told", "inside its bounds", "error, median", "error, 90%")
    table = [["point", "transfers", *of_rate, *of_use]]
    for point in ("snd", "mid", "rcv"):
        mine = [one["link"] for one in scores if one["point"] == point and one["link"] is not None]
        rates = [abs(one["told_bps"] / one["rate_bps"] - 1) for one in mine if one["told_bps"]]
        used = [one["used"] for one in mine if one["used"] is not None]
        errors = [abs(one["told"] - one["true"]) for one in used]
        close, inside = sum(error <= CLOSE for error in rates), sum(one["inside"] for one in used)
        cells = [len(mine), len(rates), f"{close} of {len(rates)}", *_spread(rates)]
        cells += [len(used), f"{inside} of {len(used)}", *_spread(errors)]
        table.append([point, *map(str, cells)])
    return table


def _spread(errors: Sequence[float]) -> list[str]:
    if not errors:
        return ["none", "none"]
    ordered = sorted(errors)
    most = ordered[min(int(0.9 * len(ordered)), len(ordered) - 1)]
    return [f"{100 * median(ordered):.2f}%", f"{100 * most:.1f}%"]
