"""Packets of frames that cannot be read: by direction, length, order and arrival.

A queue in front of the link drops packets, a monitor misses frames, and most packets have one length. The
capture behind the link shows which packets came through, and when; sequence numbers show how many frames the
monitor missed. The pairs of frames and packets that agree best in all of this, none crossing another, are
found together: what follows a drop is placed correctly again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from multitracer.model.table import Table

if TYPE_CHECKING:
    import numpy.typing as npt

Int: TypeAlias = "npt.NDArray[np.int64]"

_MODULUS = 4096
_NEAR_NS = 5_000_000
# Most packets arrive as soon as they can: none much sooner, some later. A host may hand over many at once.
_EARLY_NS = 2_000_000
_LATE_NS = 40_000_000
_PROMPT_NS = 15_000_000
_LONGEST_NS = 500_000_000
_BIN_NS = 250_000
_PEAKS = 16
_EVENLY_NS = range(-_NEAR_NS, 30_000_000, 2_000_000)
_TRIED = 5
_BLOCK = 75
_BLOCKS = 4  # of frames, to find out which delays are worth trying on all
_ALIKE = 2.0  # sums of two delays that are no further apart do not distinguish them
_SEARCH = 64
_TIMELY = 0.5  # what a packet that came just when it had to counts more than one that hardly could be it
_UNSEEN = 0.25
_MARGIN = 0.45  # by so much less must every other place of a frame agree


def in_order(
    first: Table, sent: Table, received_ns: Int, packet_bytes: Int, arrived_ns: Int
) -> tuple[Int, float, npt.NDArray[np.bool_]]:
    """Where each packet lies in the stream of frames that cannot be read.

    Parameters
    ----------
    first, sent : Table
        Frames of an entity: first transmissions, and all, in the order of time.
    received_ns : array
        For each row of `first`, when its acknowledgement was seen; -1 if never.
    packet_bytes, arrived_ns : array
        As for `by_arrival`.

    Returns
    -------
    offsets : array
        For each packet, the first byte of its frame; -1 if none fits.
    agreement : float
    sure : bool array
        For each packet.
    """
    length = first["length"].astype(np.int64)
    paired = by_arrival(
        first["ns"].astype(np.int64), length, carried_ns(first, sent, received_ns), packet_bytes, arrived_ns
    )
    index, certain = paired.packet.copy(), paired.sure.copy()
    _failed(index, certain, length, received_ns, packet_bytes, arrived_ns, paired.complete)
    offsets = np.full(len(packet_bytes), -1, dtype=np.int64)
    sure = np.zeros(len(packet_bytes), dtype=np.bool_)
    known = index >= 0
    offsets[index[known]], sure[index[known]] = first["offset"][known], certain[known]
    return offsets, paired.agreement, sure


def carried_ns(first: Table, sent: Table, received_ns: Int) -> Int:
    """When each frame that was acknowledged had come: its last transmission before that; -1 for others.

    Parameters
    ----------
    first : Table
        First transmissions of frames, in the order of the stream.
    sent : Table
        All transmissions of the same entity.
    received_ns : int array
        When the acknowledgment of each frame of `first` was received, in nanoseconds; -1 if it never was.

    Returns
    -------
    int array
        One for each frame of `first`, in nanoseconds.
    """
    order = np.lexsort((sent["t_ns"], sent["offset"]))
    offsets, times = sent["offset"][order], sent["t_ns"][order]
    low = np.searchsorted(offsets, first["offset"])
    high = np.searchsorted(offsets, first["offset"], side="right")
    found = np.full(len(first), -1, dtype=np.int64)
    for row in np.flatnonzero(received_ns >= 0).tolist():
        at = low[row] + int(np.searchsorted(times[low[row] : high[row]], received_ns[row], side="right"))
        found[row] = times[at - 1] if at > low[row] else received_ns[row]
    return found


def _failed(
    index: Int,
    sure: npt.NDArray[np.bool_],
    length: Int,
    received_ns: Int,
    packet_bytes: Int,
    arrived_ns: Int,
    complete: bool,
) -> None:
    """Give frames that were given up the packets between their neighbours' that never arrived."""
    gone = np.flatnonzero(arrived_ns < 0)
    failed = np.flatnonzero(received_ns < 0)
    if not len(gone) or not len(failed):
        return
    known = np.flatnonzero(index >= 0)
    behind = np.searchsorted(known, failed)
    for group in np.unique(behind).tolist():
        rows = failed[behind == group]
        begin = int(index[known[group - 1]]) if group else -1
        end = int(index[known[group]]) if group < len(known) else len(packet_bytes)
        lost = gone[(gone > begin) & (gone < end)]
        lost = lost[np.isin(packet_bytes[lost], length[rows])]
        # As many packets as frames, or only one that fits: the others were dropped in front of the link.
        if len(lost) == len(rows) and np.array_equal(packet_bytes[lost], length[rows]):
            index[rows], sure[rows] = lost, complete
        elif len(rows) <= len(lost) and len(np.unique(length[rows])) == 1:
            index[rows] = lost[: len(rows)]


