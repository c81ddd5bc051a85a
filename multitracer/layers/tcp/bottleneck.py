"""The bottleneck as captures alone show it: when it was busy, how fast it is, what waited in front of it.

Packets pass it one after the other. One that was handed over at `t` and came out at `u` kept it busy from
`t`, or from when the one before came out, to `u` less the delay that even an empty bottleneck adds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from multitracer.layers.tcp import flow_batch
from multitracer.layers.tcp.flow_batch import (
    Flags,
    FlowBatch,
    GroupedSearch,
    Times,
    flows,
    highest,
    payload,
    valid_acks,
)
from multitracer.layers.tcp.losses import arrivals_ns
from multitracer.layers.tcp.segment_size import segment_bytes
from multitracer.layers.tcp.transit import data_spans, near_sender, part_sent_later
from multitracer.model.arrays.intervals import (
    Intervals,
    covered,
    intersect,
    measure,
    subtract,
    total,
    union,
)
from multitracer.model.arrays.least import least_between
from multitracer.model.arrays.statistics import quantiles
from multitracer.model.frozen import frozen
from multitracer.model.table import Array
from multitracer.model.timeline import Connection, Timeline

_FEW = 8
_TRAIN = 32
_SHARE = 0.5
_STEPS = 4
STILL_NS = 200_000_000
"""The smallest timeout of Linux: a path that delivers nothing for so long, and for several of the usual
distances of packets, stands still."""
_FACTOR = 8

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
        "arrivals" (both captures) or "ACKs" (only the sender's): then the way back is part of the delay.
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


def _passages(m: Timeline, connections: list[Connection]) -> list[Passage]:
    """How the data of connections passed the bottleneck, of those of which the captures show enough."""
    source = near_sender(m)
    data = payload(m, connections, source)
    data = data.where((data.sizes >= _FEW)[data.of])
    if not len(data):
        return []
    full = segment_bytes(connections, source)[data.of]
    size = _on_the_wire(data, full)
    repeating = data.counted(data["duplicate"] > 0) > 0
    again = np.where(repeating[data.of], part_sent_later(data, full), 0.0)
    if m.rcv is not None and m.rcv != m.snd:
        # Damaged ones have passed it too.
        arrived = arrivals_ns(data, flows(m, connections, m.rcv))
        return [Passage(data["t_ns"], arrived, size, again, "arrivals")]
    acks = valid_acks(m, connections, source)
    reached = highest(acks.of, acks["ack"])
    ends = data["seq"] + data["length"]
    at = GroupedSearch(acks.count, reached).search((acks.of, reached), (data.of, ends))
    out = np.where(at < acks.bounds[data.of + 1], np.append(acks["t_ns"], -1)[at], -1)
    out[out < data["t_ns"]] = -1
    # The ACK of a first copy says nothing about the second, and one that had to wait for a repair little.
    if repeating.any():
        out[_repaired(data, out)] = -1
    answered = (acks.sizes > 0)[data.of]
    if not answered.any():
        return []
    return [Passage(data["t_ns"][answered], out[answered], size[answered], again[answered], "ACKs")]


def bottleneck(m: Timeline) -> Bottleneck | None:
    """Find the bottleneck's rate, and when it had nothing to do.

    None if the captures show too little, or if no link behind the capture always is as slow as its packets
    come: Linux captures behind the sender's own queue.
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
    parts = [one for some in flow_batch.batches(m) for one in _passages(m, some)]
    if not parts:
        return _TOO_FEW
    basis = "arrivals" if all(one.basis == "arrivals" for one in parts) else "ACKs"
    order = np.argsort(np.concatenate([one.in_ns for one in parts]), kind="stable")
    in_ns, out_ns, size, again = (
        np.concatenate([getattr(one, name) for one in parts])[order]
        for name in ("in_ns", "out_ns", "size", "again")
    )
    del parts, order
    known = out_ns >= 0
    if np.count_nonzero(known) < _FEW:
        return _TOO_FEW
    delay = out_ns[known] - in_ns[known]
    smallest = int(delay.min())
    rate = _rate(in_ns[known], out_ns[known], size[known], smallest)
    if rate <= 0:
        return _NONE_WAITED
    if np.mean(2 * delay < size[known] * (1e9 / rate)) > _TOO_SOON:
        return _PASSED
    del delay
    packet_ns = min(round(float(np.median(size)) / rate * 1e9), smallest)
    span = data_spans(m)
    rest = smallest - packet_ns
    # From ACKs the receiver's delay of them counts as busy; it may have been idle for as long as one packet.
    slack = packet_ns if basis == "arrivals" else 2 * packet_ns
    seen = (in_ns[known], out_ns[known])
    middle = _idle(*seen, rest, span)
    most = _idle(*seen, rest + slack, span)
    del seen
    # At its rate, and had it nothing else to do (the link may have sent frames again).
    most = max(most, _idle(in_ns, _fluid(in_ns, size, rate), 0, span), key=total)
    least = _idle(in_ns, _stay(in_ns, out_ns), max(rest - packet_ns, 0), span)
    if basis == "ACKs":
        middle = union(least, _later_halves(subtract(middle, least)))
    peak = max(_peak(out_ns[known], size[known]), rate)
    return Bottleneck(rate, peak, packet_ns, smallest, middle, least, most, span, in_ns, size, again, basis)


