"""Packet captures: pcap files of tcpdump and everything else that writes them.

The Rust core reads and tracks in one pass; this module only puts its answer into a `Trace`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer import native, schema
from multitracer.errors import Issue
from multitracer.registry import Parser
from multitracer.table import Table
from multitracer.trace import Source, Trace


def sniff(head: bytes) -> bool:
    """Whether the first bytes are a pcap file header."""
    return native.sniff_capture(head)


def parse(path: str) -> Trace:
    """Read a capture: segments, retransmissions, timeouts, and a summary of each connection.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If its header is damaged.
    """
    found = native.read_capture(path, keep_segments=True)
    trace = _trace(path, found)
    trace.tables = {
        "segments": _table(schema.SEGMENTS, found["segments"]),
        "retransmissions": _table(schema.RETRANSMISSIONS, found["retransmissions"]),
        "timeouts": _table(schema.TIMEOUTS, found["timeouts"]),
    }
    return trace


def summarise(path: str) -> Trace:
    """Read a capture without tables: memory is in proportion to connections.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    return _trace(path, native.read_capture(path, keep_segments=False))


def _trace(path: str, found: dict[str, Any]) -> Trace:
    info: dict[str, Any] = found["info"]
    source = Source(
        path=path,
        format="pcap",
        layer="tcp",
        records=info["records"],
        clock="realtime",
        first_ns=info["first_ns"],
        last_ns=info["last_ns"],
        resolution_ns=info["resolution_ns"],
        tcp_segments=info["tcp_segments"],
        details={
            "link_type": info["link_type_name"],
            "snaplen": info["snaplen"],
            "bytes": info["bytes"],
            "packets_by_kind": info["packets_by_kind"],
            "compressed": info["compressed"],
        },
    )
    issues = [Issue(code, count, record, detail, path) for code, count, record, detail in found["issues"]]
    return Trace(source=source, issues=issues, connections=found["connections"])


def _table(declared: schema.Schema, columns: dict[str, Any]) -> Table:
    rows = len(columns["t_ns"])
    return Table.filled(declared, rows, {**columns, "source": np.zeros(rows, dtype=np.int16)})


PARSER = Parser(
    name="pcap",
    title="packet capture (tcpdump, Wireshark): pcap, microseconds or nanoseconds, either byte order",
    layer="tcp",
    sniff=sniff,
    parse=parse,
    summarise=summarise,
)