class Paired(NamedTuple):
    """Frames and their packets.

    Attributes
    ----------
    packet : array
        For each frame, its packet; -1 if none fits.
    sure : bool array
        Whether any other packet for it agrees clearly less.
    agreement : float
        Share of the frames that were acknowledged and have a packet.
    complete : bool
        Whether sequence numbers show that the monitor saw all frames.
    """

    packet: Int
    sure: npt.NDArray[np.bool_]
    agreement: float
    complete: bool


def by_arrival(ns: Int, length: Int, received_ns: Int, packet_bytes: Int, arrived_ns: Int) -> Paired:
    """The packet of each frame.

    Parameters
    ----------
    ns, length : array
        Sequence number and bytes of each frame, in the order of sending.
    received_ns : array
        When it was there, as far as that is known; -1 if it never was.
    packet_bytes, arrived_ns : array
        Of each packet, in the order of sending: bytes, and when it passed the capture behind the link; -1 if
        it never did.
    """
    none = Paired(np.full(len(ns), -1, dtype=np.int64), np.zeros(len(ns), dtype=np.bool_), 0.0, False)
    frames, packets = np.flatnonzero(received_ns >= 0), np.flatnonzero(arrived_ns >= 0)
    packets = packets[np.argsort(arrived_ns[packets], kind="stable")]
    if not len(frames) or not len(packets):
        return none
    arrived, size = arrived_ns[packets], packet_bytes[packets]
    # A receiver that puts frames in order hands none on before those in front of it.
    there = np.maximum.accumulate(received_ns[frames])
    numbers = (ns - np.cumsum(received_ns < 0))[frames]  # frames that failed took numbers, and no arrivals
    tries = []
    for delay_ns in _promising(there, length[frames], arrived, size):
        steps = _with_unseen(there + delay_ns, length[frames], numbers)
        tries.append((_chain(steps.due, steps.length, arrived, size), steps))
    if not tries:
        return none
    pairs, steps = max(tries, key=lambda one: one[0].whole)
    certain = pairs.sure.copy()
    for other, _ in tries:
        if other.whole > pairs.whole - _ALIKE:
            certain &= other.packet == pairs.packet
    real = steps.frame >= 0
    index, sure = none.packet, none.sure
    rows = frames[steps.frame[real]]
    index[rows] = np.where(pairs.packet[real] >= 0, packets[pairs.packet[real]], -1)
    sure[rows] = certain[real]
    return Paired(index, sure, float(np.mean(index[frames] >= 0)), bool(np.all(real)))


