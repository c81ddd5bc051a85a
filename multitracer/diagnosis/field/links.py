"""Over which link the data of each connection went: one for all, one each way, or one for each two hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from multitracer.diagnosis.field.facts import Flow
from multitracer.output.digest import dominating

HOSTS = " hosts"
_APART = 3
"""The links of so many pairs of hosts have a sentence each; those of more are told together."""


def ends(flow: Flow) -> tuple[str, str]:
    """Addresses of the sender of its data, and of the receiver."""
    return flow.sender, flow.receiver


def links_of(flows: Sequence[Flow]) -> dict[int, str | None]:
    """Of each connection, over which link its data went; None throughout where that is one for all.

    The two directions of a path are two links, and those of different hosts are, unless more connections
    queue at the same place than its own two hosts have.
    """
    ways, each = _ways(flows), Counter(map(ends, flows))
    apart = [flow for flow in flows if _is_apart(flow, each)]
    if len(each) == 1 or not apart:
        return ways
    host = max(_bytes_of_hosts(flows).items(), key=lambda one: one[1])[0]
    found = dict(ways)
    for sends in (True, False):
        mine = [flow for flow in apart if (flow.sender == host) is sends]
        others = {flow.receiver if sends else flow.sender for flow in mine if _fills_one(flow)}
        if len({ends(flow) for flow in flows if (flow.sender == host) is sends}) < 2:
            continue
        word = "to" if sends else "from"
        for flow in mine:
            other = flow.receiver if sends else flow.sender
            found[flow.index] = f"{word} {other}" if len(others) <= _APART else f"{word} {len(others)}{HOSTS}"
    return found


def are_several_links(flows: Sequence[Flow]) -> bool:
    """Whether connections of different hosts filled links of their own: one rate is not that of all."""
    each = Counter(map(ends, flows))
    return len({frozenset(ends(flow)) for flow in flows if _fills_one(flow) and _is_apart(flow, each)}) > 1


def _is_apart(flow: Flow, each: Mapping[tuple[str, str], int]) -> bool:
    return flow.shared_with < each[ends(flow)]


def _fills_one(flow: Flow) -> bool:
    return dominating({"limits": flow.limits_s}) == "bandwidth"


def _bytes_of_hosts(flows: Sequence[Flow]) -> dict[str, int]:
    """Payload that each host sent or received."""
    data: dict[str, int] = {}
    for flow in flows:
        for host in ends(flow):
            data[host] = data.get(host, 0) + flow.unique_bytes
    return data


def _ways(flows: Sequence[Flow]) -> dict[int, str | None]:
    """Of each connection, which way its data went from the host that most data came from or went to.

    None throughout where no host both sent and received. The two directions of a path are two links: what
    fills one says nothing of the other.
    """
    data = _bytes_of_hosts(flows)
    host = max(data, key=lambda one: data[one], default="")
    sent = {flow.index for flow in flows if flow.sender == host}
    if not sent or all(flow.index in sent for flow in flows if host in (flow.sender, flow.receiver)):
        return dict.fromkeys((flow.index for flow in flows), None)
    return {flow.index: f"from {host}" if flow.index in sent else f"toward {host}" for flow in flows}
