"""Over which link the data of each connection went: one for all, one each way, or one for each two hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from multitracer.diagnosis.field.facts import Flow
from multitracer.output.digest import dominating

_APART = 3
"""The links of so many pairs of hosts have a sentence each; those of more are reported together."""


class Way(NamedTuple):
    """Which link it was, or which.

    Attributes
    ----------
    words : str
        ``from 10.0.0.1``, ``to 3 hosts``.
    several : bool
        Whether they are the links of many pairs of hosts.
    """

    words: str
    several: bool = False


def ends(flow: Flow) -> tuple[str, str]:
    """Addresses of the sender of its data, and of the receiver."""
    return flow.sender, flow.receiver


def links_of(flows: Sequence[Flow]) -> dict[int, Way | None]:
    """Of each connection, over which link its data went; None throughout where that is one for all.

    The two directions of a path are two links, and those of different hosts are, unless more connections
    queue at the same place than its own two hosts have.
    """
    host, each = _busiest(flows), Counter(map(ends, flows))
    found = _ways(flows, host)
    for sends in (True, False):
        same = [flow for flow in flows if (flow.sender == host) is sends]
        if len(set(map(ends, same))) < 2:
            continue
        mine = [(flow, flow.receiver if sends else flow.sender) for flow in same if _is_apart(flow, each)]
        others = {other for flow, other in mine if _fills_one(flow)}
        several, word = len(others) > _APART, "to" if sends else "from"
        for flow, other in mine:
            found[flow.index] = Way(f"{word} {f'{len(others)} hosts' if several else other}", several)
    return found


def are_several_links(flows: Sequence[Flow]) -> bool:
    """Whether connections of different hosts filled different links: one rate is not that of all."""
    each = Counter(map(ends, flows))
    return len({frozenset(ends(flow)) for flow in flows if _fills_one(flow) and _is_apart(flow, each)}) > 1


def _is_apart(flow: Flow, each: Mapping[tuple[str, str], int]) -> bool:
    return flow.shared_with < each[ends(flow)]


def _fills_one(flow: Flow) -> bool:
    return dominating({"limits": flow.limits_s}) == "bandwidth"


def _busiest(flows: Sequence[Flow]) -> str:
    """The host that most data came from or went to."""
    data: Counter[str] = Counter()
    for flow in flows:
        data.update(dict.fromkeys(ends(flow), flow.unique_bytes))
    return max(data, key=lambda host: data[host], default="")


def _ways(flows: Sequence[Flow], host: str) -> dict[int, Way | None]:
    """Of each connection, which way its data went from the host with most data.

    None throughout where that did not both send and receive. The two directions of a path are two links: what
    fills one shows nothing of the other.
    """
    sent = {flow.index for flow in flows if flow.sender == host}
    if not sent or all(flow.index in sent for flow in flows if host in ends(flow)):
        return dict.fromkeys((flow.index for flow in flows), None)
    return {flow.index: Way(f"{'from' if flow.index in sent else 'toward'} {host}") for flow in flows}
