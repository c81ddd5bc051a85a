"""Sentences about numbers of the link with which throughput went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.diagnosis.findings.finding import Finding, plot_command, several, share
from multitracer.layers.logged.relations import LEAST_RATIO, LEAST_STRETCHES
from multitracer.model.quantities import rate
from multitracer.model.timeline import Timeline

MOST = 2
"""Numbers of one radio go with each other: so many, with the strongest correlations, are reported."""

LEAST_CHANGES = 3
"""A fall is reported after so many changes of the cell; after one it may be chance."""


def from_conditions(m: Timeline, summary: Mapping[str, Any]) -> list[Finding]:
    """The numbers that divide throughput clearly, the strongest correlation first."""
    found = [one for one in summary.get("series", ()) if _clear(one["throughput"])]
    found.sort(key=lambda one: -abs(one["throughput"]["rank_correlation"]))
    fallen = [one for one in summary.get("changes", ()) if _falls(one)]
    return [*(_after_changes(m, one) for one in fallen[:1]), *(_said(m, one) for one in found[:MOST])]


def _falls(one: Mapping[str, Any]) -> bool:
    throughput = one["throughput"]
    return (
        throughput is not None
        and one["count"] >= LEAST_CHANGES
        and throughput["otherwise_bps"] >= LEAST_RATIO * throughput["after_bps"]
    )


def _after_changes(m: Timeline, one: Mapping[str, Any]) -> Finding:
    throughput = one["throughput"]
    text = (
        f"throughput fell where {one['words']} changed ({several(one['count'], 'time')}): median "
        f"{rate(throughput['after_bps'])} within {throughput['window_s']:g} s after a change, "
        f"{rate(throughput['otherwise_bps'])} otherwise (a coincidence in time, no proof of the cause)"
    )
    command = plot_command(m, one["times"][0] - 2, one["times"][0] + 5, "logs")
    return Finding(text, 0.0, "condition", command, tuple((one["source"], at) for at in one["records"][:6]))


def _clear(one: Mapping[str, Any] | None) -> bool:
    return (
        one is not None
        and one["threshold"] is not None
        and one["stretches"] >= LEAST_STRETCHES
        and one["good_bps"] >= LEAST_RATIO * one["bad_bps"]
    )


def _said(m: Timeline, one: Mapping[str, Any]) -> Finding:
    found = one["throughput"]
    side, other = ("below", "above") if found["low_is_bad"] else ("above", "below")
    unit = f" {one['unit']}" if one["unit"] else ""
    text = (
        f"throughput was low while {one['words']} was {side} {found['threshold']:.4g}{unit}: median "
        f"{rate(found['bad_bps'])} there ({share(found['bad_share'])} of the intervals, in "
        f"{several(found['stretches'], 'stretch', 'stretches')}), {rate(found['good_bps'])} {other} "
        f"(rank correlation {found['rank_correlation']:+.2f}; a coincidence in time, no proof of the cause)"
    )
    command = plot_command(m, found["longest"]["start"], found["longest"]["end"], "logs")
    return Finding(text, 0.0, "condition", command, ((one["source"], found["record"]),))
