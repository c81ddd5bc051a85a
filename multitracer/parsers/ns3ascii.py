"""Ascii traces of ns-3 (docs/formats/ns3-ascii.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.lazy import np
from multitracer.model.linktype import LinkType
from multitracer.model.parser import Parser
from multitracer.model.table import Array, Table
from multitracer.model.trace import Source, Trace
from multitracer.parsers._helpers.tcptables import TRACKED, tcp_tables

# Wi-Fi devices write the mode before the place for received frames, and after it for sent ones.
_LINE = re.compile(
    rb"^[-+rdt] \+?\d[\d.]*(?:e[-+]?\d+)?(?:[mun]?s)? "
    rb"(?:\w+ +)?(?:/NodeList/\d+/\S+ )?(?:\w+ )?ns3::[A-Z]\w+ \(",
    re.MULTILINE,
)
# What the tracker has of a host; of ICMP nothing is in these traces.
_TABLES = {table.name: table for table in TRACKED if table not in (schema.ICMP_ERRORS, schema.MPTCP)}
_QUEUES = LinkType(
    "ns3-queues",
    "queues of ns-3 devices",
    unit="packet",
    slotted=False,
    acknowledgement="none",
    lacks=frozenset(
        {"arrivals", "attempts", "airtime", "flow_control", "flushes", "idle", "offsets", "resets"}
    ),
)

Ends = frozenset[tuple[str, int]]


def sniff(head: bytes) -> bool:
    """Whether there are lines of an operation, a time and headers as ns-3 prints them."""
    return _LINE.search(head) is not None


def parse(path: str) -> Trace:
    """Read an ascii trace: TCP at the hosts that send data; in `Trace.others` at the receivers, and drops.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line can be read.

    Notes
    -----
    A host's devices see what captures there would. Times have six significant digits unless the simulation
    sets it otherwise: their step grows with time, and `Source.resolution_ns` is that of the last one.

    Reference: ns-3 manual, "Tracing"; ``src/network/helper/trace-helper.cc``.
    """
    scan = native.scan("ns3", path)
    facts = scan.facts
    if facts["span"] is None:
        raise CorruptTrace(f"{path}: no line of an ns-3 trace can be read; is it cut or another format?")
    hosts: list[dict[str, Any]] = facts["ends"]
    is_sender = _is_sender(hosts)
    views = [_view(path, facts, hosts, [side == near for side in is_sender]) for near in (True, False)]
    traces = [view for view in views if view.source.tcp_segments]
    drops = _drops(path, scan)
    if drops is not None:
        traces.append(drops)
    first, *others = traces or views[:1]
    first.issues, first.others = scan.issues, others
    first.source.details |= _details(facts)
    return first


def _is_sender(hosts: list[dict[str, Any]]) -> list[Array]:
    """By host and connection: whether the host is the one that sends the bulk of the data."""
    senders: dict[Ends, str] = {}
    for host in hosts:
        for found in host["connections"]:
            senders.setdefault(frozenset(found["endpoints"]), _sender(found))
    return [
        np.array(
            [senders[frozenset(found["endpoints"])] in host["addresses"] for found in host["connections"]],
            dtype=bool,
        )
        for host in hosts
    ]


def _sender(found: Mapping[str, Any]) -> str:
    """The address that sends most; without data, the one that opens the connection."""
    reverse = found["reverse"]["data_bytes"] > found["forward"]["data_bytes"]
    address: str = found["endpoints"][int(reverse)][0]
    return address


def _view(path: str, facts: Mapping[str, Any], hosts: list[dict[str, Any]], picked: list[Array]) -> Trace:
    """The connections picked of each host, as one capture next to all of them would have them."""
    parts: dict[str, list[Table]] = {name: [] for name in _TABLES}
    connections: list[dict[str, Any]] = []
    for host, pick in zip(hosts, picked, strict=True):
        numbers = np.cumsum(pick) - 1 + len(connections)
        tracked = tcp_tables(host)
        for name in _TABLES:
            found = tracked[name].where(pick[tracked[name]["conn"]])
            parts[name].append(found.replace(conn=numbers[found["conn"]]))
        connections += [found for found, ours in zip(host["connections"], pick, strict=True) if ours]
    tables = {name: Table.concat(_TABLES[name], found).sorted_by("t_ns") for name, found in parts.items()}
    return Trace(
        _source(path, facts, "tcp", tcp_segments=len(tables["segments"])), tables, connections=connections
    )


def _drops(path: str, scan: native.Scan) -> Trace | None:
    """Segments that queues and devices dropped, as a log of the links; None if there are none."""
    rows = scan.tables["drops"]
    if not len(rows["t_ns"]):
        return None
    count = len(rows["t_ns"])
    known, place = np.unique(rows["place"], return_inverse=True)
    columns = {name: rows[name] for name in ("t_ns", "record", "length")}
    columns |= {
        "source": np.zeros(count, dtype=np.int16),
        "entity": place.astype(np.int16),
        "action": np.full(count, schema.LINK_EVENTS.code("action", "evt")),
        "kind": np.full(count, schema.LINK_EVENTS.code("kind", "drop")),
    }
    names = [scan.facts["places"][at] for at in known.tolist()]
    events = Table.filled(schema.LINK_EVENTS, count, columns).sorted_by("t_ns")
    source = _source(path, scan.facts, "link", point="+".join(names))
    return Trace(source, {"link_events": events}, entities=names, links=[_QUEUES] * len(names))


def _source(path: str, facts: Mapping[str, Any], layer: Any, **known: Any) -> Source:
    first, last = facts["span"]
    counts = facts["counts"]
    return Source(
        path=path,
        format="ns3-ascii",
        layer=layer,
        records=sum(counts[name] for name in ("queued", "sent", "received", "dropped")),
        clock="simulation",
        first_ns=first,
        last_ns=last,
        resolution_ns=facts["resolution_ns"],
        **known,
    )


def _details(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What `info` shows in addition."""
    counts: dict[str, int] = facts["counts"]
    details: dict[str, Any] = {
        "lines": {name: counts[name] for name in ("queued", "sent", "received", "dropped") if counts[name]},
        "tcp_segments_anywhere": counts["segments"],
        "significant_digits": facts["digits"],
        "hosts": {
            "of one device" if host["node"] is None else f"node {host['node']}": host["addresses"]
            for host in facts["ends"][:20]
        },
    }
    if counts["mac_retries"]:
        details["mac_frames_sent_again"] = counts["mac_retries"]
    if facts["places"]:
        drops = dict(zip(facts["places"], facts["dropped_at"], strict=True))
        details["drops"] = dict(sorted(drops.items(), key=lambda item: -item[1])[:20])
    return details


PARSER = Parser(
    name="ns3-ascii",
    title="ns-3 ascii traces (EnableAscii): TCP at the hosts, drops by device and queue",
    layer="tcp",
    sniff=sniff,
    parse=parse,
)
