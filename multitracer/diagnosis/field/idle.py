"""When nothing was in the bottleneck, as captures show it: the one estimate behind all sentences about it.

Its rate is the one that is shown, and what a capture at the data sender sees is handed to a queue that is
served at that rate. The link is idle while that queue is empty: after a pause of the sender it is busy for as
long as the queue lasts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multitracer.diagnosis.field.offered import Offered, base_rtt_s, exceeds_full_link, offered
from multitracer.layers.tcp.bottleneck import Bottleneck, bottleneck, empty_queue, idle_ns
from multitracer.layers.tcp.standstill.carried_on import carried_on_ns
from multitracer.model.arrays.intervals import Intervals, intervals, longer_than, overlap, total, union
from multitracer.model.frozen import frozen
from multitracer.model.timeline import Timeline

Object = Mapping[str, Any]

_PACKETS = 2.0
"""A phase no longer than the time of so many packets cannot be distinguished from packet spacing."""

_BEFORE = (
    "packets were acknowledged sooner than the bottleneck carries one: they had passed it before they were "
    "captured (the sender's own queue), or a shaper let bursts through"
)
_OWN_QUEUE = (
    "packets waited in the sender's own queue, before they were captured: when it was empty is unknown"
)
_BUNCHED = (
    "ACKs came in bursts, faster than the bottleneck carries data, so they do not show when it was idle"
)


@frozen
class Idle:
    """Times in which nothing was in the bottleneck.

    Attributes
    ----------
    span : Intervals
        The transfer.
    phases : Intervals
        Those that the estimate resolves.
    middle_ns, least_ns, most_ns : int
        How long in all, and its bounds.
    found : Bottleneck
        What the captures show of it.
    rate : float
        Bytes of IP packets a second that a full link is taken to carry.
    later_ns : int
        How much later ACKs show what happens at the bottleneck than the phases have it.
    by_queue : bool
        Whether it is known by a queue served at the rate that is shown; else by when packets came out.
    """

    span: Intervals
    phases: Intervals
    middle_ns: int
    least_ns: int
    most_ns: int
    found: Bottleneck
    rate: float
    later_ns: int
    by_queue: bool


def idle(m: Timeline, entries: Sequence[Object]) -> Idle | None:
    """Estimate when the bottleneck was idle; None if the captures do not show it.

    Parameters
    ----------
    m : Timeline
    entries : sequence of mapping
        All ``connections`` (docs/json.md).
    """
    return m.once("idle", lambda: _idle(m, entries))


def why_no_idle_times(m: Timeline, entries: Sequence[Object]) -> str:
    """Why `idle` has no answer though packets that waited show a rate: it is not that of the full link.

    Parameters are those of `idle`.
    """
    found, path = bottleneck(m), offered(m, entries)
    if _waited_before(path):
        return _OWN_QUEUE
    rate_bps = path.rate_bps
    if found is None or rate_bps is None:
        return ""
    packet_ns = 8e9 * float(np.median(found.size)) / rate_bps
    return _BEFORE if found.delay_ns < packet_ns else _BUNCHED


def standstills(m: Timeline, entries: Sequence[Object]) -> list[tuple[int, int, int]]:
    """Times in which a connection's data in flight was stalled, as one capture shows them.

    Parameters
    ----------
    m : Timeline
    entries : sequence of mapping
        All ``connections`` (docs/json.md).

    Returns
    -------
    list of (int, int, int)
        Start and end in nanoseconds, and the number of the connection.
    """
    return [
        (m.nanoseconds(one["start"]), m.nanoseconds(one["start"] + one["length_s"]), entry["index"])
        for entry in entries
        for one in entry.get("standstills") or ()
    ]


def went_on(m: Timeline, entry: Object, rate: float, *, behind: bool) -> list[tuple[int, int, int]]:
    """For how long the link of a connection continued in each time in which its path was stalled.

    Parameters
    ----------
    m : Timeline
    entry : mapping
        Of ``connections`` (docs/json.md).
    rate : float
        Bytes of payload a second that the link carries.
    behind : bool
        Whether the capture is behind the link: then a stall before the capture shows it, too.

    Returns
    -------
    list of (int, int, int)
        Start, end and that time in nanoseconds, of those that show it.
    """
    connection = m.connection(entry["index"])
    round_ns = round(base_rtt_s(entry) * 1e9)
    found = []
    for one in entry.get("standstills") or ():
        before = bool(one["upstream"])
        if behind or not before:
            span = m.nanoseconds(one["start"]), m.nanoseconds(one["start"] + one["length_s"])
            worked_ns = carried_on_ns(m, connection, entry["source"], span, rate, round_ns, before=before)
            found.append((*span, worked_ns))
    return found


def _idle(m: Timeline, entries: Sequence[Object]) -> Idle | None:
    found = bottleneck(m)
    if found is None:
        return None
    path = offered(m, entries)
    if exceeds_full_link(8 * found.rate, path.rate_bps) or _waited_before(path):
        return None
    stalls = [(start, end) for start, end, _ in standstills(m, entries)]
    if path.rate_bps is None or found.basis == "arrivals":
        middle_ns, least_ns, most_ns = idle_ns(found)
        phases = _joined(longer_than(found.idle, found.packet_ns), stalls)
        return Idle(found.span, phases, middle_ns, least_ns, most_ns, found, found.rate, 0, by_queue=False)
    rate = path.rate_bps / 8
    carried = found.size * (1.0 - path.overflow_share * found.again)
    # One transfer's path is the link's; ACKs show later when it is stalled.
    alone = sum(bool(entry["bytes"]["sent"]) for entry in entries) == 1
    later_ns = found.delay_ns - found.packet_ns if alone else 0
    stalls = [(start - later_ns, end - later_ns) for start, end in stalls]
    still = _not_served(m, entries, rate * path.payload_share, later_ns) if alone else intervals(())
    middle = empty_queue(found, carried, rate, still)
    least = empty_queue(found, found.size, rate * path.slower, still)
    most = empty_queue(found, found.size * (1.0 - found.again), rate * path.faster, still)
    packet_ns = float(np.median(found.size)) / rate * 1e9
    phases = longer_than(middle, round(_PACKETS * packet_ns))
    # After the last data nothing waits that a slower link would still have to carry for long.
    shown = (overlap(phases, least) > 0) | np.isin(phases[:, 1], found.span[:, 1])
    phases = _joined(phases[shown], stalls)
    middle_ns = total(middle)
    # What was lost in front of the capture may have been lost behind the link, which carried it then.
    lost = sum(flow.upstream or 0 for flow in path.flows if flow.point != "snd" or flow.guessed)
    least_ns = max(total(least) - round(lost * packet_ns), 0)
    bounds = min(least_ns, middle_ns), max(total(most), middle_ns)
    return Idle(found.span, phases, middle_ns, *bounds, found, rate, later_ns, by_queue=True)


def _waited_before(path: Offered) -> bool:
    """Whether what was sent waited in its sender's own queue, in front of the capture."""
    return any(flow.own_drops for flow in path.flows)


def _not_served(m: Timeline, entries: Sequence[Object], rate: float, later_ns: int) -> Intervals:
    """When a bottleneck behind the capture carried nothing, as the only transfer stalled.

    What stalls before the capture does not come to the queue.

    Parameters
    ----------
    m : Timeline
    entries : sequence of mapping
    rate : float
        Bytes of payload a second of the full link.
    later_ns : int
        How much later ACKs show what happens there.
    """
    return intervals(
        [
            (start_ns + went_on_ns - later_ns, end_ns - later_ns)
            for entry in entries
            for start_ns, end_ns, went_on_ns in went_on(m, entry, rate, behind=False)
        ]
    )


def _joined(phases: Intervals, stalls: Sequence[tuple[int, int]]) -> Intervals:
    """The phases, those within one stall of a path as one: nothing sent in between was carried."""
    between = []
    for stall in stalls:
        inside = phases[overlap(phases, intervals([stall])) * 2 >= phases[:, 1] - phases[:, 0]]
        if len(inside) > 1:
            between.append((int(inside[0, 0]), int(inside[-1, 1])))
    return union(phases, intervals(between)) if between else phases
