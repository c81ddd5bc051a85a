"""Which moments of a link log are which packets of a capture: a search by votes, followed through the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from multitracer.alignment.anchors import Anchors
from multitracer.alignment.clocks import Int
from multitracer.alignment.voting import Stretches, Vote, agreeing, vote
from multitracer.model.frozen import frozen
from multitracer.model.table import Array, Table

# A packet is handed to the host within this after its last frame; only to find, not to bound.
_DELIVERY_NS = 2_000_000
_STAMPED_NS = 1_000_000_000  # clocks called realtime are tried as they are first
_EVIDENT_NS = 50_000_000  # clocks that differ by leap seconds alone agree to this but for them
_FIRST_NS = 120_000_000_000
_CHUNK_NS = 30_000_000_000
_LEAP_NS = 86_400_000_000_000  # a log has no gap this long: its clock was set
MAX_DRIFT = 500e-6
_ENOUGH = 0.35
_FEW = 5
_MAX_DELAY_NS = 5_000_000_000
_GROUP = 50e-6  # skews that are looked at together before each by itself
_SKEWS = np.concatenate([[0.0], *([s, -s] for s in np.arange(1, 41) * 12.5e-6)])


@frozen
class Packets:
    """Packets at a capture, on the reference timeline: towards the link and out of it; rows of its table.

    `delivery_ns`: a packet is seen within this after its last frame has arrived.
    """

    into_ns: Int
    into_row: Array
    out_ns: Int
    out_row: Array
    delivery_ns: int = _DELIVERY_NS

    @classmethod
    def at(cls, segments: Table, near: Array) -> Packets:
        """Split a capture's packets by which host sent them.

        Parameters
        ----------
        segments : Table
            Times on the reference timeline.
        near : bool array
            For each row, whether the host on this side of the link sent it.
        """
        t = segments["t_ns"]
        order = np.argsort(t, kind="stable")
        into, out = order[near[order]], order[~near[order]]
        return cls(t[into], into, t[out], out)


@frozen
class Located:
    """Pairs found in a stretch of the log."""

    wake: Array
    into: Array
    end: Array
    out: Array
    votes: int
    voters: int


@frozen
class _Stretch:
    """A part of the log by record numbers, and the shift that holds in it."""

    first: int
    end: int
    shift_ns: int
    origin_ns: int
    skew: float

    def at(self, t_ns: int) -> int:
        """The shift expected at a time of the log."""
        return self.shift_ns + round(self.skew * (t_ns - self.origin_ns))


def search(found: Anchors, packets: Packets, hint: int | None) -> list[list[Located]]:
    """Pairs of anchors and packets, for a capture next to the link, else for one at a distance from it.

    Parameters
    ----------
    found : Anchors
        Moments of the log that a packet must have caused, or must have followed.
    packets : Packets
        Packets that entered and left the link, by the capture.
    hint : int or None
        Shift of the log's clock that other evidence suggests, in nanoseconds; None without any.

    Returns
    -------
    list of list of Located
        By stretch of the log between steps of its clock; empty if none is evident, or only one kind of
        moments fits.
    """
    for delivery in (_DELIVERY_NS, 10 * _DELIVERY_NS):
        near = replace(packets, delivery_ns=delivery)
        for candidate in (near, _at_distance(found, near)):
            if candidate is None:
                continue
            runs = [run for run in _track(found, candidate, hint) if run]
            if runs and _both_kinds(found, runs):
                return runs
    return []


def search_leading(found: Anchors, packets: Packets, lead_ns: int) -> list[list[Located]]:
    """Pairs at the shift of a clock that leads by `lead_ns`, if that is evident: one that keeps GPS time.

    Evident is that most votes near that shift are for that very shift, and far more than for the clock as it
    is stamped: then it is enough that one kind of moments fits.

    Parameters
    ----------
    found : Anchors
        Moments of the log that a packet must have caused, or must have followed.
    packets : Packets
        Packets that entered and left the link, by the capture.
    lead_ns : int
        How far the clock leads: what GPS time is ahead of UTC.

    Returns
    -------
    list of list of Located
        By stretch of the log between steps of its clock; empty if the shift is not evident.
    """
    record, t = found.in_file_order()
    if not len(t) or not (len(packets.into_ns) or len(packets.out_ns)):
        return []

    def votes(near: tuple[int, int]) -> tuple[float, int]:
        part = _locate(found, packets, int(record[0]), int(record[-1]) + 1, int(t[0]), 0.0, near)
        if part is None:
            return 0.0, 0
        return part[0].votes / part[0].voters, (part[1].low_ns + part[1].high_ns) // 2

    share, shift = votes((-lead_ns - _STAMPED_NS, -lead_ns + _STAMPED_NS))
    stamped, _ = votes((-_STAMPED_NS, _STAMPED_NS))
    if share < _ENOUGH or stamped * 2 > share or abs(shift + lead_ns) > _EVIDENT_NS:
        return []
    return [run for run in _track(found, packets, -lead_ns) if run]


def _both_kinds(found: Anchors, runs: list[list[Located]]) -> bool:
    """Whether frames that leave and frames that arrive both fit, as far as there are enough of them."""
    woken = sum(len(part.wake) for run in runs for part in run)
    ended = sum(len(part.end) for run in runs for part in run)
    return all(
        count >= _ENOUGH * total or total < _FEW
        for count, total in ((woken, len(found.wake_ns)), (ended, len(found.end_ns)))
    )


def _at_distance(found: Anchors, packets: Packets) -> Packets | None:
    """Packets with the way between capture and link taken out; None if there is none.

    Packets into the link pass the capture earlier by the forward delay, packets out of it later by the return
    delay. The two kinds of anchors, asked by themselves, differ by the sum of both. Only pairs are found in
    this way: the bounds use the times as they were, and the way widens them.
    """
    if min(len(found.wake_ns), len(found.end_ns)) < _FEW:
        return None
    slot = found.slot_ns + packets.delivery_ns
    into = vote([(found.wake_ns, _heads(packets, found.slot_ns), slot, 0)])
    out = vote([(found.end_ns, packets.out_ns, 0, packets.delivery_ns)])
    if into is None or out is None:
        return None
    delay_ns = (out.low_ns + out.high_ns) // 2 - (into.low_ns + into.high_ns) // 2
    if not 0 < delay_ns < _MAX_DELAY_NS:
        return None
    return replace(packets, into_ns=packets.into_ns + delay_ns)


def _heads(packets: Packets, slot_ns: int) -> Int:
    """First packets of bursts: a burst wakes the link once."""
    times = packets.into_ns
    return times[np.concatenate([[True], np.diff(times) > slot_ns])] if len(times) > 1 else times


def _track(found: Anchors, packets: Packets, hint: int | None) -> list[list[Located]]:
    """Locate the shift, then follow it through the log: drift moves it slowly, a step at once.

    Returns the pairs found, in one list for each stretch between steps.
    """
    record, t = found.in_file_order()
    if not len(t) or not (len(packets.into_ns) or len(packets.out_ns)):
        return []
    end = int(record[-1]) + 1
    epochs = _epochs(t)
    for first, stop in sorted(epochs, key=lambda epoch: epoch[0] - epoch[1]):
        passed = np.cumsum(np.maximum(np.diff(t[first:stop], prepend=t[first]), 0))
        head = first + int(np.searchsorted(passed, _FIRST_NS, side="right"))
        upto = int(record[head]) if head < len(t) else end
        shift, skew = _first_shift(found, packets, int(record[first]), upto, hint)
        if shift is not None:
            break
    else:
        return []
    assert shift is not None
    edges = [edge for first, stop in epochs for edge in _edges(record[first:stop], t[first:stop])] + [end]
    located_ns = int(t[first])
    runs: list[list[_Stretch]] = []
    last = _Stretch(edges[0], edges[0], shift, located_ns, skew)
    for start, stop in pairwise(edges):
        inside = t[_between(record, start, stop)]
        origin = int(inside[0])
        apart_ns = min(abs(int(inside.max()) - last.origin_ns), _LEAP_NS)
        reach = packets.delivery_ns + round(MAX_DRIFT / 4 * apart_ns)
        expected = last.at(origin)
        part = _locate(found, packets, start, stop, origin, skew, (expected - reach, expected + reach))
        stepped = part is None or part[0].votes < _ENOUGH * part[0].voters
        if stepped:
            part = _locate(found, packets, start, stop, origin, skew, None)
        if part is None or part[0].votes < _ENOUGH * part[0].voters:
            continue
        shift = (part[1].low_ns + part[1].high_ns) // 2
        last = _Stretch(start, stop, shift, origin, skew)
        if not runs or (stepped and abs(shift - expected) > reach):
            runs.append([])
        runs[-1].append(last)
    _move_ends(found, packets, runs, end)
    return [
        [
            located
            for part in run
            if (located := _pairs_at(found, packets, part.first, part.end, part)) is not None
        ]
        for run in runs
    ]


def _epochs(t: Array) -> list[tuple[int, int]]:
    """Ranges of anchors between leaps of the clock, as when NTP sets one that began in 1970.

    A stamp that is damaged leaps there and back: what a few anchors later has leapt again is no epoch.
    """
    leaps = np.flatnonzero(np.abs(np.diff(t)) > _LEAP_NS) + 1
    lasts = np.diff(leaps, append=len(t)) >= _FEW
    starts = [0, *(int(leap) for leap in leaps[lasts] if leap >= _FEW)]
    return list(pairwise([*starts, len(t)]))


def _edges(record: Array, t: Array) -> list[int]:
    """First records of the stretches that are looked at by themselves.

    There are as many as the time takes that passes, but a leap is no time, and each holds some anchors: the
    work follows the records, not the stamps in them.
    """
    passed_ns = int(np.clip(np.diff(t), 0, _CHUNK_NS).sum())
    count = min(max(1, round(passed_ns / _CHUNK_NS)), max(1, len(record) // _FEW))
    return [int(part[0]) for part in np.array_split(record, count)]


def _move_ends(found: Anchors, packets: Packets, runs: list[list[_Stretch]], end: int) -> None:
    """Put the border between two runs where the anchors change from one shift to the other."""
    record, _ = found.in_file_order()
    for before, after in pairwise(runs):
        a, b = before[-1], after[0]
        inside = record[_between(record, a.first, b.end)]
        fits = []
        for stretch in (a, b):
            located = _pairs_at(found, packets, a.first, b.end, stretch)
            hit = np.concatenate([found.wake_record[located.wake], found.end_record[located.end]])
            fits.append(np.isin(inside, hit).astype(np.int64))
        good = np.concatenate([[0], np.cumsum(fits[0])]) + np.concatenate(
            [np.cumsum(fits[1][::-1])[::-1], [0]]
        )
        place = int(np.argmax(good))
        border = int(inside[place]) if place < len(inside) else b.end
        before[-1] = replace(a, end=border)
        after[0] = replace(b, first=border)
    if runs:
        runs[-1][-1] = replace(runs[-1][-1], end=end)


def _pairs_at(found: Anchors, packets: Packets, start: int, end: int, stretch: _Stretch) -> Located:
    """Pairs of anchors and packets at a known shift."""
    wake, finish = (
        np.arange(part.start, part.stop)
        for part in (_between(found.wake_record, start, end), _between(found.end_record, start, end))
    )
    wake_ns = _straight(found.wake_ns[wake], stretch.origin_ns, stretch.skew) + stretch.shift_ns
    end_ns = _straight(found.end_ns[finish], stretch.origin_ns, stretch.skew) + stretch.shift_ns
    into = np.searchsorted(packets.into_ns, wake_ns, side="right") - 1
    good = into >= 0
    good[good] &= wake_ns[good] - packets.into_ns[into[good]] <= found.slot_ns + packets.delivery_ns
    out = np.searchsorted(packets.out_ns, end_ns, side="left")
    fine = out < len(packets.out_ns)
    fine[fine] &= packets.out_ns[out[fine]] - end_ns[fine] <= packets.delivery_ns
    votes = int(good.sum() + fine.sum())
    return Located(wake[good], into[good], finish[fine], out[fine], votes, len(wake) + len(finish))


def _first_shift(
    found: Anchors, packets: Packets, start: int, end: int, hint: int | None
) -> tuple[int | None, float]:
    nears: list[tuple[int, int] | None] = [None]
    if hint is not None:
        nears.insert(0, (hint - _STAMPED_NS, hint + _STAMPED_NS))
    best: tuple[float, int, float] | None = None
    record, t = found.in_file_order()
    origin = int(t[np.searchsorted(record, start)])
    for near in nears:
        for skew, stretches in _skews(found, packets, start, end, origin, near):
            part = _locate(found, packets, start, end, origin, skew, near, stretches)
            if part is None:
                continue
            share = part[0].votes / part[0].voters
            if best is None or share > best[0]:
                best = (share, (part[1].low_ns + part[1].high_ns) // 2, skew)
            if skew == 0.0 and share >= 2 * _ENOUGH:
                break
        if best is not None and best[0] >= _ENOUGH:
            return best[1], best[2]
    return None, 0.0


def _skews(
    found: Anchors, packets: Packets, start: int, end: int, origin: int, near: tuple[int, int] | None
) -> Iterator[tuple[float, Stretches | None]]:
    """Skews to be tried, none first, and where, if not near some shift; what cannot be right is left out."""
    yield 0.0, None
    if packets.delivery_ns != _DELIVERY_NS:
        return
    groups: dict[int, Stretches | None] = {}
    for skew in _SKEWS[1:].tolist():
        group = round(skew / _GROUP)
        if near is None and group not in groups:
            # Within a group, clocks part by no more than this until the end of the stretch.
            ballots, lasts_ns = _ballots(found, packets, start, end, origin, group * _GROUP, near)
            spread_ns = int(np.ceil(_GROUP / 2 * lasts_ns)) + 1
            groups[group] = agreeing(ballots, spread_ns, _ENOUGH / 2)
        stretches = groups.get(group)
        if stretches != []:
            yield skew, stretches


def _ballots(
    found: Anchors,
    packets: Packets,
    start: int,
    end: int,
    origin: int,
    skew: float,
    near: tuple[int, int] | None,
) -> tuple[list[tuple[Array, Array, int, int]], int]:
    """Anchors in a part of the log that vote for packets; how long the part lasts from `origin` on."""
    wake, finish = (
        found.wake_ns[_between(found.wake_record, start, end)],
        found.end_ns[_between(found.end_record, start, end)],
    )
    lasts_ns = max((int(np.abs(part - origin).max()) for part in (wake, finish) if len(part)), default=0)
    slot = found.slot_ns + packets.delivery_ns
    heads = packets.into_ns if near is not None else _heads(packets, found.slot_ns)
    ballots = [
        (_straight(wake, origin, skew), heads, slot, 0),
        (_straight(finish, origin, skew), packets.out_ns, 0, packets.delivery_ns),
    ]
    return ballots, lasts_ns


def _locate(
    found: Anchors,
    packets: Packets,
    start: int,
    end: int,
    origin: int,
    skew: float,
    near: tuple[int, int] | None,
    stretches: Stretches | None = None,
) -> tuple[Located, Vote] | None:
    """The shift with most votes in a part of the log, and the pairs that it makes."""
    ballots, _ = _ballots(found, packets, start, end, origin, skew, near)
    # What fewer vote for is no answer; half of the share leaves room for what a sample of the events shows.
    ballot = vote(ballots, near, _ENOUGH / 2 if near is None else 0.0, stretches)
    if ballot is None:
        return None
    stretch = _Stretch(start, end, (ballot.low_ns + ballot.high_ns) // 2, origin, skew)
    return _pairs_at(found, packets, start, end, stretch), ballot


def _between(record: Array, start: int, end: int) -> slice:
    """Rows of the records from `start` to before `end`, which are in order."""
    first, last = np.searchsorted(record, [start, end]).tolist()
    return slice(first, max(first, last))


def _straight(t_ns: Array, origin: int, skew: float) -> Array:
    return t_ns + np.rint(skew * (t_ns - origin)).astype(np.int64)
