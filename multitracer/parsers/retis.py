"""Events of retis (JSON lines): packets inside the kernel, drops (docs/formats/retis.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import ClockKind, Flow, Source, Trace
from multitracer.parsers._helpers import framehead, jsonlog

_EVENT = re.compile(rb'\s*\[?\s*\{\s*"common"\s*:\s*\{')
_SECTIONS = re.compile(rb'"(retis_version|skb-tracking|skb-drop|probe_type)"\s*:')
_KINDS = {
    "net:net_dev_queue": "queue",
    "qdisc:qdisc_enqueue": "enqueue",
    "qdisc:qdisc_dequeue": "dequeue",
    "net:net_dev_start_xmit": "start_xmit",
    "net:netif_receive_skb": "receive",
    "skb:kfree_skb": "drop",
}
"""What of `schema.HOST_KINDS` a probe shows."""
_LONGEST_LINE = 1 << 20
_MOST_NAMES = 1000
_MOST_FLOWS = 100_000
_MOST_NS = 1 << 62


class _Event(NamedTuple):
    """One event of a packet."""

    t_ns: int
    record: int
    kind: str
    cpu: int
    pid: int
    skb: int
    length: int
    value: int
    extra: int
    name: str
    device: tuple[int, int, str]
    flow: Flow | None


def sniff(head: bytes) -> bool:
    """Whether lines of JSON begin with the section that all events of retis have."""
    return bool(_EVENT.match(head) and _SECTIONS.search(head[:4096]))


def parse(path: str) -> Trace:
    """Read the events of packets into `host_events`, as of tracepoints.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no event shows a packet where it is queued, sent, received or dropped.

    Notes
    -----
    `record` is the line. Events of the interface with most packets of TCP are kept, and drops of all, as
    `multitracer record` has them.

    Reference: retis ``docs/events``, ``retis-events/src`` (versions 1.5 to 1.7).
    """
    scan = _Scan(path)
    lines = native.Lines(path, _LONGEST_LINE)
    for number, line in lines:
        scan.line(number, line)
    rows = scan.kept()
    flows = _flows(rows)
    if not rows:
        raise CorruptTrace(
            f"{path}: no event of a packet that is queued, sent, received or dropped; collect them with "
            "retis collect -c skb,skb-tracking,skb-drop,dev,ns -p tp:net:net_dev_queue,"
            "tp:net:net_dev_start_xmit,tp:net:netif_receive_skb"
        )
    devices = _names(one.name for one in rows if one.kind != "drop")
    reasons = _names(one.name for one in rows if one.kind == "drop")
    kinds = {name: code for code, name in enumerate(schema.HOST_KINDS)}
    named = {True: reasons, False: devices}
    columns: dict[str, Any] = {
        "t_ns": [one.t_ns for one in rows],
        "record": [one.record for one in rows],
        "kind": [kinds[one.kind] for one in rows],
        "cpu": [one.cpu for one in rows],
        "pid": [one.pid for one in rows],
        "skb": [one.skb for one in rows],
        "flow": [-1 if one.flow is None else flows.get(one.flow, -1) for one in rows],
        "length": [one.length for one in rows],
        "value": [one.value for one in rows],
        "extra": [one.extra for one in rows],
        "name": [named[one.kind == "drop"].get(one.name, -1) for one in rows],
        "sk": [-1] * len(rows),
    }
    table = Table.in_time(schema.HOST_EVENTS, columns)
    source = Source(
        path=path,
        format="retis",
        layer="kernel",
        records=len(table),
        clock=scan.clock,
        first_ns=int(table["t_ns"][0]),
        last_ns=int(table["t_ns"][-1]),
        details={
            "retis_version": scan.version,
            "devices": list(devices),
            "drop_reasons": list(reasons),
            "events_elsewhere": scan.elsewhere,
            "ignored_probes": scan.ignored,
        },
    )
    return Trace(source, {"host_events": table}, lines.issues + scan.issues(), list(flows))


def _names(found: Iterator[str]) -> dict[str, int]:
    """Names by their number, in the order in which they come."""
    numbers: dict[str, int] = {}
    for name in found:
        if name and len(numbers) < _MOST_NAMES:
            numbers.setdefault(name, len(numbers))
    return numbers


def _flows(rows: list[_Event]) -> dict[Flow, int]:
    """Sockets of this host by their number: packets show which end of them is here, drops do not."""
    flows: dict[Flow, int] = {}
    for one in rows:
        if one.flow is not None and one.kind != "drop" and len(flows) < _MOST_FLOWS:
            flows.setdefault(one.flow, len(flows))
    for at, one in enumerate(rows):
        if one.flow is not None and one.kind == "drop" and one.flow not in flows:
            turned = Flow(*one.flow[2:], *one.flow[:2])
            rows[at] = one._replace(flow=turned if turned in flows else None)
    return flows


class _Scan:
    """Collects events line by line."""

    def __init__(self, path: str) -> None:
        self._tally = jsonlog.Tally(path)
        self._events: list[_Event] = []
        self._tcp: dict[tuple[int, int, str], int] = {}
        self._offset_ns = 0
        self.clock: ClockKind = "monotonic"
        self.version: str | None = None
        self.ignored: dict[str, int] = {}
        self.elsewhere: dict[str, int] = {}

    def line(self, number: int, line: bytes) -> None:
        """Take one line: an event, or the events of a packet (retis sort)."""
        if not line.strip():
            return
        found = jsonlog.parsed(line)
        for event in found if isinstance(found, list) else [found]:
            if not isinstance(event, dict) or not isinstance(event.get("common"), dict):
                self._tally.add("unparsed-line", number, line[:100].decode(errors="replace"))
            elif isinstance(event.get("startup"), dict):
                self._start(event["startup"])
            else:
                self._packet(number, event)

    def _start(self, startup: Mapping[str, Any]) -> None:
        version = startup.get("retis_version")
        self.version = version[:40] if isinstance(version, str) else None
        offset = jsonlog.mapping(startup.get("clock_monotonic_offset"))
        seconds, rest = jsonlog.whole(offset, "sec", 10**9), jsonlog.whole(offset, "nsec")
        if seconds >= 0 and rest >= 0 and not self._events:
            self._offset_ns, self.clock = seconds + rest, "realtime"

    def _packet(self, number: int, event: Mapping[str, Any]) -> None:
        symbol = jsonlog.mapping(event.get("kernel")).get("symbol")
        kind = _KINDS.get(symbol) if isinstance(symbol, str) else None
        tracking = jsonlog.mapping(event.get("skb-tracking"))
        if kind is None or not tracking:
            name = symbol[:60] if isinstance(symbol, str) else "without a probe or a packet"
            if name in self.ignored or len(self.ignored) < _MOST_NAMES:
                self.ignored[name] = self.ignored.get(name, 0) + 1
            return
        common, skb = event["common"], jsonlog.mapping(event.get("skb"))
        t_ns, address = jsonlog.whole(common, "timestamp"), _address(tracking.get("skb"))
        t_ns += self._offset_ns
        if t_ns < self._offset_ns or t_ns > _MOST_NS or address is None:
            self._tally.add("bad-number", number, str(common.get("timestamp"))[:40])
            return
        # Sections that are on their own since 1.6 were in `skb` before.
        packet = jsonlog.mapping(event.get("packet") or skb.get("packet"))
        head = framehead.of_base64(packet.get("data") or packet.get("raw") or packet.get("packet"))
        device = _device(event, skb)
        flow = _flow(kind, head)
        if flow is not None and kind in ("start_xmit", "receive"):
            self._tcp[device] = self._tcp.get(device, 0) + 1
        self._events.append(
            _Event(
                t_ns,
                number,
                kind,
                min(jsonlog.whole(common, "smp_id"), (1 << 15) - 1),
                min(jsonlog.whole(jsonlog.mapping(common.get("task")), "pid"), (1 << 31) - 1),
                address,
                *_measures(kind, packet, skb, head, device),
                _reason(event) if kind == "drop" else device[2],
                device,
                flow,
            )
        )

    def kept(self) -> list[_Event]:
        """Events of the interface with most packets of TCP, and drops."""
        if not self._events:
            return []
        counts = self._tcp or {one.device: 0 for one in self._events if one.kind != "drop"}
        chosen = max(counts, key=lambda device: counts[device]) if counts else None
        rows = []
        for one in self._events:
            if one.kind == "drop" or one.device == chosen:
                rows.append(one)
            elif one.name in self.elsewhere or len(self.elsewhere) < _MOST_NAMES:
                self.elsewhere[one.name] = self.elsewhere.get(one.name, 0) + 1
        return rows

    def issues(self) -> list[Issue]:
        """Lines that could not be read."""
        return self._tally.issues()


def _address(value: Any) -> int | None:
    """An address of the kernel as a column holds it: 64 bits, signed."""
    if type(value) is not int or not 0 < value < 1 << 64:
        return None
    return value - (1 << 64) if value >> 63 else value


def _flow(kind: str, head: framehead.FrameHead | None) -> Flow | None:
    """The socket of this host that a packet is of, as its path shows; None if it is of none, or not TCP."""
    if head is None or head.source is None or head.target is None:
        return None
    return Flow(*head.target, *head.source) if kind == "receive" else Flow(*head.source, *head.target)


def _device(event: Mapping[str, Any], skb: Mapping[str, Any]) -> tuple[int, int, str]:
    """Network namespace, number and name of the interface."""
    dev = jsonlog.mapping(event.get("dev") or skb.get("dev"))
    namespace = jsonlog.mapping(event.get("netns") or skb.get("ns"))
    name = dev.get("name")
    inode = max(jsonlog.whole(namespace, "inum"), jsonlog.whole(namespace, "netns"))
    return inode, jsonlog.whole(dev, "ifindex"), name[:60] if isinstance(name, str) else ""


def _reason(event: Mapping[str, Any]) -> str:
    """Why a packet was dropped, in the kernel's words."""
    drop = jsonlog.mapping(event.get("skb-drop"))
    reason, system = drop.get("drop_reason"), drop.get("subsys")
    if not isinstance(reason, str) or not reason:
        return "NOT_SPECIFIED"
    return f"{system[:40]}/{reason[:80]}" if isinstance(system, str) else reason[:80]


def _measures(
    kind: str,
    packet: Mapping[str, Any],
    skb: Mapping[str, Any],
    head: framehead.FrameHead | None,
    device: tuple[int, int, str],
) -> tuple[int, int, int]:
    """`length`, `value` and `extra` as `schema.HOST_EVENTS` has them of each kind."""
    link = head.link_bytes if head is not None else -1
    whole = jsonlog.whole(packet, "len")
    meta = jsonlog.whole(jsonlog.mapping(skb.get("meta")), "len")
    if kind == "receive":
        return meta if meta >= 0 else whole - link if whole > link >= 0 else -1, -1, -1
    if kind == "drop":
        return -1, head.ether_type if head is not None else -1, -1
    if kind in ("enqueue", "dequeue"):
        return 1 if kind == "dequeue" else -1, -1, device[1]
    length = meta if meta >= 0 else whole
    if kind == "queue":
        return length, -1, -1
    segments = jsonlog.whole(jsonlog.mapping(skb.get("gso")), "segs")
    return length, link, min(segments, (1 << 31) - 1) if segments > 0 else 0


PARSER = Parser(
    name="retis",
    title="packets inside the kernel, and drops: JSON events of retis",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