def _promising(there: Int, length: Int, arrived: Int, size: Int) -> list[int]:
    """The delays by which blocks of frames agree best with packets, best first."""
    delays = _usual_delays(there, length, arrived, size)
    if len(delays) <= _TRIED:
        return delays
    count = min(_BLOCKS, -(-len(there) // _BLOCK))
    blocks = [slice(begin, begin + _BLOCK) for begin in np.linspace(0, len(there) - _BLOCK, count, dtype=int)]
    scores = np.zeros(len(delays))
    for number, delay_ns in enumerate(delays):
        for block in blocks:
            due = there[block] + delay_ns
            begin, end = np.searchsorted(arrived, (due[0] - _EARLY_NS, due[-1] + _LATE_NS)).tolist()
            near = _near(due, length[block], arrived[begin:end], size[begin:end])
            scores[number] += _best(_sums(near.weights, near.low, end - begin))
    return [delays[at] for at in np.argsort(-scores, kind="stable")[:_TRIED].tolist()]


def _usual_delays(there: Int, length: Int, arrived: Int, size: Int) -> list[int]:
    """From the frame's end to the arrival: the differences that occur most often between equal lengths.

    Of packets at equal distances the neighbour's occurs nearly as often: which it is, the pairs show. Where
    one that is late makes later ones late, none is frequent: the short ones are tried evenly, too.
    """
    low = np.searchsorted(arrived, there - _NEAR_NS)
    apart = []
    for k in range(_SEARCH):
        at = np.minimum(low + k, len(arrived) - 1)
        apart.append((arrived[at] - there)[size[at] == length])
    found = np.concatenate(apart)
    found = found[(found >= -_NEAR_NS) & (found < _LONGEST_NS)]
    if not len(found):
        return []
    bins = (found + _NEAR_NS) // _BIN_NS
    count = np.bincount(bins)
    delays = []
    for _ in range(_PEAKS):
        best = int(np.argmax(count))
        if not count[best]:
            break
        delays.append(int(np.median(found[np.abs(bins - best) <= 1])))
        count[max(best - 2, 0) : best + 3] = 0
    return delays + list(_EVENLY_NS)


class _Steps(NamedTuple):
    """Frames with those that were not seen between them: `frame` is -1 there, and any length fits."""

    due: Int
    length: Int
    frame: Int


def _with_unseen(due: Int, length: Int, numbers: Int) -> _Steps:
    """Put in what the monitor missed, as sequence numbers show it, evenly in time."""
    gaps = (np.diff(numbers, prepend=numbers[:1] - 1) % _MODULUS) - 1
    gaps = np.where((gaps > 0) & (gaps < _SEARCH), gaps, 0)
    count = gaps + 1
    place = np.repeat(np.arange(len(due)), count)
    # 1 to the gap's size, then the frame itself.
    within = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count) + 1
    before = due[np.maximum(place - 1, 0)]
    between = before + (due[place] - before) * within // count[place]
    real = within == count[place]
    return _Steps(
        np.where(real, due[place], between), np.where(real, length[place], -1), np.where(real, place, -1)
    )


class _Chained(NamedTuple):
    """For each frame its packet, whether that is sure, and the sum of all weights."""

    packet: Int
    sure: npt.NDArray[np.bool_]
    whole: float


def _chain(due: Int, length: Int, arrived: Int, size: Int) -> _Chained:
    """The increasing pairs with the largest sum of weights, and whether each is better than all others."""
    low, high, weights = _near(due, length, arrived, size)
    forward = _sums(weights, low, len(arrived))
    # The same from the end: packets and frames turned around.
    turned = _sums([one[::-1] for one in weights[::-1]], (len(arrived) - high)[::-1], len(arrived))
    backward = [one[::-1] for one in turned[::-1]]
    index = np.full(len(due), -1, dtype=np.int64)
    sure = np.zeros(len(due), dtype=np.bool_)
    whole = _best(forward)
    after = -1
    for row, (mine, ahead, behind) in enumerate(zip(weights, forward, backward, strict=True)):
        total = np.where(mine > 0, ahead + behind - mine, 0.0)
        if not len(total):
            continue
        best = int(np.argmax(total))
        # Of several best chains, one that continues after the pair before.
        good = np.flatnonzero(total >= whole - 1e-9)
        good = good[good + low[row] > after]
        if not len(good):
            continue
        best = int(good[0])
        index[row] = after = int(low[row]) + best
        others = np.delete(total, best)
        sure[row] = not len(others) or whole - float(others.max()) >= _MARGIN
    return _Chained(index, sure, whole)


class _Near(NamedTuple):
    """For each frame the packets that arrived about when it had to: the first, the end, what each counts."""

    low: Int
    high: Int
    weights: list[npt.NDArray[np.float64]]


def _near(due: Int, length: Int, arrived: Int, size: Int) -> _Near:
    low = np.searchsorted(arrived, due - _EARLY_NS)
    high = np.maximum.accumulate(np.searchsorted(arrived, due + _LATE_NS, side="right"))
    weights = [
        _weights(int(due[row]), int(length[row]), arrived[a:b], size[a:b])
        for row, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
    ]
    return _Near(low, high, weights)


def _best(sums: list[npt.NDArray[np.float64]]) -> float:
    return max((float(one.max()) for one in sums if len(one)), default=0.0)


def _weights(due: int, length: int, arrived: Int, size: Int) -> npt.NDArray[np.float64]:
    """What each packet near a frame's time would count as its own; 0: it cannot be."""
    late = arrived - due
    if length < 0:
        return np.full(len(size), _UNSEEN)
    timely = np.maximum(1.0 - np.where(late < 0, -late / _EARLY_NS, late / _PROMPT_NS), 0.0)
    return np.asarray(np.where(size == length, 1.0 + _TIMELY * timely, 0.0), dtype=np.float64)


def _sums(weights: list[npt.NDArray[np.float64]], low: Int, packets: int) -> list[npt.NDArray[np.float64]]:
    """For each pair, the best sum of a chain that ends with it.

    Windows move forward only, so that the best sum up to each packet need be kept for those ahead alone.
    """
    best = np.zeros(packets + 1)
    edge, found = 0, []
    for begin, mine in zip(low.tolist(), weights, strict=True):
        end = begin + len(mine)
        if end > edge:
            best[edge + 1 : end + 1] = best[edge]
            edge = end
        sums = np.where(mine > 0, best[begin:end] + mine, 0.0)
        found.append(sums)
        if len(sums):
            top = np.maximum.accumulate(sums)
            best[begin + 1 : end + 1] = np.maximum(best[begin + 1 : end + 1], top)
            rest = best[end + 1 : edge + 1]
            np.maximum(rest, top[-1], out=rest)
    return found
