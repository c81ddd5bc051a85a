"""Record files of pppd: the octets of a serial line in both directions (docs/formats/pppd.md)."""

from __future__ import annotations

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Source, Trace

ENTITY = "pppd"


def sniff(head: bytes) -> bool:
    """Whether it begins with a start record, and whole records with frames follow."""
    return native.sniff_pppd(head)


def parse(path: str) -> Trace:
    """Read a record file: a row of `link_frames` per PPP frame, and where VJ's decompressor lost its state.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it holds no whole frame.

    Notes
    -----
    `offset` counts octets of the line in each direction, framing included. Times go in tenths of a second. A
    header is held against the TCP checksum that RFC 1144 sends along: "desync" is the first packet that comes
    out wrong, "resync" the first one right again. Captures on ppp0 are taken after the decompressor: they
    lack the packets that it discarded.

    Reference: pppd ``pppdump(8)``; RFC 1662; RFC 1144 section 4.
    """
    scan = native.scan_pppd(path)
    frames = Table.in_time(schema.LINK_FRAMES, scan.tables["link_frames"])
    events = Table.in_time(schema.LINK_EVENTS, scan.tables["link_events"])
    times = [int(t) for table in (frames, events) if len(table) for t in table["t_ns"][[0, -1]]]
    if not len(frames):
        raise CorruptTrace(f"{path}: no PPP frame in this record file; is it cut or another format?")
    facts = scan.facts
    sent, received = range(2)
    source = Source(
        path=path,
        format="pppd",
        layer="link",
        records=len(frames),
        clock="realtime" if facts["started"] else "unknown",
        first_ns=min(times),
        last_ns=max(times),
        resolution_ns=scan.facts["resolution_ns"],
        point=ENTITY,
        details={
            "packets_by_kind": facts["protocols"],
            "octets": {"sent": facts["octets"][sent], "received": facts["octets"][received]},
            "wrong_headers": {
                "sent": facts["wrong_headers"][sent],
                "received": facts["wrong_headers"][received],
            },
        },
    )
    return Trace(source, {"link_frames": frames, "link_events": events}, scan.issues, entities=[ENTITY])


PARSER = Parser(
    name="pppd",
    title="pppd record files: PPP frames of a serial line, and the state of header compression",
    layer="link",
    sniff=sniff,
    parse=parse,
)
