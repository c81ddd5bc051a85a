"""When a phone changed its cell, channel or technology, and the throughput just after it."""

from __future__ import annotations

import re
from typing import NamedTuple

from multitracer.layers.logged.conditions import Condition, conditions
from multitracer.layers.logged.relations import rates
from multitracer.model.lazy import np
from multitracer.model.table import Array
from multitracer.model.timeline import Timeline

WINDOW_NS = 1_000_000_000
"""How long after a change throughput counts as after it: most handovers interrupt for less."""
_NAMES = re.compile(r"(?:^|_)(?:pci|(?:e|nr_?)?arfcn|m?cell_?id|m?cid|enb|gnb|band|tac)$", re.IGNORECASE)


class Change(NamedTuple):
    """All changes of one name of the link: of the cell, of the channel, of the technology.

    Attributes
    ----------
    name, words : str
        Of the series; of series such as ``technology:LTE`` the part before the colon.
    source : int
    t_ns, record : array
        Of each change; the first value is none.
    different : int
        Different values.
    transfer : str or None
        Whose throughput: "log" or "capture"; None if no throughput is known at these times.
    after_bps, otherwise_bps : float or None
        Median throughput of the intervals within `WINDOW_NS` after a change, and of all others.
    """

    name: str
    words: str
    source: int
    t_ns: Array
    record: Array
    different: int
    transfer: str | None
    after_bps: float | None
    otherwise_bps: float | None


def is_name(condition: Condition) -> bool:
    """Whether its numbers are names: their order means nothing."""
    return ":" in condition.name or _NAMES.search(condition.name) is not None


def changes(m: Timeline) -> list[Change]:
    """Of each name of the link that has more than one value, in order of the files."""
    groups: dict[tuple[int, str], list[Condition]] = {}
    for one in conditions(m):
        if is_name(one):
            groups.setdefault(
                (one.source, one.words.rpartition(":")[0] if ":" in one.name else one.words), []
            ).append(one)
    rate = rates(m) if groups else None
    found = []
    for (source, words), members in groups.items():
        t_ns = np.concatenate([one.samples.t_ns for one in members])
        value = np.concatenate(
            [
                one.samples.value + (number << 40 if ":" in one.name else 0)
                for number, one in enumerate(members)
            ]
        )
        record = np.concatenate([one.samples.record for one in members])
        order = np.argsort(t_ns, kind="stable")
        t_ns, value, record = t_ns[order], value[order], record[order]
        changed = np.flatnonzero(np.diff(value) != 0) + 1
        if not len(changed):
            continue
        name = members[0].name.partition(":")[0]
        beside = _beside(t_ns[changed], rate)
        found.append(
            Change(name, words, source, t_ns[changed], record[changed], len(np.unique(value)), *beside)
        )
    return found


def _beside(
    t_ns: Array, rate: tuple[Array, Array, Array, str] | None
) -> tuple[str | None, float | None, float | None]:
    if rate is None:
        return None, None, None
    begin, end, speed, of = rate
    at = np.searchsorted(t_ns, end, side="left") - 1  # the last change before the interval ends
    after = (at >= 0) & (begin < t_ns[np.maximum(at, 0)] + WINDOW_NS)
    if not after.any() or after.all():
        return None, None, None
    return of, float(np.median(speed[after])), float(np.median(speed[~after]))
