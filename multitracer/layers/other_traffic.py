"""Packets of other protocols in a capture: they are counted, not analysed, and links carried them, too."""

from __future__ import annotations

from collections.abc import Mapping

from multitracer.model.frozen import frozen
from multitracer.model.timeline import Timeline

_NAMES = {
    "udp": "UDP",
    "udp-lite": "UDP-Lite",
    "sctp": "SCTP",
    "dccp": "DCCP",
    "gre": "GRE",
    "esp": "IPsec ESP",
    "ipv4-fragment": "fragments of IP packets",
    "other-ip-protocol": "other IP protocols",
}
"""Kinds of packets that carry data for others than TCP, by the name of `packets_by_kind`."""

_SHARE = 0.05
_FEW = 50
"""Fewer packets than this part of all, or than so many, fill no link."""


@frozen
class OtherTraffic:
    """What a capture holds besides TCP.

    Attributes
    ----------
    source : int
        The capture.
    packets : int
        Of other protocols that carry data.
    share : float
        Of all packets of TCP and of these.
    names : tuple of str
        The protocols, that with most packets first.
    """

    source: int
    packets: int
    share: float
    names: tuple[str, ...]


def other_traffic(m: Timeline) -> OtherTraffic | None:
    """Other protocols in the capture that holds most of them; None where they are too few to matter.

    Parameters
    ----------
    m : Timeline
    """
    found = None
    for index, trace in enumerate(m.traces):
        kinds = trace.source.details.get("packets_by_kind")
        if trace.source.layer != "tcp" or not isinstance(kinds, Mapping):
            continue
        others = {name: int(kinds[kind]) for kind, name in _NAMES.items() if kinds.get(kind)}
        packets, tcp = sum(others.values()), int(kinds.get("tcp", 0))
        if packets < _FEW or packets < _SHARE * (packets + tcp):
            continue
        if found is None or packets > found.packets:
            names = tuple(sorted(others, key=lambda name: -others[name]))
            found = OtherTraffic(index, packets, packets / (packets + tcp), names)
    return found
