"""Event traces of ns-2 (docs/formats/ns2.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace, UsageError
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Array
from multitracer.model.trace import Layer, Source, Trace
from multitracer.parsers._helpers import ns2layers
from multitracer.parsers._helpers.tcptables import tcp_tables

_TIME = rb"\d+(?:\.\d+)?(?:e-?\d+)?"
_WIRED = rb"[-+rde] " + _TIME + rb" \d+ \d+ \S+ \d+ \S{6,8} -?\d+ -?\d+\.-?\d+ -?\d+\.-?\d+ -?\d+ \d+"
_OLD = rb"[srDf] " + _TIME + rb" _\d+_ (?:AGT|RTR|IFQ|MAC|LL|PHY) +\S+ +\d+ \S* ?\d+ \["
_NEW = rb"[srdf] -t " + _TIME + rb" -Hs \d+ -Hd -?\d+ -Ni \d+ "
_EVENT = re.compile(rb"^(?:" + _WIRED + rb"|" + _OLD + rb"|" + _NEW + rb")", re.MULTILINE)

_HEADER_BYTES = 40
_LARGEST_HEADER = 1000
_FORMATS = ("wired", "wireless, old", "wireless, new")
_SEQUENCE = "packet number times segment size; the trace has no bytes"
_WINDOW = "not in the trace"


def sniff(head: bytes) -> bool:
    """Whether there are lines of packets as ns-2 writes them, for wired or wireless networks."""
    return _EVENT.search(head) is not None


def parse(path: str) -> Trace:
    """Read an event trace: TCP at the senders of data, and in `Trace.others` at their receivers.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no event can be read.

    Notes
    -----
    Agents number packets: `seq` is the number times the segment size, and packet 0, which carries nothing,
    plays the SYN. Nothing is known of windows and SACK blocks.

    Reference: ns-2.35 ``trace/trace.cc``, ``trace/cmu-trace.cc``, ``tcp/tcp.cc``.
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, with the bytes of a packet's headers (``header_bytes = 40``)."""
    header = settings.get("header_bytes", _HEADER_BYTES)
    if isinstance(header, bool) or not isinstance(header, int) or not 0 <= header <= _LARGEST_HEADER:
        raise UsageError(
            f"measurement.toml: header_bytes of {path} must be a number from 0 to {_LARGEST_HEADER}"
        )
    scan = native.scan("ns2", path, header_bytes=header)
    facts = scan.facts
    if facts["span"] is None:
        raise CorruptTrace(f"{path}: no event of ns-2 can be read; is it cut or another format?")
    sender, receiver = (_end(path, scan, found) for found in facts["ends"])
    sender.issues = scan.issues
    sender.source.details |= _details(scan)
    below = (ns2layers.mac_frames(scan), ns2layers.packet_drops(scan), ns2layers.energy(scan))
    sender.tables |= {table.schema.name: table for table in below if len(table)}
    if receiver.source.tcp_segments:
        sender.others.append(receiver)
    drops, places = ns2layers.link_drops(scan)
    if len(drops):
        source = _source(path, facts, "link")
        links = [ns2layers.DROPS] * len(places)
        sender.others.append(Trace(source, {"link_events": drops}, entities=places, links=links))
    return sender


def _end(path: str, scan: native.Scan, found: dict[str, Any]) -> Trace:
    """One end of all connections, as a capture there would have them."""
    tables = {name: table.sorted_by("t_ns") for name, table in tcp_tables(found).items()}
    source = _source(path, scan.facts, "tcp")
    source.tcp_segments = len(tables["segments"])
    source.details = {"seq": _SEQUENCE, "window": _WINDOW, "segment_bytes": scan.facts["segment_bytes"]}
    return Trace(source, tables, connections=found["connections"])


def _source(path: str, facts: Mapping[str, Any], layer: Layer) -> Source:
    first, last = facts["span"]
    return Source(
        path=path,
        format="ns2",
        layer=layer,
        records=sum(facts["formats"]),
        clock="simulation",
        first_ns=first,
        last_ns=last,
        resolution_ns=facts["resolution_ns"],
    )


def _details(scan: native.Scan) -> dict[str, Any]:
    """What `info` shows in addition: the layers below, which are counted only."""
    facts, events, energy = scan.facts, scan.tables["events"], scan.tables["energy"]
    details: dict[str, Any] = {
        "lines": {name: n for name, n in zip(_FORMATS, facts["formats"], strict=True) if n},
        "events_by_packet": facts["packets"],
        "segments_from": "router and MAC lines" if facts["below_agents"] else "agents",
    }
    if facts["without_syn"]:
        details["connections_without_packet_0"] = facts["without_syn"]
    if facts["unplaced"]:
        details["acknowledgments_without_place"] = facts["unplaced"]
    drops = np.bincount(events["reason"][events["reason"] >= 0], minlength=len(facts["reasons"])).tolist()
    if any(drops):
        details["drops"] = dict(sorted(zip(facts["reasons"], drops, strict=True), key=lambda item: -item[1]))
    frames = scan.tables["frames"]
    if len(frames["t_ns"]):
        sent = frames["action"] == schema.LINK_ACTIONS.index("snd")
        details["mac_frames_sent"] = int(sent.sum())
        details["mac_frames_sent_again"] = int((sent & (frames["attempt"] > 0)).sum())
    if len(energy["t_ns"]):
        details["energy_joules"] = _energy(energy, facts["entities"])
    return details


def _energy(energy: dict[str, Array], names: list[str]) -> dict[str, list[float]]:
    """By node, what was left at first and at last."""
    found = {}
    for place, name in enumerate(names):
        joules = energy["joules"][energy["entity"] == place]
        if len(joules):
            found[name] = [float(joules[0]), float(joules[-1])]
    return found


PARSER = Parser(
    name="ns2",
    title="ns-2 event traces: wired, wireless old and new",
    layer="tcp",
    sniff=sniff,
    parse=parse,
    beside=("ns2-variables",),
    configured=configured,
)
