"""DCCP packets in a capture (docs/formats/dccp.md)."""

from __future__ import annotations

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Flow, Source, Trace


def sniff(head: bytes) -> bool:
    """Whether the first packets of a capture hold DCCP, and none holds TCP."""
    return native.sniff_dccp(head)


def parse(path: str) -> Trace:
    """Read DCCP packets: `dccp_packets`, with ack vectors, rates and times out of their options.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it holds no DCCP packet that can be decoded.

    Notes
    -----
    Reference: RFC 4340 (header, options, ack vectors), RFC 4342 (CCID 3).
    """
    scan = native.read_dccp(path)
    columns = scan.tables["dccp_packets"]
    packets = Table.filled(schema.DCCP_PACKETS, len(columns["t_ns"]), columns)
    if not len(packets):
        raise CorruptTrace(f"{path}: no DCCP packet in it can be decoded; is it cut to its headers?")
    packets = packets.sorted_by("t_ns")
    kinds, counts = np.unique(packets.words("kind"), return_counts=True)
    source = Source(
        path=path,
        format="dccp",
        layer="dccp",
        records=scan.facts["lines"],
        clock="realtime",
        first_ns=int(packets["t_ns"][0]),
        last_ns=int(packets["t_ns"][-1]),
        resolution_ns=scan.facts["resolution_ns"],
        details={
            "dccp_packets": len(packets),
            "packets_by_kind": {str(kind): int(count) for kind, count in zip(kinds, counts, strict=True)},
            "ccids": [list(pair) for pair in scan.facts["ccids"][:64]],
        },
    )
    flows = [Flow(*flow) for flow in scan.facts["flows"]]
    return Trace(source, {"dccp_packets": packets}, scan.issues, flows)


PARSER = Parser(
    name="dccp",
    title="captures of DCCP (RFC 4340), with the reports of CCID 2 and 3",
    layer="dccp",
    sniff=sniff,
    parse=parse,
)
