"""The air: which slots are lost. By chance (Gilbert-Elliott), by list, or replayed from a log."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from multitracer.errors import UsageError
from multitracer.lab.settings import AirSettings

_JUMP = 1_000_000


class Air:
    """The air in one direction.

    What happens to a slot depends on the seed and the slot's number only, not on what is sent: two runs with
    the same seed meet the same radio.

    Parameters
    ----------
    settings : AirSettings
        What to lose.
    seed : str
        Seed of this direction.

    Notes
    -----
    Gilbert 1960, Elliott 1963: a two-state Markov chain with a loss probability in each state.
    """

    def __init__(self, settings: AirSettings, seed: str) -> None:
        self.settings = settings
        self._random = random.Random(seed)
        self._bad = False
        self._next_slot = 0
        self._last_lost = False
        self._listed = frozenset(settings.lost_slots)
        self._calls = 0

    def lost(self, slot: int) -> bool:
        """Say whether slot number `slot` (from 0, never going back) is lost."""
        settings = self.settings
        if settings.kind == "perfect":
            return False
        if settings.kind == "list":
            return slot in self._listed
        if settings.kind == "trace":
            trace = settings.trace
            if not trace or (slot >= len(trace) and not settings.repeat):
                return False
            return trace[slot % len(trace)] == 1
        return self._gilbert_elliott(slot)

    def lost_at(self, t_ns: int) -> bool:
        """Say whether what is sent at `t_ns` (since the run's begin) is lost, by `slot_ms` or by counting."""
        if self.settings.slot_ms > 0:
            return self.lost(int(t_ns / (self.settings.slot_ms * 1e6)))
        self._calls += 1
        return self.lost(self._calls - 1)

    def _gilbert_elliott(self, slot: int) -> bool:
        settings, draw = self.settings, self._random.random
        if slot - self._next_slot > _JUMP:
            # A very long silence: draw the state from the chain's stationary distribution at once.
            to_bad, to_good = settings.p_good_to_bad, settings.p_bad_to_good
            self._bad = draw() * (to_bad + to_good) < to_bad if to_bad + to_good > 0 else self._bad
            self._next_slot = slot
        while self._next_slot <= slot:
            if self._bad:
                self._bad = draw() >= settings.p_bad_to_good
            else:
                self._bad = draw() < settings.p_good_to_bad
            self._last_lost = draw() < (settings.loss_bad if self._bad else settings.loss_good)
            self._next_slot += 1
        return self._last_lost


def error_trace(lines: Iterable[str], entity: str, slot_ms: float | None = None) -> list[int]:
    """Read from an rlpdump log which slots the air destroyed, for replay (Paper 4.1).

    Parameters
    ----------
    lines : iterable of str
        The log of both entities, with its first line.
    entity : str
        The sending entity.
    slot_ms : float, optional
        Slot length; by default that of the log's first line.

    Returns
    -------
    list of int
        One number per slot from the first frame sent: 1 if every frame of the slot was lost, else 0. Slots in
        which nothing was sent say nothing and count as good. Frames of either entity that were in flight when
        the log ended count as lost.

    Raises
    ------
    UsageError
        If the slot length is not known, or `entity` sent nothing.
    """
    sent: dict[str, list[int]] = defaultdict(list)
    received: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        if line.startswith("#"):
            if slot_ms is None and line.startswith("# rlpdump"):
                slot_ms = _slot_of_header(line)
            continue
        words = line.split()
        if len(words) < 4 or words[2] not in ("snd", "rcv"):
            continue
        t_ns = _time_ns(words[0])
        if t_ns is None:
            continue
        identity = " ".join(word for word in words[3:] if word[:4] not in ("try=", "dup=", "pf=1"))
        if words[2] == "snd" and words[1] == entity:
            sent[identity].append(t_ns)
        elif words[2] == "rcv" and words[1] != entity:
            received[identity].append(t_ns)
    if slot_ms is None or slot_ms <= 0:
        raise UsageError("error_trace: the log does not say its slot length; give slot_ms")
    sent = _by_number(sent)
    received = _by_number(received)
    if not sent:
        raise UsageError(f"error_trace: entity {entity!r} sent nothing in this log")
    return _slots(sent, received, round(slot_ms * 1e6))


def _slots(sent: dict[str, list[int]], received: dict[str, list[int]], slot_ns: int) -> list[int]:
    delay_ns = _usual_delay_ns(sent, received)
    first = min(min(times) for times in sent.values())
    last = max(max(times) for times in sent.values())
    arrived: set[int] = set()
    used: set[int] = set()
    for key, times in sent.items():
        for arrival in received.get(key, ()):
            place = bisect_left(times, arrival - delay_ns)
            near = min(
                (times[i] for i in (place - 1, place) if 0 <= i < len(times)),
                key=lambda t: abs(t + delay_ns - arrival),
            )
            arrived.add(round((near - first) / slot_ns))
        used.update(round((t_ns - first) / slot_ns) for t_ns in times)
    trace = [0] * (round((last - first) / slot_ns) + 1)
    for slot in used - arrived:
        trace[slot] = 1
    return trace


def _usual_delay_ns(sent: dict[str, list[int]], received: dict[str, list[int]]) -> int:
    """From sending to reception: the usual time from a reception back to the last sending of that frame."""
    delays = []
    for key, times in sent.items():
        times.sort()
        for arrival in received.get(key, ()):
            before = bisect_right(times, arrival)
            if before:
                delays.append(arrival - times[before - 1])
    return int(median(delays)) if delays else 0


def _by_number(events: dict[str, list[int]]) -> dict[str, list[int]]:
    """Name I frames by N(S) alone: a receiver logs no N(R), and of a copy that arrived twice no place."""
    merged: dict[str, list[int]] = defaultdict(list)
    for key, times in events.items():
        if key.startswith("I "):
            key = " ".join(word for word in key.split() if word.startswith(("I", "ns=")))
        merged[key] += times
    return merged


def _slot_of_header(line: str) -> float | None:
    for word in line.split():
        if word.startswith("slot_ms="):
            try:
                return float(word[8:])
            except ValueError:
                return None
    return None


def _time_ns(word: str) -> int | None:
    seconds, _, fraction = word.partition(".")
    if not seconds.isascii() or not seconds.isdigit() or not (fraction == "" or fraction.isdigit()):
        return None
    return int(seconds[:12]) * 10**9 + int((fraction + "000000000")[:9])