def _on_the_wire(data: FlowBatch, full: Times) -> Times:
    """Bytes of IP packets: a segment longer than a full one is several, each with its headers."""
    length, size = data["length"].astype(np.int64), data["ip_length"].astype(np.int64)
    packets = np.maximum(-(-length // full), 1)
    return np.asarray(size + (packets - 1) * (size - length), dtype=np.int64)


def _idle(in_ns: Times, out_ns: Times, rest: int, span: Intervals) -> Intervals:
    ends = out_ns - rest
    np.maximum(ends, in_ns, out=ends)
    return subtract(span, intersect(covered(in_ns, ends), span))


def _stay(in_ns: Times, out_ns: Times) -> Times:
    """What never came out may have kept the bottleneck busy until the next packet came out of it."""
    never = np.iinfo(np.int64).max
    following = np.minimum.accumulate(np.where(out_ns >= 0, out_ns, never)[::-1])[::-1]
    return np.where(out_ns >= 0, out_ns, np.where(following < never, following, in_ns)).astype(np.int64)


def _later_halves(uncertain: Intervals) -> Intervals:
    """From ACKs alone nobody can tell how long what had to be repaired was in it: for half of the time.

    It was the first half: a packet is carried, or lost, before there is nothing more to carry.
    """
    halves = uncertain.copy()
    halves[:, 0] += (halves[:, 1] - halves[:, 0]) // 2
    return halves


def _repaired(data: FlowBatch, out: Times) -> Flags:
    """Segments whose ACK came only after earlier bytes had been sent again."""
    again = np.flatnonzero(data["duplicate"] > 0)
    known = data.of[again], data["t_ns"][again]
    times = GroupedSearch(data.count, known[1])
    begin = times.search(known, (data.of, data["t_ns"]), right=True)
    end = times.search(known, (data.of, out))
    beyond = int(np.iinfo(np.int64).max)
    repaired: Flags = least_between(data["seq"][again], begin, end, beyond) <= data["seq"]
    return repaired


def _fluid(in_ns: Times, size: Array, rate: float) -> Times:
    """When each packet would be out of a queue that is served at a constant rate."""
    # Each step takes the place of the one before: of millions of packets, few arrays are held at once.
    service = np.cumsum(size) * (1e9 / rate)
    out = (in_ns - in_ns[0]).astype(np.float64)
    out[1:] -= service[:-1]
    np.maximum.accumulate(out, out=out)
    out += service
    del service
    np.round(out, out=out)
    # A stamp that is damaged may give a rate at which the queue is never served: the end of all times then.
    np.minimum(out, float(2**62) - float(abs(int(in_ns[0]))), out=out)
    served: Times = out.astype(np.int64)
    served += in_ns[0]
    return served


def _rate(in_ns: Times, out_ns: Times, size: Times, smallest: int) -> float:
    """Bytes per second that come out while others wait.

    One had to wait if it would have reached the bottleneck, had it met no other, before the one in front of
    it had left: the smallest delay has the time of a packet in it, half of which is allowed. That time
    follows from the rate, so that it is found in a few steps, from a first one that takes delays well above
    the smallest for waiting. Where the path stood still nothing came out, whatever its rate.
    """
    order = np.argsort(out_ns, kind="stable")
    in_ns, out_ns, sizes = in_ns[order], out_ns[order], size[order].astype(np.float64)[1:]
    gap = np.diff(out_ns)
    waiting = in_ns[1:] < out_ns[:-1] - _SHARE * smallest
    if np.count_nonzero(waiting) < _FEW:
        waiting = in_ns[1:] < out_ns[:-1]
    rate = _carried(gap, sizes, waiting)
    for _ in range(_STEPS if rate > 0 else 0):
        waiting = in_ns[1:] < out_ns[:-1] - smallest + np.minimum(sizes / rate * (1e9 / 2), smallest)
        found = _carried(gap, sizes, waiting) if np.count_nonzero(waiting) >= _FEW else 0.0
        if found <= 0 or abs(found - rate) < 0.01 * rate:
            break
        rate = found
    return rate


def _carried(gap: Times, size: Array, waiting: Flags) -> float:
    """Bytes a second of packets that waited; pauses in which the path stood still apart."""
    gaps, sizes = gap[waiting], size[waiting]
    if not len(gaps):
        return 0.0
    moving = gaps <= max(STILL_NS, _FACTOR * int(np.median(gaps)))
    time = float(gaps[moving].sum())
    return float(sizes[moving].sum()) / time * 1e9 if time > 0 else 0.0


def _peak(out_ns: Times, size: Times) -> float:
    """Bytes per second of trains of some packets as they come out, of all but the fastest hundredth.

    A link that was never full shows its rate in them only, and ACKs that were held up and came in a bunch
    show more than it: an upper bound, not an estimate.
    """
    order = np.argsort(out_ns, kind="stable")
    out_ns, size = out_ns[order], size[order]
    if len(out_ns) <= _TRAIN:
        return 0.0
    carried = np.cumsum(size)
    time = out_ns[_TRAIN:] - out_ns[:-_TRAIN]
    measured = time > 0
    if not measured.any():
        return 0.0
    rates = (carried[_TRAIN:] - carried[:-_TRAIN])[measured] / time[measured] * 1e9
    return float(quantiles(rates, [0.99])[0])


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
        return subtract(found.span, covered(found.in_ns, _fluid(found.in_ns, size, rate)))
    # By a clock that stops while nothing is served, the rate is constant.
    in_ns = found.in_ns - measure(found.in_ns, still)
    span = found.span - measure(found.span.ravel(), still).reshape(found.span.shape)
    empty = subtract(span, covered(in_ns, _fluid(in_ns, size, rate)))
    lengths = np.append(0, np.cumsum(still[:, 1] - still[:, 0]))
    stops = still[:, 0] - lengths[:-1]
    begins = empty[:, 0] + lengths[np.searchsorted(stops, empty[:, 0], side="right")]
    ends = empty[:, 1] + lengths[np.searchsorted(stops, empty[:, 1], side="left")]
    return union(covered(begins, ends), intersect(still, found.span))


def idle_ns(found: Bottleneck) -> tuple[int, int, int]:
    """Idle time: the estimate, at least, at most."""
    middle = total(found.idle)
    return middle, min(total(found.idle_least), middle), max(total(found.idle_most), middle)
