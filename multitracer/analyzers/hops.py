"""Captures along a path, three or more, or two with one between the ends: losses by stretch.

It declares all about itself, and loads nothing heavy before it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.statistics import quantiles

if TYPE_CHECKING:
    from multitracer.layers.tcp.hops import Hop
    from multitracer.model.timeline import Timeline

_LISTED = 1_000
"""Connections described: there may be hundreds of thousands."""


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Loss and delay of the data between each two neighbouring captures.

    Returns
    -------
    Result
        ``captures``: in the order of the path, ``source`` and ``point``. ``hops``: an entry for each hop in
        the direction of the data, those of connections against the bulk after the others. ``connections``:
        ``packets`` and ``lost`` of each of the first 1,000, hop by hop. ``left_out`` counts the rest.

    References
    ----------
    RFC 2680 section 2.4 (loss); RFC 2679 (one-way delay); RFC 3393 (delay variation).
    """
    from multitracer.layers.tcp.hops import captures_along, hops

    path = captures_along(m)
    if len(path) < 2 or (len(path) == 2 and {m.snd, m.rcv} == set(path)):
        return Result("hops", inconclusive="needs three captures along the path")
    found = hops(m)
    if not found:
        return Result("hops", inconclusive="needs captures that see the same data")
    flows = sorted({flow for hop in found for flow in hop.by_connection})
    return Result(
        "hops",
        {
            "captures": [{"source": m.sources[one].path, "point": m.sources[one].point} for one in path],
            "hops": [_entry(m, hop) for hop in found],
            "connections": [_connection(m, found, *flow) for flow in flows[:_LISTED]],
            "left_out": max(len(flows) - _LISTED, 0),
        },
    )


def _entry(m: Timeline, hop: Hop) -> dict[str, Any]:
    return {
        "from": m.sources[hop.near].path,
        "to": m.sources[hop.far].path,
        "packets": hop.packets,
        "arrived": hop.arrived,
        "lost": hop.lost,
        "damaged": hop.damaged,
        "unknown": hop.unknown,
        "lost_share": round(hop.lost / hop.packets, 6) if hop.packets else 0.0,
        "lost_by_capture": {"from": hop.unsent, "to": hop.unrecorded},
        "delay_ms": _delay(hop),
        "delay_bound_ms": _bound_ms(m, hop),
    }


def _delay(hop: Hop) -> dict[str, Any] | None:
    """By the clocks of both, and over the quickest packet, which no offset of the clocks changes."""
    delays_ns = hop.delays_ns()
    if not len(delays_ns):
        return None
    least = int(delays_ns.min())
    median, p95 = (float(value) for value in quantiles(delays_ns, (0.5, 0.95)))
    delay = {"min": least, "median": median, "p95": p95, "over_min_median": median - least}
    delay["over_min_p95"] = p95 - least
    return {name: round(value / 1e6, 6) for name, value in delay.items()} | {"samples": len(delays_ns)}


def _bound_ms(m: Timeline, hop: Hop) -> float | None:
    """How wrong `min`, `median` and `p95` may be, as the clocks of both captures are; None if unknown."""
    clocks = {clock.source: clock for clock in m.clocks}
    bounds = [clocks[one].uncertainty_ns if one in clocks else None for one in (hop.near, hop.far)]
    if any(bound is None for bound in bounds):
        return None
    return round(sum(bound or 0 for bound in bounds) / 1e6, 6)


def _connection(m: Timeline, found: Sequence[Hop], conn: int, direction: int) -> dict[str, Any]:
    flow = (conn, direction)
    return {
        "conn": conn,
        "direction": ("forward", "reverse")[direction],
        "hops": [
            {
                "from": m.sources[hop.near].path,
                "to": m.sources[hop.far].path,
                "packets": hop.by_connection[flow][0],
                "lost": hop.by_connection[flow][1],
            }
            for hop in found
            if flow in hop.by_connection
        ],
    }


ANALYZER = Analyzer(
    name="hops",
    question="With three and more captures along the path: between which of them was data lost, and delayed?",
    run=run,
    needs=("segments", "mid"),
    specific=True,
    key="hops",
)
