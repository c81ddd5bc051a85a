"""The bottleneck as captures alone show it: when it was busy, how fast it is, what waited in front of it.

Packets pass it one after the other. One that was handed over at `t` and came out at `u` kept it busy from
`t`, or from when the one before came out, to `u` less the delay that even an empty bottleneck adds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from multitracer.layers.tcp import flow_batch
from multitracer.layers.tcp.flow_batch import FlowBatch, Times, both_bounds, flows, payload
from multitracer.layers.tcp.losses import arrivals_ns
from multitracer.layers.tcp.segment_size import segment_bytes
from multitracer.layers.tcp.transit import data_spans
from multitracer.model.arrays.intervals import (
    Intervals,
    covered,
    intersect,
    measure,
    subtract,
    total,
    union,
)
from multitracer.model.arrays.statistics import quantiles
from multitracer.model.frozen import frozen
from multitracer.model.table import Array
from multitracer.model.timeline import Connection, Timeline
from multitracer.native import bottleneck as native, passages as native_passages

_FEW = 8
STILL_NS = 200_000_000
"""The smallest timeout of Linux: a path that delivers nothing for so long is stalled."""

_TOO_FEW = "too few data segments with an ACK or an arrival"
_NONE_WAITED = "no data queued at a link behind the capture, so that its capacity is unknown"
_PASSED = (
    "many packets were delivered faster than the rate of the bottleneck allows: the application or the "
    "sender's own queue set that rate, or a shaper let bursts through"
)
_TOO_SOON = 0.1
"""If more packets than this part came out in less than half of the time that the rate needs to carry them, no
link behind the capture always has that rate: they had passed the bottleneck before (the sender's own queue),
are as far apart as an application wrote them, or a shaper lets bursts pass.
"""


_OVERFLOWS, _AT_LONGEST = 0.95, 0.8
"""So many of the losses during a queue of this part of its longest are those of a full queue."""

_CHANCE = 1e-4
"""Were losses independent of the queue, all would fall into its longest times with this probability."""

_LONGEST, _LEAST_QUEUE_NS = 0.98, 5_000_000
"""The longest queue is what this part of the packets does not exceed; a shorter one than this is jitter."""


@frozen
class Passage:
    """Packets with data of some connections through the bottleneck.

    Attributes
    ----------
    in_ns, out_ns : array
        When each was handed over and came out again; `out_ns` is -1 if it never did.
    size : array
        Bytes of the IP packets.
    again : array
        Part of its bytes that is handed over once more later: that copy was lost, as a rule.
    basis : str
        "arrivals" (both captures) or "ACKs" (only the sender's): then the return path is part of the delay.
    """

    in_ns: Times
    out_ns: Times
    size: Times
    again: npt.NDArray[np.float64]
    basis: str


@frozen
class Bottleneck:
    """The bottleneck of a transfer.

    Attributes
    ----------
    rate : float
        Bytes of IP packets per second while something waited.
    peak : float
        Bytes of IP packets per second that the fastest of its trains came out at: the link may be as fast.
    packet_ns : int
        Time that a usual packet takes.
    delay_ns : int
        Smallest delay from end to end (with that of the return path, where it is known by ACKs).
    idle, idle_least, idle_most : Intervals
        Times in which nothing was in it, within the transfer.
    span : Intervals
        The transfer.
    in_ns, size, again : array
        As in `Passage`, with the headers of each packet of a segment that the host's card divides.
    basis : str
        As in `Passage`.
    overflowed : bool
        Whether what never came out was dropped by a full queue in front of the link, as both captures show:
        the link carried none of it.
    """

    rate: float
    peak: float
    packet_ns: int
    delay_ns: int
    idle: Intervals
    idle_least: Intervals
    idle_most: Intervals
    span: Intervals
    in_ns: Times
    size: Times
    again: npt.NDArray[np.float64]
    basis: str
    overflowed: bool = False


def _passage(m: Timeline) -> Passage | None:
    """How the data of all connections passed the bottleneck, of those of which the captures show enough."""
    if m.rcv is not None and m.rcv != m.snd:
        parts = [one for some in flow_batch.batches(m) if (one := _arrived(m, some)) is not None]
        if not parts:
            return None
        order = np.argsort(np.concatenate([one.in_ns for one in parts]), kind="stable")
        in_ns, out_ns, size, again = (
            np.concatenate([getattr(one, name) for one in parts]).take(order)
            for name in ("in_ns", "out_ns", "size", "again")
        )
        return Passage(in_ns, out_ns, size, again, "arrivals")
    data, acks = both_bounds(m, m.connections, m.snd)
    full = segment_bytes(m.connections, m.snd)
    found = native_passages.passages(m.segments_by_flow, data, acks, full, _FEW)
    return Passage(*found, "ACKs") if len(found.in_ns) else None


def _arrived(m: Timeline, connections: list[Connection]) -> Passage | None:
    """The same of some of them, with the time at which each packet came to the receiver's capture."""
    data = payload(m, connections, m.snd)
    data = data.where((data.sizes >= _FEW)[data.of])
    if not len(data):
        return None
    full = segment_bytes(connections, m.snd)[data.of]
    repeating = data.counted(data["duplicate"] > 0) > 0
    later = native_passages.part_sent_later(data.of, data["seq"], data["length"], data["duplicate"], full)
    # Damaged ones have passed it too.
    arrived = arrivals_ns(data, flows(m, connections, m.rcv))
    again = np.where(repeating[data.of], later, 0.0)
    return Passage(data["t_ns"], arrived, _on_the_wire(data, full), again, "arrivals")


def bottleneck(m: Timeline) -> Bottleneck | None:
    """Find the bottleneck's rate, and when it had nothing to do.

    None if the captures show too little, or if no link behind the capture always is as slow as its packets
    come: Linux captures after the sender's own queue.
    """
    found = _bottleneck_or_why(m)
    return found if isinstance(found, Bottleneck) else None


def why_no_bottleneck(m: Timeline) -> str:
    """Why `bottleneck` has no answer, for a reader; empty if it has one."""
    found = _bottleneck_or_why(m)
    return found if isinstance(found, str) else ""


def _bottleneck_or_why(m: Timeline) -> Bottleneck | str:
    return m.once("bottleneck", lambda: _found(m))


def _found(m: Timeline) -> Bottleneck | str:
    if not len(m.table("segments")) or m.snd is None:
        return "needs a link log, or a capture at the data sender"
    passage = _passage(m)
    if passage is None:
        return _TOO_FEW
    in_ns, out_ns, size, again = passage.in_ns, passage.out_ns, passage.size, passage.again
    basis = passage.basis
    known = out_ns >= 0
    if np.count_nonzero(known) < _FEW:
        return _TOO_FEW
    seen = in_ns[known], out_ns[known]
    delay, seen_size = seen[1] - seen[0], size[known]
    smallest = int(delay.min())
    rate, peak = native.rates(*seen, seen_size, smallest, STILL_NS)
    if rate <= 0:
        return _NONE_WAITED
    if np.mean(2 * delay < seen_size * (1e9 / rate)) > _TOO_SOON:
        return _PASSED
    overflowed = basis == "arrivals" and _overflowed(delay - smallest, known)
    del delay, seen_size
    packet_ns = min(round(float(np.median(size)) / rate * 1e9), smallest)
    span = data_spans(m)
    rest = smallest - packet_ns
    # From ACKs the receiver's delay of them counts as busy; it may have been idle for as long as one packet.
    slack = packet_ns if basis == "arrivals" else 2 * packet_ns
    middle = _idle(*seen, rest, span)
    most = _idle(*seen, rest + slack, span)
    del seen
    # At its rate, and had it nothing else to do (the link may have retransmitted frames).
    most = max(most, _idle(in_ns, native.served(in_ns, size, rate), 0, span), key=total)
    least = _idle(in_ns, _stay(in_ns, out_ns), max(rest - packet_ns, 0), span)
    if basis == "ACKs":
        middle = union(least, _later_halves(subtract(middle, least)))
    times = middle, least, most, span
    return Bottleneck(
        rate, max(peak, rate), packet_ns, smallest, *times, in_ns, size, again, basis, overflowed
    )


def _overflowed(queue_ns: Times, known: npt.NDArray[np.bool_]) -> bool:
    """Whether packets were lost when the queue in front of the link was about as long as it ever was.

    Of each the last packet that came out before it, or the next, shows how long it was.
    """
    lost = np.flatnonzero(~known)
    longest_ns = float(quantiles(queue_ns, [_LONGEST])[0])
    if not len(lost) or longest_ns < _LEAST_QUEUE_NS:
        return False
    behind = np.searchsorted(np.flatnonzero(known), lost)
    beside = np.maximum(queue_ns[np.maximum(behind - 1, 0)], queue_ns[np.minimum(behind, len(queue_ns) - 1)])
    at_longest, usual = (np.mean(one >= _AT_LONGEST * longest_ns) for one in (beside, queue_ns))
    return bool(at_longest >= _OVERFLOWS and usual ** len(lost) <= _CHANCE)


def _on_the_wire(data: FlowBatch, full: Times) -> Times:
    """Bytes of IP packets: a segment longer than a full one is several, each with its headers."""
    length, size = data["length"].astype(np.int64), data["ip_length"].astype(np.int64)
    packets = np.maximum(-(-length // full), 1)
    return np.asarray(size + (packets - 1) * (size - length), dtype=np.int64)


def _idle(in_ns: Times, out_ns: Times, rest: int, span: Intervals) -> Intervals:
    return subtract(span, intersect(native.busy(in_ns, out_ns, rest), span))


def _stay(in_ns: Times, out_ns: Times) -> Times:
    """What never came out may have kept the bottleneck busy until the next packet came out of it."""
    never = np.iinfo(np.int64).max
    following = np.minimum.accumulate(np.where(out_ns >= 0, out_ns, never)[::-1])[::-1]
    return np.where(out_ns >= 0, out_ns, np.where(following < never, following, in_ns)).astype(np.int64)


def _later_halves(uncertain: Intervals) -> Intervals:
    """From ACKs alone it is unknown how long retransmitted data was in it: for half of the time.

    It was the first half: a packet is carried, or lost, before there is nothing more to carry.
    """
    halves = uncertain.copy()
    halves[:, 0] += (halves[:, 1] - halves[:, 0]) // 2
    return halves


def _served(in_ns: Times, size: Array, rate: float) -> Intervals:
    """When a queue is served that takes all packets, at a constant rate in bytes a second."""
    return native.busy(in_ns, native.served(in_ns, size, rate), 0)


def empty_queue(found: Bottleneck, size: Array, rate: float, still: Intervals) -> Intervals:
    """Times of the transfer in which a queue is empty, or not served, that takes all packets.

    Parameters
    ----------
    found : Bottleneck
    size : array
        What it carries of each of its packets, bytes.
    rate : float
        Bytes a second at which it is served.
    still : Intervals
        Times in which it is not served at all.
    """
    if not len(still):
        return subtract(found.span, _served(found.in_ns, size, rate))
    # By a clock that stops while nothing is served, the rate is constant.
    in_ns = found.in_ns - measure(found.in_ns, still)
    span = found.span - measure(found.span.ravel(), still).reshape(found.span.shape)
    empty = subtract(span, _served(in_ns, size, rate))
    lengths = np.append(0, np.cumsum(still[:, 1] - still[:, 0]))
    stops = still[:, 0] - lengths[:-1]
    begins = empty[:, 0] + lengths[np.searchsorted(stops, empty[:, 0], side="right")]
    ends = empty[:, 1] + lengths[np.searchsorted(stops, empty[:, 1], side="left")]
    return union(covered(begins, ends), intersect(still, found.span))


def idle_ns(found: Bottleneck) -> tuple[int, int, int]:
    """Idle time: the estimate, at least, at most."""
    middle = total(found.idle)
    return middle, min(total(found.idle_least), middle), max(total(found.idle_most), middle)
